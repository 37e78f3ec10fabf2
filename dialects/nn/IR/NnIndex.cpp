// Reading and writing by computed indices: checks, factor and partial rules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "dialects/nn/IR/NnIndexing.h"
#include "dialects/nn/IR/NnVerify.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace weft::nn {

using Kind = Factor::Kind;

template <typename Op> static IndexedDims dimsOf(Op op) {
  return {op.getIndexed(), op.getOperandBatch(), op.getIndicesBatch()};
}

IndexedDims indexedDims(GatherOp op) { return dimsOf(op); }
IndexedDims indexedDims(ScatterOp op) { return dimsOf(op); }

SmallVector<int64_t> IndexedDims::windowDims(int64_t operandRank) const {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < operandRank; ++dim)
    if (!llvm::is_contained(indexed, dim) && !llvm::is_contained(operandBatch, dim))
      dims.push_back(dim);
  return dims;
}

SmallVector<int64_t> IndexedDims::pickedShape(ArrayRef<int64_t> operand,
                                              ArrayRef<int64_t> indices) const {
  SmallVector<int64_t> shape(indices.drop_back());
  for (int64_t dim : windowDims(operand.size()))
    shape.push_back(operand[dim]);
  return shape;
}

/// What gather and scatter agree on; the picked shape is checked by the
/// callers.
static LogicalResult verifyIndexing(Operation *op, const IndexedDims &dims,
                                    RankedTensorType operand, RankedTensorType indices) {
  int64_t indicesRank = indices.getRank();
  if (indicesRank < 1)
    return op->emitOpError() << "indices have tensor rank 0, expected at least 1";
  if (indices.getElementType().isInteger(1))
    return op->emitOpError() << "indices have element type bool, expected an integer";
  if (failed(expectDims(op, "indexed", dims.indexed, operand.getRank(),
                        /*sorted=*/false)) ||
      failed(expectDims(op, "operand_batch", dims.operandBatch, operand.getRank(), false)) ||
      failed(expectDims(op, "indices_batch", dims.indicesBatch, indicesRank - 1, false)) ||
      failed(expectCount(op, "indices_batch", dims.indicesBatch.size(), dims.operandBatch.size(),
                         "one for each of operand_batch")))
    return failure();
  for (int64_t dim : dims.operandBatch)
    if (llvm::is_contained(dims.indexed, dim))
      return op->emitOpError() << "dimension " << dim << " is in indexed and in operand_batch";
  int64_t components = indices.getDimSize(indicesRank - 1), expected = dims.indexed.size();
  if (components != expected)
    return op->emitOpError() << "index vectors have " << components << " components, expected "
                             << expected << ": one for each indexed dimension";
  for (auto [dim, indicesDim] : llvm::zip_equal(dims.operandBatch, dims.indicesBatch))
    if (operand.getDimSize(dim) != indices.getDimSize(indicesDim))
      return op->emitOpError() << "batch dimension " << indicesDim << " of the indices has size "
                               << indices.getDimSize(indicesDim) << ", expected "
                               << operand.getDimSize(dim) << " as operand dimension " << dim;
  return success();
}

namespace {
/// The factors of operand, indices and picked elements (the result of a gather,
/// the updates of a scatter).
struct IndexingFactors {
  TensorFactors operand, indices, picked;
};
} // namespace

/// `indexed` is the kind of indexed dims, `positions` that of index dims that
/// are not batch dims.
static IndexingFactors indexingFactors(FactorRule &rule, const IndexedDims &dims, Type operandType,
                                       Type indicesType, Factor indexed, Kind positions) {
  auto operandShape = shapeOf(operandType), indicesShape = shapeOf(indicesType);
  IndexingFactors factors;
  factors.operand.resize(operandShape.size());
  for (auto [component, dim] : llvm::enumerate(dims.indexed)) {
    int factor = rule.add(operandShape[dim], indexed.kind, indexed.reduction);
    rule.factors[factor].indexOperand = 1;
    rule.factors[factor].indexComponent = component;
    factors.operand[dim] = {factor};
  }
  for (auto [dim, size] : llvm::enumerate(indicesShape.drop_back())) {
    auto batch = llvm::find(dims.indicesBatch, static_cast<int64_t>(dim));
    bool isBatch = batch != dims.indicesBatch.end();
    int factor = rule.add(size, isBatch ? Kind::Parallel : positions);
    factors.indices.push_back({factor});
    factors.picked.push_back({factor});
    if (isBatch)
      factors.operand[dims.operandBatch[batch - dims.indicesBatch.begin()]] = {factor};
  }
  factors.indices.push_back({rule.add(indicesShape.back(), Kind::Whole)});
  for (int64_t dim : dims.windowDims(operandShape.size())) {
    factors.operand[dim] = {rule.add(operandShape[dim])};
    factors.picked.push_back(factors.operand[dim]);
  }
  return factors;
}

//===----------------------------------------------------------------------===//
// gather
//===----------------------------------------------------------------------===//

