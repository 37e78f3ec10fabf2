// What one op does to compute its results: operations, bytes, and sizes that rates depend on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_INTERFACES_OPWORK_H
#define WEFT_INTERFACES_OPWORK_H

#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/SmallVector.h"

namespace weft {

/// What kind of kernel does it, and its sizes.
struct WorkShape {
  enum class Kind {
    Stream,    // passes over memory: elementwise, reductions, norms, look-ups
    Gemm,      // `batch` products [m, k] x [k, n]
    Attention, // `batch` heads: m queries, n keys, k the size of a head
    Conv       // as a product: m points of the result, n channels of it, k summed; `batch` groups
  };
  Kind kind = Kind::Stream;
  int64_t batch = 1, m = 0, n = 0, k = 0;
  bool isCausal = false;
};

/// Of one op at some types. A view, and what is there already (a constant), is no work at all.
struct OpWork {
  /// A multiplication and an addition are two; as FactorRule::points beyond any integer, and exact
  /// below 2^53.
  double flops = 0;
  /// Bytes of memory: of each operand those that are touched, once each; of each result.
  llvm::SmallVector<int64_t, 4> read;
  llvm::SmallVector<int64_t, 2> written;
  WorkShape shape;
  /// The elements it computes with: those of the first operand, without one of the first result.
  mlir::Type element;
  /// Kernels that it is by itself: 1, or 0 if it is no work.
  int64_t launches = 1;

  int64_t bytesRead() const;
  int64_t bytesWritten() const;
};

} // namespace weft

#include "weft/Interfaces/WorkOpInterface.h.inc"

namespace weft {

/// At the op's own types.
OpWork workOf(mlir::Operation *op);
/// At other types, such as those of one device. Without WorkOpInterface: the points of the factor
/// rule times the operations at each; every operand is read and every result written. An op that
/// answers ShardableOpInterface neither is all of its bytes and no operation.
OpWork workOf(mlir::Operation *op, mlir::TypeRange operandTypes, mlir::TypeRange resultTypes);

/// The same before views and what is there already are told apart: what WorkOpInterface begins
/// from.
OpWork workByRule(mlir::Operation *op, mlir::TypeRange operandTypes, mlir::TypeRange resultTypes);

/// Whether the result is the first operand's bytes with other sizes and strides, or has no operand:
/// such ops are no command of their own.
bool isViewOrConstant(mlir::Operation *op);

} // namespace weft

#endif // WEFT_INTERFACES_OPWORK_H
