// Verification and construction of the transitions between placements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/dist/IR/Dist.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace weft;
using namespace weft::dist;

/// Axis numbers of the names, or nothing if one is unknown.
static std::optional<AxisList> axesOf(const Mesh &mesh, ArrayAttr names) {
  AxisList axes;
  for (StringAttr name : names.getAsRange<StringAttr>()) {
    AxisList found = mesh.resolve(name.getValue());
    if (found.empty())
      return std::nullopt;
    llvm::append_range(axes, found);
  }
  return axes;
}

static const Mesh &meshOf(Operation *op) {
  return getLocal(op->getResult(0).getType()).getMesh().getValue();
}
static const Placement &operandPlacement(Operation *op) {
  return getLocal(op->getOperand(0).getType()).getValue();
}
static const Placement &resultPlacement(Operation *op) {
  return getLocal(op->getResult(0).getType()).getValue();
}

/// What every op between local types asks of them.
static LogicalResult verifyLocalTypes(Operation *op) {
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  if (getElementTypeOrSelf(from) != getElementTypeOrSelf(to))
    return op->emitOpError() << "operand and result differ in element type";
  LocalAttr a = getLocal(from), b = getLocal(to);
  if (!a || !b || a.getMesh() != b.getMesh())
    return op->emitOpError() << "operand and result must have a #dist.local on one mesh";
  return success();
}

static LogicalResult verifyTransition(TransitionOpInterface transition, ArrayAttr axisNames = {}) {
  Operation *op = transition;
  if (failed(verifyLocalTypes(op)))
    return failure();
  const Mesh &mesh = meshOf(op);
  if (axisNames && !axesOf(mesh, axisNames))
    return op->emitOpError() << "names an axis that is not on the mesh";
  std::string why;
  if (!checkTransition(mesh, transition.getTransitionKind(), transition.getTransitionAxes(),
                       transition.getTransitionDim(), transition.getTransitionOtherDim(),
                       operandPlacement(op), resultPlacement(op), &why))
    return op->emitOpError() << why;
  if (Type accumulate = transition.getAccumulateType())
    if (isa<FloatType>(accumulate) !=
        isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())))
      return op->emitOpError() << "cannot accumulate " << op->getResult(0).getType() << " in "
                               << accumulate;
  return success();
}

static CollectiveGeometry geometryOfOp(TransitionOpInterface transition) {
  return geometryOf(meshOf(transition), transition.getTransitionKind(),
                    transition.getTransitionAxes(), transition.getTransitionDim(),
                    transition.getTransitionOtherDim(), operandPlacement(transition),
                    resultPlacement(transition));
}

// Answers that differ by op only in the transition's kind.
#define WEFT_DIST_STEP(OP, KIND)                                                                   \
  TransitionKind OP::getTransitionKind() { return TransitionKind::KIND; }                          \
  const Mesh &OP::getTransitionMesh() { return meshOf(*this); }                                    \
  CollectiveGeometry OP::getGeometry() { return geometryOfOp(*this); }
#define WEFT_DIST_AXES(OP)                                                                         \
  AxisList OP::getTransitionAxes() { return *axesOf(meshOf(*this), getAxes()); }                   \
  LogicalResult OP::verify() { return verifyTransition(*this, getAxes()); }

WEFT_DIST_STEP(AllGatherOp, AllGather)
WEFT_DIST_AXES(AllGatherOp)
int AllGatherOp::getTransitionDim() { return getDim(); }

WEFT_DIST_STEP(SliceOp, Slice)
WEFT_DIST_AXES(SliceOp)
int SliceOp::getTransitionDim() { return getDim(); }

WEFT_DIST_STEP(AllReduceOp, AllReduce)
WEFT_DIST_AXES(AllReduceOp)
int AllReduceOp::getTransitionDim() { return -1; }
Type AllReduceOp::getAccumulateType() { return getAccumulate(); }

WEFT_DIST_STEP(ReduceScatterOp, ReduceScatter)
WEFT_DIST_AXES(ReduceScatterOp)
int ReduceScatterOp::getTransitionDim() { return getDim(); }
Type ReduceScatterOp::getAccumulateType() { return getAccumulate(); }

WEFT_DIST_STEP(AllToAllOp, AllToAll)
WEFT_DIST_AXES(AllToAllOp)
int AllToAllOp::getTransitionDim() { return getSplitDim(); }
int AllToAllOp::getTransitionOtherDim() { return getGatherDim(); }

WEFT_DIST_STEP(PartializeOp, Partialize)
WEFT_DIST_AXES(PartializeOp)
int PartializeOp::getTransitionDim() { return -1; }

WEFT_DIST_STEP(MoveOp, Move)
WEFT_DIST_AXES(MoveOp)
int MoveOp::getTransitionDim() { return -1; }

