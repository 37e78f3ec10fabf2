// Verifiers of programs, memory, tables and fusions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/rt/IR/MeshAxes.h"
#include "dialects/rt/IR/Misfit.h"
#include "dialects/rt/IR/Rt.h"
#include "dialects/rt/IR/Views.h"
#include "weft/Interfaces/KernelAttributes.h"
#include "weft/Interfaces/TensorTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace weft::rt;

static LogicalResult sameTypes(llvm::function_ref<InFlightDiagnostic()> error, TypeRange plain,
                               TypeRange withEncoding, const Twine &what) {
  if (plain.size() != withEncoding.size())
    return error() << "has " << withEncoding.size() << " " << what << "s, but " << plain.size()
                   << " inside";
  for (auto [i, inner, outer] : llvm::enumerate(plain, withEncoding))
    if (inner != weft::withoutEncoding(outer))
      return error() << what << " " << i << " is " << outer << ", but " << inner << " inside";
  return success();
}

LogicalResult PutOp::verify() {
  auto rows = cast<RankedTensorType>(getRows().getType());
  auto whole = cast<RankedTensorType>(getResult().getType());
  if (rows.getRank() != 3 || rows.getElementType() != whole.getElementType())
    return emitOpError() << "puts " << rows << " into " << whole
                         << ", expected three dims of the same element type";
  if (getInto() && getInto().getType() != whole)
    return emitOpError() << "makes " << whole << " of " << getInto().getType();
  int64_t row = rows.getDimSize(0) * rows.getDimSize(2), start = getStart(),
          end = start + rows.getDimSize(1);
  if (start < 0 ||
      (row != 0 && (whole.getNumElements() % row != 0 || end > whole.getNumElements() / row)))
    return emitOpError() << "puts rows " << start << " to " << end << " of " << row
                         << " elements each into " << whole.getNumElements() << " elements";
  return success();
}

LogicalResult FusionOp::verify() {
  auto error = [&] { return emitOpError(); };
  if (failed(
          sameTypes(error, getBody().front().getArgumentTypes(), getInputs().getTypes(), "input")))
    return failure();
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  if (failed(sameTypes(error, yield.getValues().getTypes(), getOutputs().getTypes(), "output")))
    return failure();
  return success();
}

bool weft::rt::travelTogether(TransitionOpInterface a, TransitionOpInterface b) {
  CollectiveGeometry first = a.getGeometry(), second = b.getGeometry();
  return a.isCommunication() && first.kind == second.kind &&
         first.kind != TransitionKind::AllToAll && first.axes == second.axes &&
         first.reduction == second.reduction && first.padding == second.padding &&
         a.getAccumulateType() == b.getAccumulateType() &&
         getElementTypeOrSelf(a->getResult(0)) == getElementTypeOrSelf(b->getResult(0));
}

SmallVector<weft::TransitionOpInterface> weft::rt::transitionsOf(Operation *op) {
  if (auto transition = dyn_cast<TransitionOpInterface>(op))
    return {transition};
  SmallVector<TransitionOpInterface> transitions;
  if (auto bucket = dyn_cast<BucketOp>(op))
    for (Operation &inner : bucket.getBody().front().without_terminator())
      transitions.push_back(cast<TransitionOpInterface>(inner));
  return transitions;
}

weft::TransitionOpInterface weft::rt::transitionOf(Operation *op, unsigned number) {
  auto bucket = dyn_cast<BucketOp>(op);
  return dyn_cast<TransitionOpInterface>(
      bucket ? &*std::next(bucket.getBody().front().begin(), number) : op);
}

LogicalResult BucketOp::verify() {
  Block &body = getBody().front();
  size_t count = getInputs().size();
  if (count < 2 || body.getOperations().size() != count + 1)
    return emitOpError() << "has " << count << " inputs and " << body.getOperations().size() - 1
                         << " ops, expected one for each of at least two inputs";
  if (body.getArgumentTypes() != getInputs().getTypes() ||
      body.getTerminator()->getOperandTypes() != getOutputs().getTypes())
    return emitOpError("has other types inside than outside");
  TransitionOpInterface first;
  for (auto [i, op] : llvm::enumerate(body.without_terminator())) {
    auto transition = dyn_cast<TransitionOpInterface>(op);
    if (!transition || op.getOperand(0) != body.getArgument(i) ||
        body.getTerminator()->getOperand(i) != op.getResult(0))
      return op.emitError() << "is no transition from argument " << i << " of its bucket to result "
                            << i;
    first = first ? first : transition;
    if (!travelTogether(first, transition)) {
      auto diagnostic = op.emitError("may not share messages with the first of its bucket");
      diagnostic.attachNote(first.getLoc())
          << "one kind, group, element type, reduction and padding is needed";
      return diagnostic;
    }
  }
  return success();
}

