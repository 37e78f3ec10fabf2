// CUDA's kernels as objects for this processor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_TWIN_KERNELCOMPILER_H
#define WEFT_TARGET_TWIN_KERNELCOMPILER_H

#include "weft/Target/Target.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace weft::twin {

/// As cpu::compileKernels (weft/Target/Cpu/KernelCompiler.h), by way of CUDA's form of a kernel,
/// blocks and threads; an object needs libweft_emulator.a. A unit is a block. All of a kernel are
/// one piece of work, because the emulator finds races between those that it runs.
mlir::FailureOr<std::vector<KernelImage>> compileKernels(mlir::ModuleOp module,
                                                         const KernelOptions &options = {});

/// The same of each kernel that `module` has in that form (`cuda-distribute-kernels`).
mlir::FailureOr<std::vector<KernelImage>> compileGpuKernels(mlir::ModuleOp module,
                                                            const KernelOptions &options = {});

/// Adds the dialects and translations that compilation needs.
void registerKernelDialects(mlir::DialectRegistry &registry);

} // namespace weft::twin

#endif // WEFT_TARGET_TWIN_KERNELCOMPILER_H
