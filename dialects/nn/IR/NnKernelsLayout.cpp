// Code and views of ops that make, move or look up values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace weft;
using namespace weft::nn;

/// An op each of whose result elements is computed for itself.
#define PARALLEL_IN_ALL_DIMS(OP)                                                                   \
  unsigned OP::getParallelDims() { return getResult().getType().getRank(); }

PARALLEL_IN_ALL_DIMS(ConstantOp)
PARALLEL_IN_ALL_DIMS(IotaOp)
PARALLEL_IN_ALL_DIMS(BroadcastOp)
PARALLEL_IN_ALL_DIMS(ReshapeOp)
PARALLEL_IN_ALL_DIMS(TransposeOp)
PARALLEL_IN_ALL_DIMS(ReverseOp)
PARALLEL_IN_ALL_DIMS(SliceOp)
PARALLEL_IN_ALL_DIMS(ConcatOp)
PARALLEL_IN_ALL_DIMS(PadOp)
PARALLEL_IN_ALL_DIMS(GatherOp)

/// Copies the operand through one affine map of result dims to operand dims.
static SmallVector<Value> buildMapped(OpBuilder &builder, Location loc, Value operand,
                                      Type resultType, ArrayRef<AffineExpr> exprs) {
  RankedTensorType type = bodyType(resultType);
  auto map = AffineMap::get(type.getRank(), 0, exprs, builder.getContext());
  return {buildParallel(builder, loc, type, operand, map,
                        [](ScalarBuilder, ValueRange arguments) { return arguments[0]; })};
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

SmallVector<Value> ConstantOp::buildBody(OpBuilder &builder, Location loc, ValueRange) {
  RankedTensorType type = bodyType(getType());
  DenseElementsAttr dense;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(getValue()))
    dense = DenseElementsAttr::getFromRawBuffer(type, resource.getRawHandle().getBlob()->getData());
  else
    dense =
        DenseElementsAttr::getFromRawBuffer(type, cast<DenseElementsAttr>(getValue()).getRawData());
  return {arith::ConstantOp::create(builder, loc, dense)};
}

SmallVector<Value> IotaOp::buildBody(OpBuilder &builder, Location loc, ValueRange) {
  Type element = elementOf(getResult());
  return {
      buildParallel(builder, loc, bodyType(getType()), {}, {}, [&](ScalarBuilder s, ValueRange) {
        Value number = arith::IndexCastOp::create(s.builder, s.loc, s.builder.getI64Type(),
                                                  linalg::IndexOp::create(s.builder, s.loc, 0));
        return s.cast(number, s.builder.getI64Type(), element);
      })};
}

//===----------------------------------------------------------------------===//
// Re-indexing
//===----------------------------------------------------------------------===//

SmallVector<Value> BroadcastOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  SmallVector<AffineExpr> exprs;
  for (int64_t dim : getDims())
    exprs.push_back(builder.getAffineDimExpr(dim));
  return buildMapped(builder, loc, operands[0], getType(), exprs);
}

bool BroadcastOp::getView(ArrayRef<int64_t> operandStrides, SmallVectorImpl<int64_t> &resultStrides,
                          int64_t &offset) {
  offset = 0;
  resultStrides.assign(getType().getRank(), 0);
  for (auto [dim, stride] : llvm::zip_equal(getDims(), operandStrides))
    resultStrides[dim] = stride;
  return true;
}

SmallVector<Value> ReshapeOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  RankedTensorType type = bodyType(getType());
  Value value = operands[0];
  auto allDims = [](int64_t rank) {
    SmallVector<ReassociationIndices> groups;
    if (rank > 0)
      groups.push_back(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
    return groups;
  };
  auto flat = RankedTensorType::get({type.getNumElements()}, type.getElementType());
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  if (rank == 0)
    value =
        tensor::ExpandShapeOp::create(builder, loc, flat, value, ArrayRef<ReassociationIndices>());
  else if (rank > 1)
    value = tensor::CollapseShapeOp::create(builder, loc, flat, value, allDims(rank));
  if (type.getRank() == 0)
    value = tensor::CollapseShapeOp::create(builder, loc, type, value,
                                            ArrayRef<ReassociationIndices>());
  else if (type.getRank() > 1)
    value = tensor::ExpandShapeOp::create(builder, loc, type, value, allDims(type.getRank()));
  return {value};
}

bool ReshapeOp::getView(ArrayRef<int64_t> operandStrides, SmallVectorImpl<int64_t> &resultStrides,
                        int64_t &offset) {
  ArrayRef<int64_t> from = getOperand().getType().getShape();
  ArrayRef<int64_t> to = getType().getShape();
  offset = 0;
  resultStrides.assign(to.size(), 1);
  if (getType().getNumElements() == 0)
    return true;
  // Walk both shapes from the innermost dim in groups of equal element count;
  // the operand's dims within a group must be contiguous among themselves.
  int64_t i = from.size(), j = to.size();
  while (i > 0 || j > 0) {
    int64_t fromCount = 1, toCount = 1;
    int64_t run = 1; // stride that the next outer operand dim must have
    int64_t innermost = 1;
    bool first = true;
    auto takeFrom = [&] {
      --i;
      if (from[i] != 1) {
        if (first)
          innermost = operandStrides[i];
        else if (operandStrides[i] != run)
          return false;
        first = false;
        run = operandStrides[i] * from[i];
      }
      fromCount *= from[i];
      return true;
    };
    SmallVector<int64_t> group;
    if (i > 0 && !takeFrom())
      return false;
    if (j > 0) {
      group.push_back(--j);
      toCount *= to[j];
    }
    while (fromCount != toCount) {
      if (fromCount < toCount) {
        if (!takeFrom())
          return false;
      } else {
        group.push_back(--j);
        toCount *= to[j];
      }
    }
    int64_t stride = innermost;
    for (int64_t dim : group) {
      resultStrides[dim] = stride;
      stride *= to[dim];
    }
  }
  return true;
}

