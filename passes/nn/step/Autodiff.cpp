// Reverse-mode differentiation of a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/step/Autodiff.h"
#include "dialects/nn/IR/Nn.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace weft::step {
namespace {

bool isFloatTensor(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

/// Keeps the ops that are made, in order.
struct Recorder : OpBuilder::Listener {
  std::vector<Operation *> ops;
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    ops.push_back(op);
  }
};

class Differentiator {
public:
  Differentiator(func::FuncOp function, ArrayRef<Value> withRespectTo)
      : function(function), withRespectTo(withRespectTo),
        builder(function.getContext(), &recorder) {
    Block &body = function.getBody().front();
    builder.setInsertionPoint(body.getTerminator());
    findActive();
  }

  FailureOr<SmallVector<Value>> run(ArrayRef<Seed> seeds) {
    for (const Seed &seed : seeds)
      accumulate(seed.value, seed.gradient);
    bool complete = true;
    for (Operation *op : llvm::reverse(forward))
      complete &= succeeded(visit(op));
    if (!complete) {
      for (Operation *op : llvm::reverse(recorder.ops))
        op->erase();
      return failure();
    }
    SmallVector<Value> results;
    for (Value value : withRespectTo) {
      Value &gradient = gradients[value];
      results.push_back(gradient ? gradient : gradient = zeros(value));
    }
    assignRoles();
    return results;
  }

private:
  /// Active values are floats through which `withRespectTo` reaches others;
  /// weights are values that no input reaches.
  void findActive() {
    active.insert(withRespectTo.begin(), withRespectTo.end());
    weights.insert(withRespectTo.begin(), withRespectTo.end());
    for (BlockArgument arg : function.getArguments())
      if (nn::isState(function, arg.getArgNumber()))
        weights.insert(arg);
    for (Operation &op : function.getBody().front().without_terminator()) {
      bool isActive =
          llvm::any_of(op.getOperands(), [&](Value value) { return active.contains(value); });
      bool isWeight =
          llvm::all_of(op.getOperands(), [&](Value value) { return weights.contains(value); });
      for (Value result : op.getResults()) {
        if (isActive && isFloatTensor(result))
          active.insert(result);
        if (isWeight)
          weights.insert(result);
      }
      if (isActive)
        forward.push_back(&op);
    }
  }

  /// Adds to the gradient of `value`.
  void accumulate(Value value, Value gradient) {
    if (!gradient || !active.contains(value))
      return;
    assert(value.getType() == gradient.getType() && "a gradient has the type of its value");
    Value &sum = gradients[value];
    sum = sum ? nn::AddOp::create(builder, gradient.getLoc(), sum, gradient).getResult() : gradient;
  }

  LogicalResult visit(Operation *op) {
    SmallVector<Value> resultGradients = llvm::map_to_vector(
        op->getResults(), [&](Value result) { return gradients.lookup(result); });
    if (llvm::all_of(resultGradients, [](Value gradient) { return !gradient; }))
      return success();
    SmallVector<bool> wanted = llvm::map_to_vector(
        op->getOperands(), [&](Value operand) { return active.contains(operand); });
    SmallVector<Value> operandGradients(op->getNumOperands());
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    LogicalResult result = failure();
    if (differentiable)
      result = differentiable.buildGradient(builder, resultGradients, wanted, operandGradients);
    if (failed(result)) {
      op->emitError("has no gradient, and values with respect to which the "
                    "loss is differentiated pass through it")
              .attachNote()
          << "take the op out of the loss, or freeze the parameters in front "
             "of it";
      // Go on, to name every such op at once.
      for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), operandGradients))
        gradient = active.contains(operand) ? zeros(operand) : Value();
    }
    for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), operandGradients)) {
      accumulate(operand, gradient);
      if (gradient && !weights.contains(operand))
        ofActivations.push_back(gradients.lookup(operand));
    }
    return result;
  }

  Value zeros(Value like) {
    auto type = cast<RankedTensorType>(like.getType());
    auto zero = FloatAttr::get(cast<FloatType>(type.getElementType()), 0.0);
    return nn::ConstantOp::create(builder, like.getLoc(),
                                  cast<ElementsAttr>(SplatElementsAttr::get(type, zero)));
  }

  void assignRoles() {
    llvm::DenseSet<Operation *> needed;
    SmallVector<Value> work(ofActivations);
    llvm::DenseSet<Operation *> own(recorder.ops.begin(), recorder.ops.end());
    while (!work.empty()) {
      Operation *op = work.pop_back_val().getDefiningOp();
      if (op && own.contains(op) && needed.insert(op).second)
        llvm::append_range(work, op->getOperands());
    }
    auto input = builder.getStringAttr(nn::kRoleInputGradient),
         weight = builder.getStringAttr(nn::kRoleWeightGradient);
    for (Operation *op : recorder.ops)
      op->setAttr(nn::kRoleAttr, needed.contains(op) ? input : weight);
  }

  func::FuncOp function;
  ArrayRef<Value> withRespectTo;
  Recorder recorder;
  OpBuilder builder;
  llvm::DenseSet<Value> active, weights;
  /// Ops of the program that read active values.
  std::vector<Operation *> forward;
  llvm::DenseMap<Value, Value> gradients;
  SmallVector<Value> ofActivations;
};

} // namespace

FailureOr<SmallVector<Value>> differentiate(func::FuncOp function, ArrayRef<Seed> seeds,
                                            ArrayRef<Value> withRespectTo) {
  return Differentiator(function, withRespectTo).run(seeds);
}

} // namespace weft::step
