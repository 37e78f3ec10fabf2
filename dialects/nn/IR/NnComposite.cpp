// Idioms that stay one op: checks, factor and partial rules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "dialects/nn/IR/NnVerify.h"

using namespace mlir;

namespace weft::nn {

using Kind = Factor::Kind;

static SmallVector<PartialRule> whenSum(ReduceKind kind, SmallVector<PartialRule> rules) {
  return kind == ReduceKind::Sum ? std::move(rules) : SmallVector<PartialRule>();
}

//===----------------------------------------------------------------------===//
// softmax, layer_norm, rms_norm
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxOp::verify() {
  auto from = getOperand().getType();
  if (failed(expectRange(*this, "dim", getDim(), 0, from.getRank())) ||
      failed(expectElementType(*this, "result", getType(), from, "the operand's element type")))
    return failure();
  return expectShape(*this, "result", getType(), from.getShape(), "the operand's shape");
}

FactorRule SoftmaxOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule = elementwiseRule(operandTypes, resultTypes);
  rule.factors[rule.results[0][getDim()].front()].kind = Kind::Whole;
  return rule;
}

double SoftmaxOp::getFlopsPerPoint() { return 12; }

/// Dims from `dim` to the last are normalised; the parameters have their shape.
template <typename Op> static LogicalResult verifyNorm(Op op, Value scale, Value bias) {
  auto from = op.getOperand().getType();
  int64_t dim = op.getDim();
  if (failed(expectRange(op, "dim", dim, 0, from.getRank())))
    return failure();
  for (auto [what, value] : {std::pair<StringRef, Value>{"scale", scale}, {"bias", bias}})
    if (value &&
        (failed(expectElementType(op, what, value.getType(), from, "the operand's element type")) ||
         failed(expectShape(op, what, value.getType(), from.getShape().drop_front(dim),
                            "the normalised dimensions"))))
      return failure();
  if (failed(expectElementType(op, "result", op.getType(), from, "the operand's element type")))
    return failure();
  return expectShape(op, "result", op.getType(), from.getShape(), "the operand's shape");
}

static FactorRule normRule(int64_t dim, TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule = elementwiseRule(operandTypes, resultTypes);
  TensorFactors parameter(llvm::drop_begin(rule.results[0], dim));
  for (const DimFactors &factors : parameter)
    rule.factors[factors.front()].kind = Kind::Whole;
  for (TensorFactors &operand : llvm::drop_begin(rule.operands))
    operand = parameter;
  return rule;
}

LogicalResult LayerNormOp::verify() { return verifyNorm(*this, getScale(), getBias()); }

FactorRule LayerNormOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  return normRule(getDim(), operandTypes, resultTypes);
}

SmallVector<PartialRule> LayerNormOp::getPartialRules(ReduceKind kind) {
  return whenSum(kind, {getBias() ? PartialRule{1, 2} : PartialRule{1}});
}

double LayerNormOp::getFlopsPerPoint() { return 8; }

LogicalResult RmsNormOp::verify() { return verifyNorm(*this, getScale(), Value()); }

FactorRule RmsNormOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  return normRule(getDim(), operandTypes, resultTypes);
}

SmallVector<PartialRule> RmsNormOp::getPartialRules(ReduceKind kind) {
  return whenSum(kind, {{1}});
}

double RmsNormOp::getFlopsPerPoint() { return 5; }

//===----------------------------------------------------------------------===//
// rope
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::verify() {
  auto from = getOperand().getType();
  if (from.getRank() < 1)
    return emitOpError("operand has tensor rank 0, expected at least 1");
  int64_t depth = from.getShape().back();
  if (depth % 2 != 0)
    return emitOpError() << "innermost dimension has size " << depth << ", expected an even size";
  SmallVector<int64_t> half(from.getShape());
  half.back() = depth / 2;
  for (auto [what, type] : {std::pair<StringRef, Type>{"cosine", getCosine().getType()},
                            std::pair<StringRef, Type>{"sine", getSine().getType()}})
    if (failed(expectElementType(*this, what, type, from, "the operand's element type")) ||
        failed(expectShape(*this, what, type, half,
                           "the operand's shape with half the innermost dimension")))
      return failure();
  if (failed(expectElementType(*this, "result", getType(), from, "the operand's element type")))
    return failure();
  return expectShape(*this, "result", getType(), from.getShape(), "the operand's shape");
}

