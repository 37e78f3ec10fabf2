// Reductions, windows, scans and orders: checks, factor and partial rules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "dialects/nn/IR/NnVerify.h"

#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;

namespace weft::nn {

using Kind = Factor::Kind;

/// Shared rule of ops that keep the shape but need some dims whole.
static FactorRule sameShapeRule(Type type, ArrayRef<int64_t> wholeDims) {
  FactorRule rule = elementwiseRule(type, type);
  for (int64_t dim : wholeDims)
    rule.factors[rule.results[0][dim].front()].kind = Kind::Whole;
  return rule;
}

static bool isOrdered(ReduceKind kind) {
  return kind == ReduceKind::Max || kind == ReduceKind::Min;
}

/// Numbers are summed, multiplied and ordered; bools and other integers are
/// also combined by logic.
static LogicalResult expectKind(Operation *op, ReduceKind kind, Type type, bool onlyOrder = false) {
  Type element = getElementTypeOrSelf(type);
  bool logic = kind == ReduceKind::And || kind == ReduceKind::Or;
  if (onlyOrder && !isOrdered(kind))
    return op->emitOpError() << "kind is " << stringifyReduceKind(kind) << ", expected max or min";
  if (logic && isa<FloatType>(element))
    return op->emitOpError() << "kind is " << stringifyReduceKind(kind) << " for element type "
                             << element << ", expected an integer or bool";
  if ((kind == ReduceKind::Sum || kind == ReduceKind::Prod) && element.isInteger(1))
    return op->emitOpError() << "kind is " << stringifyReduceKind(kind)
                             << " for bool, expected and, or, max or min";
  return success();
}

static SmallVector<PartialRule> sameKindRules(ReduceKind own, ReduceKind asked) {
  if (own != asked)
    return {};
  return {{0}};
}

static SmallVector<int64_t> without(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> rest;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      rest.push_back(size);
  return rest;
}

//===----------------------------------------------------------------------===//
// reduce, arg_reduce
//===----------------------------------------------------------------------===//

void ReduceOp::build(OpBuilder &builder, OperationState &state, ReduceKind kind, Value operand,
                     ArrayRef<int64_t> dims) {
  auto type = cast<RankedTensorType>(operand.getType());
  build(builder, state,
        RankedTensorType::get(without(type.getShape(), dims), type.getElementType()), kind, operand,
        builder.getDenseI64ArrayAttr(dims));
}

LogicalResult ReduceOp::verify() {
  auto from = getOperand().getType();
  if (failed(expectDims(*this, "dims", getDims(), from.getRank(),
                        /*sorted=*/true)) ||
      failed(expectKind(*this, getKind(), from)) ||
      failed(expectElementType(*this, "result", getType(), from, "the operand's element type")))
    return failure();
  return expectShape(*this, "result", getType(), without(from.getShape(), getDims()),
                     "the operand's shape without the reduced dimensions");
}

FactorRule ReduceOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule;
  TensorFactors operand, result;
  for (auto [dim, size] : llvm::enumerate(shapeOf(operandTypes[0]))) {
    bool reduced = llvm::is_contained(getDims(), static_cast<int64_t>(dim));
    operand.push_back({rule.add(size, reduced ? Kind::Reduction : Kind::Parallel, getKind())});
    if (!reduced)
      result.push_back(operand.back());
  }
  rule.operands = {operand};
  rule.results = {result};
  return rule;
}

SmallVector<PartialRule> ReduceOp::getPartialRules(ReduceKind kind) {
  return sameKindRules(getKind(), kind);
}

LogicalResult ArgReduceOp::verify() {
  auto from = getOperand().getType();
  int64_t dim = getDim();
  if (failed(expectRange(*this, "dim", dim, 0, from.getRank())) ||
      failed(expectKind(*this, getKind(), from, /*onlyOrder=*/true)))
    return failure();
  if (from.getDimSize(dim) == 0)
    return emitOpError() << "operand dimension " << dim << " has size 0, expected at least 1";
  if (failed(expectElementType(*this, "result", getType(), IntegerType::get(getContext(), 64),
                               "the type of indices")))
    return failure();
  return expectShape(*this, "result", getType(), without(from.getShape(), dim),
                     "the operand's shape without the reduced dimension");
}

