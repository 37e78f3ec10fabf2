// Ops that make or move values: checks, builders, factor and partial rules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "dialects/nn/IR/NnVerify.h"

#include <numeric>

using namespace mlir;

namespace weft::nn {

using Kind = Factor::Kind;

/// A factor a dimension, in order.
static TensorFactors factorsOf(FactorRule &rule, ArrayRef<int64_t> shape,
                               Kind kind = Kind::Parallel) {
  TensorFactors dims;
  for (int64_t size : shape)
    dims.push_back({rule.add(size, kind)});
  return dims;
}

/// Rule of an op that moves whole blocks of `unit` elements along a dim: the
/// block is parallel, the number of blocks whole. `parallel` is the factor of
/// the block, shared by all tensors concerned.
static DimFactors blocks(FactorRule &rule, int64_t size, int64_t unit, int parallel) {
  if (size == unit)
    return {parallel};
  return {rule.add(size / unit, Kind::Whole), parallel};
}

/// An attribute counted in elements, read at types of other sizes than the
/// op's.
static int64_t scaled(int64_t value, int64_t ownSize, int64_t givenSize) {
  return ownSize == 0 ? value : value * givenSize / ownSize;
}

static SmallVector<PartialRule> firstOperandAlone() { return {{0}}; }

//===----------------------------------------------------------------------===//
// constant, iota
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  if (!isa<DenseElementsAttr>(getValue()))
    return emitOpError("value holds no elements, expected a dense constant");
  auto valueType = getValue().getShapedType();
  if (failed(expectElementType(*this, "value", valueType, getType(), "the result's element type")))
    return failure();
  if (valueType.getShape() != getType().getShape())
    return emitOpError() << "value has shape " << shapeText(valueType.getShape()) << ", expected "
                         << shapeText(getType().getShape()) << ": the result's shape";
  return success();
}

FactorRule ConstantOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule;
  rule.results.push_back(factorsOf(rule, shapeOf(resultTypes[0]),
                                   getValue().isSplat() ? Kind::Parallel : Kind::Whole));
  return rule;
}

void ConstantOp::localizeAttributes(TypeRange, TypeRange) {
  auto splat = dyn_cast<SplatElementsAttr>(getValue());
  if (!splat)
    return;
  auto type = RankedTensorType::get(getType().getShape(), getType().getElementType());
  setValueAttr(splat.resizeSplat(type));
}

double ConstantOp::getFlopsPerPoint() { return 0; }

LogicalResult IotaOp::verify() {
  if (getType().getRank() != 1)
    return emitOpError() << "result has tensor rank " << getType().getRank() << ", expected 1";
  return success();
}

FactorRule IotaOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule;
  rule.results.push_back(factorsOf(rule, shapeOf(resultTypes[0]), Kind::Whole));
  return rule;
}

double IotaOp::getFlopsPerPoint() { return 0; }

//===----------------------------------------------------------------------===//
// broadcast
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  auto from = getOperand().getType();
  if (failed(expectCount(*this, "dims", getDims().size(), from.getRank(),
                         "one for each operand dimension")) ||
      failed(expectDims(*this, "dims", getDims(), getType().getRank(),
                        /*sorted=*/true)) ||
      failed(expectElementType(*this, "result", getType(), from, "the operand's element type")))
    return failure();
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (from.getDimSize(i) != getType().getDimSize(dim))
      return emitOpError() << "result dimension " << dim << " has size "
                           << getType().getDimSize(dim) << ", expected " << from.getDimSize(i)
                           << ": the size of operand dimension " << i;
  return success();
}

FactorRule BroadcastOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule;
  TensorFactors result = factorsOf(rule, shapeOf(resultTypes[0]));
  TensorFactors operand;
  for (int64_t dim : getDims())
    operand.push_back(result[dim]);
  rule.operands.push_back(operand);
  rule.results.push_back(result);
  return rule;
}

