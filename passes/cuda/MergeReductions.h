// Reductions of reductions as one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_CUDA_MERGEREDUCTIONS_H
#define WEFT_PASSES_CUDA_MERGEREDUCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft::cuda {

/// Makes a reduction of the results of another one by the same operation one of them both, where
/// their order does not count: a long sum is a sum of pieces for the CPU, which adds up in order;
/// threads that each take a part of it all make pieces anyway, and of runs that are as long as
/// memory has them. Not of columns with very many rows, whose threads may each have to take all.
void mergeReductions(mlir::func::FuncOp kernel);

} // namespace weft::cuda

#endif // WEFT_PASSES_CUDA_MERGEREDUCTIONS_H
