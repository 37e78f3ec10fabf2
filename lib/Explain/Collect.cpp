// Reads placements, collectives and their reasons off partitioned programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Reason.h"
#include "weft/Explain/Explain.h"

#include "dialects/nn/IR/Nn.h"
#include "dialects/rt/IR/CallNames.h"
#include "dialects/rt/IR/Rt.h"
#include "weft/Cost/CostModel.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Support/Diagnostics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::explain;

namespace {

std::string roleText(Operation *op) {
  auto role = op->getAttrOfType<StringAttr>(nn::kRoleAttr);
  if (!role)
    return "forward";
  return role.getValue() == nn::kRoleOptimizer ? "optimizer" : "gradient";
}

/// How often an op runs: once, or in each microbatch.
int64_t timesRun(Operation *op) {
  auto loop = op->getParentOfType<dist::RepeatOp>();
  if (!loop)
    return 1;
  const Mesh &mesh = dist::getMesh(op).getValue();
  return mesh.groupSize(mesh.resolve(loop.getAxis()));
}

/// `dim0:tp,dim1:3*dp` as --place reads it; "" if the placement cannot be said so.
std::string placeRule(const Mesh &mesh, const Placement &placement) {
  std::string rule;
  for (auto [number, dim] : llvm::enumerate(placement.dims)) {
    std::string parts;
    size_t axes = 0;
    for (const PlacedFactor &part : dim) {
      parts += (parts.empty() ? "" : "*") +
               (part.axes.empty() ? std::to_string(part.size) : mesh.axes[part.axes[0]].name);
      axes += part.axes.size();
    }
    if (axes > 1)
      return "";
    if (axes == 1)
      rule += (rule.empty() ? "dim" : ",dim") + std::to_string(number) + ":" + parts;
  }
  return rule;
}

/// What a state's placement costs each time if nobody asked for less memory: how it is stored and
/// how it is read differ. What ZeRO splits is gathered on purpose, for a part of the step.
std::string hintFor(TransitionOpInterface transition, dist::ReasonAttr reason,
                    const std::string &maker) {
  if (reason.getRole().getValue() != "state" || transition->hasAttr(dist::kStepPartAttr))
    return "";
  const Mesh &mesh = transition.getTransitionMesh();
  std::string rule = placeRule(mesh, reason.getTo().getValue());
  std::string text = "stored as " + placementText(mesh, reason.getFrom().getValue()) +
                     ", read as " + placementText(mesh, reason.getTo().getValue()) +
                     ": moved in every run; ";
  return text + (rule.empty() ? "keep it whole, or place its readers"
                              : "store it as it is read (--place '" + maker + "=" + rule +
                                    "'), or place its readers");
}

Sent sentBy(const Mesh &mesh, const CollectiveGeometry &geometry, int64_t elementBytes) {
  if (geometry.kind == TransitionKind::Move) { // each stage that lacks it has it from another
    std::vector<runtime::Traffic> members(geometry.sources.size());
    for (auto [stage, source] : llvm::enumerate(geometry.sources))
      if (source >= 0 && source != int64_t(stage))
        members[source].sent += {1, uint64_t(geometry.extent * elementBytes)};
    return Sent::by(members);
  }
  runtime::CollectiveShape shape{geometry.outer, geometry.extent, geometry.inner, geometry.middle,
                                 geometry.otherExtent};
  return Sent::by(runtime::trafficOf(*collectiveOf(geometry.kind), sizesOf(mesh, geometry.axes),
                                     {shape}, elementBytes));
}

class Collector {
public:
  Collector(func::FuncOp function, const SymbolTable &symbols, const CostModel &costs,
            Program &program)
      : function(function), symbols(symbols), costs(costs), program(program) {}

