// Writes the result of the axis search as placements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/placement/AssignAxis.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/Nn.h"
#include "passes/dist/OpQueries.h"
#include "passes/dist/SignatureAttributes.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Sharding/Projection.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringMap.h"

namespace weft::dist {
#define GEN_PASS_DEF_DISTASSIGNAXIS
#include "passes/dist/Passes.h.inc"
} // namespace weft::dist

using namespace mlir;
using namespace weft;
using dist::OpRole;

namespace {

/// What is searched at once: the optimizer follows gradients and slots
/// (dist-place-state). What only gradients read belongs to them.
DenseMap<Operation *, OpRole> rolesOf(func::FuncOp function) {
  DenseMap<Operation *, OpRole> roles;
  for (Operation &op : llvm::reverse(function.front())) {
    bool feedsGradients = !op.use_empty() && llvm::all_of(op.getUsers(), [&](Operation *user) {
      return roles.lookup(user) == OpRole::Gradient;
    });
    OpRole role = dist::roleOf(&op);
    roles[&op] = role == OpRole::Forward && feedsGradients ? OpRole::Gradient : role;
  }
  return roles;
}

/// Arguments by name: an update has that of its state.
llvm::StringMap<BlockArgument> argumentsByName(func::FuncOp function) {
  llvm::StringMap<BlockArgument> arguments;
  for (BlockArgument argument : function.getArguments())
    if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kNameAttr))
      arguments[name.getValue()] = argument;
  return arguments;
}

/// The parameter that each gradient is of: the state whose new value the
/// optimizer makes of it, element by element.
DenseMap<Value, BlockArgument> parametersOfGradients(func::FuncOp function,
                                                     const DenseMap<Operation *, OpRole> &roles) {
  llvm::StringMap<BlockArgument> states = argumentsByName(function);
  // From the new value backward over values of its shape.
  DenseMap<Value, BlockArgument> found;
  for (OpOperand &result : function.front().getTerminator()->getOpOperands()) {
    auto name =
        function.getResultAttrOfType<StringAttr>(result.getOperandNumber(), nn::kUpdatesAttr);
    auto state = name ? states.find(name.getValue()) : states.end();
    auto type = dyn_cast<RankedTensorType>(result.get().getType());
    if (state == states.end() || !type || type.getRank() == 0 ||
        function.getArgAttr(state->second.getArgNumber(), nn::kOfAttr))
      continue;
    SmallVector<Value> open = {result.get()};
    DenseSet<Value> seen;
    while (!open.empty()) {
      Value value = open.pop_back_val();
      Operation *op = value.getDefiningOp();
      auto shaped = dyn_cast<RankedTensorType>(value.getType());
      if (!op || !shaped || shaped.getShape() != type.getShape() || !seen.insert(value).second)
        continue;
      if (roles.lookup(op) == OpRole::Optimizer)
        llvm::append_range(open, op->getOperands());
      else if (roles.lookup(op) == OpRole::Gradient)
        found[value] = state->second;
    }
  }
  return found;
}

/// The values that leave the program as the new value of state that one op reads, and in no other
/// way: such state rests as that op reads it, which is how its new value is made. Of other state
/// the two may differ.
DenseSet<Value> updatesInPlace(func::FuncOp function) {
  llvm::StringMap<BlockArgument> states = argumentsByName(function);
  DenseSet<Value> updates;
  Operation *terminator = function.front().getTerminator();
  for (OpOperand &result : terminator->getOpOperands()) {
    auto name =
        function.getResultAttrOfType<StringAttr>(result.getOperandNumber(), nn::kUpdatesAttr);
    BlockArgument state = name ? states.lookup(name.getValue()) : BlockArgument();
    if (state && state.hasOneUse() &&
        !function.getArgAttr(state.getArgNumber(), dist::kClosedAttr) &&
        llvm::count_if(result.get().getUsers(),
                       [&](Operation *user) { return user == terminator; }) == 1)
      updates.insert(result.get());
  }
  return updates;
}

/// The placement without `axis`.
Placement withoutAxis(const Mesh &mesh, Placement placement, AxisId axis) {
  for (DimPlacement &dim : placement.dims)
    for (PlacedFactor &part : dim)
      llvm::erase(part.axes, axis);
  llvm::erase_if(placement.partial, [&](const PartialAxis &p) { return p.axis == axis; });
  return canonicalize(mesh, std::move(placement));
}

