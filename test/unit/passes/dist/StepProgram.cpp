// Loss, gradients and optimizer around a forward program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StepProgram.h"

#include "dialects/nn/IR/NnGradient.h"
#include "passes/nn/step/Autodiff.h"

using namespace mlir;
using namespace weft::nn;

namespace weft::test {

namespace {

/// A state's next value.
struct Update {
  std::string state;
  Value value;
};

class StepMaker {
public:
  StepMaker(func::FuncOp function, const StepOptions &options)
      : function(function), options(options), builder(function.getContext()),
        loc(function.getLoc()) {
    builder.setInsertionPoint(terminator());
  }

  /// The mean of the squares of all results, and the gradient of each.
  Term loss(bool gradients) {
    Term total(builder, loc, {}), count(builder, loc, {});
    SmallVector<Value> outputs(terminator()->getOperands());
    SmallVector<Term> weights;
    for (Value output : outputs) {
      Term y = term(output);
      SmallVector<int64_t> all = dimRange(0, y.rank());
      Term ones = y.splat(1);
      if (options.counted)
        ones = labels(y.type()).is(CompareKind::Gt, 0).choose(ones, 0);
      weights.push_back(ones);
      Term sum = (y * y * ones).sum(all);
      Term number = ones.sum(all) + 1;
      total = total.value ? total + sum : sum;
      count = count.value ? count + number : number;
    }
    Term result = total / count;
    if (gradients)
      for (auto [output, ones] : llvm::zip_equal(outputs, weights)) {
        Term y = term(output);
        Term factor = 2 * count.make<ReciprocalOp>(count.value);
        seeds.push_back({output, (y * ones * factor.broadcast(y.shape(), {})).value});
        mark(seeds.back().gradient.getDefiningOp(), kRoleInputGradient);
      }
    return result;
  }

  LogicalResult makeStep() {
    Term value = loss(/*gradients=*/true);
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), kSourceAttr) &&
          isa<FloatType>(getElementTypeOrSelf(argument.getType())))
        parameters.push_back(argument);
    if (options.frozen && parameters.size() > 1)
      parameters.erase(parameters.begin());
    auto gradients = step::differentiate(function, seeds, parameters);
    if (failed(gradients))
      return failure();
    Operation *last = terminator()->getPrevNode();
    Term norm = optimize(*gradients);
    for (Operation *op = last->getNextNode(); op != terminator(); op = op->getNextNode())
      mark(op, kRoleOptimizer);
    SmallVector<Value> results = {value.value, norm.value};
    SmallVector<DictionaryAttr> attributes = {named(kNameAttr, "loss"),
                                              named(kNameAttr, "grad_norm")};
    for (const Update &update : updates) {
      results.push_back(update.value);
      attributes.push_back(named(nn::kUpdatesAttr, update.state));
    }
    finish(results, attributes);
    return success();
  }

  void makeEval() { finish({loss(/*gradients=*/false).value}, {named(kNameAttr, "loss")}); }

private:
  Operation *terminator() { return function.getBody().front().getTerminator(); }
  Term term(Value value) { return {builder, loc, value}; }
  void mark(Operation *op, StringRef role) { op->setAttr(kRoleAttr, builder.getStringAttr(role)); }
  DictionaryAttr named(StringRef name, StringRef value) {
    return builder.getDictionaryAttr(builder.getNamedAttr(name, builder.getStringAttr(value)));
  }

  /// Another input with the batch in front.
  Term labels(RankedTensorType type) {
    unsigned number = function.getNumArguments();
    SmallVector<StringRef> dims(type.getRank(), "");
    dims[0] = "batch";
    SmallVector<NamedAttribute> attributes = {
        builder.getNamedAttr(kNameAttr, builder.getStringAttr("labels")),
        builder.getNamedAttr("nn.dims", builder.getStrArrayAttr(dims))};
    if (failed(function.insertArgument(number, type, builder.getDictionaryAttr(attributes), loc)))
      llvm_unreachable("arguments can be appended");
    return term(function.getArgument(number));
  }

  /// An optimizer state of the parameter, of its shape.
  Term slot(BlockArgument parameter, StringRef suffix, std::string &name) {
    unsigned number = function.getNumArguments();
    StringRef of =
        cast<StringAttr>(function.getArgAttr(parameter.getArgNumber(), kNameAttr)).getValue();
    name = (of + "#" + suffix).str();
    Type element = getElementTypeOrSelf(parameter.getType());
    SmallVector<NamedAttribute> attributes = {
        builder.getNamedAttr(kNameAttr, builder.getStringAttr(name)),
        builder.getNamedAttr(kOfAttr, builder.getStringAttr(of)),
        builder.getNamedAttr(kClassAttr, builder.getStringAttr("optimizer")),
        builder.getNamedAttr(kInitialAttr, builder.getFloatAttr(element, 0.0))};
    if (failed(function.insertArgument(number, parameter.getType(),
                                       builder.getDictionaryAttr(attributes), loc)))
      llvm_unreachable("arguments can be appended");
    return term(function.getArgument(number));
  }

  Term optimize(ArrayRef<Value> gradients) {
    Term square(builder, loc, {});
    for (Value gradient : gradients) {
      Term g = term(gradient);
      Term sum = (g * g).sum(dimRange(0, g.rank()));
      square = square.value ? square + sum : sum;
    }
    Term norm = square.unary<SqrtOp>();
    Term scale = (norm.splat(options.clip) / (norm + 1e-6)).binary<MinOp>(norm.splat(1));
    for (auto [value, gradient] : llvm::zip_equal(parameters, gradients)) {
      auto parameter = cast<BlockArgument>(value);
      Term p = term(parameter), g = term(gradient);
      if (options.clip > 0)
        g = g * scale.broadcast(g.shape(), {});
      std::string first, second;
      Term next = p;
      if (options.optimizer == StepOptions::Sgd) {
        next = p - g * 0.05;
      } else if (options.optimizer == StepOptions::Momentum) {
        Term m = slot(parameter, "momentum_buffer", first) * 0.9 + g;
        next = p - m * 0.05;
        updates.push_back({first, m.value});
      } else {
        Term m = slot(parameter, "exp_avg", first) * 0.9 + g * 0.1;
        Term v = slot(parameter, "exp_avg_sq", second) * 0.99 + (g * g) * 0.01;
        next = p * 0.999 - (m / (v.unary<SqrtOp>() + 1e-3)) * 0.05;
        updates.push_back({first, m.value});
        updates.push_back({second, v.value});
      }
      updates.push_back(
          {cast<StringAttr>(function.getArgAttr(parameter.getArgNumber(), kNameAttr)).str(),
           next.value});
    }
    return norm;
  }

  void finish(ArrayRef<Value> results, ArrayRef<DictionaryAttr> attributes) {
    terminator()->setOperands(results);
    function.setFunctionType(builder.getFunctionType(function.getBody().front().getArgumentTypes(),
                                                     terminator()->getOperandTypes()));
    function.setAllResultAttrs(SmallVector<DictionaryAttr>(attributes));
  }

  func::FuncOp function;
  const StepOptions &options;
  OpBuilder builder;
  Location loc;
  SmallVector<step::Seed> seeds;
  SmallVector<Value> parameters; // block arguments
  std::vector<Update> updates;
};

} // namespace

LogicalResult makeStep(ModuleOp module, const StepOptions &options) {
  auto function = *module.getOps<func::FuncOp>().begin();
  auto eval = function.clone();
  function.setName("step");
  eval.setName("eval");
  module.push_back(eval);
  StepMaker(eval, options).makeEval();
  return StepMaker(function, options).makeStep();
}

} // namespace weft::test
