// Sums of exponentials beside the maximum that they are relative to.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_CUDA_RUNNINGSUMS_H
#define WEFT_PASSES_CUDA_RUNNINGSUMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft::cuda {

/// Makes of a maximum m over x and of the sum of exp(x - m) over the same x one reduction
/// (kRunningAttr), which reads x once: a thread sums up relative to the greatest x so far, and
/// scales its sum when a greater one comes (Milakov and Gimelshein, "Online normalizer calculation
/// for softmax", 2018). Where m is not finite the sum is not a number, as the ops say.
///
/// Of reductions that threads share only: another takes exponentials one by one, so that to scale
/// would double them.
void joinRunningSums(mlir::func::FuncOp kernel);

} // namespace weft::cuda

#endif // WEFT_PASSES_CUDA_RUNNINGSUMS_H
