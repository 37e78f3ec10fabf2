// How the CPU cuts a kernel into units.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_CPU_KERNELUNITS_H
#define WEFT_PASSES_CPU_KERNELUNITS_H

#include "passes/kernels/KernelTiler.h"

namespace weft::cpu {

/// Tiles `kernel`, a function of tensors; results are in `resultStorages`. See
/// kernels::KernelTiler.
llvm::Expected<kernels::KernelTiling>
tileKernel(mlir::func::FuncOp kernel, kernels::ElementEmitter &elements,
           llvm::ArrayRef<kernels::Storage> resultStorages, int64_t stackLimit,
           llvm::ArrayRef<const kernels::Storage *> overwritten);

} // namespace weft::cpu

#endif // WEFT_PASSES_CPU_KERNELUNITS_H
