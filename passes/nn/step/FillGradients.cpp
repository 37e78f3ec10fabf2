// Computes the gradients that a model itself asks for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/step/FillGradients.h"

#include "dialects/nn/IR/NnGradient.h"
#include "dialects/nn/IR/NnTraining.h"
#include "passes/nn/step/Autodiff.h"
#include "passes/nn/step/Passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Matchers.h"

namespace weft::step {
#define GEN_PASS_DEF_STEPFILLGRADIENTS
#include "passes/nn/step/Passes.h.inc"
} // namespace weft::step

using namespace mlir;
using namespace weft;
using namespace weft::step;

namespace {

struct Request {
  int64_t y;
  SmallVector<std::pair<BlockArgument, int64_t>> xs;
};

/// In the order of the model's nodes, which is that of arguments.
SmallVector<Request> requestsOf(func::FuncOp function) {
  SmallVector<Request> requests;
  for (BlockArgument arg : function.getArguments()) {
    auto marked =
        function.getArgAttrOfType<DenseI64ArrayAttr>(arg.getArgNumber(), nn::kGradientAttr);
    if (!marked)
      continue;
    if (requests.empty() || requests.back().y != marked[0])
      requests.push_back({marked[0], {}});
    requests.back().xs.emplace_back(arg, marked[1]);
  }
  return requests;
}

LogicalResult verify(func::FuncOp function) {
  int64_t count = function.getNumResults();
  for (const Request &request : requestsOf(function))
    for (auto [arg, x] : request.xs)
      if (request.y < 0 || request.y >= count || x < 0 || x >= count ||
          function.getResultTypes()[x] != arg.getType())
        return function.emitError()
               << nn::kGradientAttr << " of argument " << arg.getArgNumber() << " names results "
               << request.y << " and " << x << " of " << count;
  return success();
}

void dropMarked(func::FuncOp function) {
  for (unsigned i = function.getNumArguments(); i-- > 0;)
    if (function.getArgAttr(i, nn::kGradientAttr))
      (void)function.eraseArgument(i);
  Operation *end = function.getBody().front().getTerminator();
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attrs;
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    auto list = DictionaryAttr::get(function.getContext(), function.getResultAttrs(i));
    // Named ones are for whoever finishes the step.
    if (list.contains(nn::kInnerAttr) && !list.contains(nn::kNameAttr))
      continue;
    values.push_back(value);
    attrs.push_back(list);
  }
  end->setOperands(values);
  function.removeResAttrsAttr();
  function.setType(FunctionType::get(function.getContext(), function.getArgumentTypes(),
                                     TypeRange(ValueRange(values))));
  function.setAllResultAttrs(attrs);
}

struct FillGradients : step::impl::StepFillGradientsBase<FillGradients> {
  using StepFillGradientsBase::StepFillGradientsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    // Whoever finishes that one wants to know what was filled in.
    if (!function.isExternal() && function.getName() != nn::kModelStep &&
        failed(fillGradients(function)))
      signalPassFailure();
  }
};

} // namespace

FailureOr<SmallVector<OwnGradient>> weft::step::fillGradients(func::FuncOp function) {
  SmallVector<OwnGradient> filled;
  SmallVector<Request> requests = requestsOf(function);
  if (requests.empty())
    return filled;
  if (failed(verify(function)))
    return failure();
  Block &body = function.getBody().front();
  OpBuilder builder(body.getTerminator());
  for (const Request &request : requests) {
    OwnGradient &one = filled.emplace_back();
    one.y = body.getTerminator()->getOperand(request.y);
    for (auto [arg, x] : request.xs)
      one.xs.push_back(body.getTerminator()->getOperand(x));
    nn::Term number(builder, request.xs.front().first.getLoc(), one.y);
    FailureOr<SmallVector<Value>> gradients =
        differentiate(function, {{one.y, number.splat(1).value}}, one.xs);
    if (failed(gradients))
      return failure();
    one.gradients = *gradients;
    for (auto [hole, x, gradient] : llvm::zip_equal(request.xs, one.xs, *gradients)) {
      // What the loss sees of a weight is what the file says; between, ops may have
      // been joined, and then there is no such value any more.
      if (matchPattern(gradient, m_AnyZeroFloat()) && !isa<BlockArgument>(x))
        return emitError(hole.first.getLoc())
               << "the tensor that it differentiates by became part of a larger operation; "
                  "differentiate by inputs and "
                  "initializers";
      Value(hole.first).replaceAllUsesWith(gradient);
    }
    // Gradients were appended behind the ops that read them.
    if (!sortTopologically(&body))
      return function.emitError("a gradient depends on itself");
  }
  dropMarked(function);
  return filled;
}