SmallVector<PartialRule> BroadcastOp::getPartialRules(ReduceKind) { return firstOperandAlone(); }
double BroadcastOp::getFlopsPerPoint() { return 0; }

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  auto from = getOperand().getType();
  if (failed(expectElementType(*this, "result", getType(), from, "the operand's element type")))
    return failure();
  if (from.getNumElements() != getType().getNumElements())
    return emitOpError() << "result of shape " << shapeText(getType().getShape()) << " has "
                         << getType().getNumElements() << " elements, expected "
                         << from.getNumElements() << " as the operand of shape "
                         << shapeText(from.getShape());
  return success();
}

FactorRule ReshapeOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule;
  rule.operands.emplace_back();
  rule.results.emplace_back();
  refineShapes(shapeOf(operandTypes[0]), shapeOf(resultTypes[0]), rule, rule.operands[0],
               rule.results[0]);
  return rule;
}

SmallVector<PartialRule> ReshapeOp::getPartialRules(ReduceKind) { return firstOperandAlone(); }
double ReshapeOp::getFlopsPerPoint() { return 0; }

//===----------------------------------------------------------------------===//
// transpose, reverse
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> permuted(ArrayRef<int64_t> shape, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> result;
  for (int64_t dim : permutation)
    result.push_back(shape[dim]);
  return result;
}

void TransposeOp::build(OpBuilder &builder, OperationState &state, Value operand,
                        ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(operand.getType());
  build(builder, state,
        RankedTensorType::get(permuted(type.getShape(), permutation), type.getElementType()),
        operand, builder.getDenseI64ArrayAttr(permutation));
}

LogicalResult TransposeOp::verify() {
  auto from = getOperand().getType();
  if (failed(expectCount(*this, "permutation", getPermutation().size(), from.getRank(),
                         "one for each operand dimension")) ||
      failed(expectDims(*this, "permutation", getPermutation(), from.getRank(),
                        /*sorted=*/false)) ||
      failed(expectElementType(*this, "result", getType(), from, "the operand's element type")))
    return failure();
  return expectShape(*this, "result", getType(), permuted(from.getShape(), getPermutation()),
                     "the permuted shape of the operand");
}

FactorRule TransposeOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule;
  TensorFactors operand = factorsOf(rule, shapeOf(operandTypes[0])), result;
  for (int64_t dim : getPermutation())
    result.push_back(operand[dim]);
  rule.operands.push_back(operand);
  rule.results.push_back(result);
  return rule;
}

SmallVector<PartialRule> TransposeOp::getPartialRules(ReduceKind) { return firstOperandAlone(); }
double TransposeOp::getFlopsPerPoint() { return 0; }

LogicalResult ReverseOp::verify() {
  auto from = getOperand().getType();
  if (failed(expectDims(*this, "dims", getDims(), from.getRank(),
                        /*sorted=*/false)) ||
      failed(expectElementType(*this, "result", getType(), from, "the operand's element type")))
    return failure();
  return expectShape(*this, "result", getType(), from.getShape(), "the operand's shape");
}

FactorRule ReverseOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule;
  TensorFactors dims = factorsOf(rule, shapeOf(operandTypes[0]));
  for (int64_t dim : getDims())
    rule.factors[dims[dim].front()].kind = Kind::Whole;
  rule.operands.push_back(dims);
  rule.results.push_back(dims);
  return rule;
}

SmallVector<PartialRule> ReverseOp::getPartialRules(ReduceKind) { return firstOperandAlone(); }
double ReverseOp::getFlopsPerPoint() { return 0; }

//===----------------------------------------------------------------------===//
// slice
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  auto from = getOperand().getType();
  int64_t tensorRank = from.getRank();
  if (failed(expectCount(*this, "starts", getStarts().size(), tensorRank,
                         "one for each operand dimension")) ||
      failed(expectCount(*this, "strides", getStrides().size(), tensorRank,
                         "one for each operand dimension")) ||
      failed(expectAtLeast(*this, "starts", getStarts(), 0)) ||
      failed(expectAtLeast(*this, "strides", getStrides(), 1)) ||
      failed(expectElementType(*this, "result", getType(), from, "the operand's element type")))
    return failure();
  if (getType().getRank() != tensorRank)
    return emitOpError() << "result has tensor rank " << getType().getRank() << ", expected "
                         << tensorRank << " as the operand";
  for (int64_t dim = 0; dim < tensorRank; ++dim) {
    int64_t size = getType().getDimSize(dim);
    int64_t last = getStarts()[dim] + (size - 1) * getStrides()[dim];
    if (size > 0 && last >= from.getDimSize(dim))
      return emitOpError() << "dimension " << dim << " reads index " << last
                           << ", expected less than " << from.getDimSize(dim)
                           << ": the operand's size";
  }
  return success();
}

