// Shared by the files that emit the bodies of `nn` ops (KernelOpInterface).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vocabulary of a body, which is what targets have to understand: tensor
// ops `empty`, `expand_shape`, `collapse_shape`, `extract`, `insert`;
// `linalg.fill` and `linalg.generic` whose region may use `linalg.index`,
// `affine.apply`, `arith`, `math`, `tensor.extract` (from any tensor) and
// `scf.if`, `scf.for` on scalars; and, for ops that are sequential along some
// dims, an `scf.forall` over the other dims that fills the rows of its outputs.
//
// The order of a floating-point reduction is told by the generic alone, so
// that it does not depend on what is fused with it: in the order of the
// reduction loops, except that a combiner with the `reassoc` flag, which
// stands only where the innermost loop is a reduction, may be split into
// lanes.
#ifndef WEFT_DIALECTS_NN_IR_NNKERNELS_H
#define WEFT_DIALECTS_NN_IR_NNKERNELS_H

#include "dialects/nn/IR/Nn.h"
#include "weft/Interfaces/TensorTypes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace weft::nn {

/// True for `ui*` and for bool.
bool isUnsignedElement(mlir::Type elementType);
/// The element type of an op's operand or result.
mlir::Type elementOf(mlir::Value tensor);

/// Builds scalars; types are signless, and `Type` arguments that may be
/// unsigned tell the signedness.
struct ScalarBuilder {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Value constant(mlir::Type type, double value);
  mlir::Value integer(mlir::Type type, int64_t value);
  mlir::Value index(int64_t value);
  /// The element that leaves the others as they are under `kind`.
  mlir::Value neutral(ReduceKind kind, mlir::Type type);

  /// Floats of less than 32 bits become f32, all else is returned.
  mlir::Value widen(mlir::Value value);
  /// Rounds a float to `type`, to nearest even in one step; equal types pass.
  mlir::Value roundTo(mlir::Value value, mlir::Type type);
  /// nn.cast.
  mlir::Value cast(mlir::Value value, mlir::Type from, mlir::Type to);
  /// `lhs kind rhs` in the values' type; `type` tells the signedness.
  mlir::Value combine(ReduceKind kind, mlir::Value lhs, mlir::Value rhs, mlir::Type type,
                      bool reassociate = false);
  mlir::Value compare(CompareKind kind, mlir::Value lhs, mlir::Value rhs, mlir::Type type);
  mlir::Value sigmoid(mlir::Value x);
  mlir::Value gelu(mlir::Value x, bool tanh);
  /// Integer or float index arithmetic.
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
};

using BodyFn = llvm::function_ref<mlir::Value(ScalarBuilder, mlir::ValueRange arguments)>;

/// One linalg.generic over the result's dims, all parallel, with the given
/// operand maps (identity if empty).
mlir::Value buildParallel(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::RankedTensorType resultType, mlir::ValueRange inputs,
                          llvm::ArrayRef<mlir::AffineMap> maps, BodyFn body);

/// One linalg.generic that folds its iteration space into a result of type
/// `resultType`, filled with `init` before. `extents` are the loops' sizes;
/// arguments of `body` are the inputs, then the value so far.
mlir::Value buildReduction(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::RankedTensorType resultType, mlir::Value init,
                           mlir::ValueRange inputs, llvm::ArrayRef<mlir::AffineMap> inputMaps,
                           mlir::AffineMap resultMap, BodyFn body);

/// Reduces `dims` of a tensor of signless type, in the element type
/// `accumulate` (its signedness counts).
mlir::Value buildReduceDims(mlir::OpBuilder &builder, mlir::Location loc, ReduceKind kind,
                            mlir::Value operand, llvm::ArrayRef<int64_t> dims,
                            mlir::Type accumulate);

/// linalg.index of every loop.
llvm::SmallVector<mlir::Value> loopIndices(ScalarBuilder s, unsigned count);
/// `tensor[indices]` if `condition` holds, or there is none; else `otherwise`.
mlir::Value extractIf(ScalarBuilder s, mlir::Value condition, mlir::Value tensor,
                      mlir::ValueRange indices, mlir::Value otherwise);

} // namespace weft::nn

#endif // WEFT_DIALECTS_NN_IR_NNKERNELS_H
