// Optimizer steps of the preview training domain, as plain arithmetic.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/OnnxToNn.h"
#include "passes/onnx/Registry.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

namespace {
/// Inputs are R, T, then the tensors X..., G..., and further groups of as many,
/// which the optimizer keeps. Scalars are computed in f64: 1 - 0.999^T would lose
/// most of its digits in f32.
struct Groups {
  Value rate, step;
  unsigned count = 0;
  NodeContext &n;

  Groups(NodeContext &n, unsigned groups) : n(n) {
    rate = scalar(n.in(0));
    step = scalar(n.in(1));
    if (n.numInputs() < 2 || (n.numInputs() - 2) % groups != 0) {
      n.fail("it has " + llvm::Twine(n.numInputs()) + " inputs, but R, T and groups of " +
             llvm::Twine(groups) + " are needed for each tensor");
      return;
    }
    count = (n.numInputs() - 2) / groups;
    for (unsigned group = 0; group < groups; ++group)
      for (unsigned i = 0; i < count; ++i) {
        Value x = at(0, i), other = at(group, i);
        if (x && other && x.getType() != other.getType())
          n.fail("tensor " + llvm::Twine(i) + " has type " + text(x) +
                 ", but what belongs to it has " + text(other));
        else if (group >= 2)
          n.b.slots.push_back({other, x});
      }
  }
  Value at(unsigned group, unsigned i) { return n.in(2 + group * count + i); }
  /// For every element of tensor i, in its type.
  Value wide(Value scalar, unsigned i) {
    Value like = at(0, i);
    if (!scalar || !like)
      return Value();
    return n.b.broadcastTo(n.b.cast(scalar, n.b.elementOf(like)), n.b.shapeOf(like));
  }
  /// 1 - base^T.
  Value oneMinusPower(double base) {
    if (!step)
      return Value();
    return n.b.sub(n.b.fullLike(step, 1), n.b.binary<nn::PowOp>(n.b.fullLike(step, base), step));
  }
  Value isLaterStep() { return n.b.compare(nn::CompareKind::Gt, step, 0.0); }

private:
  Value scalar(Value value) {
    if (!value)
      return value;
    return n.b.cast(n.b.reshape(value, {}), n.b.builder.getF64Type());
  }
  static std::string text(Value value) {
    std::string text;
    llvm::raw_string_ostream(text) << value.getType();
    return text;
  }
};
} // namespace

/// The gradient of norm / 2 * |X|^2 is part of the gradient.
static Value regularised(Groups &g, unsigned i, double norm) {
  NnBuilder &b = g.n.b;
  return norm == 0 ? g.at(1, i) : b.add(b.mul(g.at(0, i), norm), g.at(1, i));
}

static Results adam(NodeContext &n) {
  Groups g(n, 4);
  double alpha = n.real("alpha", 0.9f), beta = n.real("beta", 0.999f),
         epsilon = n.real("epsilon", 1e-6f);
  double norm = n.real("norm_coefficient", 0), post = n.real("norm_coefficient_post", 0);
  n.b.rates.push_back(g.rate);
  // The rate is corrected for bias from the first step on.
  Value corrected = n.b.div(n.b.mul(g.rate, n.b.unary<nn::SqrtOp>(g.oneMinusPower(beta))),
                            g.oneMinusPower(alpha));
  Value rate = n.b.select(g.isLaterStep(), corrected, g.rate);
  Results x, v, h;
  for (unsigned i = 0; i < g.count; ++i) {
    Value gradient = regularised(g, i, norm);
    Value mean = n.b.add(n.b.mul(g.at(2, i), alpha), n.b.mul(gradient, 1 - alpha));
    Value square =
        n.b.add(n.b.mul(g.at(3, i), beta), n.b.mul(n.b.mul(gradient, gradient), 1 - beta));
    Value root = n.b.add(n.b.unary<nn::SqrtOp>(square), epsilon);
    Value next = n.b.sub(g.at(0, i), n.b.div(n.b.mul(g.wide(rate, i), mean), root));
    x.push_back(post == 0 ? next : n.b.mul(next, 1 - post));
    v.push_back(mean);
    h.push_back(square);
  }
  x.append(v);
  x.append(h);
  return x;
}

static Results adagrad(NodeContext &n) {
  Groups g(n, 3);
  double decay = n.real("decay_factor", 0), epsilon = n.real("epsilon", 1e-6f),
         norm = n.real("norm_coefficient", 0);
  Value rate = n.b.div(g.rate, n.b.add(n.b.mul(g.step, decay), 1.0));
  n.b.rates.push_back(rate);
  Results x, h;
  for (unsigned i = 0; i < g.count; ++i) {
    Value gradient = regularised(g, i, norm);
    Value square = n.b.add(g.at(2, i), n.b.mul(gradient, gradient));
    Value root = n.b.add(n.b.unary<nn::SqrtOp>(square), epsilon);
    x.push_back(n.b.sub(g.at(0, i), n.b.div(n.b.mul(g.wide(rate, i), gradient), root)));
    h.push_back(square);
  }
  x.append(h);
  return x;
}

static Results momentum(NodeContext &n) {
  Groups g(n, 3);
  double alpha = n.real("alpha", 0), beta = n.real("beta", 0), norm = n.real("norm_coefficient", 0);
  auto mode = n.word("mode", "standard", {"standard", "nesterov"});
  if (!mode)
    return {};
  n.b.rates.push_back(g.rate);
  // At the first step (0) the gradient enters undamped.
  Value damping =
      g.step ? n.b.select(g.isLaterStep(), n.b.fullLike(g.step, beta), n.b.fullLike(g.step, 1))
             : Value();
  Results x, v;
  for (unsigned i = 0; i < g.count; ++i) {
    Value gradient = regularised(g, i, norm);
    Value damped = beta == 1 ? gradient : n.b.mul(g.wide(damping, i), gradient);
    Value velocity = n.b.add(n.b.mul(g.at(2, i), alpha), damped);
    Value direction = *mode == "nesterov" ? n.b.add(gradient, n.b.mul(velocity, alpha)) : velocity;
    x.push_back(n.b.sub(g.at(0, i), n.b.mul(g.wide(g.rate, i), direction)));
    v.push_back(velocity);
  }
  x.append(v);
  return x;
}

void weft::onnx::registerOptimizers(Registry &r) {
  r.add("Adam", 1, 1, adam, kTrainingDomain);
  r.add("Adagrad", 1, 1, adagrad, kTrainingDomain);
  r.add("Momentum", 1, 1, momentum, kTrainingDomain);
}