FactorRule ArgReduceOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule = sameShapeRule(operandTypes[0], static_cast<int64_t>(getDim()));
  rule.results[0].erase(rule.results[0].begin() + getDim());
  return rule;
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Geometry that reduce_window and arg_window share.
template <typename Op> static LogicalResult verifyWindow(Op op) {
  auto from = op.getOperand().getType();
  int64_t windowed = op.getWindow().size(), leading = from.getRank() - windowed;
  if (leading < 0)
    return op.emitOpError() << "window has " << windowed
                            << " entries, expected at most the operand's tensor rank "
                            << from.getRank();
  std::pair<StringRef, ArrayRef<int64_t>> lists[] = {{"strides", op.getStrides()},
                                                     {"pad_low", op.getPadLow()},
                                                     {"pad_high", op.getPadHigh()},
                                                     {"dilations", op.getDilations()}};
  for (auto [name, values] : lists)
    if (failed(expectCount(op, name, values.size(), windowed, "one for each windowed dimension")) ||
        failed(expectAtLeast(op, name, values, name.starts_with("pad") ? 0 : 1)))
      return failure();
  if (failed(expectAtLeast(op, "window", op.getWindow(), 1)))
    return failure();
  SmallVector<int64_t> expected(from.getShape().take_front(leading));
  for (int64_t i = 0; i < windowed; ++i) {
    int64_t reach = (op.getWindow()[i] - 1) * op.getDilations()[i] + 1;
    int64_t extent = from.getDimSize(leading + i) + op.getPadLow()[i] + op.getPadHigh()[i];
    if (extent < reach)
      return op.emitOpError() << "window reaches over " << reach << " elements of dimension "
                              << leading + i << ", expected at most " << extent
                              << ": the operand's size with padding";
    expected.push_back((extent - reach) / op.getStrides()[i] + 1);
  }
  return expectShape(op, "result", op.getType(), expected,
                     "(size + pads - reach) / stride + 1 in every windowed dimension");
}

/// Leading dims are free; so is a windowed dim that `isFree` says is left as it
/// is.
template <typename Op>
static FactorRule windowRule(Op op, TypeRange operandTypes, TypeRange resultTypes,
                             llvm::function_ref<bool(int64_t)> isFree) {
  FactorRule rule;
  auto from = shapeOf(operandTypes[0]), to = shapeOf(resultTypes[0]);
  int64_t leading = from.size() - op.getWindow().size();
  TensorFactors operand, result;
  for (int64_t dim = 0, e = from.size(); dim < e; ++dim) {
    if (dim < leading || isFree(dim - leading)) {
      operand.push_back({rule.add(from[dim])});
      result.push_back(operand.back());
    } else {
      operand.push_back({rule.add(from[dim], Kind::Whole)});
      result.push_back({rule.add(to[dim], Kind::Whole)});
    }
  }
  rule.operands = {operand};
  rule.results = {result};
  return rule;
}

/// One operation an element of each window; the rule's points count operand and
/// result positions apart from each other.
template <typename Op> static double windowFlopsPerPoint(Op op) {
  double points = op.getOwnFactorRule().points(), work = op.getType().getNumElements();
  for (int64_t size : op.getWindow())
    work *= size;
  return points == 0 ? 0 : work / points;
}

double ReduceWindowOp::getFlopsPerPoint() { return windowFlopsPerPoint(*this); }
double ArgWindowOp::getFlopsPerPoint() { return windowFlopsPerPoint(*this); }

