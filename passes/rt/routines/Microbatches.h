// What one microbatch of a loop does, and how what all of them make is brought together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_RT_ROUTINES_MICROBATCHES_H
#define WEFT_PASSES_RT_ROUTINES_MICROBATCHES_H

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
  /// What a microbatch contributes to the loop's results.
  mlir::OperandRange addends() const { return end().getInputs(); }
  /// Addends of that number are added up; else they are rows, which are put in place.
  bool isSum(unsigned number) const { return kinds[number].has_value(); }

  /// The op is not the same in every microbatch: its coordinate, or its part of a value from
  /// outside.
  bool isNumbered(mlir::Operation *op) const { return isCoordinate(op) || isOverAxis(op); }
  bool isCoordinate(mlir::Operation *op) const;

  /// Makes what `op` of the body is in microbatch `i`, and maps its results to that.
  llvm::LogicalResult copy(mlir::OpBuilder &builder, mlir::Operation &op, int64_t i,
                           mlir::IRMapping &map) const;
  mlir::Type sumType(unsigned number) const {
    return dist::RepeatOp(loop).getResult(number).getType();
  }
  /// What addend `number` serves (nn.role; null: the forward pass), also if it came over the
  /// network.
  mlir::Attribute roleOf(unsigned number) const;
  /// The elements of a sum of nothing: `add` makes of it, and the addend of that number, this
  /// addend, bit for bit.
  mlir::TypedAttr startOf(unsigned number) const;
  /// The sum so far and `value`, of addend `number`: combined in the type of accumulation, kept in
  /// the result's. Serves what the addend serves.
  mlir::Value add(mlir::OpBuilder &builder, mlir::Value sum, mlir::Value value,
                  unsigned number) const;
  /// Whether `add` is one addition, of the types that both have.
  bool addsAtOnce(unsigned number) const;
  /// The result so far, null before the first, with what microbatch `i` contributes as addend
  /// `number`.
  mlir::Value combine(mlir::OpBuilder &builder, mlir::Value sofar, mlir::Value value,
                      unsigned number, int64_t i) const;
  /// Says of an op which action of the schedule it is part of, if the loop's section, which may be
  /// null, is one.
  void setAction(mlir::Operation *op, mlir::Attribute section, int64_t i) const;
  /// Takes the loop's axis from what values of the body await: in one microbatch nothing is added
  /// up over them, and what is added up has the type of its sum.
  void forgetSums();

private:
  dist::AccumulateOp end() const;
  bool isOverAxis(mlir::Operation *op) const;
  mlir::Value slice(mlir::OpBuilder &builder, TransitionOpInterface transition, mlir::Value input,
                    int64_t i) const;
  mlir::Value put(mlir::OpBuilder &builder, mlir::Value into, mlir::Value value, unsigned number,
                  int64_t i) const;

  dist::RepeatOp loop;
  AxisId axis = 0;
  int64_t count = 1;
  llvm::SmallVector<std::optional<ReduceKind>> kinds; // by addend, of those that are sums
  llvm::SmallVector<CollectiveGeometry> gathers;      // by addend, of the others
};

} // namespace weft::rt

#endif // WEFT_PASSES_RT_ROUTINES_MICROBATCHES_H
