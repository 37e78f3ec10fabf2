// The call of a library that computes an op, as data.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_INTERFACES_LIBRARYCALL_H
#define WEFT_INTERFACES_LIBRARYCALL_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <variant>

namespace weft {

/// result[batch, m, n] = sum_k lhs[batch, m, k] * rhs[batch, k, n]. Each list
/// names dims of the tensor in one common order; batch lists have equal length,
/// as have `lhsK` and `rhsK`.
struct GemmCall {
  llvm::SmallVector<unsigned> lhsBatch, lhsM, lhsK;
  llvm::SmallVector<unsigned> rhsBatch, rhsK, rhsN;
  llvm::SmallVector<unsigned> resultBatch, resultM, resultN;
  mlir::Type accumulate;
};

/// Operands (input NC*, filter O(C/groups)*), result NO*.
struct ConvCall {
  llvm::SmallVector<int64_t> strides, padLow, padHigh, inputDilation, filterDilation;
  int64_t groups = 1;
};

/// Operands (q, k, v[, mask]) as [batch, heads, sequence, depth].
struct AttentionCall {
  double scale = 1;
  bool causal = false;
  double softcap = 0;
};

/// The gradients of that: operands (q, k, v, out, its gradient[, mask]), results
/// those of q, k and v.
struct AttentionGradCall : AttentionCall {};

using LibraryCall = std::variant<GemmCall, ConvCall, AttentionCall, AttentionGradCall>;

} // namespace weft

#endif // WEFT_INTERFACES_LIBRARYCALL_H
