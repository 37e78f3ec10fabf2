// Merges transitions between placements where that takes less time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"
#include "passes/dist/RequireMesh.h"

#include "passes/dist/OpQueries.h"
#include "passes/dist/Reasons.h"
#include "weft/Search/Reshard.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTSIMPLIFYCOLLECTIVES
#include "passes/dist/Passes.h.inc"

namespace {

class Simplifier {
public:
  Simplifier(func::FuncOp function, MeshAttr mesh, ReshardSearch &search)
      : function(function), mesh(mesh), search(search) {}

  void run() {
    // In program order, so that a chain is merged from its end when its last
    // transition is met.
    for (Operation &op :
         llvm::make_early_inc_range(function.getBody().front().without_terminator()))
      if (auto transition = dyn_cast<TransitionOpInterface>(op))
        mergeChain(transition);
    shareMoves();
  }

private:
  static const Placement &placementOf(Value value) { return getLocal(value.getType()).getValue(); }

  double costOf(TransitionOpInterface transition, double bytes) {
    const ReshardPlan *plan = search.plan(placementOf(transition->getOperand(0)),
                                          placementOf(transition->getResult(0)), bytes);
    return plan ? plan->cost : 0;
  }

  /// Replaces a run of transitions, each read only by the next, by the cheapest plan,
  /// if that is cheaper than the transitions.
  void mergeChain(TransitionOpInterface last) {
    if (last->hasAttr(kStepPartAttr))
      return;
    // Only the end of a chain, when all of it is known.
    if (last->hasOneUse() && isa<TransitionOpInterface>(*last->user_begin()) &&
        !(*last->user_begin())->hasAttr(kStepPartAttr))
      return;
    SmallVector<Operation *> chain = {last};
    double bytes = elementBytes(last->getResult(0).getType());
    double cost = costOf(last, bytes);
    while (auto inner = chain.back()->getOperand(0).getDefiningOp<TransitionOpInterface>()) {
      if (!inner->hasOneUse() || inner->hasAttr(kStepPartAttr))
        break;
      chain.push_back(inner);
      cost += costOf(inner, bytes);
    }
    if (chain.size() < 2)
      return;
    Value input = chain.back()->getOperand(0);
    const ReshardPlan *plan =
        search.plan(placementOf(input), placementOf(last->getResult(0)), bytes);
    if (!plan || plan->cost >= cost)
      return;
    OpBuilder builder(last);
    Value value = input;
    ReasonAttr reason = joinReasons(chain.back()->getAttrOfType<ReasonAttr>(kReasonAttr),
                                    last->getAttrOfType<ReasonAttr>(kReasonAttr));
    for (const ReshardTransition &transition : plan->transitions) {
      value =
          createTransition(builder, last->getLoc(), value, mesh, transition.kind, transition.axes,
                           transition.dim, transition.otherDim, transition.result);
      if (reason)
        value.getDefiningOp()->setAttr(kReasonAttr, reason);
    }
    last->getResult(0).replaceAllUsesWith(value);
    for (Operation *op : chain)
      op->erase();
  }

  /// A value goes to other stages once, whoever reads it there and in whatever shards: chains that
  /// began at one value may each have come to begin with its move.
  void shareMoves() {
    llvm::MapVector<std::pair<Value, Type>, SmallVector<TransitionOpInterface, 1>> moves;
    for (auto transition : function.getBody().front().getOps<TransitionOpInterface>())
      if (transition.getTransitionKind() == TransitionKind::Move &&
          !transition->hasAttr(kStepPartAttr))
        moves[{transition->getOperand(0), transition->getResult(0).getType()}].push_back(
            transition);
    for (auto &[what, alike] : moves)
      for (TransitionOpInterface other : llvm::drop_begin(alike)) {
        if (ReasonAttr reason = shareReasons(alike.front()->getAttrOfType<ReasonAttr>(kReasonAttr),
                                             other->getAttrOfType<ReasonAttr>(kReasonAttr)))
          alike.front()->setAttr(kReasonAttr, reason);
        other->getResult(0).replaceAllUsesWith(alike.front()->getResult(0));
        other->erase();
      }
  }

  func::FuncOp function;
  MeshAttr mesh;
  ReshardSearch &search;
};

struct SimplifyCollectives : impl::DistSimplifyCollectivesBase<SimplifyCollectives> {
  void runOnOperation() override {
    MeshAttr mesh = requireMesh(getOperation());
    if (!mesh)
      return signalPassFailure();
    FailureOr<CostModel> costs = costModelOf(getOperation(), mesh.getValue());
    if (failed(costs))
      return signalPassFailure();
    ReshardSearch search(std::move(*costs));
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        Simplifier(function, mesh, search).run();
  }
};

} // namespace
} // namespace weft::dist