LogicalResult BodyOp::verify() {
  if (getBody().getNumArguments() != getInputs().size())
    return emitOpError() << "has " << getInputs().size() << " inputs, but "
                         << getBody().getNumArguments() << " arguments inside";
  for (auto [i, inner, outer] :
       llvm::enumerate(getBody().getArgumentTypes(), getInputs().getTypes()))
    if (cast<RankedTensorType>(inner).getShape() != cast<RankedTensorType>(outer).getShape())
      return emitOpError() << "input " << i << " is " << outer << ", but " << inner << " inside";
  return success();
}

SmallVector<Value> BodyOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  IRMapping map;
  map.map(getBody().getArguments(), operands);
  Block &block = getBody().front();
  for (Operation &op : block.without_terminator())
    builder.clone(op, map);
  SmallVector<Value> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(map.lookup(value));
  return results;
}

unsigned BodyOp::getParallelDims() {
  return cast<RankedTensorType>(getResult().getType()).getRank();
}

static LogicalResult verifyRoutineCall(CallOp call, func::FuncOp routine) {
  auto check = [&](TypeRange inside, TypeRange outside, StringRef what) -> LogicalResult {
    if (inside.size() != outside.size())
      return misfit(call, routine)
             << "has " << outside.size() << " " << what << "s, but the routine " << inside.size();
    for (auto [i, inner, outer] : llvm::enumerate(inside, outside))
      if (inner != outer)
        return misfit(call, routine)
               << what << " " << i << " is " << outer << ", but the routine's " << inner;
    return success();
  };
  if (auto caller = call->getParentOfType<func::FuncOp>(); caller && caller->hasAttr(kRoutineAttr))
    return call.emitOpError("calls a routine in a routine");
  if (failed(check(routine.getArgumentTypes(), call.getInputs().getTypes(), "input")))
    return failure();
  return check(routine.getResultTypes(), call.getOutputs().getTypes(), "output");
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *symbol = symbols.lookupNearestSymbolFrom(*this, getCalleeAttr());
  if (auto routine = dyn_cast_or_null<ProgramOp>(symbol); routine && routine.isRoutine())
    if (auto spec = routine->getAttrOfType<FlatSymbolRefAttr>(kSpecAttr))
      symbol = symbols.lookupNearestSymbolFrom(*this, spec);
  auto callee = dyn_cast_or_null<func::FuncOp>(symbol);
  if (!callee)
    return emitOpError() << "calls @" << getCallee() << ", which is no function of this module";
  if (callee->hasAttr(kRoutineAttr))
    return verifyRoutineCall(*this, callee);
  if (getLabel() || getMicrobatch())
    return misfit(*this, callee) << "has a label or a microbatch, but @" << getCallee()
                                 << " is no routine";
  auto error = [&] { return misfit(*this, callee); };
  if (failed(sameTypes(error, callee.getArgumentTypes(), getInputs().getTypes(), "input")))
    return failure();
  return sameTypes(error, callee.getResultTypes(), getOutputs().getTypes(), "output");
}

ValueRange ProgramOp::getArgumentBlocks() {
  auto isOwn = [](int64_t argument) { return argument < 0; };
  return getBody().getArguments().drop_back(llvm::count_if(*getRoutine(), isOwn));
}

SmallVector<Value> ProgramOp::getResultBlocks() {
  SmallVector<Value> blocks;
  ValueRange arguments = getArgumentBlocks();
  size_t next = arguments.size();
  ArrayRef<int64_t> overwritten = *getRoutine();
  for (int64_t argument : overwritten)
    blocks.push_back(argument >= 0 ? arguments[argument] : getBody().getArgument(next++));
  return blocks;
}

/// Which argument each result overwrites: distinct ones of `count`.
static LogicalResult verifyOverwritten(Operation *op, ArrayRef<int64_t> overwritten,
                                       int64_t count) {
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t argument : overwritten)
    if (argument < -1 || argument >= count || (argument >= 0 && !seen.insert(argument).second))
      return op->emitOpError() << "overwrites argument " << argument
                               << ", expected distinct ones of its " << count << ", or -1";
  return success();
}

