// The call of a library that computes an op, as data.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_INTERFACES_LIBRARYCALL_H
#define WEFT_INTERFACES_LIBRARYCALL_H

#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace weft {

/// result[batch, m, n] = sum_k lhs[batch, m, k] * rhs[batch, k, n]. Each list
/// names dims of the tensor in one common order; batch lists have equal length,
/// as have `lhsK` and `rhsK`.
struct ProductDims {
  llvm::SmallVector<unsigned> lhsBatch, lhsM, lhsK;
  llvm::SmallVector<unsigned> rhsBatch, rhsK, rhsN;
  llvm::SmallVector<unsigned> resultBatch, resultM, resultN;
};

/// Between the op, which knows what computes it, and the target, which knows whether its
/// library does, nobody needs to know the command.
struct LibraryCall {
  /// Of dialect rt, without its prefix: "gemm".
  llvm::StringRef command;
  /// By their numbers, the op's operands that the command reads: those that it must have stand
  /// before its results, those that it may lack behind them. Another is a constant that the
  /// command implies.
  llvm::SmallVector<unsigned> reads, mayLack;
  /// So many of the op's last results the command writes without gaps, the others where they are
  /// wanted.
  unsigned denseResults = 0;
  /// The command's own.
  mlir::NamedAttrList attributes;
  /// Of those, the one where the first result may lie: each element is read before it is written.
  std::optional<unsigned> overwrites;
  /// The dims of a product are merged to the command's; other calls take tensors as they are.
  std::optional<ProductDims> product;
};

} // namespace weft

#endif // WEFT_INTERFACES_LIBRARYCALL_H
