// Makes arrays and token files of nothing or of texts, and shows arrays.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Make.h"
#include "weft/runtime/OutputFile.h"

#include "base/Convert.h"
#include "base/Philox.h"
#include "base/ValuesText.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>

using namespace weft::runtime;

namespace {

constexpr int64_t kBlock = 1 << 16;

/// The largest whole number up to which all fit into `type`.
double largestWhole(DType type) {
  return withType(type, [](auto value) -> double {
    using T = decltype(value);
    if constexpr (std::is_same_v<T, BFloat16>)
      return 0x1p8;
    else if constexpr (std::is_same_v<T, Float16>)
      return 0x1p11;
    else if constexpr (std::is_same_v<T, Boolean>)
      return 1;
    else if constexpr (std::is_floating_point_v<T>)
      return std::ldexp(1, std::numeric_limits<T>::digits);
    else
      return double(std::numeric_limits<T>::max());
  });
}

/// 53 random bits that are a function of seed and place, in [0, 1).
double uniform(uint64_t seed, int64_t at) {
  auto words = philox({uint32_t(at), uint32_t(uint64_t(at) >> 32), 0, 0},
                      {uint32_t(seed), uint32_t(seed >> 32)});
  uint64_t bits = uint64_t(words[0]) << 32 | words[1];
  return double(bits >> 11) * 0x1p-53;
}

/// What an element at a place is, and what type has it if none is asked for.
struct Filling {
  std::function<double(int64_t)> value;
  DType usual = DType::F32;
  double largest = 0; // a whole number that must fit; 0 = none is special
  bool onlyFloats = false;
};

Status usage(const std::string &what) {
  return {StatusCode::Usage, what + "; --help shows what there is"};
}

bool parseWhole(const std::string &text, uint64_t &value) {
  char *end = nullptr;
  errno = 0;
  value = std::strtoull(text.c_str(), &end, 10);
  return !text.empty() && text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0;
}

Status parseFill(const std::string &text, int64_t count, Filling &fill) {
  size_t colon = text.find(':'), second = text.find(':', colon + 1);
  std::string name = text.substr(0, colon), first, rest = "0";
  if (colon != std::string::npos)
    first = text.substr(colon + 1, second - colon - 1);
  if (colon != std::string::npos && second != std::string::npos)
    rest = text.substr(second + 1);
  uint64_t number = 0, seed = 0;
  if (name == "zeros" && colon == std::string::npos) {
    fill.value = [](int64_t) { return 0.0; };
  } else if (name == "ones" && colon == std::string::npos) {
    fill.value = [](int64_t) { return 1.0; };
  } else if (name == "range" && colon == std::string::npos) {
    fill.value = [](int64_t at) { return double(at); };
    fill.largest = double(std::max<int64_t>(count - 1, 0));
  } else if (name == "random" && second == std::string::npos &&
             (colon == std::string::npos || parseWhole(first, seed))) {
    fill.value = [=](int64_t at) { return 2 * uniform(seed, at) - 1; };
    fill.onlyFloats = true;
  } else if (name == "ids" && parseWhole(first, number) && number > 0 && parseWhole(rest, seed)) {
    fill.value = [=](int64_t at) { return std::floor(uniform(seed, at) * double(number)); };
    fill.usual = DType::I64;
    fill.largest = double(number - 1);
  } else {
    return usage("--fill wants zeros, ones, range, random[:SEED] or ids:N[:SEED], not '" + text +
                 "'");
  }
  return {};
}

struct Closer {
  void operator()(std::FILE *file) const {
    if (file != stdin)
      std::fclose(file);
  }
};

} // namespace

Status weft::data::makeNpy(const NpyOptions &options) {
  int64_t count = 1;
  for (int64_t size : options.shape)
    if (__builtin_mul_overflow(count, size, &count) || count > (int64_t(1) << 48))
      return Status::user("an array of " + shapeText(options.shape) + " is larger than any file");
  Filling fill;
  WEFT_TRY(parseFill(options.fill, count, fill));
  DType type = options.dtype.value_or(fill.usual);
  if (fill.onlyFloats && !isFloat(type))
    return usage("--fill " + options.fill + " is of numbers between -1 and 1, which " +
                 dtypeName(type) + " has not; write ids:N for whole ones");
  if (fill.largest > largestWhole(type)) {
    char largest[32];
    std::snprintf(largest, sizeof largest, "%.0f", fill.largest);
    return usage("--fill " + options.fill + " goes up to " + largest + ", which is too much for " +
                 dtypeName(type));
  }
  OutputFile output(options.output);
  WEFT_TRY(output.open());
  std::string head = npyHeader(type, options.shape);
  WEFT_TRY(output.write(head.data(), head.size()));
  std::vector<double> values;
  std::vector<char> bytes;
  for (int64_t at = 0; at < count; at += kBlock) {
    values.resize(size_t(std::min(kBlock, count - at)));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = fill.value(at + int64_t(i));
    bytes.resize(values.size() * dtypeBytes(type));
    convertElements(DType::F64, values.data(), type, bytes.data(), int64_t(values.size()));
    WEFT_TRY(output.write(bytes.data(), bytes.size()));
  }
  return output.commit();
}

Status weft::data::makeTokens(const TokenOptions &options) {
  if (options.tokenizer != "byte")
    return usage("there is no tokenizer '" + options.tokenizer +
                 "'; byte is the only one: each byte of the text is a token");
  std::unique_ptr<std::FILE, Closer> text(
      options.input == "-" ? stdin : std::fopen(options.input.c_str(), "rb"));
  auto unreadable = [&] {
    return Status::user("'" + options.input + "' cannot be read: " + std::strerror(errno));
  };
  if (!text)
    return unreadable();
  OutputFile output(options.output);
  WEFT_TRY(output.open());
  uint8_t block[kBlock], tokens[2 * kBlock] = {};
  while (size_t count = std::fread(block, 1, sizeof block, text.get())) {
    for (size_t i = 0; i < count; ++i)
      tokens[2 * i] = block[i];
    WEFT_TRY(output.write(tokens, 2 * count));
  }
  if (std::ferror(text.get()))
    return unreadable();
  return output.commit();
}

Status weft::data::showNpy(const std::string &path) {
  NpyFile file;
  WEFT_TRY(NpyFile::open(path, file));
  std::printf("%s: %s %s = %s\n", path.c_str(), shapeText(file.shape()).c_str(),
              dtypeName(file.dtype()),
              valuesText(file.dtype(), file.data(), file.numElements()).c_str());
  return {};
}
