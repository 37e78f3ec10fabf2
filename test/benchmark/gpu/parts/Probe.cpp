// Which machine this is: device, driver, and the versions and places of the
// libraries that the other parts will open.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/Device.h"
#include "common/Library.h"

#include <cstdio>
#include <fstream>
#include <unistd.h>

using namespace weft::gpukit;

namespace {

/// Versions by the library's own call, "absent: why" when it cannot be opened:
/// never a failure of the part.
template <typename Version>
Json describeLibrary(const std::vector<std::string> &sonames, const Version &version) {
  try {
    Library library(sonames);
    return {{"version", version(library)}, {"path", library.path()}};
  } catch (const Failure &failure) {
    return {{"absent", failure.what()}};
  }
}

std::string cublasLtVersion(const Library &library) {
  size_t (*get)() = nullptr;
  library.load(get, "cublasLtGetVersion");
  size_t version = get();
  return format("%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
}

std::string cudnnVersion(const Library &library) {
  size_t (*get)() = nullptr;
  library.load(get, "cudnnGetVersion");
  size_t version = get();
  return format("%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
}

std::string ncclVersion(const Library &library) {
  int (*get)(int *) = nullptr;
  library.load(get, "ncclGetVersion");
  int version = 0;
  if (get(&version) != 0)
    throw Failure("ncclGetVersion failed");
  return format("%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

/// The driver's own version, such as 580.159.04: the first word of the system's line that is a
/// number ("... Kernel Module for x86_64  580.159.04  Release Build"). CUDA's calls give only the
/// CUDA version it serves.
std::string driverRelease() {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;)
    if (word.find_first_not_of("0123456789.") == std::string::npos)
      return word;
  return "unknown";
}

std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0)
      return line.substr(line.find(':') + 2);
  return "unknown";
}

} // namespace

int main(int argc, char **argv) {
  Report report("machine", "device, driver and libraries", option(argc, argv, "json", ""));
  report.facts()["processor"] = processorName();
  report.facts()["processors"] = sysconf(_SC_NPROCESSORS_ONLN);
  report.facts()["driver"] = driverRelease();
  report.facts()["cublaslt"] = describeLibrary(
      {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}, cublasLtVersion);
  report.facts()["cudnn"] = describeLibrary({"libcudnn.so.9", "libcudnn.so"}, cudnnVersion);
  report.facts()["nccl"] = describeLibrary({"libnccl.so.2", "libnccl.so"}, ncclVersion);
  if (std::string why = openDevice(); !why.empty())
    return report.finishNoDevice(why);
  try {
    report.facts()["device"] = describeDevice();
  } catch (const Failure &failure) {
    return report.finishFailed(failure.what());
  }
  std::printf("%s\n", report.facts().dump(1).c_str());
  return report.finish();
}