SmallVector<Value> TransposeOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  SmallVector<AffineExpr> exprs(getPermutation().size());
  for (auto [resultDim, operandDim] : llvm::enumerate(getPermutation()))
    exprs[operandDim] = builder.getAffineDimExpr(resultDim);
  return buildMapped(builder, loc, operands[0], getType(), exprs);
}

bool TransposeOp::getView(ArrayRef<int64_t> operandStrides, SmallVectorImpl<int64_t> &resultStrides,
                          int64_t &offset) {
  offset = 0;
  resultStrides.clear();
  for (int64_t operandDim : getPermutation())
    resultStrides.push_back(operandStrides[operandDim]);
  return true;
}

SmallVector<Value> ReverseOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  SmallVector<AffineExpr> exprs;
  for (auto [dim, size] : llvm::enumerate(getType().getShape())) {
    AffineExpr expr = builder.getAffineDimExpr(dim);
    if (llvm::is_contained(getDims(), int64_t(dim)))
      expr = (size - 1) - expr;
    exprs.push_back(expr);
  }
  return buildMapped(builder, loc, operands[0], getType(), exprs);
}

SmallVector<Value> SliceOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  SmallVector<AffineExpr> exprs;
  for (auto [dim, start] : llvm::enumerate(getStarts()))
    exprs.push_back(builder.getAffineDimExpr(dim) * getStrides()[dim] + start);
  return buildMapped(builder, loc, operands[0], getType(), exprs);
}

bool SliceOp::getView(ArrayRef<int64_t> operandStrides, SmallVectorImpl<int64_t> &resultStrides,
                      int64_t &offset) {
  offset = 0;
  resultStrides.clear();
  for (auto [start, stride, operandStride] :
       llvm::zip_equal(getStarts(), getStrides(), operandStrides)) {
    offset += start * operandStride;
    resultStrides.push_back(stride * operandStride);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Joining and padding
//===----------------------------------------------------------------------===//

/// `value - offset` of an index.
static Value minus(ScalarBuilder s, Value value, int64_t offset) {
  return offset == 0 ? value : s.add(value, s.index(-offset));
}

/// The element of the inputs at `indices`, whose `dim` counts from the start of
/// the first. By halves, so that the code nests no deeper than it must.
static Value concatElement(ScalarBuilder s, ValueRange inputs, SmallVector<Value> indices,
                           int64_t dim) {
  if (inputs.size() == 1)
    return tensor::ExtractOp::create(s.builder, s.loc, inputs[0], indices);
  ValueRange left = inputs.take_front(inputs.size() / 2),
             right = inputs.drop_front(inputs.size() / 2);
  int64_t size = 0;
  for (Value input : left)
    size += cast<RankedTensorType>(input.getType()).getDimSize(dim);
  Value here = arith::CmpIOp::create(s.builder, s.loc, arith::CmpIPredicate::slt, indices[dim],
                                     s.index(size));
  auto branch = scf::IfOp::create(
      s.builder, s.loc, here,
      [&](OpBuilder &nested, Location loc) {
        scf::YieldOp::create(nested, loc,
                             concatElement(ScalarBuilder{nested, loc}, left, indices, dim));
      },
      [&](OpBuilder &nested, Location loc) {
        ScalarBuilder inner{nested, loc};
        SmallVector<Value> shifted = indices;
        shifted[dim] = minus(inner, indices[dim], size);
        scf::YieldOp::create(nested, loc, concatElement(inner, right, shifted, dim));
      });
  return branch.getResult(0);
}

SmallVector<Value> ConcatOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  RankedTensorType type = bodyType(getType());
  // Empty inputs contribute nothing, and nothing may be read of them.
  SmallVector<Value> inputs;
  for (Value operand : operands)
    if (cast<RankedTensorType>(operand.getType()).getNumElements() > 0)
      inputs.push_back(operand);
  if (inputs.empty())
    return {tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType())};
  return {buildParallel(builder, loc, type, {}, {}, [&](ScalarBuilder s, ValueRange) {
    return concatElement(s, inputs, loopIndices(s, type.getRank()), getDim());
  })};
}

SmallVector<Value> PadOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  RankedTensorType type = bodyType(getType());
  auto from = cast<RankedTensorType>(operands[0].getType());
  return {buildParallel(builder, loc, type, {}, {}, [&](ScalarBuilder s, ValueRange) {
    TypedAttr padding = getValue();
    if (auto integer = dyn_cast<IntegerAttr>(padding))
      padding = s.builder.getIntegerAttr(type.getElementType(), integer.getValue());
    Value otherwise = arith::ConstantOp::create(s.builder, s.loc, padding);
    SmallVector<Value> indices = loopIndices(s, type.getRank());
    Value inside;
    for (auto [dim, size] : llvm::enumerate(from.getShape())) {
      if (size == type.getDimSize(dim))
        continue;
      indices[dim] = minus(s, indices[dim], getLow()[dim]);
      // Unsigned, so that one comparison tests both ends.
      Value in = arith::CmpIOp::create(s.builder, s.loc, arith::CmpIPredicate::ult, indices[dim],
                                       s.index(size));
      inside = inside ? arith::AndIOp::create(s.builder, s.loc, inside, in).getResult() : in;
    }
    if (from.getNumElements() == 0)
      return otherwise;
    if (!inside)
      return tensor::ExtractOp::create(s.builder, s.loc, operands[0], indices).getResult();
    return extractIf(s, inside, operands[0], indices, otherwise);
  })};
}
