// One sealed ELF file of a program, its kernels and a runtime: for targets that link so.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_EXECUTABLE_H
#define WEFT_TARGET_EXECUTABLE_H

#include "weft/Target/Target.h"

#include <optional>

namespace weft {

/// Code that a device's driver loads: `weft_device_image` of weft/runtime/Program.h. Empty: none.
struct DeviceCode {
  llvm::StringRef binary, text, chip;
  uint32_t threads = 1, alignment = 1;
  bool takesTable = false;
};

/// A kernel as an executable's table has it.
struct ExecutableKernel {
  llvm::StringRef symbol;
  /// A relocatable object that defines the symbol as a `weft_kernel_fn`. Empty: no processor runs
  /// this kernel.
  llvm::StringRef object;
  /// Whether the object also defines SYMBOL.image, a `weft_device_image`.
  bool objectHasImage = false;
  std::optional<DeviceCode> device;
};

/// What is linked beside the runtime, by names of archives in its folder: "NAME" is libNAME.a,
/// which may need the runtime.
struct ExecutableParts {
  llvm::SmallVector<ExecutableKernel, 0> kernels;
  llvm::SmallVector<llvm::StringRef, 1> archives;
  /// Archives of kinds of devices; "weft_NAME" defines `weft_NAME_device`.
  llvm::SmallVector<llvm::StringRef, 1> devices;
};

/// The kernels as objects alone.
llvm::SmallVector<ExecutableKernel, 0> objectKernels(const KernelImages &images);

/// An error if a linker, the runtime to link with or one of the archives is not there.
llvm::Error checkLinker(const LinkOptions &options, const ExecutableParts &parts = {});

/// Links the blob, the parts and libweft_runtime.a into one sealed executable
/// (weft/runtime/Seal.h), and writes it to `out`. An error says what to do.
llvm::Error linkExecutable(llvm::ArrayRef<uint8_t> blob, const ExecutableParts &parts,
                           const LinkOptions &options, llvm::raw_ostream &out);

} // namespace weft

#endif // WEFT_TARGET_EXECUTABLE_H