/// A dim whose start, size and extent are multiples of a block is that many
/// whole blocks: the three heads' slices of a fused `(3)(h d)` weight leave `(h
/// d)` free.
FactorRule SliceOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule;
  TensorFactors operand, result;
  auto from = shapeOf(operandTypes[0]), to = shapeOf(resultTypes[0]);
  for (auto [dim, size] : llvm::enumerate(to)) {
    int64_t start = scaled(getStarts()[dim], getType().getDimSize(dim), size);
    int64_t unit = std::gcd(std::gcd(start, size), from[dim]);
    bool contiguous = getStrides()[dim] == 1 || size == from[dim];
    if (contiguous && (size > 0 || from[dim] == 0)) {
      int block = rule.add(unit);
      operand.push_back(unit ? blocks(rule, from[dim], unit, block) : DimFactors{block});
      result.push_back(unit ? blocks(rule, size, unit, block) : DimFactors{block});
    } else {
      operand.push_back({rule.add(from[dim], Kind::Whole)});
      result.push_back({rule.add(size, Kind::Whole)});
    }
  }
  rule.operands.push_back(operand);
  rule.results.push_back(result);
  return rule;
}

SmallVector<PartialRule> SliceOp::getPartialRules(ReduceKind) { return firstOperandAlone(); }

void SliceOp::localizeAttributes(TypeRange, TypeRange globalResultTypes) {
  SmallVector<int64_t> starts;
  for (auto [start, own, local] :
       llvm::zip_equal(getStarts(), shapeOf(globalResultTypes[0]), getType().getShape()))
    starts.push_back(scaled(start, own, local));
  setStarts(starts);
}

double SliceOp::getFlopsPerPoint() { return 0; }

//===----------------------------------------------------------------------===//
// concat
//===----------------------------------------------------------------------===//

void ConcatOp::build(OpBuilder &builder, OperationState &state, ValueRange inputs, int64_t dim) {
  auto first = cast<RankedTensorType>(inputs.front().getType());
  SmallVector<int64_t> shape(first.getShape());
  for (Value input : inputs.drop_front())
    shape[dim] += cast<RankedTensorType>(input.getType()).getDimSize(dim);
  build(builder, state, RankedTensorType::get(shape, first.getElementType()), inputs,
        builder.getI64IntegerAttr(dim));
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError("has no inputs, expected at least one");
  int64_t dim = getDim();
  if (failed(expectRange(*this, "dim", dim, 0, getType().getRank())))
    return failure();
  int64_t sum = 0;
  for (auto [index, type] : llvm::enumerate(getInputs().getTypes())) {
    std::string what = "input " + std::to_string(index);
    if (failed(expectElementType(*this, what, type, getType(), "the result's element type")))
      return failure();
    SmallVector<int64_t> expected(getType().getShape());
    if (shapeOf(type).size() == expected.size())
      expected[dim] = shapeOf(type)[dim];
    if (failed(expectShape(*this, what, type, expected,
                           "the result's sizes but for dimension " + Twine(dim))))
      return failure();
    sum += shapeOf(type)[dim];
  }
  if (sum != getType().getDimSize(dim))
    return emitOpError() << "result dimension " << dim << " has size " << getType().getDimSize(dim)
                         << ", expected " << sum << ": the sum of the inputs' sizes";
  return success();
}

FactorRule ConcatOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule;
  int64_t dim = getDim(), unit = 0;
  for (Type type : operandTypes)
    unit = std::gcd(unit, shapeOf(type)[dim]);
  TensorFactors result;
  for (auto [i, size] : llvm::enumerate(shapeOf(resultTypes[0])))
    result.push_back({rule.add(static_cast<int64_t>(i) == dim ? unit : size)});
  int block = result[dim].front();
  for (Type type : operandTypes) {
    TensorFactors operand = result;
    if (unit)
      operand[dim] = blocks(rule, shapeOf(type)[dim], unit, block);
    rule.operands.push_back(operand);
  }
  if (unit)
    result[dim] = blocks(rule, shapeOf(resultTypes[0])[dim], unit, block);
  rule.results.push_back(result);
  return rule;
}

