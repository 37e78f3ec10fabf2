// Optimiser steps of the preview training domain, as plain arithmetic.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

static constexpr llvm::StringLiteral kDomain = "ai.onnx.preview.training";

namespace {
/// Inputs are R, T, then the tensors X..., G..., and further groups of as many.
struct Groups {
  Value rate, step;
  unsigned count = 0;
  NodeContext &n;

  Groups(NodeContext &n, unsigned groups) : rate(n.in(0)), step(n.in(1)), n(n) {
    if (n.numInputs() >= 2 && (n.numInputs() - 2) % groups == 0)
      count = (n.numInputs() - 2) / groups;
    else
      n.fail("the number of inputs does not fit");
  }
  Value at(unsigned group, unsigned i) { return n.in(2 + group * count + i); }
  /// A scalar repeated for tensor i, in its element type.
  Value wide(Value scalar, unsigned i) {
    Value like = at(0, i);
    if (!scalar || !like)
      return Value();
    return n.b.broadcastTo(
        n.b.reshape(n.b.cast(scalar, n.b.elementOf(like)), {}),
        n.b.shapeOf(like));
  }
  /// 1 - base^T.
  Value oneMinusPower(double base, unsigned i) {
    Value t = wide(step, i);
    if (!t)
      return t;
    return n.b.sub(n.b.fullLike(t, 1),
                   n.b.binary<nn::PowOp>(n.b.fullLike(t, base), t));
  }
};
} // namespace

static Results adam(NodeContext &n) {
  Groups g(n, 4);
  double alpha = n.real("alpha", 0.9), beta = n.real("beta", 0.999),
         epsilon = n.real("epsilon", 1e-6);
  double norm = n.real("norm_coefficient", 0),
         post = n.real("norm_coefficient_post", 0);
  Results x, v, h;
  for (unsigned i = 0; i < g.count; ++i) {
    Value gradient = n.b.add(n.b.mul(g.at(0, i), norm), g.at(1, i));
    Value mean =
        n.b.add(n.b.mul(g.at(2, i), alpha), n.b.mul(gradient, 1 - alpha));
    Value square = n.b.add(n.b.mul(g.at(3, i), beta),
                           n.b.mul(n.b.mul(gradient, gradient), 1 - beta));
    Value root = n.b.add(n.b.unary<nn::SqrtOp>(square), epsilon);
    // The rate is corrected for bias from the first step on.
    Value rate = g.wide(g.rate, i), step = g.wide(g.step, i);
    Value corrected =
        n.b.div(n.b.mul(rate, n.b.unary<nn::SqrtOp>(g.oneMinusPower(beta, i))),
                g.oneMinusPower(alpha, i));
    rate = n.b.select(n.b.compare(nn::CompareKind::Gt, step, 0.0), corrected,
                      rate);
    Value next = n.b.sub(g.at(0, i), n.b.div(n.b.mul(rate, mean), root));
    x.push_back(n.b.mul(next, 1 - post));
    v.push_back(mean);
    h.push_back(square);
  }
  x.append(v);
  x.append(h);
  return x;
}

static Results adagrad(NodeContext &n) {
  Groups g(n, 3);
  double decay = n.real("decay_factor", 0), epsilon = n.real("epsilon", 1e-6),
         norm = n.real("norm_coefficient", 0);
  Results x, h;
  for (unsigned i = 0; i < g.count; ++i) {
    Value rate = n.b.div(g.wide(g.rate, i),
                         n.b.add(n.b.mul(g.wide(g.step, i), decay), 1.0));
    Value gradient = n.b.add(n.b.mul(g.at(0, i), norm), g.at(1, i));
    Value square = n.b.add(g.at(2, i), n.b.mul(gradient, gradient));
    Value root = n.b.add(n.b.unary<nn::SqrtOp>(square), epsilon);
    x.push_back(n.b.sub(g.at(0, i), n.b.div(n.b.mul(rate, gradient), root)));
    h.push_back(square);
  }
  x.append(h);
  return x;
}

static Results momentum(NodeContext &n) {
  Groups g(n, 3);
  double alpha = n.real("alpha", 0), beta = n.real("beta", 0),
         norm = n.real("norm_coefficient", 0);
  bool nesterov = n.text("mode", "standard") == "nesterov";
  Results x, v;
  for (unsigned i = 0; i < g.count; ++i) {
    Value gradient = n.b.add(n.b.mul(g.at(0, i), norm), g.at(1, i));
    // At the first step (0) the gradient enters undamped.
    Value step = g.wide(g.step, i);
    Value factor =
        step ? n.b.select(n.b.compare(nn::CompareKind::Gt, step, 0.0),
                          n.b.fullLike(step, beta), n.b.fullLike(step, 1))
             : Value();
    Value velocity =
        n.b.add(n.b.mul(g.at(2, i), alpha), n.b.mul(factor, gradient));
    Value direction =
        nesterov ? n.b.add(gradient, n.b.mul(velocity, alpha)) : velocity;
    x.push_back(n.b.sub(g.at(0, i), n.b.mul(g.wide(g.rate, i), direction)));
    v.push_back(velocity);
  }
  x.append(v);
  return x;
}

void weft::onnx::registerOptimizers(Registry &r) {
  r.add("Adam", 1, 1, adam, kDomain);
  r.add("Adagrad", 1, 1, adagrad, kDomain);
  r.add("Momentum", 1, 1, momentum, kDomain);
}
