// Reductions over the threads of a warp or a block.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_CUDA_GROUPREDUCE_H
#define WEFT_PASSES_CUDA_GROUPREDUCE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace weft::cuda {

/// The op that combines each result of a reduction, if these are all that the body does with the
/// values so far, and their order does not count or is said not to (`reassoc`, kAnyOrderAttr).
std::optional<llvm::SmallVector<mlir::Operation *>> combinersOf(mlir::linalg::GenericOp generic);

/// `lhs` and `rhs` combined as `combiner` does.
mlir::Value combine(mlir::OpBuilder &builder, mlir::Operation *combiner, mlir::Value lhs,
                    mlir::Value rhs);

/// What leaves every value as it is.
mlir::Value neutralOf(mlir::OpBuilder &builder, mlir::Operation *combiner);

/// Combines the values of the 32 threads of a warp, all of which run this; all get the same bits.
/// Values of other than 32 bits are exchanged in words of 32.
mlir::Value reduceWarp(mlir::OpBuilder &builder, mlir::Operation *combiner, mlir::Value value);

/// The conditions of the 32 threads of a warp, all of which run this, as one number of 32 bits: bit
/// l is that of lane l. `lane` is the thread's own number in the warp, of 32 bits.
mlir::Value gatherBits(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value condition,
                       mlir::Value lane);

/// Combines the values of all threads of a block, which has `threads`, by way of `scratch`: a
/// memref of one element for each warp, which nothing else uses before the next barrier.
/// All threads get the same bits. `thread` is the thread's number.
mlir::Value reduceBlock(mlir::OpBuilder &builder, mlir::Operation *combiner, mlir::Value value,
                        mlir::Value scratch, mlir::Value thread, int64_t threads);

} // namespace weft::cuda

#endif // WEFT_PASSES_CUDA_GROUPREDUCE_H