SmallVector<PartialRule> ConcatOp::getPartialRules(ReduceKind) {
  return {llvm::to_vector<2>(llvm::seq<unsigned>(0, getInputs().size()))};
}

double ConcatOp::getFlopsPerPoint() { return 0; }

//===----------------------------------------------------------------------===//
// pad
//===----------------------------------------------------------------------===//

LogicalResult PadOp::verify() {
  if (!isa<FloatAttr, IntegerAttr>(getValue()))
    return emitOpError() << "value is " << getValue() << ", expected one number";
  auto from = getOperand().getType();
  if (failed(expectCount(*this, "low", getLow().size(), from.getRank(),
                         "one for each operand dimension")) ||
      failed(expectCount(*this, "high", getHigh().size(), from.getRank(),
                         "one for each operand dimension")) ||
      failed(expectAtLeast(*this, "low", getLow(), 0)) ||
      failed(expectAtLeast(*this, "high", getHigh(), 0)) ||
      failed(expectElementType(*this, "value", getValue().getType(), from,
                               "the operand's element type")) ||
      failed(expectElementType(*this, "result", getType(), from, "the operand's element type")))
    return failure();
  SmallVector<int64_t> expected;
  for (auto [size, low, high] : llvm::zip_equal(from.getShape(), getLow(), getHigh()))
    expected.push_back(low + size + high);
  return expectShape(*this, "result", getType(), expected, "low + size + high in every dimension");
}

/// As slice, whose gradient it is: padding by whole blocks leaves the block
/// free.
FactorRule PadOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule;
  TensorFactors operand, result;
  auto from = shapeOf(operandTypes[0]), to = shapeOf(resultTypes[0]);
  for (auto [dim, size] : llvm::enumerate(from)) {
    int64_t low = scaled(getLow()[dim], getOperand().getType().getDimSize(dim), size);
    int64_t unit = std::gcd(std::gcd(low, size), to[dim]);
    if (size > 0 || to[dim] == 0) {
      int block = rule.add(unit);
      operand.push_back(unit ? blocks(rule, size, unit, block) : DimFactors{block});
      result.push_back(unit ? blocks(rule, to[dim], unit, block) : DimFactors{block});
    } else {
      operand.push_back({rule.add(size, Kind::Whole)});
      result.push_back({rule.add(to[dim], Kind::Whole)});
    }
  }
  rule.operands.push_back(operand);
  rule.results.push_back(result);
  return rule;
}

static bool isPadValue(Attribute value, double expected) {
  if (auto real = dyn_cast<FloatAttr>(value))
    return real.getValueAsDouble() == expected;
  auto integer = dyn_cast<IntegerAttr>(value);
  return integer && integer.getValue() == static_cast<uint64_t>(expected);
}

SmallVector<PartialRule> PadOp::getPartialRules(ReduceKind kind) {
  // The border of every part must combine to the border of the whole.
  bool commutes = true;
  if (kind == ReduceKind::Sum)
    commutes = isPadValue(getValue(), 0);
  if (kind == ReduceKind::Prod)
    commutes = isPadValue(getValue(), 0) || isPadValue(getValue(), 1);
  return commutes ? firstOperandAlone() : SmallVector<PartialRule>();
}

void PadOp::localizeAttributes(TypeRange globalOperandTypes, TypeRange) {
  SmallVector<int64_t> low, high;
  for (auto [dim, own] : llvm::enumerate(shapeOf(globalOperandTypes[0]))) {
    int64_t local = getOperand().getType().getDimSize(dim);
    low.push_back(scaled(getLow()[dim], own, local));
    high.push_back(scaled(getHigh()[dim], own, local));
  }
  setLow(low);
  setHigh(high);
}

double PadOp::getFlopsPerPoint() { return 0; }

} // namespace weft::nn
