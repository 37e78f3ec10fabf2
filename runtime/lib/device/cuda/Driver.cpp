// Finds the CUDA driver and its functions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/Driver.h"

#include "device/Devices.h"
#include "device/cuda/libraries/Library.h"

#include <string>

using namespace weft::runtime;
using namespace weft::runtime::cuda;

static constexpr const char *kLibrary = "libcuda.so.1";
static constexpr int kOldestVersion = 12000; // CUDA 12.0

Status Driver::load() {
  std::string tried;
  void *library = openLibrary({kLibrary}, tried);
  if (!library)
    return Status::user("the CUDA driver cannot be opened (" + tried +
                        "); install NVIDIA's driver, or set WEFT_CUDA_PATH to the folder with " +
                        kLibrary);
  Symbols symbols(library);
#define WEFT_FIND(NAME, SYMBOL, PARAMETERS) symbols.find(NAME, SYMBOL);
  WEFT_CUDA_DRIVER(WEFT_FIND)
#undef WEFT_FIND
  declare = reinterpret_cast<decltype(declare)>(findSymbol(library, "weft_emulated_declare"));
  if (const char *missing = symbols.missing())
    return Status::user(std::string("the CUDA driver ") + kLibrary + " has no " + missing +
                        "; Weft needs one of CUDA 12 or newer");
  int version = 0;
  WEFT_TRY(check(driverVersion(&version), "asking for its version"));
  if (version < kOldestVersion)
    return Status::user("the CUDA driver is of CUDA " + std::to_string(version / 1000) + "." +
                        std::to_string(version % 1000 / 10) +
                        "; Weft needs one of CUDA 12 or newer");
  return check(init(0), "starting it");
}

Status Driver::open(const Driver *&driver) {
  static Driver only;
  static const Status status = only.load();
  driver = &only;
  return status;
}

std::string Driver::shortage() const {
  constexpr size_t kLittle = 256 << 20;
  size_t free = 0, total = 0;
  if (memoryInfo(&free, &total) != Success || free > kLittle)
    return "";
  return "; the GPU has " + gibibytes(free) + " of " + gibibytes(total) +
         " left; use more ranks per model copy, or a lower precision";
}

bool Driver::isFault(Result result) {
  switch (result) {
  case DeviceUnavailable:
  case EccUncorrectable:
  case NvlinkUncorrectable:
  case IllegalAddress:
  case LaunchTimeout:
  case HardwareStackError:
  case IllegalInstruction:
  case MisalignedAddress:
  case InvalidAddressSpace:
  case InvalidPc:
  case LaunchFailed:
    return true;
  default:
    return false;
  }
}

Status Driver::check(Result result, const char *what) const {
  if (result == Success)
    return {};
  const char *name = nullptr, *text = nullptr;
  if (errorName(result, &name) != Success || !name)
    name = "an error that it has no name for";
  if (errorText(result, &text) != Success || !text)
    text = "no more is known";
  StatusCode code = result == OutOfMemory ? StatusCode::DoesNotFit
                    : isFault(result)     ? StatusCode::DeviceFailed
                                          : StatusCode::UserError;
  return {code, std::string("the CUDA driver failed at ") + what + ": " + name + " (" +
                    std::to_string(int(result)) + "), " + text};
}