/// How a placement uses `axis`; nothing if that is no plain split, because
/// another axis cuts the same part within it.
std::optional<AxisSplit> splitOn(const Mesh &mesh, const Placement &placement, AxisId axis) {
  for (const PartialAxis &partial : placement.partial)
    if (partial.axis == axis)
      return partial.kind == ReduceKind::Sum
                 ? std::optional<AxisSplit>({AxisSplit::Kind::Partial, 0, 1, 1})
                 : std::nullopt;
  for (auto [d, dim] : llvm::enumerate(placement.dims)) {
    int64_t outer = 1;
    for (const PlacedFactor &part : dim) {
      if (llvm::is_contained(part.axes, axis)) {
        ArrayRef<AxisId> major = ArrayRef<AxisId>(part.axes).drop_back();
        int64_t blocks = mesh.groupSize(major);
        if (part.axes.back() != axis || part.size % blocks != 0)
          return std::nullopt;
        return AxisSplit{AxisSplit::Kind::Sharded, static_cast<unsigned>(d), outer * blocks,
                         part.size / blocks};
      }
      outer *= part.size;
    }
  }
  return AxisSplit{};
}

/// Placements of a function's values, and which are closed. On `axis` only
/// closed ones count: the search decides the others.
class Placements {
public:
  Placements(func::FuncOp function, dist::MeshAttr mesh, AxisId axis);

  std::optional<AxisSplit> fixedSplit(Value value, AxisId axis) const {
    return isClosed(value) ? splitOn(mesh.getValue(), of(value), axis) : std::nullopt;
  }

  Placement of(Value value) const;
  bool isClosed(Value value) const { return closed.contains(value); }
  void set(Value value, Placement placement) { known[value] = std::move(placement); }
  void write(func::FuncOp function) const;

private:
  dist::MeshAttr mesh;
  DenseMap<Value, Placement> known;
  DenseSet<Value> closed;
};

Placements::Placements(func::FuncOp function, dist::MeshAttr mesh, AxisId axis) : mesh(mesh) {
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (auto attr = function.getArgAttrOfType<dist::PlacementAttr>(number, dist::kPlacementAttr))
      known[argument] = attr.getValue();
    if (auto used = function.getArgAttrOfType<dist::PlacementAttr>(number, dist::kUsedAttr))
      known[argument] = used.getValue();
    if (function.getArgAttr(number, dist::kClosedAttr))
      closed.insert(argument);
  }
  for (Operation &op : function.front()) {
    auto list = op.getAttrOfType<ArrayAttr>(dist::kPlacementsAttr);
    if (!list)
      continue;
    for (auto [result, attr] : llvm::zip(op.getResults(), list)) {
      if (auto placement = dyn_cast<dist::PlacementAttr>(attr))
        known[result] = placement.getValue();
      if (op.hasAttr(dist::kClosedAttr))
        closed.insert(result);
    }
  }
  for (auto &[value, placement] : known)
    if (!isClosed(value))
      placement = withoutAxis(mesh.getValue(), placement, axis);
}

Placement Placements::of(Value value) const {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  return Placement::replicated(cast<RankedTensorType>(value.getType()).getShape());
}

void Placements::write(func::FuncOp function) const {
  MLIRContext *context = function.getContext();
  dist::SignatureAttributes arguments(function, dist::SignatureAttributes::Of::Arguments);
  for (BlockArgument argument : function.getArguments())
    if (!isClosed(argument) && isa<RankedTensorType>(argument.getType()))
      arguments.set(argument.getArgNumber(),
                    function.getArgAttr(argument.getArgNumber(), dist::kUsedAttr)
                        ? dist::kUsedAttr
                        : dist::kPlacementAttr,
                    dist::PlacementAttr::get(context, mesh, of(argument)));
  arguments.write();
  for (Operation &op : function.front()) {
    if (op.getNumResults() == 0 || op.hasAttr(dist::kClosedAttr) ||
        llvm::none_of(op.getResults(), [&](Value result) { return known.contains(result); }))
      continue;
    SmallVector<Attribute> list;
    for (Value result : op.getResults())
      list.push_back(dist::PlacementAttr::get(context, mesh, of(result)));
    op.setAttr(dist::kPlacementsAttr, ArrayAttr::get(context, list));
  }
}

