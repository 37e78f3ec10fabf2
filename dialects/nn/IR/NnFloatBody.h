// Bodies of ops on floats, in the type in which they compute.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_NN_IR_NNFLOATBODY_H
#define WEFT_DIALECTS_NN_IR_NNFLOATBODY_H

#include "dialects/nn/IR/NnKernels.h"

namespace weft::nn {

mlir::Value subtract(ScalarBuilder s, mlir::Value a, mlir::Value b);
mlir::Value divide(ScalarBuilder s, mlir::Value a, mlir::Value b);
mlir::Value isEqual(ScalarBuilder s, mlir::Value a, double b);

/// Builds a body in the type in which a composite op computes: f64, or f32 for
/// f32 and smaller floats.
struct FloatBody {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type compute;

  FloatBody(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type element)
      : builder(builder), loc(loc),
        compute(element.isF64() ? element : mlir::Type(builder.getF32Type())) {}

  mlir::RankedTensorType typed(llvm::ArrayRef<int64_t> shape) const {
    return mlir::RankedTensorType::get(shape, compute);
  }

  mlir::Value map(llvm::ArrayRef<int64_t> shape, mlir::ValueRange inputs,
                  llvm::ArrayRef<mlir::AffineMap> maps, BodyFn body) const {
    return buildParallel(builder, loc, typed(shape), inputs, maps, body);
  }

  mlir::Value widen(mlir::Value tensor) const {
    auto type = llvm::cast<mlir::RankedTensorType>(tensor.getType());
    if (type.getElementType() == compute)
      return tensor;
    return map(type.getShape(), tensor, {}, [&](ScalarBuilder s, mlir::ValueRange arguments) {
      return s.roundTo(arguments[0], compute);
    });
  }

  mlir::Value narrow(mlir::Value tensor, mlir::Type resultType) const {
    mlir::RankedTensorType type = bodyType(resultType);
    if (tensor.getType() == type)
      return tensor;
    return buildParallel(builder, loc, type, tensor, {},
                         [&](ScalarBuilder s, mlir::ValueRange arguments) {
                           return s.roundTo(arguments[0], type.getElementType());
                         });
  }

  mlir::Value reduce(ReduceKind kind, mlir::Value tensor, llvm::ArrayRef<int64_t> dims) const {
    return buildReduceDims(builder, loc, kind, tensor, dims, compute);
  }

  /// Names the dims of a space of `rank` dims.
  mlir::AffineMap dims(unsigned rank, llvm::ArrayRef<int64_t> positions) const {
    llvm::SmallVector<mlir::AffineExpr> exprs;
    for (int64_t position : positions)
      exprs.push_back(builder.getAffineDimExpr(position));
    return mlir::AffineMap::get(rank, 0, exprs, builder.getContext());
  }
};

} // namespace weft::nn

#endif // WEFT_DIALECTS_NN_IR_NNFLOATBODY_H
