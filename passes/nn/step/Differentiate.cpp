// Returns the gradients of a result with respect to all state.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "passes/nn/step/Autodiff.h"
#include "passes/nn/step/Passes.h"

namespace weft::step {
#define GEN_PASS_DEF_STEPDIFFERENTIATE
#include "passes/nn/step/Passes.h.inc"
} // namespace weft::step

using namespace mlir;
using namespace weft;

namespace {

struct Differentiate : step::impl::StepDifferentiateBase<Differentiate> {
  using StepDifferentiateBase::StepDifferentiateBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    if (result >= function.getNumResults()) {
      function.emitError() << "has " << function.getNumResults()
                           << " results, so there is no result " << result.getValue();
      return signalPassFailure();
    }
    if (isPlaced(function)) {
      function.emitError() << "has values placed on a mesh; differentiate it before";
      return signalPassFailure();
    }
    Operation *end = function.getBody().front().getTerminator();
    Value loss = end->getOperand(result);
    auto type = cast<RankedTensorType>(loss.getType());
    auto element = dyn_cast<FloatType>(type.getElementType());
    if (!element) {
      function.emitError() << "result " << result.getValue() << " has element type "
                           << type.getElementType() << ", but only floats have a gradient";
      return signalPassFailure();
    }
    OpBuilder builder(end);
    auto ones = nn::ConstantOp::create(
        builder, loss.getLoc(),
        cast<ElementsAttr>(SplatElementsAttr::get(type, builder.getFloatAttr(element, 1.0))));
    SmallVector<unsigned> states = floatStates(function);
    auto values = llvm::map_to_vector(
        states, [&](unsigned index) -> Value { return function.getArgument(index); });
    auto gradients = step::differentiate(function, {{loss, ones}}, values);
    if (failed(gradients)) {
      ones->erase();
      return signalPassFailure();
    }
    for (auto [state, gradient] : llvm::zip_equal(states, *gradients)) {
      auto name = function.getArgAttr(state, nn::kNameAttr);
      unsigned last = function.getNumResults();
      auto attributes = name ? builder.getDictionaryAttr(builder.getNamedAttr(nn::kNameAttr, name))
                             : DictionaryAttr();
      (void)function.insertResult(last, gradient.getType(), attributes);
      end->insertOperands(last, gradient);
    }
  }

  /// Gradients are made of whole tensors.
  static bool isPlaced(func::FuncOp function) {
    auto hasPlacement = [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor && tensor.getEncoding();
    };
    return function
        .walk([&](Operation *op) {
          return llvm::any_of(op->getResultTypes(), hasPlacement) ? WalkResult::interrupt()
                                                                  : WalkResult::advance();
        })
        .wasInterrupted();
  }

  static SmallVector<unsigned> floatStates(func::FuncOp function) {
    SmallVector<unsigned> states;
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
      if (nn::isState(function, index) &&
          isa<FloatType>(cast<RankedTensorType>(type).getElementType()))
        states.push_back(index);
    return states;
  }
};

} // namespace
