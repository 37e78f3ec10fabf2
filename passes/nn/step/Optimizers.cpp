// Optimizers as formulas on tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/step/Optimizers.h"

#include "dialects/nn/IR/NnGradient.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::step;
using nn::Term;

SmallVector<StringRef> weft::step::slotNames(OptimizerKind kind) {
  switch (kind) {
  case OptimizerKind::Sgd:
    return {};
  case OptimizerKind::Momentum:
  case OptimizerKind::Nesterov:
    return {"momentum_buffer"};
  case OptimizerKind::Adam:
  case OptimizerKind::AdamW:
    return {"exp_avg", "exp_avg_sq"};
  case OptimizerKind::Adagrad:
    return {"sum"};
  case OptimizerKind::Lion:
    return {"exp_avg"};
  }
  llvm_unreachable("kind of optimizer");
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

StepScalars::StepScalars(OpBuilder &builder, Location loc, Value step, const OptimizerSpec &spec)
    : builder(builder), loc(loc) {
  Term done = Term(builder, loc, step).cast(builder.getF64Type());
  count = (done + 1.0).value;
  const ScheduleSpec &schedule = spec.schedule;
  Term now = done.splat(1);
  if (schedule.kind != ScheduleSpec::Kind::Constant) {
    Term progress = (done - double(schedule.warmup)) / double(schedule.total - schedule.warmup);
    progress = progress.binary<nn::MinOp>(progress.splat(1)).binary<nn::MaxOp>(progress.splat(0));
    now = schedule.kind == ScheduleSpec::Kind::Linear
              ? 1.0 - progress
              : ((progress * M_PI).unary<nn::CosOp>() + 1.0) * 0.5;
    if (double least = spec.hyper.lr > 0 ? schedule.minLr / spec.hyper.lr : 0; least > 0)
      now = now * (1 - least) + least;
  }
  if (schedule.warmup > 0)
    now = done.is(nn::CompareKind::Lt, double(schedule.warmup))
              .choose((done + 1.0) / double(schedule.warmup), now);
  factor = now.value;
}

Value StepScalars::rate(double base) { return (Term(builder, loc, factor) * base).value; }

Value StepScalars::biasCorrection(double beta) {
  Term exponent(builder, loc, count);
  return (1.0 - exponent.splat(beta).binary<nn::PowOp>(exponent)).value;
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

namespace {

/// Formulas of one parameter; `p` is its value, `g` its gradient.
class Updater {
public:
  Updater(OpBuilder &builder, Location loc, const HyperParameters &hyper, StepScalars &scalars,
          Value parameter, Value gradient, ArrayRef<Value> slots)
      : hyper(hyper), scalars(scalars), p(builder, loc, parameter), g(builder, loc, gradient),
        slots(slots) {}

  Update build(OptimizerKind kind) {
    switch (kind) {
    case OptimizerKind::Sgd:
      addDecayToGradient();
      return {(p - rate() * g).value, {}};
    case OptimizerKind::Momentum:
    case OptimizerKind::Nesterov:
      return momentum(kind == OptimizerKind::Nesterov);
    case OptimizerKind::Adam:
      addDecayToGradient();
      return adam();
    case OptimizerKind::AdamW:
      decay();
      return adam();
    case OptimizerKind::Adagrad:
      return adagrad();
    case OptimizerKind::Lion:
      return lion();
    }
    llvm_unreachable("kind of optimizer");
  }

private:
  Term slot(unsigned i) { return p.with(slots[i]); }
  /// An f64 scalar for every element.
  Term repeated(Term scalar) { return scalar.cast(p.element()).broadcast(p.shape(), {}); }
  Term rate() { return repeated(p.with(scalars.rate(hyper.lr))); }

  /// L2 regularisation: the decay is part of the gradient.
  void addDecayToGradient() {
    if (hyper.weightDecay != 0)
      g = g + p * hyper.weightDecay;
  }
  /// Decoupled from the gradient (Loshchilov and Hutter, 2019).
  void decay() {
    if (hyper.weightDecay != 0)
      p = p * repeated(1.0 - p.with(scalars.rate(hyper.lr)) * hyper.weightDecay);
  }

  Update momentum(bool nesterov) {
    addDecayToGradient();
    Term velocity = slot(0) * hyper.momentum + g;
    Term direction = nesterov ? g + velocity * hyper.momentum : velocity;
    return {(p - rate() * direction).value, {velocity.value}};
  }

  Update adam() {
    Term mean = slot(0) * hyper.beta1 + g * (1 - hyper.beta1);
    Term square = slot(1) * hyper.beta2 + g * g * (1 - hyper.beta2);
    Term correction1 = p.with(scalars.biasCorrection(hyper.beta1));
    Term correction2 = p.with(scalars.biasCorrection(hyper.beta2));
    Term size = repeated(p.with(scalars.rate(hyper.lr)) / correction1);
    Term root = square.unary<nn::SqrtOp>() * repeated(correction2.unary<nn::RsqrtOp>());
    return {(p - size * (mean / (root + hyper.eps))).value, {mean.value, square.value}};
  }

  Update adagrad() {
    addDecayToGradient();
    Term sum = slot(0) + g * g;
    return {(p - rate() * (g / (sum.unary<nn::SqrtOp>() + hyper.eps))).value, {sum.value}};
  }

  /// Chen et al., 2023.
  Update lion() {
    Term mean = slot(0);
    Term direction = (mean * hyper.beta1 + g * (1 - hyper.beta1)).unary<nn::SignOp>();
    decay();
    Term next = mean * hyper.beta2 + g * (1 - hyper.beta2);
    return {(p - rate() * direction).value, {next.value}};
  }

  const HyperParameters &hyper;
  StepScalars &scalars;
  Term p, g;
  ArrayRef<Value> slots;
};

} // namespace

Update weft::step::buildUpdate(OpBuilder &builder, Location loc, OptimizerKind kind,
                               const HyperParameters &hyper, StepScalars &scalars, Value parameter,
                               Value gradient, ArrayRef<Value> slots) {
  return Updater(builder, loc, hyper, scalars, parameter, gradient, slots).build(kind);
}
