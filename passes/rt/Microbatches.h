// What one microbatch of a loop does, and how sums over microbatches are made.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_RT_MICROBATCHES_H
#define WEFT_PASSES_RT_MICROBATCHES_H

#include "dialects/dist/IR/Dist.h"
#include "weft/Interfaces/Reduction.h"

#include "mlir/IR/IRMapping.h"

namespace weft::rt {

/// A loop over microbatches that is being written out.
class Microbatches {
public:
  explicit Microbatches(dist::RepeatOp loop);

  dist::RepeatOp getLoop() const { return loop; }
  int64_t size() const { return count; }
  /// What a microbatch adds to the loop's results.
  mlir::OperandRange addends() const { return end().getInputs(); }

  /// The op is not the same in every microbatch: its coordinate, or its part of a value from
  /// outside.
  bool isNumbered(mlir::Operation *op) const { return isCoordinate(op) || isOverAxis(op); }
  bool isCoordinate(mlir::Operation *op) const;

  /// Makes what `op` of the body is in microbatch `i`, and maps its results to that.
  llvm::LogicalResult copy(mlir::OpBuilder &builder, mlir::Operation &op, int64_t i,
                           mlir::IRMapping &map) const;
  /// The sum so far and `value`, of addend `number`: combined in the type of accumulation, kept in
  /// the result's. Serves what the addend serves.
  mlir::Value add(mlir::OpBuilder &builder, mlir::Value sum, mlir::Value value,
                  unsigned number) const;
  /// Takes the loop's axis from what values of the body await: in one microbatch nothing is added
  /// up over them, and an addend has the type of its sum.
  void forgetSums();

private:
  dist::AccumulateOp end() const;
  bool isOverAxis(mlir::Operation *op) const;
  mlir::Value slice(mlir::OpBuilder &builder, TransitionOpInterface transition, mlir::Value input,
                    int64_t i) const;

  dist::RepeatOp loop;
  AxisId axis = 0;
  int64_t count = 1;
  llvm::SmallVector<ReduceKind> kinds; // of the sums
};

} // namespace weft::rt

#endif // WEFT_PASSES_RT_MICROBATCHES_H