/// Pairs stay together: `(2 whole)(D/2)`, or `(D/2)(2 whole)` if interleaved.
FactorRule RopeOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule;
  TensorFactors angles;
  for (int64_t size : shapeOf(operandTypes[1]))
    angles.push_back({rule.add(size)});
  int pair = rule.add(2, Kind::Whole), half = angles.back().front();
  TensorFactors dims = angles;
  dims.back() = getInterleaved() ? DimFactors{half, pair} : DimFactors{pair, half};
  rule.operands = {dims, angles, angles};
  rule.results = {dims};
  return rule;
}

SmallVector<PartialRule> RopeOp::getPartialRules(ReduceKind kind) {
  return whenSum(kind, {{0}, {1, 2}});
}

double RopeOp::getFlopsPerPoint() { return 3; }

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

/// What nn.attention and its gradient ask of the forward's tensors.
static LogicalResult verifyAttention(Operation *op, RankedTensorType query, RankedTensorType key,
                                     RankedTensorType value, RankedTensorType result, Value mask,
                                     const APFloat &softcap, Value logSums) {
  std::pair<StringRef, RankedTensorType> tensors[] = {
      {"query", query}, {"key", key}, {"value", value}, {"result", result}};
  for (auto [what, type] : tensors) {
    if (type.getRank() != 4)
      return op->emitOpError() << what << " has tensor rank " << type.getRank() << ", expected 4";
    if (failed(expectElementType(op, what, type, query, "the query's element type")))
      return failure();
  }
  auto q = query.getShape(), k = key.getShape(), v = value.getShape();
  if (k[1] == 0 || q[1] % k[1] != 0)
    return op->emitOpError() << "query has " << q[1] << " heads, expected a multiple of the key's "
                             << k[1];
  if (failed(
          expectShape(op, "key", key, {q[0], k[1], k[2], q[3]}, "batch and depth of the query")) ||
      failed(expectShape(op, "value", value, {q[0], k[1], k[2], v[3]},
                         "batch, heads and sequence of the key")))
    return failure();
  if (mask)
    if (failed(expectElementType(op, "mask", mask.getType(), query, "the query's element type")) ||
        failed(expectShape(op, "mask", mask.getType(), {q[0], q[1], q[2], k[2]},
                           "batch, heads, query and key sequence")))
      return failure();
  if (softcap.convertToDouble() < 0)
    return op->emitOpError() << "softcap is " << softcap.convertToDouble()
                             << ", expected 0 (none) or more";
  if (failed(expectShape(op, "result", result, {q[0], q[1], q[2], v[3]},
                         "batch, heads and sequence of the query, depth of the value")))
    return failure();
  if (!logSums)
    return success();
  Type sum = AttentionOp::getLogSumType(query.getElementType()),
       found = cast<RankedTensorType>(logSums.getType()).getElementType();
  if (found != sum)
    return op->emitOpError() << "log_sum_exp has element type " << found << ", expected " << sum;
  return expectShape(op, "log_sum_exp", logSums.getType(), {q[0], q[1], q[2]},
                     "batch, heads and sequence of the query");
}

Type AttentionOp::getLogSumType(Type element) {
  return element.isF64() ? element : Type(Float32Type::get(element.getContext()));
}

LogicalResult AttentionOp::verify() {
  return verifyAttention(*this, getQuery().getType(), getKey().getType(), getValue().getType(),
                         getResult().getType(), getMask(), getSoftcap(), getLogSumExp());
}

FactorRule AttentionOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule;
  auto q = shapeOf(operandTypes[0]), k = shapeOf(operandTypes[1]), v = shapeOf(operandTypes[2]);
  int batch = rule.add(q[0]), group = rule.add(k[1]);
  int perGroup = rule.add(k[1] ? q[1] / k[1] : q[1]);
  // A causal row counts its position from the end of the whole sequence.
  int query = rule.add(q[2], getCausal() ? Kind::Whole : Kind::Parallel);
  int key = rule.add(k[2], Kind::Whole), depth = rule.add(q[3], Kind::Whole);
  // The logarithms of sums are of no part of a value.
  int out = rule.add(v[3], getLogSumExp() ? Kind::Whole : Kind::Parallel);
  rule.operands = {{{batch}, {group, perGroup}, {query}, {depth}},
                   {{batch}, {group}, {key}, {depth}},
                   {{batch}, {group}, {key}, {out}}};
  if (operandTypes.size() == 4)
    rule.operands.push_back({{batch}, {group, perGroup}, {query}, {key}});
  rule.results = {{{batch}, {group, perGroup}, {query}, {out}}};
  if (getLogSumExp())
    rule.results.push_back({{batch}, {group, perGroup}, {query}});
  return rule;
}

