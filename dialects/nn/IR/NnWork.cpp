// Work of products, attention and look-ups.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnWork.h"

#include "dialects/nn/IR/Nn.h"
#include "dialects/nn/IR/NnVerify.h"
#include "weft/Interfaces/OpWork.h"
#include "weft/Interfaces/TensorTypes.h"

#include "mlir/IR/Matchers.h"

#include <algorithm>

using namespace mlir;
using namespace weft;
using namespace weft::nn;

namespace {

using Kind = WorkShape::Kind;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

struct ContractWork : WorkOpInterface::ExternalModel<ContractWork, ContractOp> {
  OpWork getWork(Operation *op, TypeRange operandTypes, TypeRange resultTypes) const {
    auto contract = cast<ContractOp>(op);
    OpWork work = workByRule(op, operandTypes, resultTypes);
    // An outer product sums nothing and passes over its result.
    if (contract.getComputeClass() != ComputeClass::Contraction)
      return work;
    work.shape = {Kind::Gemm, 1, 1, 1, 1};
    auto inResult = [&](int64_t label) {
      return llvm::is_contained(contract.getResultLabels(), label);
    };
    for (auto [label, size] : llvm::zip_equal(contract.getLhsLabels(), shapeOf(operandTypes[0])))
      (!inResult(label)                                     ? work.shape.k
       : llvm::is_contained(contract.getRhsLabels(), label) ? work.shape.batch
                                                            : work.shape.m) *= size;
    for (auto [label, size] : llvm::zip_equal(contract.getRhsLabels(), shapeOf(operandTypes[1])))
      if (!llvm::is_contained(contract.getLhsLabels(), label))
        work.shape.n *= size;
    return work;
  }
};

struct ConvWork : WorkOpInterface::ExternalModel<ConvWork, ConvOp> {
  OpWork getWork(Operation *op, TypeRange operandTypes, TypeRange resultTypes) const {
    OpWork work = workByRule(op, operandTypes, resultTypes);
    auto input = shapeOf(operandTypes[0]), filter = shapeOf(operandTypes[1]);
    auto result = cast<RankedTensorType>(resultTypes[0]);
    // As many groups as the filter's channels leave of the input's, at any types.
    int64_t groups = filter[1] ? input[1] / filter[1] : 1, taps = 1;
    for (int64_t size : filter.drop_front())
      taps *= size;
    int64_t channels = groups ? result.getDimSize(1) / groups : 0;
    work.shape = {Kind::Conv, groups, 0, channels, taps};
    if (int64_t row = groups * channels)
      work.shape.m = result.getNumElements() / row;
    work.flops = 2.0 * double(result.getNumElements()) * double(taps);
    return work;
  }
};

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Pairs of a query and a key that it sees: row i sees columns j <= i + T - S.
double seenPairs(int64_t queries, int64_t keys, bool isCausal) {
  if (!isCausal)
    return double(queries) * double(keys);
  // The first rows see nothing if there are more queries than keys.
  int64_t rows = std::min(queries, keys);
  double first = double(keys - rows + 1), last = double(keys);
  return double(rows) * (first + last) / 2;
}

/// `forQuery` and `forValue`: products over the size of a head, of a value; `others`: what else is
/// done with a score.
template <typename Op>
OpWork attentionWork(Op op, TypeRange operandTypes, TypeRange resultTypes, double forQuery,
                     double forValue, double others) {
  OpWork work = workByRule(op, operandTypes, resultTypes);
  auto query = shapeOf(operandTypes[0]), key = shapeOf(operandTypes[1]),
       value = shapeOf(operandTypes[2]);
  int64_t heads = query[0] * query[1];
  work.shape = {Kind::Attention, heads, query[2], key[2], query[3], op.getCausal()};
  double pairs = seenPairs(query[2], key[2], op.getCausal());
  work.flops = double(heads) * pairs *
               (2 * forQuery * double(query[3]) + 2 * forValue * double(value[3]) + others);
  // Of a mask that is as large as the scores what is seen is read.
  if (op.getMask())
    work.read.back() = heads * int64_t(pairs) * elementBytes(operandTypes.back());
  return work;
}

struct AttentionWork : WorkOpInterface::ExternalModel<AttentionWork, AttentionOp> {
  OpWork getWork(Operation *op, TypeRange operandTypes, TypeRange resultTypes) const {
    // Scores and their product with the values; a softmax.
    return attentionWork(cast<AttentionOp>(op), operandTypes, resultTypes, 1, 1, 12);
  }
};

struct AttentionGradWork : WorkOpInterface::ExternalModel<AttentionGradWork, AttentionGradOp> {
  OpWork getWork(Operation *op, TypeRange operandTypes, TypeRange resultTypes) const {
    // Scores anew, and the gradients of query and key; those of the scores and of the value.
    return attentionWork(cast<AttentionGradOp>(op), operandTypes, resultTypes, 3, 2, 16);
  }
};

//===----------------------------------------------------------------------===//
// Parts of operands
//===----------------------------------------------------------------------===//

struct SliceWork : WorkOpInterface::ExternalModel<SliceWork, SliceOp> {
  OpWork getWork(Operation *op, TypeRange operandTypes, TypeRange resultTypes) const {
    OpWork work = workByRule(op, operandTypes, resultTypes);
    work.read[0] = work.written[0];
    return work;
  }
};

struct GatherWork : WorkOpInterface::ExternalModel<GatherWork, GatherOp> {
  OpWork getWork(Operation *op, TypeRange operandTypes, TypeRange resultTypes) const {
    OpWork work = workByRule(op, operandTypes, resultTypes);
    work.read[0] = work.written[0];
    return work;
  }
};

/// Rows are changed where they lie, as they are where nothing else reads the operand. A constant is
/// no place for that: it is written first, all of it.
struct ScatterWork : WorkOpInterface::ExternalModel<ScatterWork, ScatterOp> {
  OpWork getWork(Operation *op, TypeRange operandTypes, TypeRange resultTypes) const {
    auto scatter = cast<ScatterOp>(op);
    OpWork work = workByRule(op, operandTypes, resultTypes);
    int64_t rows = work.read[2];
    bool isConstant = matchPattern(scatter.getOperand(), m_Constant());
    work.read[0] = scatter.getKind() == ScatterKind::Assign ? 0 : rows;
    work.written[0] = rows + (isConstant ? work.written[0] : 0);
    // One operation an update.
    work.flops = double(cast<RankedTensorType>(operandTypes[2]).getNumElements());
    work.element = getElementTypeOrSelf(operandTypes[2]);
    return work;
  }
};

} // namespace

void nn::attachWork(MLIRContext &context) {
  ContractOp::attachInterface<ContractWork>(context);
  ConvOp::attachInterface<ConvWork>(context);
  AttentionOp::attachInterface<AttentionWork>(context);
  AttentionGradOp::attachInterface<AttentionGradWork>(context);
  SliceOp::attachInterface<SliceWork>(context);
  GatherOp::attachInterface<GatherWork>(context);
  ScatterOp::attachInterface<ScatterWork>(context);
}
