// Gradients of gather and scatter.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnGradient.h"
#include "dialects/nn/IR/NnIndexing.h"

using namespace mlir;

namespace weft::nn {

namespace {
/// Gathers and scatters with the indices of one op.
struct Indexing {
  Term indices;
  IndexedDims dims;

  Term gather(Term operand) const {
    return operand.make<GatherOp>(operand.value, indices.value, dims.indexed, dims.operandBatch,
                                  dims.indicesBatch);
  }
  Term scatter(ScatterKind kind, Term operand, Term updates) const {
    return operand.make<ScatterOp>(operand.type(), kind, operand.value, indices.value,
                                   updates.value, dims.indexed, dims.operandBatch,
                                   dims.indicesBatch);
  }
};
} // namespace

LogicalResult GatherOp::buildGradient(OpBuilder &builder, ValueRange results, ArrayRef<bool> wanted,
                                      MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  Indexing at = {d.operand(1), indexedDims(*this)};
  // What was read twice gets both gradients; what was read outside, none.
  d.set(0, [&] { return at.scatter(ScatterKind::Add, d.operand(0).splat(0), d.upper()); });
  return success();
}

//===----------------------------------------------------------------------===//
// scatter
//===----------------------------------------------------------------------===//

/// Of updates that are written to one place the last stays.
static void assignGradient(Gradient d, Indexing at) {
  Term g = d.upper(), updates = d.term(d.op->getOperand(2));
  d.set(0, [&] { return at.scatter(ScatterKind::Assign, g, updates.splat(0)); });
  d.set(2, [&] {
    // Every update leaves its number; who finds it there was the last.
    auto i64 = g.builder->getI64Type();
    int64_t count = updates.type().getNumElements();
    Term number =
        updates.make<IotaOp>(RankedTensorType::get({count}, i64)).reshape(updates.shape());
    Term places = at.scatter(ScatterKind::Assign, g.splat(-1, g.type().clone(i64)), number);
    return at.gather(places).is(CompareKind::Eq, number).choose(at.gather(g), 0.0);
  });
}

static void mulGradient(Gradient d, Indexing at) {
  Term g = d.upper().wide(), old = d.operand(0).wide(), updates = d.operand(2).wide();
  auto zero = [](Term x) { return x.is(CompareKind::Eq, 0.0); };
  auto count = [&](Term x) { return zero(x).choose(x.splat(1), 0.0); };
  auto nonzero = [&](Term x) { return zero(x).choose(x.splat(1), x); };
  Term zeros = at.scatter(ScatterKind::Add, count(old), count(updates));
  Term product = at.scatter(ScatterKind::Mul, nonzero(old), nonzero(updates));
  d.set(0, [&] { return g * productOfOthers(old, zeros, product); });
  d.set(2, [&] {
    return at.gather(g) * productOfOthers(updates, at.gather(zeros), at.gather(product));
  });
}

/// All that equal the result share its gradient evenly.
static void latticeGradient(Gradient d, Indexing at) {
  Term g = d.upper().wide(), result = d.result(), old = d.operand(0), updates = d.operand(2);
  auto count = [&](Term x, Term best) {
    return x.is(CompareKind::Eq, best).choose(g.splat(1, x.wide().type()), 0.0);
  };
  Term best = at.gather(result);
  Term ofOld = count(old, result), ofUpdates = count(updates, best);
  Term share = g / at.scatter(ScatterKind::Add, ofOld, ofUpdates);
  d.set(0, [&] { return share * ofOld; });
  d.set(2, [&] { return at.gather(share) * ofUpdates; });
}

LogicalResult ScatterOp::buildGradient(OpBuilder &builder, ValueRange results,
                                       ArrayRef<bool> wanted, MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  Indexing at = {d.operand(1), indexedDims(*this)};
  switch (getKind()) {
  case ScatterKind::Add:
    d.set(0, [&] { return d.upper(); });
    d.set(2, [&] { return at.gather(d.upper()); });
    break;
  case ScatterKind::Assign:
    assignGradient(d, at);
    break;
  case ScatterKind::Mul:
    mulGradient(d, at);
    break;
  case ScatterKind::Max:
  case ScatterKind::Min:
    latticeGradient(d, at);
    break;
  }
  return success();
}

} // namespace weft::nn
