// Asks the processor what it has, bit by bit as its manual says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Processor.h"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

using namespace weft::runtime;

#if defined(__x86_64__)
namespace {

enum Register { Eax, Ebx, Ecx, Edx };

/// Which registers the system must keep: bits of XCR0.
constexpr uint64_t kNoState = 0, kYmm = 0x6, kZmm = 0xe6, kExtended = 1 << 19;

struct Feature {
  std::string_view name;
  uint32_t leaf, subleaf;
  Register where;
  unsigned bit;
  uint64_t state;
};

constexpr Feature kFeatures[] = {
    {"sse3", 1, 0, Ecx, 0, kNoState},
    {"ssse3", 1, 0, Ecx, 9, kNoState},
    {"fma", 1, 0, Ecx, 12, kYmm},
    {"sse4.1", 1, 0, Ecx, 19, kNoState},
    {"sse4.2", 1, 0, Ecx, 20, kNoState},
    {"movbe", 1, 0, Ecx, 22, kNoState},
    {"popcnt", 1, 0, Ecx, 23, kNoState},
    {"avx", 1, 0, Ecx, 28, kYmm},
    {"f16c", 1, 0, Ecx, 29, kYmm},
    {"bmi", 7, 0, Ebx, 3, kNoState},
    {"avx2", 7, 0, Ebx, 5, kYmm},
    {"bmi2", 7, 0, Ebx, 8, kNoState},
    {"avx512f", 7, 0, Ebx, 16, kZmm},
    {"avx512dq", 7, 0, Ebx, 17, kZmm},
    {"avx512ifma", 7, 0, Ebx, 21, kZmm},
    {"avx512cd", 7, 0, Ebx, 28, kZmm},
    {"avx512bw", 7, 0, Ebx, 30, kZmm},
    {"avx512vl", 7, 0, Ebx, 31, kZmm},
    {"avx512vbmi", 7, 0, Ecx, 1, kZmm},
    {"avx512vbmi2", 7, 0, Ecx, 6, kZmm},
    {"gfni", 7, 0, Ecx, 8, kNoState},
    {"avx512vnni", 7, 0, Ecx, 11, kZmm},
    {"avx512bitalg", 7, 0, Ecx, 12, kZmm},
    {"avx512vpopcntdq", 7, 0, Ecx, 14, kZmm},
    {"avx512vp2intersect", 7, 0, Edx, 8, kZmm},
    {"avx512fp16", 7, 0, Edx, 23, kZmm},
    {"avxvnni", 7, 1, Eax, 4, kYmm},
    {"avx512bf16", 7, 1, Eax, 5, kZmm},
    {"avxifma", 7, 1, Eax, 23, kYmm},
    {"avxvnniint8", 7, 1, Edx, 4, kYmm},
    {"avxneconvert", 7, 1, Edx, 5, kYmm},
    {"avxvnniint16", 7, 1, Edx, 10, kYmm},
    {"avx10.1", 7, 1, Edx, 19, kZmm},
    {"egpr", 7, 1, Edx, 21, kExtended},
    {"ndd", 7, 1, Edx, 21, kExtended},
    {"ccmp", 7, 1, Edx, 21, kExtended},
    {"nf", 7, 1, Edx, 21, kExtended},
    {"ppx", 7, 1, Edx, 21, kExtended},
    {"push2pop2", 7, 1, Edx, 21, kExtended},
    {"zu", 7, 1, Edx, 21, kExtended},
    {"cf", 7, 1, Edx, 21, kExtended},
    {"lzcnt", 0x80000001, 0, Ecx, 5, kNoState},
    {"sse4a", 0x80000001, 0, Ecx, 6, kNoState},
    {"xop", 0x80000001, 0, Ecx, 11, kYmm},
    {"fma4", 0x80000001, 0, Ecx, 16, kYmm},
    {"tbm", 0x80000001, 0, Ecx, 21, kNoState},
    // Version 2 of what the bit above announces; asked for separately.
    {"avx10.2", 0x24, 0, Ebx, 0, kZmm},
};

/// The register states that the system keeps, 0 if it does not say.
uint64_t keptStates() {
  unsigned a, b, c, d;
  constexpr unsigned kOsxsave = 1u << 27;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & kOsxsave))
    return 0;
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

bool has(const Feature &feature) {
  unsigned registers[4];
  if (!__get_cpuid_count(feature.leaf, feature.subleaf, &registers[Eax], &registers[Ebx],
                         &registers[Ecx], &registers[Edx]))
    return false;
  if (feature.leaf == 0x24)
    return processorHas("avx10.1") && (registers[Ebx] & 0xff) >= 2;
  return (registers[feature.where] >> feature.bit & 1) &&
         (keptStates() & feature.state) == feature.state;
}

struct Level {
  const char *name, *features;
};
constexpr Level kLevels[] = {
    {"x86-64-v4", "sse3,ssse3,sse4.1,sse4.2,popcnt,avx,avx2,bmi,bmi2,f16c,fma,"
                  "lzcnt,movbe,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"},
    {"x86-64-v3", "sse3,ssse3,sse4.1,sse4.2,popcnt,avx,avx2,bmi,bmi2,f16c,fma,"
                  "lzcnt,movbe"},
    {"x86-64-v2", "sse3,ssse3,sse4.1,sse4.2,popcnt"},
    {"x86-64", ""},
};

} // namespace

const std::vector<std::string_view> &weft::runtime::processorFeatures() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> result;
    for (const Feature &feature : kFeatures)
      result.push_back(feature.name);
    return result;
  }();
  return names;
}

bool weft::runtime::processorHas(std::string_view name) {
  for (const Feature &feature : kFeatures)
    if (feature.name == name)
      return has(feature);
  return false;
}

std::string weft::runtime::processorLevel() {
  for (const Level &level : kLevels)
    if (missingFeatures(level.features).empty())
      return level.name;
  return "";
}
#else
const std::vector<std::string_view> &weft::runtime::processorFeatures() {
  static const std::vector<std::string_view> none;
  return none;
}
bool weft::runtime::processorHas(std::string_view) { return false; }
std::string weft::runtime::processorLevel() { return ""; }
#endif

std::string weft::runtime::missingFeatures(std::string_view needed) {
  std::string missing;
  while (!needed.empty()) {
    size_t comma = needed.find(',');
    std::string_view name = needed.substr(0, comma);
    needed.remove_prefix(comma == needed.npos ? needed.size() : comma + 1);
    if (!processorHas(name))
      missing += (missing.empty() ? "" : ",") + std::string(name);
  }
  return missing;
}