/// The placement with `split` on `axis` added; nothing if the other axes leave
/// no room for it.
std::optional<Placement> addSplit(const Mesh &mesh, Placement placement, AxisId axis,
                                  const AxisSplit &split) {
  if (split.kind == AxisSplit::Kind::Replicated)
    return placement;
  if (split.kind == AxisSplit::Kind::Partial) {
    placement.partial.push_back({axis, ReduceKind::Sum});
    llvm::sort(placement.partial, [](auto &a, auto &b) { return a.axis < b.axis; });
    if (!llvm::all_of(placement.partial, [](auto &p) { return p.kind == ReduceKind::Sum; }))
      return std::nullopt;
    return placement;
  }
  DimPlacement &dim = placement.dims[split.dim];
  int64_t rest = globalSize(dim) / (split.outer * split.size);
  SmallVector<DimPlacement> pieces;
  if (!splitDim(mesh, dim, {split.outer, split.size, rest}, pieces) ||
      llvm::any_of(pieces[1], [](const PlacedFactor &part) { return !part.axes.empty(); }))
    return std::nullopt;
  SmallVector<PlacedFactor> parts;
  llvm::append_range(parts, pieces[0]);
  parts.push_back({split.size, {axis}});
  llvm::append_range(parts, pieces[2]);
  dim = canonicalize(mesh, parts);
  return placement;
}

/// How an op reads its operands on the other axes: as their searches found, or else as values rest;
/// what is made of nothing, such as a constant, is had as the op reads its other operands.
class OperandsOnAxis {
public:
  OperandsOnAxis(Operation *op, const FactorRule &rule, const Mesh &mesh, AxisId axis,
                 function_ref<Placement(Value)> others)
      : op(cast<ShardableOpInterface>(op)), rule(rule), mesh(mesh), axis(axis) {
    auto found = op->getAttrOfType<ArrayAttr>(dist::kOperandsAttr);
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      placements.push_back(
          found ? withoutAxis(mesh, cast<dist::PlacementAttr>(found[index]).getValue(), axis)
                : others(operand));
    if (!found)
      placeMadeOfNothing(op->getOperands());
  }

  /// The operands with these splits on the axis, if the op can compute with them.
  std::optional<SmallVector<Placement, 2>> with(ArrayRef<AxisSplit> splits) const {
    SmallVector<Placement, 2> operands;
    for (auto [placement, split] : llvm::zip(placements, splits)) {
      std::optional<Placement> operand = addSplit(mesh, placement, axis, split);
      if (!operand)
        return std::nullopt;
      operands.push_back(std::move(*operand));
    }
    return areConsistent(operands) ? std::optional(operands) : std::nullopt;
  }

  bool areConsistent() const { return areConsistent(placements); }

private:
  /// Constants stand aside when the other axes' splits spread (dist-propagate).
  void placeMadeOfNothing(OperandRange operands) {
    SmallVector<std::optional<DimPlacement>, 8> known(rule.factors.size());
    std::string why; // not asked
    auto isMadeAnew = [](Value value) {
      return dist::isMadeOfNothing(value) && !value.getDefiningOp()->hasAttr(dist::kClosedAttr);
    };
    for (auto [operand, tensor, placement] : llvm::zip_equal(operands, rule.operands, placements))
      if (!isMadeAnew(operand) && !splitTensor(mesh, rule, tensor, placement, known, &why))
        return;
    OpSharding sharding = OpSharding::replicated(rule);
    for (auto [factor, found] : llvm::zip_equal(sharding.factors, known))
      if (found)
        factor = *found;
    for (auto [operand, tensor, placement] : llvm::zip_equal(operands, rule.operands, placements))
      if (isMadeAnew(operand))
        placement = joinTensor(mesh, tensor, sharding.factors);
  }

  bool areConsistent(ArrayRef<Placement> operands) const {
    ShardableOpInterface asked = op;
    auto partialRules = [&](ReduceKind kind) { return asked.getPartialRules(kind); };
    return shardingFromOperands(mesh, rule, partialRules, operands).has_value();
  }

