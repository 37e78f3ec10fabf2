// Folds of layout ops, and the folding of any op over small constants.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnFold.h"
#include "dialects/nn/IR/Nn.h"

#include <numeric>

using namespace mlir;

namespace weft::nn {

/// With an encoding a type says where the value is. Values of one type may
/// stand for each other, but chains are not merged then: the middle placement
/// is part of the program.
static bool isPlaced(Type type) {
  return static_cast<bool>(cast<RankedTensorType>(type).getEncoding());
}

/// The op that defines `op`'s only operand if it is of the same kind and both
/// may be merged.
template <typename Op> static Op mergeable(Op op) {
  auto inner = op.getOperand().template getDefiningOp<Op>();
  if (!inner || isPlaced(op.getType()) || isPlaced(inner.getType()) ||
      isPlaced(inner.getOperand().getType()))
    return {};
  return inner;
}

static OpFoldResult resizedSplat(Attribute constant, RankedTensorType type) {
  auto splat = dyn_cast_or_null<SplatElementsAttr>(constant);
  if (!splat || isPlaced(type))
    return {};
  return splat.resizeSplat(type);
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto inner = mergeable(*this)) {
    SmallVector<int64_t> dims;
    for (int64_t dim : inner.getDims())
      dims.push_back(getDims()[dim]);
    setDims(dims);
    setOperand(inner.getOperand());
    return getResult();
  }
  return resizedSplat(adaptor.getOperand(), getType());
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto inner = mergeable(*this)) {
    setOperand(inner.getOperand());
    return getResult();
  }
  auto constant = dyn_cast_or_null<DenseElementsAttr>(adaptor.getOperand());
  if (!constant || isPlaced(getType()))
    return {};
  return constant.reshape(getType());
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType() && llvm::is_sorted(getPermutation()))
    return getOperand();
  if (auto inner = mergeable(*this)) {
    SmallVector<int64_t> permutation;
    for (int64_t dim : getPermutation())
      permutation.push_back(inner.getPermutation()[dim]);
    setPermutation(permutation);
    setOperand(inner.getOperand());
    return getResult();
  }
  return resizedSplat(adaptor.getOperand(), getType());
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  // Equal shapes leave no room for another start, and for another stride only
  // where the size is at most one.
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto inner = mergeable(*this)) {
    SmallVector<int64_t> starts, strides;
    for (auto [start, stride, innerStart, innerStride] :
         llvm::zip_equal(getStarts(), getStrides(), inner.getStarts(), inner.getStrides())) {
      starts.push_back(innerStart + start * innerStride);
      strides.push_back(stride * innerStride);
    }
    setStarts(starts);
    setStrides(strides);
    setOperand(inner.getOperand());
    return getResult();
  }
  return resizedSplat(adaptor.getOperand(), getType());
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getInputs().size() == 1 && getInputs()[0].getType() == getType())
    return getInputs()[0];
  return {};
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

LogicalResult foldByReference(Operation *op, ArrayRef<Attribute> constants, int64_t limit,
                              SmallVectorImpl<Attribute> &results) {
  auto reference = dyn_cast<ReferenceOpInterface>(op);
  if (!reference)
    return failure();
  int64_t elements = 0;
  for (Type type : llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()),
                                            SmallVector<Type>(op->getResultTypes()))) {
    auto ranked = dyn_cast<RankedTensorType>(type);
    if (!ranked || !ranked.hasStaticShape() || isPlaced(ranked))
      return failure();
    elements = std::max(elements, ranked.getNumElements());
  }
  if (elements > limit)
    return failure();
  SmallVector<HostTensor> operands;
  for (Attribute constant : constants) {
    auto value = dyn_cast_or_null<DenseElementsAttr>(constant);
    if (!value)
      return failure();
    operands.push_back(toHostTensor(value));
  }
  // A window may be larger than all that it is laid over.
  if (auto shardable = dyn_cast<ShardableOpInterface>(op))
    if (shardable.getOwnFactorRule().points() * shardable.getFlopsPerPoint() > kFoldWork)
      return failure();
  for (HostTensor &result : reference.evaluate(operands)) {
    roundToOwnType(result);
    results.push_back(toElementsAttr(result));
  }
  return success();
}

/// One number at every index gives one number at every index, however many
/// there are.
static DenseElementsAttr foldSplats(ElementwiseOpInterface op, ArrayRef<Attribute> constants) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (isPlaced(type) || !type.hasStaticShape())
    return {};
  auto oneOf = [](RankedTensorType type) {
    return RankedTensorType::get({}, type.getElementType());
  };
  SmallVector<Scalar> scalars;
  for (Attribute constant : constants) {
    auto value = dyn_cast_or_null<DenseElementsAttr>(constant);
    if (!value || !value.isSplat() || value.getNumElements() == 0)
      return {};
    auto operandType = cast<RankedTensorType>(value.getType());
    scalars.push_back(toHostTensor(value.resizeSplat(oneOf(operandType))).at(0));
  }
  HostTensor result(oneOf(type));
  result.set(0, op.evaluateScalar(scalars));
  roundToOwnType(result);
  return toElementsAttr(result).resizeSplat(type);
}

LogicalResult FoldInterface::fold(Operation *op, ArrayRef<Attribute> operands,
                                  SmallVectorImpl<OpFoldResult> &results) const {
  // An op without operands is as small as its constant would be, and a constant
  // that is repeated takes more bytes than it and the op.
  if (operands.empty() || isa<BroadcastOp>(op))
    return failure();
  if (auto elementwise = dyn_cast<ElementwiseOpInterface>(op))
    if (DenseElementsAttr splat = foldSplats(elementwise, operands)) {
      results.push_back(splat);
      return success();
    }
  SmallVector<Attribute> values;
  if (failed(foldByReference(op, operands, kFoldLimit, values)))
    return failure();
  results.append(values.begin(), values.end());
  return success();
}

} // namespace weft::nn