void GatherOp::build(OpBuilder &builder, OperationState &state, Value operand, Value indices,
                     ArrayRef<int64_t> indexed, ArrayRef<int64_t> operandBatch,
                     ArrayRef<int64_t> indicesBatch) {
  auto type = cast<RankedTensorType>(operand.getType());
  IndexedDims dims{indexed, operandBatch, indicesBatch};
  auto shape = dims.pickedShape(type.getShape(), shapeOf(indices.getType()));
  build(builder, state, RankedTensorType::get(shape, type.getElementType()), operand, indices,
        indexed, operandBatch, indicesBatch);
}

LogicalResult GatherOp::verify() {
  auto operand = getOperand().getType(), indices = getIndices().getType();
  IndexedDims dims = indexedDims(*this);
  if (failed(verifyIndexing(*this, dims, operand, indices)) ||
      failed(expectElementType(*this, "result", getType(), operand, "the operand's element type")))
    return failure();
  return expectShape(*this, "result", getType(),
                     dims.pickedShape(operand.getShape(), indices.getShape()),
                     "index dimensions, then the operand's remaining dimensions");
}

/// An index outside a shard reads zero, so the shards' results add up.
FactorRule GatherOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule;
  Factor indexed;
  indexed.kind = Kind::Reduction;
  if (getOperand().getType().getElementType().isInteger(1))
    indexed.reduction = ReduceKind::Or;
  auto factors = indexingFactors(rule, indexedDims(*this), operandTypes[0], operandTypes[1],
                                 indexed, Kind::Parallel);
  rule.operands = {factors.operand, factors.indices};
  rule.results = {factors.picked};
  return rule;
}

SmallVector<PartialRule> GatherOp::getPartialRules(ReduceKind) {
  // Out of range every part reads zero, which combines to zero in all kinds.
  return {{0}};
}

double GatherOp::getFlopsPerPoint() { return 0; }

//===----------------------------------------------------------------------===//
// scatter
//===----------------------------------------------------------------------===//

LogicalResult ScatterOp::verify() {
  auto operand = getOperand().getType(), indices = getIndices().getType();
  IndexedDims dims = indexedDims(*this);
  if (failed(verifyIndexing(*this, dims, operand, indices)) ||
      failed(expectElementType(*this, "updates", getUpdates().getType(), operand,
                               "the operand's element type")) ||
      failed(expectElementType(*this, "result", getType(), operand, "the operand's element type")))
    return failure();
  bool arithmetic = getKind() == ScatterKind::Add || getKind() == ScatterKind::Mul;
  if (arithmetic && operand.getElementType().isInteger(1))
    return emitOpError() << "kind is " << stringifyScatterKind(getKind())
                         << " for bool, expected assign, max or min";
  if (failed(expectShape(*this, "updates", getUpdates().getType(),
                         dims.pickedShape(operand.getShape(), indices.getShape()),
                         "index dimensions, then the operand's remaining dimensions")))
    return failure();
  return expectShape(*this, "result", getType(), operand.getShape(), "the operand's shape");
}

/// True for a constant that is zero everywhere.
static bool isZero(Value value) {
  DenseElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat())
    return false;
  if (isa<FloatType>(constant.getElementType()))
    return constant.getSplatValue<APFloat>().isZero();
  return constant.getSplatValue<APInt>().isZero();
}

/// Every shard of an indexed dim sees all updates and drops those of others.
///
/// Updates that are added to zeros (the gradient of a lookup) may also be split
/// along the index dims: each piece adds its own updates to zeros, and the
/// results add up. With any other operand each piece would count it anew.
FactorRule ScatterOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule;
  bool sums = getKind() == ScatterKind::Add && isZero(getOperand());
  auto factors = indexingFactors(rule, indexedDims(*this), operandTypes[0], operandTypes[1],
                                 Factor(), sums ? Kind::Reduction : Kind::Whole);
  rule.operands = {factors.operand, factors.indices, factors.picked};
  rule.results = {factors.operand};
  return rule;
}

SmallVector<PartialRule> ScatterOp::getPartialRules(ReduceKind kind) {
  auto when = [&](ReduceKind expected) {
    return kind == expected ? SmallVector<PartialRule>{{0, 2}} : SmallVector<PartialRule>();
  };
  switch (getKind()) {
  case ScatterKind::Assign:
    return {{0, 2}};
  case ScatterKind::Add:
    // Zeros are a sum of zeros, so that they need not be partial themselves.
    if (kind == ReduceKind::Sum && isZero(getOperand()))
      return {{0, 2}, {2}};
    return when(ReduceKind::Sum);
  case ScatterKind::Mul:
    return when(ReduceKind::Prod);
  case ScatterKind::Max:
    return when(ReduceKind::Max);
  case ScatterKind::Min:
    return when(ReduceKind::Min);
  }
  llvm_unreachable("scatter kind");
}

double ScatterOp::getFlopsPerPoint() {
  // One operation an update; the rule's points count operand and index
  // positions.
  double points = getOwnFactorRule().points();
  return points == 0 ? 0 : getUpdates().getType().getNumElements() / points;
}

} // namespace weft::nn