LogicalResult ReduceWindowOp::verify() {
  auto from = getOperand().getType();
  if (getKind() == ReduceKind::And || getKind() == ReduceKind::Or)
    return emitOpError() << "kind is " << stringifyReduceKind(getKind())
                         << ", expected sum, prod, max or min";
  if (failed(expectKind(*this, getKind(), from)) ||
      failed(expectElementType(*this, "result", getType(), from, "the operand's element type")))
    return failure();
  return verifyWindow(*this);
}

FactorRule ReduceWindowOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  return windowRule(*this, operandTypes, resultTypes, [&](int64_t i) {
    return getWindow()[i] == 1 && getStrides()[i] == 1 && getPadLow()[i] == 0 &&
           getPadHigh()[i] == 0;
  });
}

SmallVector<PartialRule> ReduceWindowOp::getPartialRules(ReduceKind kind) {
  return sameKindRules(getKind(), kind);
}

LogicalResult ArgWindowOp::verify() {
  if (failed(expectElementType(*this, "result", getType(), IntegerType::get(getContext(), 64),
                               "the type of indices")))
    return failure();
  return verifyWindow(*this);
}

FactorRule ArgWindowOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  // The index counts over all windowed dims, so none of them may be cut.
  return windowRule(*this, operandTypes, resultTypes, [](int64_t) { return false; });
}

//===----------------------------------------------------------------------===//
// scan, top_k
//===----------------------------------------------------------------------===//

LogicalResult ScanOp::verify() {
  auto from = getOperand().getType();
  if (getKind() == ReduceKind::And || getKind() == ReduceKind::Or)
    return emitOpError() << "kind is " << stringifyReduceKind(getKind())
                         << ", expected sum, prod, max or min";
  if (failed(expectRange(*this, "dim", getDim(), 0, from.getRank())) ||
      failed(expectKind(*this, getKind(), from)) ||
      failed(expectElementType(*this, "result", getType(), from, "the operand's element type")))
    return failure();
  return expectShape(*this, "result", getType(), from.getShape(), "the operand's shape");
}

FactorRule ScanOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  return sameShapeRule(operandTypes[0], static_cast<int64_t>(getDim()));
}

SmallVector<PartialRule> ScanOp::getPartialRules(ReduceKind kind) {
  return sameKindRules(getKind(), kind);
}

LogicalResult TopKOp::verify() {
  auto from = getOperand().getType(), values = getValues().getType();
  int64_t dim = getDim();
  if (failed(expectRange(*this, "dim", dim, 0, from.getRank())) ||
      failed(expectElementType(*this, "result 0", values, from, "the operand's element type")) ||
      failed(expectElementType(*this, "result 1", getIndices().getType(),
                               IntegerType::get(getContext(), 64), "the type of indices")))
    return failure();
  SmallVector<int64_t> expected(from.getShape());
  if (values.getRank() == from.getRank())
    expected[dim] = values.getDimSize(dim);
  if (failed(expectShape(*this, "result 0", values, expected,
                         "the operand's sizes but for dimension " + Twine(dim))) ||
      failed(expectShape(*this, "result 1", getIndices().getType(), values.getShape(),
                         "the shape of result 0")))
    return failure();
  if (values.getDimSize(dim) > from.getDimSize(dim))
    return emitOpError() << "takes " << values.getDimSize(dim) << " elements of dimension " << dim
                         << ", expected at most " << from.getDimSize(dim);
  return success();
}

double TopKOp::getFlopsPerPoint() {
  // A sort of every row; the rule's points count operand and result positions.
  double points = getOwnFactorRule().points();
  double size = getOperand().getType().getDimSize(getDim());
  double elements = getOperand().getType().getNumElements();
  return points == 0 ? 0 : elements * std::log2(size + 1) / points;
}

FactorRule TopKOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule = sameShapeRule(operandTypes[0], static_cast<int64_t>(getDim()));
  rule.results[0][getDim()] = {rule.add(shapeOf(resultTypes[0])[getDim()], Kind::Whole)};
  rule.results.push_back(rule.results[0]);
  return rule;
}

} // namespace weft::nn
