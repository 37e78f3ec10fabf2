// Outlined kernels to images for a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_TARGET_CUDA_KERNELCOMPILER_H
#define WEFT_LIB_TARGET_CUDA_KERNELCOMPILER_H

#include "Chip.h"
#include "weft/Target/Target.h"

namespace weft::cuda {

/// The dialects and translations that compileKernels needs.
void registerKernelDialects(mlir::DialectRegistry &registry);

/// Compiles each function of `module` that has a body, to an Image (weft/Target/Cuda/Image.h) as
/// Target::compile says. Without an assembler images have no code for the chip, with a remark.
mlir::FailureOr<std::vector<KernelImage>> compileKernels(mlir::ModuleOp module, const Chip &chip,
                                                         const KernelOptions &options);

} // namespace weft::cuda

#endif // WEFT_LIB_TARGET_CUDA_KERNELCOMPILER_H