  void run() {
    collect(function, std::nullopt);
    for (BlockArgument argument : function.getArguments())
      addState(argument);
  }

private:
  /// What is in a routine is told once for each call, with the call's `label` in its names.
  void collect(func::FuncOp from, std::optional<StringRef> label) {
    from.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (func::FuncOp routine = routineOf(op)) {
        collect(routine, cast<rt::CallOp>(op).getLabel());
        return WalkResult::skip();
      }
      if (op->getNumResults() == 0 || op->hasTrait<OpTrait::ConstantLike>() ||
          !isa<RankedTensorType>(op->getResult(0).getType()) || holdsSteps(op))
        return WalkResult::advance();
      auto transition = dyn_cast<TransitionOpInterface>(op);
      if (transition && transition.isCommunication())
        program.collectives.push_back(collectiveOf(transition, label));
      else
        addNode(op, label);
      return WalkResult::skip(); // what is fused is one node
    });
  }

  /// The routine that an op calls, or null.
  func::FuncOp routineOf(Operation *op) const {
    auto call = dyn_cast<rt::CallOp>(op);
    auto callee = call ? symbols.lookup<func::FuncOp>(call.getCallee()) : func::FuncOp();
    return callee && callee->hasAttr(rt::kRoutineAttr) ? callee : func::FuncOp();
  }

  /// Microbatches and buckets: what is in them is told of itself.
  static bool holdsSteps(Operation *op) {
    return isa<dist::RepeatOp>(op) || llvm::any_of(op->getRegions(), [](Region &region) {
             return llvm::any_of(region.getOps(), llvm::IsaPred<TransitionOpInterface>);
           });
  }

  void addNode(Operation *op, std::optional<StringRef> label) {
    Type type = op->getResult(0).getType();
    Node node{rt::nameInCall(nodeName(op), label),
              op->getName().getStringRef().str(),
              typeText(type),
              placementText(type),
              roleText(op),
              1};
    if (auto reason = op->getAttrOfType<dist::ReasonAttr>(dist::kReasonAttr))
      node.role = reason.getRole().str();
    if (!program.nodes.empty()) {
      Node &last = program.nodes.back();
      if (last.node == node.node && last.op == node.op && last.type == node.type &&
          last.placement == node.placement && last.role == node.role) {
        ++last.count;
        return;
      }
    }
    program.nodes.push_back(std::move(node));
  }

  Collective collectiveOf(TransitionOpInterface transition, std::optional<StringRef> label) {
    Type from = transition->getOperand(0).getType(), to = transition->getResult(0).getType();
    const Mesh &mesh = transition.getTransitionMesh();
    Collective found;
    found.kind = stringifyTransitionKind(transition.getTransitionKind()).str();
    found.isMove = transition.getTransitionKind() == TransitionKind::Move;
    for (AxisId axis : transition.getTransitionAxes())
      found.axes.push_back(mesh.axes[axis].name);
    found.node = rt::nameInCall(nodeName(transition), label);
    found.type = typeText(to);
    found.from = placementText(from);
    found.to = placementText(to);
    found.position = program.nodes.size();
    found.times = timesRun(transition);
    const Placement &before = dist::getLocal(from).getValue();
    const Placement &after = dist::getLocal(to).getValue();
    if (before.held && !found.isMove)
      found.stages.assign(before.held->stages.begin(), before.held->stages.end());
    found.sent = sentBy(mesh, transition.getGeometry(), elementBytes(from));
    found.ringBytes = double(found.times) * costs.ringBytes(transition.getTransitionKind(),
                                                            transition.getTransitionAxes(), before,
                                                            after, elementBytes(from));
    found.seconds = double(found.times) * costs.seconds(transition.getTransitionKind(),
                                                        transition.getTransitionAxes(), before,
                                                        after, elementBytes(from));
    found.role = roleText(transition);
    if (auto reason = transition->getAttrOfType<dist::ReasonAttr>(dist::kReasonAttr)) {
      describeReason(mesh, transition.getTransitionAxes(), reason, label, found);
      found.hint = hintFor(transition, reason, found.maker);
    }
    return found;
  }

  void addState(BlockArgument argument) {
    unsigned number = argument.getArgNumber();
    auto name = function.getArgAttrOfType<StringAttr>(number, nn::kNameAttr);
    if (!name || !nn::isState(function, number))
      return;
    auto type = cast<RankedTensorType>(argument.getType());
    State state;
    state.name = name.str();
    state.kind = function.getArgAttr(number, nn::kClassAttr) ? "optimizer" : "parameter";
    state.type = typeText(type);
    state.stored = placementText(type);
    state.elements = cast<RankedTensorType>(dist::globalType(type)).getNumElements();
    state.bytes = bytesOf(type);
    state.used = placementText(whereUsed(argument).getType());
    program.states.push_back(std::move(state));
  }

  /// What is gathered by several transitions is used where the last leaves it, be it in a routine.
  Value whereUsed(Value value) const {
    for (;;) {
      Value next;
      for (OpOperand &use : value.getUses())
        if (auto transition = rt::transitionOf(use.getOwner(), use.getOperandNumber());
            transition && transition->hasAttr(dist::kStepPartAttr))
          next = use.getOwner()->getResult(use.getOperandNumber());
        else if (func::FuncOp routine = routineOf(use.getOwner()))
          if (Value used = whereUsed(routine.getArgument(use.getOperandNumber()));
              !isa<BlockArgument>(used))
            next = used;
      if (!next)
        return value;
      value = next;
    }
  }

  func::FuncOp function;
  const SymbolTable &symbols;
  const CostModel &costs;
  Program &program;
};

} // namespace

void weft::explain::collectPlacement(ModuleOp module, Document &document) {
  document.mesh.clear();
  dist::MeshAttr attribute = dist::getMesh(module);
  Mesh mesh = attribute ? attribute.getValue() : Mesh();
  for (const Mesh::Axis &axis : mesh.axes)
    document.mesh.push_back({axis.name, axis.size, axis.kind == AxisKind::Temporal});
  if (std::optional<AxisId> axis = mesh.stageAxis())
    document.stageAxes = {mesh.axes[*axis].name};
  FailureOr<CostModel> costs = costModelOf(module, mesh);
  if (failed(costs))
    return;
  SymbolTable symbols(module);
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      Collector(function, symbols, *costs, document.program(function.getSymName())).run();
  document.addUpSent();
}
