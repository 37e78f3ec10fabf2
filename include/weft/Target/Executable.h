// One sealed ELF file of a program, its kernels' objects and a runtime: for targets that link so.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_EXECUTABLE_H
#define WEFT_TARGET_EXECUTABLE_H

#include "weft/Target/Target.h"

namespace weft {

/// An error if a linker, the runtime to link with or one of the archives beside it is not there:
/// "NAME" is libNAME.a.
llvm::Error checkLinker(const LinkOptions &options, llvm::ArrayRef<llvm::StringRef> archives = {});

/// Links the blob, kernels whose bytes are relocatable objects that define their symbol as a
/// `weft_kernel_fn`, archives of the runtime's folder and libweft_runtime.a into one sealed
/// executable (weft/runtime/Seal.h), and writes it to `out`. An error says what to do.
llvm::Error linkExecutable(llvm::ArrayRef<uint8_t> blob, llvm::ArrayRef<KernelImage> kernels,
                           const LinkOptions &options, llvm::raw_ostream &out,
                           llvm::ArrayRef<llvm::StringRef> archives = {});

} // namespace weft

#endif // WEFT_TARGET_EXECUTABLE_H
