// What sort of work an op is: what its time and the precision of its sums depend on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_INTERFACES_COMPUTECLASS_H
#define WEFT_INTERFACES_COMPUTECLASS_H

#include "weft/Interfaces/FactorRule.h"

namespace mlir {
class Operation;
}

namespace weft {

/// Says nothing of how a target runs an op: an op is a contraction whether a library does it or a
/// generated kernel. From cheap to dear, for tensors of one size.
enum class ComputeClass {
  /// Brings elements to other places, computes nothing: reshape, transpose, slice, gather.
  Move,
  /// Each result element comes from the operand elements at its own index; time is that of memory.
  Elementwise,
  /// Result elements combine operand elements of several indices, each of which is read a few
  /// times: sums, norms, softmax, scans, orders, pooling. Time is that of memory.
  Reduction,
  /// Sums of products in which each operand element is used many times: products of matrices,
  /// convolutions. Time is that of arithmetic; sums are long, so they are kept wide.
  Contraction,
  /// Two contractions with a softmax in between, whose scores are never in memory: dear in time
  /// like a contraction, but its result is small beside what single ops would keep for it.
  Attention,
};
llvm::StringRef stringifyComputeClass(ComputeClass computeClass);

/// What follows from the factors and the operations a point: a move if there are none, a reduction
/// if a factor is reduced or needed whole, else elementwise. That products are among what is summed
/// follows from neither, so contractions and attention say so themselves.
ComputeClass deriveComputeClass(const FactorRule &rule, double flopsPerPoint);

/// Whether an op's time is that of arithmetic, so that to do it twice, or on every device, is dear.
inline bool isArithmeticBound(ComputeClass computeClass) {
  return computeClass >= ComputeClass::Contraction;
}
/// Of an op; false if it does not answer ShardableOpInterface.
bool isArithmeticBound(mlir::Operation *op);

} // namespace weft

#endif // WEFT_INTERFACES_COMPUTECLASS_H
