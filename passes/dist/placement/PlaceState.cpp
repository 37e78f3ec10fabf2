// Decides where state is stored, and lets the programs that share it agree.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"
#include "passes/dist/RequireMesh.h"

#include "passes/dist/OpQueries.h"
#include "passes/dist/SignatureAttributes.h"
#include "passes/dist/placement/Propagation.h"
#include "weft/Sharding/StatePlacement.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTPLACESTATE
#define GEN_PASS_DEF_DISTSHARESTATE
#include "passes/dist/Passes.h.inc"

namespace {

/// Where the parts of one parameter's state lie. `used` is how programs read it.
struct StatePlan {
  Placement used, split;
  unsigned argument;
};

class StatePlacer {
public:
  StatePlacer(func::FuncOp function, MeshAttr mesh, AxisList axes, bool splitParameters,
              bool splitSlots, bool splitGradients)
      : function(function), mesh(mesh), axes(std::move(axes)), splitParameters(splitParameters),
        splitSlots(splitSlots), splitGradients(splitGradients) {}

  void run() {
    separateScalars();
    planParameters();
    placeArguments();
    placeUpdates();
    // Gradients, moments and new values of a parameter meet elementwise.
    PropagationOptions options;
    options.include = [](Operation *op) { return roleOf(op) == OpRole::Optimizer; };
    options.stored = true;
    propagatePlacements(function, mesh, options);
    if (splitGradients)
      markGradients();
  }

private:
  Attribute attribute(const Placement &placement) {
    return PlacementAttr::get(function.getContext(), mesh, placement);
  }

  Placement usedPlacement(unsigned argument) {
    if (auto placed = function.getArgAttrOfType<PlacementAttr>(argument, kPlacementAttr))
      return placed.getValue();
    return Placement::replicated(
        cast<RankedTensorType>(function.getArgument(argument).getType()).getShape());
  }

  /// A scalar spread to a shape (a learning rate) is made for each reader, because
  /// parameters of one shape may lie differently.
  void separateScalars() {
    auto isScalar = [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor && tensor.getRank() == 0;
    };
    for (Operation &op :
         llvm::make_early_inc_range(function.getBody().front().without_terminator())) {
      if (roleOf(&op) != OpRole::Optimizer || op.getNumOperands() == 0 || op.getNumResults() != 1 ||
          isScalar(op.getResult(0).getType()) || !llvm::all_of(op.getOperandTypes(), isScalar))
        continue;
      SmallVector<OpOperand *> uses;
      for (OpOperand &use : op.getUses())
        uses.push_back(&use);
      for (OpOperand *use : ArrayRef(uses).drop_back(uses.empty() ? 0 : 1))
        use->set(OpBuilder(use->getOwner()).clone(op)->getResult(0));
    }
  }

  /// A parameter is state that the optimizer updates, or weights that nothing
  /// does. Other state (a step counter, running statistics) stays where it is used.
  void planParameters() {
    Operation *terminator = function.getBody().front().getTerminator();
    for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
      Operation *op = value.getDefiningOp();
      StringAttr name = nn::updatedState(function, index);
      if (name && op && roleOf(op) == OpRole::Optimizer)
        updates[name.getValue()] = index;
      else if (name)
        otherUpdates.insert(name.getValue());
    }
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      StringRef name = nn::argumentName(function, i);
      bool frozen = function.getArgAttr(i, nn::kSourceAttr) && !otherUpdates.contains(name);
      if (!nn::isState(function, i) || function.getArgAttr(i, nn::kOfAttr) ||
          !(updates.count(name) || frozen))
        continue;
      Placement used = usedPlacement(i);
      plans[name] = {used, splitFurther(mesh.getValue(), used, axes), i};
    }
  }

  void store(SignatureAttributes &arguments, unsigned argument, const Placement &placement) {
    arguments.set(argument, kPlacementAttr, attribute(placement));
    arguments.set(argument, kClosedAttr, UnitAttr::get(function.getContext()));
    stored[nn::argumentName(function, argument)] = placement;
  }

  void placeArguments() {
    SignatureAttributes arguments(function, SignatureAttributes::Of::Arguments);
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (!nn::isState(function, i))
        continue;
      auto of = function.getArgAttrOfType<StringAttr>(i, nn::kOfAttr);
      auto plan = plans.find(of ? of.getValue() : nn::argumentName(function, i));
      if (plan == plans.end()) {
        store(arguments, i, usedPlacement(i));
        continue;
      }
      const StatePlan &found = plan->second;
      if (!of) {
        store(arguments, i, splitParameters ? found.split : found.used);
        if (splitParameters)
          arguments.set(i, kUsedAttr, attribute(found.used));
      } else if (globalShape(found.used) ==
                 cast<RankedTensorType>(function.getArgument(i).getType()).getShape()) {
        store(arguments, i, splitSlots ? found.split : found.used);
      } else {
        store(arguments, i, usedPlacement(i));
      }
    }
    arguments.write();
  }

  /// A new value is made where the slots are, and stored where the old one is.
  void placeUpdates() {
    Operation *terminator = function.getBody().front().getTerminator();
    SignatureAttributes results(function, SignatureAttributes::Of::Results);
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      StringAttr name = nn::updatedState(function, i);
      auto found = name ? stored.find(name.getValue()) : stored.end();
      if (found == stored.end())
        continue;
      results.set(i, kPlacementAttr, attribute(found->second));
      auto plan = plans.find(name);
      auto value = dyn_cast<OpResult>(terminator->getOperand(i));
      if (plan == plans.end() || !value || value.getOwner()->hasAttr(kClosedAttr))
        continue;
      SmallVector<Attribute> entries;
      for (OpResult result : value.getOwner()->getResults()) {
        PlacementAttr request = requestOf(result);
        Placement placement =
            result == value ? (splitSlots ? plan->second.split : plan->second.used)
                            : (request ? request.getValue()
                                       : Placement::replicated(
                                             cast<RankedTensorType>(result.getType()).getShape()));
        entries.push_back(attribute(placement));
      }
      value.getOwner()->setAttr(kPlacementsAttr, ArrayAttr::get(function.getContext(), entries));
    }
    results.write();
  }

  /// What enters the optimizer from outside is a gradient, and is to be reduced
  /// in every microbatch.
  void markGradients() {
    auto each = StringAttr::get(function.getContext(), kEachMicrobatch);
    for (Operation &op : function.getBody().front().without_terminator())
      if (roleOf(&op) == OpRole::Gradient && llvm::any_of(op.getUsers(), [](Operation *user) {
            return roleOf(user) == OpRole::Optimizer;
          }))
        op.setAttr(kStepPartAttr, each);
  }

  func::FuncOp function;
  MeshAttr mesh;
  AxisList axes;
  bool splitParameters, splitSlots, splitGradients;
  llvm::StringMap<unsigned> updates; // by the optimizer
  llvm::StringSet<> otherUpdates;
  llvm::StringMap<StatePlan> plans;
  llvm::StringMap<Placement> stored;
};

