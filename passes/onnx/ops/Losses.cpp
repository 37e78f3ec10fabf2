// The losses of the standard, forward.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

/// -weight * logProbability of the target class, reduced as asked. Targets
/// equal to `ignore_index` count for nothing.
static Value negativeLogLikelihood(NodeContext &n, Value logits, Value target, Value weight) {
  if (!logits || !target)
    return Value();
  int64_t rank = n.b.rankOf(logits);
  if (rank < 2 || n.b.rankOf(target) != rank - 1)
    return n.fail("needs scores N x C x d... and targets N x d...");
  auto reduction = n.word("reduction", "mean", {"none", "sum", "mean"});
  if (!reduction)
    return Value();
  target = n.b.cast(target, n.b.i64());
  AttributeAttr ignored = n.attribute("ignore_index");
  Value counted;
  if (ignored) {
    counted = n.b.compare(nn::CompareKind::Ne, target, double(n.integer("ignore_index", 0)));
    target = n.b.select(counted, target, n.b.fullLike(target, 0));
  }
  // Without those that do not count.
  int64_t classes = n.b.shapeOf(logits)[1];
  if (!n.b.checkPlaces(target, classes))
    return Value();
  if (weight && n.b.shapeOf(weight) != NnBuilder::Shape({classes}))
    return n.fail("the weight must have one entry for each of " + llvm::Twine(classes) +
                  " classes");
  SmallVector<int64_t> dims = n.b.range(0, rank), targetDims = n.b.range(0, rank - 1);
  dims.erase(dims.begin() + 1);
  Value chosen = n.b.make<nn::GatherOp>(logits, n.b.unsqueeze(target, {rank - 1}),
                                        NnBuilder::Shape({1}), dims, targetDims);
  Value factor = weight ? n.b.take(weight, target, 0) : chosen ? n.b.fullLike(chosen, 1) : Value();
  if (counted && factor)
    factor = n.b.select(counted, factor, n.b.fullLike(factor, 0));
  Value loss = n.b.unary<nn::NegateOp>(n.b.mul(chosen, factor));
  // Zero times an infinite loss is none.
  if (counted && loss)
    loss = n.b.select(counted, loss, n.b.fullLike(loss, 0));
  if (*reduction == "none")
    return loss;
  // A small type holds neither the sum over many targets nor their number.
  return n.b.inFloat(loss, [&](Value loss) {
    Value sum = n.b.reduce(ReduceKind::Sum, loss, targetDims, false);
    if (*reduction == "sum" || !sum)
      return sum;
    Value counts = n.b.cast(factor, n.b.elementOf(loss));
    return n.b.div(sum, n.b.reduce(ReduceKind::Sum, counts, targetDims, false));
  });
}

static Results nllLoss(NodeContext &n) {
  return {negativeLogLikelihood(n, n.in(0), n.in(1), n.has(2) ? n.setting(2) : Value())};
}

static Results crossEntropy(NodeContext &n) {
  Value scores = n.in(0);
  if (!scores || n.b.rankOf(scores) < 2)
    return {n.fail("needs scores N x C x d...")};
  Value logs = n.b.softmax(scores, 1, /*log=*/true);
  return {negativeLogLikelihood(n, logs, n.in(1), n.has(2) ? n.setting(2) : Value()), logs};
}

void weft::onnx::registerLosses(Registry &r) {
  r.addSince("NegativeLogLikelihoodLoss", 12, nllLoss);
  r.addSince("SoftmaxCrossEntropyLoss", 12, crossEntropy);
}
