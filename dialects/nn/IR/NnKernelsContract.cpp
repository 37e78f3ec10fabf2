// Library calls and plain loops of matrix products and convolutions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace weft;
using namespace weft::nn;

/// lhs * rhs + sum, all in the accumulator's type. Inside one op the product
/// and the sum may become one fused operation.
static Value multiplyAdd(ScalarBuilder s, Value lhs, Type lhsType, Value rhs, Type rhsType,
                         Value sum, Type accumulator, bool lanes) {
  lhs = s.cast(lhs, lhsType, accumulator);
  rhs = s.cast(rhs, rhsType, accumulator);
  if (!isa<FloatType>(accumulator))
    return s.add(sum, s.mul(lhs, rhs));
  auto flags = arith::FastMathFlags::contract;
  Value product = arith::MulFOp::create(s.builder, s.loc, lhs, rhs, flags);
  if (lanes)
    flags = flags | arith::FastMathFlags::reassoc;
  return arith::AddFOp::create(s.builder, s.loc, sum, product, flags);
}

/// Casts the accumulators to the op's result type.
static Value castTo(OpBuilder &builder, Location loc, Value tensor, Type from, Type resultType) {
  RankedTensorType type = bodyType(resultType);
  if (tensor.getType() == type)
    return tensor;
  return buildParallel(builder, loc, type, tensor, {}, [&](ScalarBuilder s, ValueRange arguments) {
    return s.cast(arguments[0], from, getElementTypeOrSelf(resultType));
  });
}

//===----------------------------------------------------------------------===//
// contract
//===----------------------------------------------------------------------===//

static unsigned positionOf(ArrayRef<int64_t> labels, int64_t label) {
  return llvm::find(labels, label) - labels.begin();
}

std::optional<LibraryCall> ContractOp::getLibraryCall() {
  LibraryCall call;
  call.command = "gemm";
  call.reads = {0, 1};
  call.attributes.set("accumulate", getAccumulateAttr());
  ProductDims &dims = call.product.emplace();
  auto lhs = getLhsLabels(), rhs = getRhsLabels(), result = getResultLabels();
  // Batch, m and n in the result's order, k in the order of lhs.
  for (auto [position, label] : llvm::enumerate(result)) {
    bool inLhs = llvm::is_contained(lhs, label);
    bool inRhs = llvm::is_contained(rhs, label);
    if (inLhs && inRhs) {
      dims.lhsBatch.push_back(positionOf(lhs, label));
      dims.rhsBatch.push_back(positionOf(rhs, label));
      dims.resultBatch.push_back(position);
    } else if (inLhs) {
      dims.lhsM.push_back(positionOf(lhs, label));
      dims.resultM.push_back(position);
    } else {
      dims.rhsN.push_back(positionOf(rhs, label));
      dims.resultN.push_back(position);
    }
  }
  for (auto [position, label] : llvm::enumerate(lhs))
    if (!llvm::is_contained(result, label)) {
      dims.lhsK.push_back(position);
      dims.rhsK.push_back(positionOf(rhs, label));
    }
  // An outer product sums nothing and is better generated.
  if (dims.lhsK.empty())
    return std::nullopt;
  return call;
}

unsigned ContractOp::getParallelDims() { return getType().getRank(); }

SmallVector<Value> ContractOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  RankedTensorType type = bodyType(getType());
  Type accumulator = getAccumulate();
  auto lhs = getLhsLabels(), rhs = getRhsLabels(), result = getResultLabels();
  SmallVector<int64_t> summed;
  for (int64_t label : lhs)
    if (!llvm::is_contained(result, label))
      summed.push_back(label);
  // The innermost loop runs along memory: over the result's last dim if an
  // operand has that dim last too, with the sum outside; else over the sum.
  bool alongResult = !result.empty() && ((!lhs.empty() && lhs.back() == result.back()) ||
                                         (!rhs.empty() && rhs.back() == result.back()));
  SmallVector<int64_t> loops(result);
  loops.insert(loops.end() - (alongResult ? 1 : 0), summed.begin(), summed.end());
  bool lanes = !summed.empty() && !alongResult;
  auto mapOf = [&](ArrayRef<int64_t> labels) {
    SmallVector<AffineExpr> exprs;
    for (int64_t label : labels)
      exprs.push_back(builder.getAffineDimExpr(positionOf(loops, label)));
    return AffineMap::get(loops.size(), 0, exprs, builder.getContext());
  };
  ScalarBuilder outer{builder, loc};
  Value sums = buildReduction(
      builder, loc, RankedTensorType::get(type.getShape(), signlessElement(accumulator)),
      outer.neutral(ReduceKind::Sum, accumulator), operands, {mapOf(lhs), mapOf(rhs)},
      mapOf(result), [&](ScalarBuilder s, ValueRange arguments) {
        return multiplyAdd(s, arguments[0], elementOf(getLhs()), arguments[1], elementOf(getRhs()),
                           arguments[2], accumulator, lanes);
      });
  return {castTo(builder, loc, sums, accumulator, getType())};
}

