// One sealed ELF file of a program, its kernels' objects and a runtime: for targets that link so.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_EXECUTABLE_H
#define WEFT_TARGET_EXECUTABLE_H

#include "weft/Target/Target.h"

namespace weft {

/// Whether there is a linker and the runtime to link with.
bool checkLinker(const LinkOptions &options, std::string &error);

/// Links the blob, kernels whose bytes are relocatable objects that define their symbol as a
/// `weft_kernel_fn`, and libweft_runtime.a into one sealed executable (weft/runtime/Seal.h), and
/// writes it to `out`. On failure returns false and tells in `error` what to do.
bool linkExecutable(llvm::ArrayRef<uint8_t> blob, llvm::ArrayRef<KernelImage> kernels,
                    const LinkOptions &options, llvm::raw_ostream &out, std::string &error);

} // namespace weft

#endif // WEFT_TARGET_EXECUTABLE_H
