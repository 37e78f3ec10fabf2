// Merges steps between placements where that moves fewer bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"
#include "passes/dist/RequireMesh.h"

#include "passes/dist/OpQueries.h"
#include "passes/dist/Reasons.h"
#include "weft/Search/Reshard.h"

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTSIMPLIFYCOLLECTIVES
#include "passes/dist/Passes.h.inc"

namespace {

class Simplifier {
public:
  Simplifier(func::FuncOp function, MeshAttr mesh, ReshardPlanner &planner)
      : function(function), mesh(mesh), planner(planner) {}

  void run() {
    // In program order, so that a chain is merged from its end when its last
    // step is met.
    for (Operation &op :
         llvm::make_early_inc_range(function.getBody().front().without_terminator()))
      if (auto step = dyn_cast<StepOpInterface>(op))
        mergeChain(step);
  }

private:
  static const Placement &placementOf(Value value) { return getLocal(value.getType()).getValue(); }

  double costOf(StepOpInterface step, double bytes) {
    const ReshardPlan *plan =
        planner.plan(placementOf(step->getOperand(0)), placementOf(step->getResult(0)), bytes);
    return plan ? plan->cost : 0;
  }

  /// Replaces a run of steps, each read only by the next, by the cheapest plan,
  /// if that is cheaper than the steps.
  void mergeChain(StepOpInterface last) {
    if (last->hasAttr(kPhaseAttr))
      return;
    // Only the end of a chain, when all of it is known.
    if (last->hasOneUse() && isa<StepOpInterface>(*last->user_begin()) &&
        !(*last->user_begin())->hasAttr(kPhaseAttr))
      return;
    SmallVector<Operation *> chain = {last};
    double bytes = elementBytes(last->getResult(0).getType());
    double cost = costOf(last, bytes);
    while (auto inner = chain.back()->getOperand(0).getDefiningOp<StepOpInterface>()) {
      if (!inner->hasOneUse() || inner->hasAttr(kPhaseAttr))
        break;
      chain.push_back(inner);
      cost += costOf(inner, bytes);
    }
    if (chain.size() < 2)
      return;
    Value input = chain.back()->getOperand(0);
    const ReshardPlan *plan =
        planner.plan(placementOf(input), placementOf(last->getResult(0)), bytes);
    if (!plan || plan->cost >= cost)
      return;
    OpBuilder builder(last);
    Value value = input;
    ReasonAttr reason = joinReasons(chain.back()->getAttrOfType<ReasonAttr>(kReasonAttr),
                                    last->getAttrOfType<ReasonAttr>(kReasonAttr));
    for (const ReshardStep &step : plan->steps) {
      value = createStep(builder, last->getLoc(), value, mesh, step.kind, step.axes, step.dim,
                         step.otherDim, step.result);
      if (reason)
        value.getDefiningOp()->setAttr(kReasonAttr, reason);
    }
    last->getResult(0).replaceAllUsesWith(value);
    for (Operation *op : chain)
      op->erase();
  }

  func::FuncOp function;
  MeshAttr mesh;
  ReshardPlanner &planner;
};

struct SimplifyCollectives : impl::DistSimplifyCollectivesBase<SimplifyCollectives> {
  void runOnOperation() override {
    MeshAttr mesh = requireMesh(getOperation());
    if (!mesh)
      return signalPassFailure();
    FailureOr<CostModel> costs = costModelOf(getOperation(), mesh.getValue());
    if (failed(costs))
      return signalPassFailure();
    ReshardPlanner planner(std::move(*costs));
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        Simplifier(function, mesh, planner).run();
  }
};

} // namespace
} // namespace weft::dist