//===----------------------------------------------------------------------===//
// conv
//===----------------------------------------------------------------------===//

std::optional<LibraryCall> ConvOp::getLibraryCall() {
  LibraryCall call;
  call.command = "conv";
  call.reads = {0, 1};
  call.attributes.set("strides", getStridesAttr());
  call.attributes.set("pads", getPadLowAttr());
  call.attributes.set("dilations", getFilterDilationAttr());
  call.attributes.set("input_dilations", getInputDilationAttr());
  call.attributes.set("groups", getGroupsAttr());
  return call;
}

unsigned ConvOp::getParallelDims() { return getType().getRank(); }

SmallVector<Value> ConvOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  RankedTensorType type = bodyType(getType());
  auto inputType = cast<RankedTensorType>(operands[0].getType());
  auto filterType = cast<RankedTensorType>(operands[1].getType());
  Type element = elementOf(getInput());
  Type accumulator = element;
  if (auto floatType = dyn_cast<FloatType>(element); floatType && floatType.getWidth() < 32)
    accumulator = builder.getF32Type();
  unsigned spatial = getStrides().size();
  int64_t channelsPerGroup = filterType.getDimSize(1);
  int64_t outputsPerGroup = filterType.getDimSize(0) / getGroups();
  // Loops: n, o, c, filter positions, then output positions innermost.
  unsigned numLoops = 3 + 2 * spatial;
  auto dims = [&](ArrayRef<unsigned> first, unsigned from) {
    SmallVector<AffineExpr> exprs;
    for (unsigned d : first)
      exprs.push_back(builder.getAffineDimExpr(d));
    for (unsigned i = 0; i < spatial; ++i)
      exprs.push_back(builder.getAffineDimExpr(from + i));
    return AffineMap::get(numLoops, 0, exprs, builder.getContext());
  };
  ScalarBuilder outer{builder, loc};
  Value sums = buildReduction(
      builder, loc, RankedTensorType::get(type.getShape(), signlessElement(accumulator)),
      outer.neutral(ReduceKind::Sum, accumulator), operands[1], dims({1, 2}, 3),
      dims({0, 1}, 3 + spatial), [&](ScalarBuilder s, ValueRange arguments) {
        SmallVector<Value> loops = loopIndices(s, numLoops);
        Value group = arith::DivUIOp::create(s.builder, s.loc, loops[1], s.index(outputsPerGroup));
        SmallVector<Value> at = {loops[0],
                                 s.add(s.mul(group, s.index(channelsPerGroup)), loops[2])};
        Value inside;
        auto require = [&](arith::CmpIPredicate predicate, Value a, int64_t b) {
          Value holds = arith::CmpIOp::create(s.builder, s.loc, predicate, a, s.index(b));
          inside =
              inside ? arith::AndIOp::create(s.builder, s.loc, inside, holds).getResult() : holds;
        };
        for (unsigned i = 0; i < spatial; ++i) {
          Value position = s.add(s.mul(loops[3 + spatial + i], s.index(getStrides()[i])),
                                 s.mul(loops[3 + i], s.index(getFilterDilation()[i])));
          position = s.add(position, s.index(-getPadLow()[i]));
          int64_t dilation = getInputDilation()[i];
          int64_t size = inputType.getDimSize(2 + i);
          require(arith::CmpIPredicate::ult, position,
                  std::max<int64_t>(0, (size - 1) * dilation + 1));
          if (dilation > 1) {
            // Only every dilation-th position holds an input element; inside
            // the range above, position is not negative.
            Value step = s.index(dilation);
            require(arith::CmpIPredicate::eq,
                    arith::RemUIOp::create(s.builder, s.loc, position, step), 0);
            position = arith::DivUIOp::create(s.builder, s.loc, position, step);
          }
          at.push_back(position);
        }
        Value zero = s.constant(signlessElement(element), 0);
        Value input = zero;
        if (inputType.getNumElements() > 0)
          input = extractIf(s, inside, operands[0], at, zero);
        return multiplyAdd(s, input, element, arguments[0], elementOf(getFilter()), arguments[1],
                           accumulator,
                           /*lanes=*/spatial == 0);
      });
  return {castTo(builder, loc, sums, accumulator, getType())};
}
