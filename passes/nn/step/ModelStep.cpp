// Finishes the training step that a model itself describes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/step/FillGradients.h"

#include "dialects/nn/IR/NnGradient.h"
#include "dialects/nn/IR/NnTraining.h"
#include "passes/nn/step/Losses.h"
#include "passes/nn/step/TrainingPrograms.h"
#include "weft/runtime/Metadata.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::step;
using nn::Term;

namespace {

class ModelStepMaker {
public:
  explicit ModelStepMaker(func::FuncOp function)
      : function(function), builder(function.getContext()) {}

  LogicalResult make() {
    if (failed(checkPrecision()))
      return failure();
    FailureOr<SmallVector<OwnGradient>> filled = fillGradients(function);
    if (failed(filled))
      return failure();
    gradients = std::move(*filled);
    Operation *end = function.getBody().front().getTerminator();
    builder.setInsertionPoint(end);
    markOptimizer();
    Operation *before = end->getPrevNode();
    buildResults(end);
    for (Operation *op = before ? before->getNextNode() : &function.getBody().front().front();
         op != end; op = op->getNextNode())
      op->setAttr(nn::kRoleAttr, builder.getStringAttr(nn::kRoleOptimizer));
    return success();
  }

private:
  /// There is no place in the model's own formulas for a wider copy of parameters,
  /// nor for a scale of the loss.
  LogicalResult checkPrecision() {
    for (BlockArgument arg : function.getArguments()) {
      auto type = dyn_cast<FloatType>(getElementTypeOrSelf(arg.getType()));
      if (type && type.getWidth() < 32 && isUpdated(arg))
        return emitError(arg.getLoc())
               << "the model's training step keeps this state in " << type
               << ", which is too narrow to be updated; store it in f32, or give --loss and "
                  "--optimizer, which keep a copy in f32";
    }
    bool isHalf =
        function
            .walk([](Operation *op) {
              return llvm::any_of(op->getResultTypes(),
                                  [](Type type) { return getElementTypeOrSelf(type).isF16(); })
                         ? WalkResult::interrupt()
                         : WalkResult::advance();
            })
            .wasInterrupted();
    if (isHalf)
      return function.emitError()
             << "the model's training step does not scale its loss, so gradients in fp16 would "
                "vanish; compile it with --precision fp32 or bf16, or give --loss and --optimizer";
    return success();
  }

  bool isUpdated(BlockArgument arg) {
    Attribute name = function.getArgAttr(arg.getArgNumber(), nn::kNameAttr);
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (name && function.getResultAttr(i, nn::kUpdatesAttr) == name)
        return true;
    return false;
  }

  /// All that gradients or optimizer states lead to, but for what the loss needs.
  void markOptimizer() {
    llvm::DenseSet<Operation *> loss;
    SmallVector<Value> work =
        llvm::map_to_vector(gradients, [](const OwnGradient &one) { return one.y; });
    while (!work.empty())
      if (Operation *op = work.pop_back_val().getDefiningOp(); op && loss.insert(op).second)
        llvm::append_range(work, op->getOperands());
    llvm::DenseSet<Value> behind;
    for (BlockArgument arg : function.getArguments())
      if (function.getArgAttr(arg.getArgNumber(), nn::kClassAttr))
        behind.insert(arg);
    auto role = builder.getStringAttr(nn::kRoleOptimizer);
    for (Operation &op : function.getBody().front().without_terminator()) {
      bool isGradient = op.hasAttr(nn::kRoleAttr);
      bool follows =
          llvm::any_of(op.getOperands(), [&](Value value) { return behind.contains(value); });
      if (!isGradient && (!follows || loss.contains(&op)))
        continue;
      behind.insert(op.result_begin(), op.result_end());
      if (!isGradient)
        op.setAttr(nn::kRoleAttr, role);
    }
  }