static StringRef orderOf(func::FuncOp function) {
  auto order = function->getAttrOfType<StringAttr>(kOrderAttr);
  return order ? order.getValue() : "lead";
}

struct PlaceState : impl::DistPlaceStateBase<PlaceState> {
  using DistPlaceStateBase::DistPlaceStateBase;

  FailureOr<bool> isSplit(StringRef option, StringRef text) {
    if (text == "sharded" || text == "replicated")
      return text == "sharded";
    return getOperation().emitError()
           << "option '" << option << "' must be replicated or sharded, found '" << text << "'";
  }

  /// The named axis, or those of the batch: there every device would keep the same.
  AxisList axesOf(const Mesh &mesh) {
    if (!axis.empty())
      return mesh.resolve(axis);
    AxisList axes;
    if (auto batch = getOperation()->getAttrOfType<ArrayAttr>(kBatchAxesAttr))
      for (StringRef name : batch.getAsValueRange<StringAttr>())
        llvm::append_range(axes, mesh.resolve(name));
    return axes;
  }

  void runOnOperation() override {
    MeshAttr mesh = requireMesh(getOperation());
    if (!mesh)
      return signalPassFailure();
    FailureOr<bool> splitParameters = isSplit("parameters", parameters),
                    splitGradients = isSplit("gradients", gradients),
                    splitSlots = isSplit("slots", slots);
    if (failed(splitParameters) || failed(splitGradients) || failed(splitSlots))
      return signalPassFailure();
    AxisList axes = axesOf(mesh.getValue());
    if (*splitSlots && axes.empty()) {
      if (axis.empty())
        getOperation().emitError()
            << "state is split over the axes of the batch, and no axis of the mesh has it; name an "
               "axis to split over";
      else
        getOperation().emitError()
            << "state cannot be split over axis '" << axis << "', which is not on the mesh";
      return signalPassFailure();
    }
    if (std::optional<AxisId> stages = mesh.getValue().stageAxis();
        stages && llvm::is_contained(axes, *stages)) {
      getOperation().emitError() << "state cannot be split over axis '" << axis
                                 << "', which counts stages of a pipeline; each holds its own";
      return signalPassFailure();
    }
    if ((*splitParameters || *splitGradients) && !*splitSlots) {
      getOperation().emitError() << "parameters and gradients are split only where slots are";
      return signalPassFailure();
    }
    if (!*splitSlots)
      axes.clear();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && orderOf(function) == "lead")
        StatePlacer(function, mesh, axes, *splitParameters, *splitSlots, *splitGradients).run();
  }
};

struct ShareState : impl::DistShareStateBase<ShareState> {
  void runOnOperation() override {
    llvm::StringMap<std::pair<func::FuncOp, unsigned>> placed;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && orderOf(function) == "lead")
        for (unsigned i = 0; i < function.getNumArguments(); ++i)
          if (nn::isState(function, i))
            placed[nn::argumentName(function, i)] = {function, i};
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || orderOf(function) == "lead")
        continue;
      SignatureAttributes arguments(function, SignatureAttributes::Of::Arguments);
      for (unsigned i = 0; i < function.getNumArguments(); ++i) {
        auto found = placed.find(nn::argumentName(function, i));
        if (!nn::isState(function, i) || found == placed.end())
          continue;
        auto [lead, argument] = found->second;
        for (StringRef name : {StringRef(kPlacementAttr), StringRef(kUsedAttr)})
          if (Attribute attr = lead.getArgAttr(argument, name))
            arguments.set(i, name, attr);
        arguments.set(i, kClosedAttr, UnitAttr::get(&getContext()));
      }
      arguments.write();
    }
  }
};

} // namespace
} // namespace weft::dist