static LogicalResult verifyRoutineBlocks(ProgramOp program) {
  int64_t blocks = program.getBody().getNumArguments();
  int64_t own = llvm::count(*program.getRoutine(), -1);
  if (own > blocks)
    return program.emitOpError() << "has " << blocks << " blocks for " << own << " results";
  if (failed(verifyOverwritten(program, *program.getRoutine(), blocks - own)))
    return failure();
  for (BlockArgument block : program.getBody().getArguments())
    if (auto type = dyn_cast<MemRefType>(block.getType());
        !type || !type.getLayout().isIdentity() || !type.hasStaticShape())
      return program.emitOpError() << "has a block of type " << block.getType()
                                   << ", expected a memref of static shape without layout";
  for (Operation &op : program.getBody().front())
    if (isa<StateBufferOp, InputOp, OutputOp, InvokeOp, SendOp, RecvOp>(op))
      return op.emitOpError("stands in a routine, which has no states, ports, calls or transfers");
  return success();
}

LogicalResult ProgramOp::verify() {
  if (isRoutine())
    return verifyRoutineBlocks(*this);
  if (getBody().getNumArguments() != 0)
    return emitOpError("has blocks, but is no routine");
  return success();
}

/// Of a function: private, with a body, and no ports.
static LogicalResult verifyRoutine(func::FuncOp routine) {
  if (!routine.isPrivate() || routine.isExternal())
    return routine.emitOpError("is a routine, which is private and has a body");
  auto shared = routine->getAttrOfType<DenseI64ArrayAttr>(weft::kInPlaceAttr);
  if (!shared)
    return success();
  if (shared.size() != int64_t(routine.getNumResults()))
    return routine.emitOpError() << "says of " << shared.size() << " results what they overwrite, "
                                 << "but has " << routine.getNumResults();
  if (failed(verifyOverwritten(routine, shared.asArrayRef(), routine.getNumArguments())))
    return failure();
  for (auto [result, argument] : llvm::enumerate(shared.asArrayRef()))
    if (argument >= 0 && routine.getArgumentTypes()[argument] != routine.getResultTypes()[result])
      return routine.emitOpError() << "overwrites argument " << argument << " of type "
                                   << routine.getArgumentTypes()[argument] << " with result "
                                   << result << " of type " << routine.getResultTypes()[result];
  return success();
}

LogicalResult RtDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != kRoutineAttr)
    return success();
  auto function = dyn_cast<func::FuncOp>(op);
  if (!function || !isa<UnitAttr>(attribute.getValue()))
    return op->emitOpError() << "has attribute " << kRoutineAttr << ", which marks functions";
  return verifyRoutine(function);
}

LogicalResult MeshOp::verify() {
  if (getAxes().size() != getSizes().size())
    return emitOpError() << "names " << getAxes().size() << " axes, but gives " << getSizes().size()
                         << " sizes";
  llvm::StringSet<> seen;
  for (auto [name, size] : llvm::zip(getAxes().getAsValueRange<StringAttr>(), getSizes())) {
    if (!seen.insert(name).second)
      return emitOpError() << "names axis \"" << name << "\" twice";
    if (size < 1)
      return emitOpError() << "axis \"" << name << "\" has size " << size
                           << ", expected at least 1";
  }
  for (Attribute name : getStages().value_or(ArrayAttr::get(getContext(), {})))
    if (!seen.erase(cast<StringAttr>(name)))
      return emitOpError() << "has stages along axis " << name
                           << ", which it does not have or names twice";
  return success();
}

static MeshOp meshOf(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  if (!module)
    return {};
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? MeshOp() : *meshes.begin();
}

static std::optional<int64_t> sizeOn(MeshOp mesh, StringRef axis) {
  for (auto [name, size] : llvm::zip(mesh.getAxes().getAsValueRange<StringAttr>(), mesh.getSizes()))
    if (name == axis && size > 0) // the mesh itself may not have been verified yet
      return size;
  return std::nullopt;
}

std::optional<int64_t> weft::rt::axisSize(Operation *op, StringRef axis) {
  MeshOp mesh = meshOf(op);
  return mesh ? sizeOn(mesh, axis) : std::nullopt;
}

std::optional<int64_t> weft::rt::numStages(Operation *op) {
  MeshOp mesh = meshOf(op);
  if (!mesh || !mesh.getStages())
    return std::nullopt;
  int64_t stages = 1;
  for (StringRef axis : mesh.getStages()->getAsValueRange<StringAttr>())
    stages *= sizeOn(mesh, axis).value_or(1);
  return stages;
}