  /// In f64, over all weights that the model differentiates by.
  Value buildNorm() {
    Location loc = NameLoc::get(builder.getStringAttr("global gradient norm"), function.getLoc());
    Value sum;
    for (const OwnGradient &one : gradients)
      for (auto [x, gradient] : llvm::zip_equal(one.xs, one.gradients)) {
        auto arg = dyn_cast<BlockArgument>(x);
        if (!arg || !nn::isState(function, arg.getArgNumber()))
          continue;
        Term g(builder, loc, gradient);
        Term squares = (g * g).sum(nn::dimRange(0, g.rank())).cast(builder.getF64Type());
        sum = sum ? (squares.with(sum) + squares).value : squares.value;
      }
    auto f64 = RankedTensorType::get({}, builder.getF64Type());
    Term one(builder, loc, gradients.front().y);
    return sum ? one.with(sum).unary<nn::SqrtOp>().value : one.splat(0, f64).value;
  }

  void buildResults(Operation *end) {
    Term loss(builder, NameLoc::get(builder.getStringAttr("loss"), function.getLoc()),
              gradients.front().y);
    loss = loss.reshape({}).wide();
    Type scalar = loss.element();
    SmallVector<Value> values{loss.value, loss.with(buildNorm()).cast(scalar).value};
    // A step of other formulas has a rate that nobody knows.
    Value rate = loss.splat(NAN).value;
    SmallVector<std::pair<Value, Attribute>> updates;
    for (auto [i, value] : llvm::enumerate(end->getOperands())) {
      if (Attribute name = function.getResultAttr(i, nn::kUpdatesAttr))
        updates.emplace_back(value, name);
      else if (function.getResultAttr(i, nn::kNameAttr) == builder.getStringAttr("lr"))
        rate = loss.with(value).cast(scalar).value;
    }
    values.push_back(rate);
    SmallVector<DictionaryAttr> attrs;
    auto describe = [&](StringRef attribute, Attribute name) {
      attrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr(attribute, name)));
    };
    for (const char *name : {"loss", "grad_norm", "lr"})
      describe(nn::kNameAttr, builder.getStringAttr(name));
    for (auto [value, name] : updates) {
      values.push_back(value);
      describe(nn::kUpdatesAttr, name);
    }
    Term count(builder, NameLoc::get(builder.getStringAttr(runtime::kStepState), function.getLoc()),
               stepCounter());
    values.push_back((count + 1.0).value);
    describe(nn::kUpdatesAttr, builder.getStringAttr(runtime::kStepState));
    end->setOperands(values);
    function.removeResAttrsAttr();
    function.setType(
        builder.getFunctionType(function.getArgumentTypes(), TypeRange(ValueRange(values))));
    function.setAllResultAttrs(attrs);
  }

  /// A step with random numbers has it already.
  Value stepCounter() {
    if (BlockArgument found = findArgument(function, runtime::kStepState))
      return found;
    unsigned at = function.getNumArguments();
    NamedAttrList attributes;
    attributes.set(nn::kNameAttr, builder.getStringAttr(runtime::kStepState));
    attributes.set(nn::kInitialAttr, builder.getI64IntegerAttr(0));
    attributes.set(nn::kClassAttr, builder.getStringAttr("optimizer"));
    (void)function.insertArgument(
        at, RankedTensorType::get({}, builder.getI64Type()),
        attributes.getDictionary(builder.getContext()),
        NameLoc::get(builder.getStringAttr(runtime::kStepState), function.getLoc()));
    return function.getArgument(at);
  }

  func::FuncOp function;
  OpBuilder builder;
  SmallVector<OwnGradient> gradients;
};

} // namespace

LogicalResult weft::step::finishModelStep(func::FuncOp function) {
  return ModelStepMaker(function).make();
}

void weft::step::finishModelEvaluation(func::FuncOp function) {
  Operation *end = function.getBody().front().getTerminator();
  OpBuilder builder(end);
  end->setOperand(0, Term(builder, end->getLoc(), end->getOperand(0)).wide().value);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), end->getOperandTypes()));
  function.setAllResultAttrs(ArrayRef{builder.getDictionaryAttr(
      builder.getNamedAttr(nn::kNameAttr, builder.getStringAttr("loss")))});
}
