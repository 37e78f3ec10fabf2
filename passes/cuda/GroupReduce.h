// Reductions over the threads of a warp or a block.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_CUDA_GROUPREDUCE_H
#define WEFT_PASSES_CUDA_GROUPREDUCE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace weft::cuda {

/// On a reduction (unit): its results are a maximum m, and the sum of exponentials of x - m over
/// the x of which m is the greatest (`RunningSums.h`). Its body adds exp(x - m) for the m that it
/// is given: who runs it scales the sum so far when m grows.
inline constexpr llvm::StringLiteral kRunningAttr = "weft.running";

/// How a reduction's values so far, one for each result, become one.
struct Combiner {
  llvm::SmallVector<mlir::Operation *> ops;
  bool isRunning = false;
};

/// The combiner of a reduction, if its ops are all that the body does with the values so far, and
/// their order does not count or is said not to (`reassoc`, kAnyOrderAttr).
std::optional<Combiner> combinerOf(mlir::linalg::GenericOp generic);

/// Two values of one result.
mlir::Value combine(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Value lhs,
                    mlir::Value rhs);
/// The values of all results.
llvm::SmallVector<mlir::Value> combine(mlir::OpBuilder &builder, const Combiner &combiner,
                                       mlir::ValueRange lhs, mlir::ValueRange rhs);

/// What leaves every value as it is.
llvm::SmallVector<mlir::Value> neutralOf(mlir::OpBuilder &builder, const Combiner &combiner);

/// What exponents of a running sum are less than or equal to while the maximum is `greatest`: this,
/// or the least number, to which the distance is a number even if nothing but -inf came so far.
mlir::Value exponentOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value greatest);
/// A running sum that was taken while the maximum was `greatest`, relative to `exponent`.
mlir::Value rescale(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value sum,
                    mlir::Value greatest, mlir::Value exponent);

/// Combines the values of the 32 threads of a warp, all of which run this; all get the same bits.
/// Values of other than 32 bits are exchanged in words of 32.
llvm::SmallVector<mlir::Value> reduceWarp(mlir::OpBuilder &builder, const Combiner &combiner,
                                          mlir::ValueRange values);

/// The conditions of the 32 threads of a warp, all of which run this, as one number of 32 bits: bit
/// l is that of lane l. `lane` is the thread's own number in the warp, of 32 bits.
mlir::Value gatherBits(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value condition,
                       mlir::Value lane);

/// Combines the values of all threads of a block, which has `threads`, by way of `scratches`, for
/// each result a memref of one element for each warp, which nothing else uses before the next
/// barrier. All threads get the same bits. `thread` is the thread's number.
llvm::SmallVector<mlir::Value> reduceBlock(mlir::OpBuilder &builder, const Combiner &combiner,
                                           mlir::ValueRange values, mlir::ValueRange scratches,
                                           mlir::Value thread, int64_t threads);

} // namespace weft::cuda

#endif // WEFT_PASSES_CUDA_GROUPREDUCE_H