SmallVector<PartialRule> AttentionOp::getPartialRules(ReduceKind kind) {
  // A sum over values is none of the logarithms, which know nothing of values.
  return getLogSumExp() ? SmallVector<PartialRule>() : whenSum(kind, {{2}});
}

double AttentionOp::getFlopsPerPoint() {
  // Two products and a softmax; the rule's points count both depths together.
  auto q = getQuery().getType().getShape();
  double depth = q[3], out = getResult().getType().getDimSize(3);
  double scores = 1.0 * q[0] * q[1] * q[2] * getKey().getType().getDimSize(2);
  double points = getOwnFactorRule().points();
  return points == 0 ? 0 : scores * (2 * depth + 2 * out + 12) / points;
}

ComputeClass AttentionOp::getComputeClass() { return ComputeClass::Attention; }

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyAttention(*this, getQuery().getType(), getKey().getType(), getValue().getType(),
                             getOutput().getType(), getMask(), getSoftcap(), getLogSumExp())))
    return failure();
  std::tuple<StringRef, Type, Type, StringRef> pairs[] = {
      {"output_gradient", getOutputGradient().getType(), getOutput().getType(),
       "that of the output"},
      {"query_gradient", getQueryGradient().getType(), getQuery().getType(), "that of the query"},
      {"key_gradient", getKeyGradient().getType(), getKey().getType(), "that of the key"},
      {"value_gradient", getValueGradient().getType(), getValue().getType(), "that of the value"}};
  for (auto [what, found, expected, because] : pairs)
    if (failed(expectElementType(*this, what, found, expected, because)) ||
        failed(expectShape(*this, what, found, shapeOf(expected), because)))
      return failure();
  return success();
}

FactorRule AttentionGradOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule;
  auto q = shapeOf(operandTypes[0]), k = shapeOf(operandTypes[1]), v = shapeOf(operandTypes[2]);
  int batch = rule.add(q[0]), group = rule.add(k[1]);
  // What is independent for the query is a sum for key and value.
  int perGroup = rule.add(k[1] ? q[1] / k[1] : q[1], Kind::Whole);
  int query = rule.add(q[2], Kind::Whole), key = rule.add(k[2], Kind::Whole);
  int depth = rule.add(q[3], Kind::Whole), out = rule.add(v[3], Kind::Whole);
  TensorFactors ofQuery = {{batch}, {group, perGroup}, {query}, {depth}};
  TensorFactors ofKey = {{batch}, {group}, {key}, {depth}};
  TensorFactors ofValue = {{batch}, {group}, {key}, {out}};
  TensorFactors ofOutput = {{batch}, {group, perGroup}, {query}, {out}};
  rule.operands = {ofQuery, ofKey, ofValue, ofOutput, ofOutput};
  if (getLogSumExp())
    rule.operands.push_back({{batch}, {group, perGroup}, {query}});
  if (getMask())
    rule.operands.push_back({{batch}, {group, perGroup}, {query}, {key}});
  rule.results = {ofQuery, ofKey, ofValue};
  return rule;
}

SmallVector<PartialRule> AttentionGradOp::getPartialRules(ReduceKind kind) {
  return whenSum(kind, {{4}});
}

double AttentionGradOp::getFlopsPerPoint() {
  // Three products over the depth, two over the value's.
  auto q = getQuery().getType().getShape();
  double depth = q[3], out = getOutput().getType().getDimSize(3);
  double scores = 1.0 * q[0] * q[1] * q[2] * getKey().getType().getDimSize(2);
  double points = getOwnFactorRule().points();
  return points == 0 ? 0 : scores * (6 * depth + 4 * out + 16) / points;
}

ComputeClass AttentionGradOp::getComputeClass() { return ComputeClass::Attention; }

} // namespace weft::nn