/// Checks that a placement covers `global`, names axes of the mesh, splits by
/// each at most once, and gives the sizes of `local`.
static LogicalResult verifyPlaced(Operation *op, RankedTensorType global, MemRefType local,
                                  PlacementAttr placement) {
  if (int64_t(placement.getDims().size()) != global.getRank() ||
      local.getRank() != global.getRank())
    return op->emitOpError() << "has a placement of " << placement.getDims().size()
                             << " dimensions and a buffer of " << local.getRank()
                             << " for a global tensor of " << global.getRank();
  llvm::StringSet<> used;
  for (auto [d, dim] : llvm::enumerate(placement.getDims())) {
    int64_t whole = 1, part = 1;
    for (const PlacementPart &p : dim.parts) {
      int64_t extent = p.size;
      for (StringAttr axis : p.axes) {
        std::optional<int64_t> size = axisSize(op, axis.getValue());
        if (!size)
          return op->emitOpError() << "splits dimension " << d << " over axis " << axis
                                   << ", which the mesh does not have";
        if (!used.insert(axis.getValue()).second)
          return op->emitOpError() << "uses axis " << axis << " twice";
        extent = llvm::divideCeil(extent, *size);
      }
      whole *= p.size;
      part *= extent;
    }
    if (whole != global.getDimSize(d))
      return op->emitOpError() << "has parts of product " << whole << " in dimension " << d
                               << ", expected the global size " << global.getDimSize(d);
    if (part != local.getDimSize(d))
      return op->emitOpError() << "has local size " << local.getDimSize(d) << " in dimension " << d
                               << ", expected " << part;
  }
  return success();
}

LogicalResult StateOp::verify() {
  for (Attribute piece : getPieces())
    if (!isa<PieceAttr>(piece))
      return emitOpError() << "has a piece that is no #rt.piece: " << piece;
  if (getOffset() && *getOffset() % 64 != 0)
    return emitOpError() << "has offset " << *getOffset() << ", expected a multiple of 64";
  return verifyPlaced(*this, cast<RankedTensorType>(getGlobal()), cast<MemRefType>(getLocal()),
                      getPlacement());
}

LogicalResult InputOp::verify() {
  return verifyPlaced(*this, cast<RankedTensorType>(getGlobal()),
                      cast<MemRefType>(getBuffer().getType()), getPlacement());
}

LogicalResult OutputOp::verify() {
  return verifyPlaced(*this, cast<RankedTensorType>(getGlobal()),
                      cast<MemRefType>(getBuffer().getType()), getPlacement());
}

LogicalResult BufferOp::verify() {
  auto type = cast<MemRefType>(getResult().getType());
  if (!type.getLayout().isIdentity() || !type.hasStaticShape())
    return emitOpError() << "has type " << type << ", expected a static shape without layout";
  if (getOffset() && (*getOffset() % 64 != 0 || *getOffset() < 0))
    return emitOpError() << "has offset " << *getOffset() << ", expected a multiple of 64";
  if (getLives() && (getLives()->size() != 2 || (*getLives())[0] > (*getLives())[1]))
    return emitOpError() << "has a lifetime that is no [first, last]";
  return success();
}

LogicalResult StateBufferOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto state = symbols.lookupNearestSymbolFrom<StateOp>(*this, getStateAttr());
  if (!state)
    return emitOpError() << "names @" << getState() << ", which is no state of this module";
  if (state.getLocal() != getResult().getType())
    return misfit(*this, state) << "has type " << getResult().getType() << ", but the state is "
                                << state.getLocal();
  return success();
}

LogicalResult ViewOp::verify() {
  auto from = cast<MemRefType>(getBuffer().getType()), to = cast<MemRefType>(getResult().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!from.getLayout().isIdentity() || !from.hasStaticShape())
    return emitOpError() << "is of " << from
                         << ", expected a buffer of static shape without layout";
  if (from.getElementType() != to.getElementType())
    return emitOpError() << "has element type " << to.getElementType() << ", but the buffer "
                         << from.getElementType();
  if (!staticLayout(to, strides, offset))
    return emitOpError() << "has type " << to << ", expected static sizes, strides and offset";
  if (to.getNumElements() == 0)
    return success();
  int64_t low = offset, high = offset;
  for (auto [size, stride] : llvm::zip(to.getShape(), strides))
    (stride < 0 ? low : high) += (size - 1) * stride;
  if (low < 0 || high >= from.getNumElements())
    return emitOpError() << "reaches elements " << low << " to " << high << " of a buffer of "
                         << from.getNumElements();
  return success();
}

Value weft::rt::bufferOfView(Value view) {
  while (auto op = view.getDefiningOp<ViewOp>())
    view = op.getBuffer();
  return view;
}
