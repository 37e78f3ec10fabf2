// One sealed ELF file of a program, its kernels' objects and a runtime: for targets that link so.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_EXECUTABLE_H
#define WEFT_TARGET_EXECUTABLE_H

#include "weft/Target/Target.h"

namespace weft {

/// Whether there is a linker and the runtime to link with, and archives beside it: "NAME" is
/// libNAME.a.
bool checkLinker(const LinkOptions &options, std::string &error,
                 llvm::ArrayRef<llvm::StringRef> archives = {});

/// Links the blob, kernels whose bytes are relocatable objects that define their symbol as a
/// `weft_kernel_fn`, archives of the runtime's folder and libweft_runtime.a into one sealed
/// executable (weft/runtime/Seal.h), and writes it to `out`. On failure returns false and tells in
/// `error` what to do.
bool linkExecutable(llvm::ArrayRef<uint8_t> blob, llvm::ArrayRef<KernelImage> kernels,
                    const LinkOptions &options, llvm::raw_ostream &out, std::string &error,
                    llvm::ArrayRef<llvm::StringRef> archives = {});

} // namespace weft

#endif // WEFT_TARGET_EXECUTABLE_H
