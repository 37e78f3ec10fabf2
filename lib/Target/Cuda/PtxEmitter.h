// LLVM IR to PTX.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_TARGET_CUDA_PTXEMITTER_H
#define WEFT_LIB_TARGET_CUDA_PTXEMITTER_H

#include "Chip.h"

#include "llvm/IR/Module.h"

#include <string>

namespace weft::cuda {

/// Optimises `module`, of which nothing is left, and gives PTX for the chip. `optLevel` as in
/// KernelOptions.
std::string emitPtx(llvm::Module &module, const Chip &chip, unsigned optLevel);

} // namespace weft::cuda

#endif // WEFT_LIB_TARGET_CUDA_PTXEMITTER_H
