// Reductions that go over the same elements as one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_CUDA_JOINREDUCTIONS_H
#define WEFT_PASSES_CUDA_JOINREDUCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft::cuda {

/// Makes reductions with the same loops, of which none needs another's result, one with the results
/// of all: what they read, and compute from that, is then read and computed once. How many elements
/// a thread takes at a time is then a matter of what all of them read.
void joinReductions(mlir::func::FuncOp kernel);

} // namespace weft::cuda

#endif // WEFT_PASSES_CUDA_JOINREDUCTIONS_H
