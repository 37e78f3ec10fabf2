// A mixture of experts with fixed capacity, as dense dispatch and combine.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Blocks.h"
#include "python_free_frontend/builders/Models.h"

using namespace llvm;

namespace weft::builders {
namespace {

/// OneHot over a new last dimension, of 0 and 1 in int64.
Value oneHot(GraphBuilder &g, const Value &indices, int64_t depth) {
  return g.op("OneHot", {indices, g.scalarInt(depth), g.ints({0, 1})}, {Attr("axis", -1)});
}

/// Which slot of which expert each token goes to, and with what gate.
struct Routing {
  Value dispatch; // [b, n, k, t, e, c] of 0 and 1
  Value gates;    // [b, n, k, t]
};

// Letters: b batch, n groups per sequence, t tokens of a group, k choices,
// e experts, c slots of an expert. Slots are given within one group, first
// choices before second ones, earlier tokens before later ones; a token whose
// expert has no slot left is skipped by that expert. As the group is a
// dimension of its own, neither the batch nor its distribution over devices
// changes who gets a slot.
Routing route(GraphBuilder &g, const Value &groups) {
  const ModelSpec &spec = g.spec();
  int64_t k = spec.topK, t = spec.group, e = spec.experts;
  Value logits;
  {
    GraphBuilder::Scope scope(g, "gate");
    logits = linear(g, groups, spec.hidden, e, false, Init::normal(spec.std));
  }
  // Gates are a softmax over the chosen logits, as in Mixtral.
  std::vector<Value> best = g.ops("TopK", {logits, g.ints({k})}, 2,
                                  {Attr("axis", -1), Attr("largest", 1), Attr("sorted", 1)});
  Value gates = g.op("Softmax", {best[0]}, {Attr("axis", -1)});
  Value choices = g.transpose(best[1], {0, 1, 3, 2}); // [b, n, k, t]

  Value chosen = oneHot(g, choices, e);              // [b, n, k, t, e]
  Value queue = g.reshape(chosen, {0, 0, k * t, e}); // [b, n, k*t, e]
  Value before =
      g.op("CumSum", {queue, g.scalarInt(2)}, {Attr("exclusive", 1), Attr("reverse", 0)});
  Value slot = g.reduce("ReduceSum", g.op("Mul", {before, queue}), -1, false);
  // OneHot gives a row of zeros to an index that is out of range, but negative
  // indices wrap; slots are never negative, so a full expert drops the token.
  Value place = // [b, n, k, t, c]
      oneHot(g, g.reshape(slot, {0, 0, k, t}), spec.capacity);
  Value expert = g.cast(chosen, g.dataType());
  Routing routing;
  place = g.cast(place, g.dataType());
  routing.dispatch = g.op("Mul", {g.unsqueeze(expert, {5}), g.unsqueeze(place, {4})});
  routing.gates = g.transpose(gates, {0, 1, 3, 2});
  return routing;
}

Value einsum(GraphBuilder &g, const char *equation, const Value &a, const Value &b) {
  return g.op("Einsum", {a, b}, {Attr("equation", equation)});
}

} // namespace

Value expertLayer(GraphBuilder &g, const Value &x) {
  const ModelSpec &spec = g.spec();
  int64_t e = spec.experts, h = spec.hidden, f = spec.ffn;
  Value groups = g.reshape(x, {0, -1, spec.group, h}); // [b, n, t, h]
  Routing routing = route(g, groups);
  Value dispatch = g.reduce("ReduceSum", routing.dispatch, 2, false);
  Value weighted = g.op("Mul", {routing.dispatch, g.unsqueeze(routing.gates, {4, 5})});
  Value combine = g.reduce("ReduceSum", weighted, 2, false); // [b, n, t, e, c]

  GraphBuilder::Scope scope(g, "experts");
  Init init = Init::normal(spec.std);
  Value sent = einsum(g, "bntec,bnth->bnech", dispatch, groups);
  Value gate = einsum(g, "bnech,ehf->bnecf", sent, g.weight("w1", {e, h, f}, init));
  Value up = einsum(g, "bnech,ehf->bnecf", sent, g.weight("w3", {e, h, f}, init));
  Value inner = g.op("Mul", {silu(g, gate), up});
  Value made = einsum(g, "bnecf,efh->bnech", inner, g.weight("w2", {e, f, h}, residualInit(spec)));
  Value back = einsum(g, "bntec,bnech->bnth", combine, made);
  return g.exporter() ? g.reshape(back, {g.dimOf(x, 0), g.dimOf(x, 1), h})
                      : g.reshape(back, {0, -1, h});
}

} // namespace weft::builders