  ShardableOpInterface op;
  const FactorRule &rule;
  const Mesh &mesh;
  AxisId axis;
  SmallVector<Placement, 2> placements;
};

struct AssignAxis : dist::impl::DistAssignAxisBase<AssignAxis> {
  using DistAssignAxisBase::DistAssignAxisBase;
  AssignAxis(dist::DistAssignAxisOptions options, AxisSearchMemory *memory)
      : DistAssignAxisBase(std::move(options)), memory(memory) {}

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    dist::MeshAttr mesh = dist::getMesh(function);
    auto order = function->getAttrOfType<StringAttr>(dist::kOrderAttr);
    if (!mesh || function.isExternal() ||
        (programs != "all" && programs != (order ? order.getValue() : StringRef("lead"))))
      return;
    FailureOr<CostModel> costs = costModelOf(function, mesh.getValue());
    if (failed(costs))
      return signalPassFailure();
    for (AxisId id : axesOf(function, mesh.getValue()))
      if (mesh.getValue().size(id) > 1)
        assign(function, mesh, *costs, id);
  }

  /// Over the axes of the batch weights stay whole, and over stages nothing is split: there is
  /// nothing to find.
  AxisList axesOf(func::FuncOp function, const Mesh &mesh) {
    if (!axis.empty())
      return mesh.resolve(axis);
    AxisList taken = mesh.temporalAxes(), axes;
    if (std::optional<AxisId> stages = mesh.stageAxis())
      taken.push_back(*stages);
    if (auto batch = function->getParentOp()->getAttrOfType<ArrayAttr>(dist::kBatchAxesAttr))
      for (StringRef name : batch.getAsValueRange<StringAttr>())
        llvm::append_range(taken, mesh.resolve(name));
    for (AxisId id = 0; id < AxisId(mesh.axes.size()); ++id)
      if (!llvm::is_contained(taken, id))
        axes.push_back(id);
    return axes;
  }

  void assign(func::FuncOp function, dist::MeshAttr meshAttr, const CostModel &costs, AxisId id) {
    const Mesh &mesh = meshAttr.getValue();
    Placements placements(function, meshAttr, id);
    AxisSearchOptions options(costs, id);
    options.sequenceParallel = sequenceParallel;
    options.memory = memory;
    options.placed = [&](Value value) { return withoutAxis(mesh, placements.of(value), id); };
    options.allowed = [&](Value value, const AxisSplit &split) {
      return addSplit(mesh, options.placed(value), id, split).has_value();
    };
    options.possible = [&](Operation *op, const FactorRule &rule, ArrayRef<AxisSplit> splits) {
      OperandsOnAxis operands(op, rule, mesh, id, options.placed);
      return operands.with(splits) || !operands.areConsistent();
    };
    options.fixed = [&](Value value) { return placements.fixedSplit(value, id); };
    options.isState = [&](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      return argument && nn::isState(function, argument.getArgNumber());
    };
    DenseSet<Value> updates = updatesInPlace(function);
    options.isUpdate = [&](Value value) { return updates.contains(value); };
    auto order = function->getAttrOfType<StringAttr>(dist::kOrderAttr);
    options.isStatePlacedForAxis = order && order.getValue() == "follow";
    DenseMap<Operation *, OpRole> roles = rolesOf(function);
    options.include = [&](Operation *op) { return roles.lookup(op) == OpRole::Forward; };
    AxisSearchResult result = searchAxis(function.front(), options);
    write(function, meshAttr, id, placements, result);
    report(function, mesh, id, "", result);
    markSearched(function, mesh.axes[id].name);
    if (llvm::none_of(roles, [](auto &entry) { return entry.second == OpRole::Gradient; }))
      return;
    // Gradients meet activations and weights as the forward ops have left them.
    options.include = [&](Operation *op) { return roles.lookup(op) == OpRole::Gradient; };
    DenseMap<Value, BlockArgument> parameters = parametersOfGradients(function, roles);
    options.wanted = [&](Value value) -> std::optional<AxisSplit> {
      auto parameter = parameters.find(value);
      if (parameter == parameters.end())
        return std::nullopt;
      if (std::optional<AxisSplit> fixed = placements.fixedSplit(parameter->second, id))
        return fixed;
      return result.splits.lookup(parameter->second);
    };
    DenseMap<Value, SmallVector<AxisSplit, 2>> existing;
    for (Operation &op : function.front())
      if (auto uses = result.uses.find(&op); uses != result.uses.end())
        for (auto [operand, split] : llvm::zip(op.getOperands(), uses->second))
          if (!llvm::is_contained(existing[operand], split))
            existing[operand].push_back(split);
    for (auto &[value, split] : result.splits)
      if (!llvm::is_contained(existing[value], split))
        existing[value].push_back(split);
    options.existing = [&](Value value) { return existing.lookup(value); };
    AxisSearchResult gradients = searchAxis(function.front(), options);
    write(function, meshAttr, id, placements, gradients);
    report(function, mesh, id, " for gradients", gradients);
  }

  /// Sums over axes that were not searched end where dist-insert-reshards decides.
  static void markSearched(func::FuncOp function, StringRef axis) {
    SmallVector<Attribute> names;
    if (auto searched = function->getAttrOfType<ArrayAttr>(dist::kSearchedAttr))
      llvm::append_range(names, searched);
    names.push_back(StringAttr::get(function.getContext(), axis));
    function->setAttr(dist::kSearchedAttr, ArrayAttr::get(function.getContext(), names));
  }

  void write(func::FuncOp function, dist::MeshAttr meshAttr, AxisId id, Placements &placements,
             AxisSearchResult &result) {
    const Mesh &mesh = meshAttr.getValue();
    auto others = [&](Value value) { return withoutAxis(mesh, placements.of(value), id); };
    for (Operation &op : function.front())
      if (auto uses = result.uses.find(&op);
          uses != result.uses.end() && !settleOperands(op, meshAttr, id, uses->second, others))
        for (Value made : op.getResults())
          if (auto split = result.splits.find(made);
              split != result.splits.end() && split->second.kind == AxisSplit::Kind::Partial)
            split->second = AxisSplit{};
    for (auto &[value, split] : result.splits)
      if (!placements.isClosed(value)) {
        Placement placement = others(value);
        placements.set(value, addSplit(mesh, placement, id, split).value_or(placement));
      }
    placements.write(function);
  }

  /// Says on the op how it reads its operands. False if operands that nobody searched are not
  /// consistent as they rest: then inserting reshards chooses, and no partial result can be asked
  /// for.
  bool settleOperands(Operation &op, dist::MeshAttr mesh, AxisId id, ArrayRef<AxisSplit> splits,
                      function_ref<Placement(Value)> others) {
    auto shardable = dyn_cast<ShardableOpInterface>(op);
    if (!shardable || splits.empty())
      return true;
    FactorRule rule = shardable.getOwnFactorRule();
    auto operands = OperandsOnAxis(&op, rule, mesh.getValue(), id, others).with(splits);
    if (!operands)
      return false;
    SmallVector<Attribute> attributes;
    for (const Placement &operand : *operands)
      attributes.push_back(dist::PlacementAttr::get(&getContext(), mesh, operand));
    op.setAttr(dist::kOperandsAttr, ArrayAttr::get(&getContext(), attributes));
    return true;
  }

  void report(func::FuncOp function, const Mesh &mesh, AxisId id, StringRef part,
              const AxisSearchResult &result) {
    remark::analysis(function.getLoc(),
                     remark::RemarkOpts::name("axis").category("dist-assign-axis"))
        << "axis \"" << mesh.axes[id].name
        << "\": " << remark::metric("collectives", result.numCollectives) << " collectives move "
        << remark::metric("bytes", static_cast<int64_t>(result.bytesMoved))
        << " bytes a device and run" << part
        << (result.numStatesPruned ? " (search cut short: may not be the least)" : "");
  }

  AxisSearchMemory *memory = nullptr;
};

} // namespace

std::unique_ptr<Pass> dist::createDistAssignAxis(DistAssignAxisOptions options,
                                                 AxisSearchMemory *memory) {
  return std::make_unique<AssignAxis>(std::move(options), memory);
}