WEFT_DIST_STEP(MaskOp, Mask)
AxisList MaskOp::getTransitionAxes() { return {}; }
int MaskOp::getTransitionDim() { return -1; }
LogicalResult MaskOp::verify() { return verifyTransition(*this); }

#undef WEFT_DIST_STEP
#undef WEFT_DIST_AXES

LogicalResult ReshardOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getResult().getType());
  if (from.getShape() != to.getShape() || from.getElementType() != to.getElementType())
    return emitOpError() << "changes shape or element type: " << from << " to " << to;
  PlacementAttr a = getPlacement(from), b = getPlacement(to);
  if (!a || !b || a.getMesh() != b.getMesh())
    return emitOpError() << "operand and result must have a #dist.placement on one mesh";
  return success();
}

OpFoldResult ReshardOp::fold(FoldAdaptor) {
  return getInput().getType() == getResult().getType() ? getInput() : Value();
}

static LogicalResult verifyChannel(Operation *op, Type type, int64_t peer, StringRef channel) {
  MeshAttr mesh = getMesh(op);
  std::optional<AxisId> axis = mesh ? mesh.getValue().stageAxis() : std::nullopt;
  if (!axis)
    return op->emitOpError("stands in a module whose mesh has no axis of stages");
  if (peer < 0 || peer >= mesh.getValue().size(*axis))
    return op->emitOpError() << "is with stage " << peer << " of " << mesh.getValue().size(*axis);
  if (channel.empty())
    return op->emitOpError("has a channel without a name");
  LocalAttr local = getLocal(type);
  if (!local || local.getMesh() != mesh)
    return op->emitOpError("moves a value without #dist.local on the module's mesh");
  return success();
}

LogicalResult SendOp::verify() {
  return verifyChannel(*this, getInput().getType(), getPeer(), getChannel());
}

LogicalResult ReceiveOp::verify() {
  return verifyChannel(*this, getResult().getType(), getPeer(), getChannel());
}

bool weft::dist::crossesStages(Operation *op) {
  if (isa<SendOp, ReceiveOp>(op))
    return true;
  auto transition = dyn_cast<TransitionOpInterface>(op);
  if (!transition || !transition.isCommunication())
    return false;
  std::optional<AxisId> stages = transition.getTransitionMesh().stageAxis();
  return stages && llvm::is_contained(transition.getTransitionAxes(), *stages);
}

LogicalResult AccumulateOp::verify() {
  if (getAccumulate().size() != getInputs().size())
    return emitOpError() << "has " << getInputs().size() << " operands and "
                         << getAccumulate().size() << " types of accumulation";
  return success();
}

/// Every section of the body once for each microbatch.
static LogicalResult verifySteps(RepeatOp loop, int64_t microbatches) {
  if (!loop.getSteps())
    return success();
  ArrayRef<int64_t> steps = *loop.getSteps();
  if (steps.size() % 2 != 0)
    return loop.emitOpError("has steps that are no pairs of a section and a microbatch");
  llvm::DenseSet<std::pair<int64_t, int64_t>> seen;
  for (size_t i = 0; i < steps.size(); i += 2) {
    if (steps[i + 1] < 0 || steps[i + 1] >= microbatches)
      return loop.emitOpError() << "has a step of microbatch " << steps[i + 1] << " of "
                                << microbatches;
    if (!seen.insert({steps[i], steps[i + 1]}).second)
      return loop.emitOpError() << "runs section " << steps[i] << " of microbatch " << steps[i + 1]
                                << " twice";
  }
  for (Operation &op : loop.getBody().front().without_terminator()) {
    auto section = op.getAttrOfType<IntegerAttr>(kSectionAttr);
    if (!section)
      return op.emitOpError() << "has no " << kSectionAttr << ", but its loop has steps";
    for (int64_t i = 0; i < microbatches; ++i)
      if (!seen.contains({section.getInt(), i}))
        return op.emitOpError() << "is of section " << section.getInt()
                                << ", which its loop does not run for microbatch " << i;
  }
  return success();
}

LogicalResult RepeatOp::verifyRegions() {
  MeshAttr meshAttr = getMesh(*this);
  AxisList axes = meshAttr ? meshAttr.getValue().resolve(getAxis()) : AxisList();
  if (axes.size() != 1 || !meshAttr.getValue().isTemporal(axes.front()))
    return emitOpError() << "'" << getAxis() << "' is no temporal axis of the module's mesh";
  const Mesh &mesh = meshAttr.getValue();
  auto usesAxis = [&](Value value) {
    LocalAttr local = getLocal(value.getType());
    return local && llvm::is_contained(local.getValue().usedAxes(), axes.front());
  };
  Block &body = getBody().front();
  auto accumulate = dyn_cast<AccumulateOp>(body.getTerminator());
  if (!accumulate)
    return emitOpError() << "body must end in dist.accumulate";
  for (Operation &op : body) {
    for (Value operand : op.getOperands())
      if (operand.getParentBlock() != &body && usesAxis(operand))
        return op.emitOpError() << "reads a value of one microbatch from outside of its loop";
    auto transition = dyn_cast<TransitionOpInterface>(op);
    if (transition && mesh.anyTemporal(transition.getTransitionAxes()) &&
        transition.isCommunication())
      return op.emitOpError() << "brings microbatches together within their loop";
  }
  if (accumulate.getInputs().size() != getNumResults())
    return emitOpError() << "has " << getNumResults() << " results, its body accumulates "
                         << accumulate.getInputs().size();
  AxisId axis = axes.front();
  for (auto [index, input, result] : llvm::enumerate(accumulate.getInputs(), getResults())) {
    LocalAttr from = getLocal(input.getType()), to = getLocal(result.getType());
    if (!from || !to || from.getMesh() != meshAttr || to.getMesh() != meshAttr)
      return emitOpError() << "result " << index
                           << ": operand and result must have a #dist.local on the module's mesh";
    if (getElementTypeOrSelf(input.getType()) != getElementTypeOrSelf(result.getType()))
      return emitOpError() << "result " << index << ": operand and result differ in element type";
    std::optional<Combination> combination = combinationOver(mesh, from.getValue(), axis);
    std::string why = "the operand is neither partial on axis \"" + getAxis().str() +
                      "\" nor split over it: " + toString(mesh, from.getValue());
    if (!combination || !checkTransition(mesh, combination->kind, axes, combination->dim, -1,
                                         from.getValue(), to.getValue(), &why))
      return emitOpError() << "result " << index << ": " << why;
  }
  return verifySteps(*this, mesh.size(axis));
}

LogicalResult LocalizeIndexOp::verify() {
  if (failed(verifyLocalTypes(*this)))
    return failure();
  Placement from = operandPlacement(*this), to = resultPlacement(*this);
  if (!from.localIndices.empty() || to.localIndices.empty())
    return emitOpError() << "the result, and only it, must have local_indices";
  Placement same = to;
  same.localIndices.clear();
  same.padding = from.padding;
  if (same != from || to.padding)
    return emitOpError() << "result is placed as " << toString(meshOf(*this), to) << ", operand as "
                         << toString(meshOf(*this), from);
  if (!from.partial.empty())
    return emitOpError() << "partial indices have no positions";
  ArrayRef<int64_t> shape = cast<RankedTensorType>(getInput().getType()).getShape();
  if (shape.empty() || from.dims.back().size() != 1 || !from.dims.back().front().axes.empty())
    return emitOpError() << "the innermost dim must be whole";
  int previous = -1;
  for (const LocalIndex &index : to.localIndices) {
    if (index.component <= previous || index.component >= shape.back())
      return emitOpError() << "components must be distinct and below " << shape.back();
    previous = index.component;
  }
  return success();
}

Value weft::dist::createTransition(OpBuilder &builder, Location loc, Value input, MeshAttr mesh,
                                   TransitionKind kind, ArrayRef<AxisId> axes, int dim,
                                   int otherDim, const Placement &result) {
  Type elementType = getElementTypeOrSelf(input.getType());
  Type type = localType(elementType, mesh, result);
  SmallVector<StringRef> names;
  for (AxisId axis : axes)
    names.push_back(mesh.getValue().axes[axis].name);
  ArrayAttr axisNames = builder.getStrArrayAttr(names);
  // Sums of small floats are kept in f32 until the last member is added.
  Type accumulate = elementType;
  if (auto real = dyn_cast<FloatType>(elementType); real && real.getWidth() < 32)
    accumulate = builder.getF32Type();
  switch (kind) {
  case TransitionKind::AllGather:
    return AllGatherOp::create(builder, loc, type, input, axisNames, dim);
  case TransitionKind::Slice:
    return SliceOp::create(builder, loc, type, input, axisNames, dim);
  case TransitionKind::AllReduce:
    return AllReduceOp::create(builder, loc, type, input, axisNames, accumulate);
  case TransitionKind::ReduceScatter:
    return ReduceScatterOp::create(builder, loc, type, input, axisNames, dim, accumulate);
  case TransitionKind::AllToAll:
    return AllToAllOp::create(builder, loc, type, input, axisNames, otherDim, dim);
  case TransitionKind::Partialize:
    return PartializeOp::create(builder, loc, type, input, axisNames);
  case TransitionKind::Move:
    return MoveOp::create(builder, loc, type, input, axisNames);
  case TransitionKind::Mask:
    return MaskOp::create(builder, loc, type, input);
  }
  llvm_unreachable("unknown transition kind");
}

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistOps.cpp.inc"
