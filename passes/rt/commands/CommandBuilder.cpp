// One op of a program's function as views and a command.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/commands/CommandBuilder.h"
#include "passes/rt/fusion/LibraryLayout.h"
#include "passes/rt/routines/Routines.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/rt/IR/Actions.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Interfaces/Reduction.h"
#include "weft/Interfaces/Sum.h"
#include "weft/Sharding/TransitionOpInterface.h"
#include "weft/Support/Diagnostics.h"

using namespace mlir;
using namespace weft;
using namespace weft::rt;

static bool isSpecRoot(Operation *op) { return isa<PutOp>(op) || specKind(op) != SpecKind::View; }

/// The call that writes what `put` would copy, or null.
static CallOp callThatPlaces(PutOp put) {
  if (!put->hasAttr(kPlacedAttr))
    return {};
  Value made = put.getRows();
  while (made.hasOneUse() && made.getDefiningOp() && !isSpecRoot(made.getDefiningOp()) &&
         made.getDefiningOp()->getNumOperands() == 1)
    made = made.getDefiningOp()->getOperand(0);
  auto call = made.hasOneUse() ? made.getDefiningOp<CallOp>() : CallOp();
  auto rows = cast<RankedTensorType>(put.getRows().getType());
  std::optional<ValueLayout> layout = layoutOf(put.getRows(), isSpecRoot);
  Operation *others = put.getInto() ? put.getInto().getDefiningOp() : nullptr;
  bool isInRow = layout && layout->root == made && layout->offset == 0 &&
                 isRowMajor(rows.getShape(), layout->strides) && rows.getDimSize(0) == 1 &&
                 rows.getNumElements() == elementsOf(made);
  bool isThereBefore = !put.getInto() || (call && others && others->isBeforeInBlock(call));
  return isInRow && isThereBefore ? call : CallOp();
}

SpecKind weft::rt::specKind(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>())
    return SpecKind::End;
  if (auto put = dyn_cast<PutOp>(op); put && callThatPlaces(put))
    return SpecKind::Placed;
  if (isa<CallOp, FusionOp, DenseOp, PutOp, BucketOp, TransitionOpInterface, dist::SendOp,
          dist::ReceiveOp>(op))
    return SpecKind::Command;
  if (isa<NothingOp>(op))
    return SpecKind::Nothing;
  if (op->hasTrait<OpTrait::ConstantLike>() || isa<CoordinateOp>(op))
    return SpecKind::Constant;
  return isa<KernelOpInterface>(op) ? SpecKind::View : SpecKind::Unknown;
}

PutOp weft::rt::putOf(OpResult result) {
  Value rows = result;
  while (rows.hasOneUse() && specKind(*rows.user_begin()) == SpecKind::View)
    rows = rows.user_begin()->getResult(0);
  auto put = rows.hasOneUse() ? dyn_cast<PutOp>(*rows.user_begin()) : PutOp();
  return put && put.getRows() == rows && callThatPlaces(put) == result.getOwner() ? put : PutOp();
}

LogicalResult weft::rt::verifyViews(Block &block) {
  llvm::DenseMap<Value, ValueLayout> layouts; // of views
  for (Operation &op : block) {
    if (specKind(&op) == SpecKind::View) {
      Value from = op.getNumOperands() ? op.getOperand(0) : Value();
      auto found = layouts.find(from);
      std::optional<ValueLayout> layout;
      if (from && op.getNumResults() == 1)
        layout = layoutOfView(&op, found == layouts.end() ? denseLayout(from) : found->second);
      if (!layout)
        return op.emitError(
            "is no view of what it reads, and no command does it; run rt-fuse-kernels "
            "before");
      layouts[op.getResult(0)] = std::move(*layout);
    }
  }
  return success();
}

LogicalResult weft::rt::verifyViewsAndEnd(Block &block) {
  if (failed(verifyViews(block)))
    return failure();
  Operation *end = block.getTerminator();
  for (Value value : end->getOperands())
    if (Operation *maker = value.getDefiningOp(); maker && specKind(maker) == SpecKind::View) {
      InFlightDiagnostic diagnostic = end->emitError(
          "returns a view, which has no memory of its own; run rt-fuse-kernels before");
      diagnostic.attachNote(maker->getLoc()) << "this is the view";
      return diagnostic;
    }
  return success();
}

StringRef weft::rt::nameForMessages(Operation *op) {
  StringRef node = nodeName(op->getLoc());
  return node.empty() ? op->getName().getStringRef() : node;
}

Operation *weft::rt::libraryOpOf(FusionOp fusion) {
  return &*llvm::find_if(fusion.getBody().front(),
                         [](Operation &op) { return !op.hasTrait<OpTrait::ConstantLike>(); });
}

std::optional<LibraryEnd> weft::rt::libraryEndOf(FusionOp fusion) {
  LibraryEnd end;
  Operation *op = libraryOpOf(fusion), *next = op->getNextNode();
  size_t placeable = placeableResults(op).size();
  llvm::SetVector<Value> made;
  llvm::DenseSet<OpOperand *> led;
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    Operation *last = i < placeable ? placedAs(result, [](Operation *) { return true; }) : nullptr;
    if (last && !layoutBehind(result, last))
      return std::nullopt;
    Value value = result;
    for (; last && value.getDefiningOp() != last; value = value.user_begin()->getResult(0))
      led.insert(&*value.use_begin());
    made.insert(value);
    end.placed.push_back(last);
    end.outputs.push_back(llvm::find(made, value) - made.begin());
  }
  // Results have their places in it, and nothing else has.
  for (; next && isPlacing(next); next = next->getNextNode())
    for (OpOperand &operand : next->getOpOperands())
      if (!led.contains(&operand))
        return std::nullopt;
  // To the first of these alone it adds.
  SmallVector<Value> yielded = made.takeVector();
  for (; next && isSum(next); next = next->getNextNode()) {
    bool isFirst = next->getOperand(0) == yielded[0];
    auto addend = dyn_cast<BlockArgument>(next->getOperand(isFirst));
    if (!addend || next->getOperand(!isFirst) != yielded[0])
      return std::nullopt;
    end.addends.push_back(addend);
    yielded[0] = next->getResult(0);
  }
  auto yield = dyn_cast_if_present<YieldOp>(next);
  return yield && llvm::equal(yield->getOperands(), yielded) ? std::optional(end) : std::nullopt;
}

bool weft::rt::isNothing(Value value) { return value.getDefiningOp<NothingOp>() != nullptr; }

bool weft::rt::mayReadNothing(OpOperand &use, const SymbolTable &symbols) {
  auto call = dyn_cast<CallOp>(use.getOwner());
  func::FuncOp callee = call ? calleeOf(call, symbols) : func::FuncOp();
  return callee && isRoutine(callee) &&
         llvm::is_contained(sharedArguments(callee), use.getOperandNumber()) &&
         isOnlyAddedOnce(callee.getArgument(use.getOperandNumber()));
}

bool weft::rt::isOnlyAddedOnce(Value sum) {
  auto fusion = sum.hasOneUse() ? dyn_cast<FusionOp>(*sum.user_begin()) : FusionOp();
  if (!fusion || fusion.getKind() != FusionKind::Library)
    return false;
  BlockArgument inside = fusion.getBody().getArgument(sum.use_begin()->getOperandNumber());
  std::optional<LibraryEnd> end = libraryEndOf(fusion);
  return end && ArrayRef<BlockArgument>(end->addends) == ArrayRef<BlockArgument>(inside) &&
         inside.hasOneUse();
}

ValueLayout weft::rt::specLayout(Value value) {
  std::optional<ValueLayout> layout = layoutOf(value, isSpecRoot);
  assert(layout && "rt-fuse-kernels left a view without strides");
  return *layout;
}

PieceAttr weft::rt::coordinatesPiece(MLIRContext *context, int64_t size) {
  auto type = RankedTensorType::get({size}, IntegerType::get(context, 64));
  auto values = llvm::to_vector(llvm::seq<int64_t>(0, size));
  return PieceAttr::get(context, type, StringAttr(), 0, 0,
                        DenseElementsAttr::get(type, ArrayRef<int64_t>(values)),
                        DenseI64ArrayAttr());
}

MemRefType weft::rt::bufferType(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return MemRefType::get(type.getShape(), type.getElementType());
}

namespace {

class CommandMaker {
public:
  CommandMaker(OpBuilder &builder, Operation *op, const SymbolTable &symbols,
               llvm::function_ref<Value(Value)> bufferOf)
      : builder(builder), op(op), symbols(symbols), bufferOf(bufferOf) {}

  Operation *make() {
    if (auto call = dyn_cast<CallOp>(op))
      return launch(call);
    if (auto copy = dyn_cast<DenseOp>(op))
      return CopyOp::create(builder, op->getLoc(), view(copy.getOperand()),
                            bufferOf(copy.getResult()), 0);
    if (auto put = dyn_cast<PutOp>(op))
      return copyInto(put);
    if (auto fusion = dyn_cast<FusionOp>(op))
      return library(fusion);
    if (auto send = dyn_cast<dist::SendOp>(op)) {
      auto command = SendOp::create(builder, op->getLoc(), view(send.getInput()), send.getPeer(),
                                    send.getChannel(), 0);
      if (auto reason = op->getAttrOfType<dist::ReasonAttr>(dist::kReasonAttr))
        command->setAttr(dist::kReasonsAttr, builder.getArrayAttr({reason}));
      return command;
    }
    if (auto receive = dyn_cast<dist::ReceiveOp>(op))
      return RecvOp::create(builder, op->getLoc(), bufferOf(receive.getResult()), receive.getPeer(),
                            receive.getChannel(), 0);
    SmallVector<TransitionOpInterface> transitions = transitionsOf(op);
    assert(!transitions.empty() && "specKind knows no other command");
    return collective(transitions);
  }

private:
  Value window(Value buffer, ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides, int64_t offset) {
    auto whole = cast<MemRefType>(buffer.getType());
    // A window of nothing may start anywhere, also after the end.
    if (llvm::is_contained(sizes, 0))
      offset = 0;
    if (whole.getShape() == sizes && offset == 0 && isRowMajor(sizes, strides))
      return buffer;
    // Dims of one element are written with their row-major stride, so that
    // equal views are equal types.
    SmallVector<int64_t> clean(strides);
    bool dense = isRowMajor(sizes, strides);
    int64_t next = 1;
    for (size_t d = sizes.size(); d-- > 0; next *= sizes[d])
      if (dense || sizes[d] == 1)
        clean[d] = next;
    auto layout = StridedLayoutAttr::get(builder.getContext(), offset, clean);
    bool identity = dense && offset == 0;
    auto type = identity ? MemRefType::get(sizes, whole.getElementType())
                         : MemRefType::get(sizes, whole.getElementType(), layout);
    return ViewOp::create(builder, op->getLoc(), type, buffer);
  }

  Value view(Value value) {
    ValueLayout layout = specLayout(value);
    return window(bufferOf(layout.root), cast<RankedTensorType>(value.getType()).getShape(),
                  layout.strides, layout.offset);
  }

  /// Where a call's result goes: its buffer, or rows of that into which it is put.
  Value written(OpResult result) {
    PutOp put = putOf(result);
    if (!put)
      return bufferOf(result);
    ArrayRef<int64_t> sizes = cast<RankedTensorType>(result.getType()).getShape();
    return window(bufferOf(put.getResult()), sizes, denseLayout(result).strides,
                  put.getStart() * cast<RankedTensorType>(put.getRows().getType()).getDimSize(2));
  }

  Operation *copyInto(PutOp put) {
    auto rows = cast<RankedTensorType>(put.getRows().getType());
    int64_t count = rows.getDimSize(0) * rows.getDimSize(2), inner = rows.getDimSize(2);
    auto whole = cast<RankedTensorType>(put.getResult().getType());
    int64_t extent = count == 0 ? 0 : whole.getNumElements() / count;
    return CopyOp::create(builder, op->getLoc(), view(put.getRows()),
                          window(bufferOf(put.getResult()), rows.getShape(),
                                 {extent * inner, inner, 1}, put.getStart() * inner),
                          0);
  }

  Operation *launch(CallOp call) {
    SmallVector<Value> reads, writes;
    for (Value input : call.getInputs())
      reads.push_back(view(input));
    for (OpResult output : call->getResults())
      writes.push_back(written(output));
    func::FuncOp callee = calleeOf(call, symbols);
    if (!callee || !isRoutine(callee))
      return LaunchOp::create(builder, op->getLoc(), call.getCallee(), reads, writes, 0);
    auto routine = dyn_cast<ProgramOp>(symbols.lookup(call.getCallee()));
    Value scratch = routine ? createScratch(builder, op->getLoc(), routine) : Value();
    SmallVector<int64_t> unset;
    for (auto [i, input] : llvm::enumerate(call.getInputs()))
      if (isNothing(input))
        unset.push_back(i);
    return InvokeOp::create(
        builder, op->getLoc(), call.getCallee(), reads, writes, scratch, onlyCommunicates(callee),
        unset.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(unset),
        call.getLabelAttr(), call.getMicrobatchAttr(), 0);
  }

  /// The bits of the neutral element that fills new padding.
  int64_t paddingBits(const CollectiveGeometry &geometry, Type element) {
    if (!geometry.padding)
      return 0;
    Scalar neutral = neutralElement(*geometry.padding, element);
    if (auto type = dyn_cast<FloatType>(element)) {
      APFloat value(neutral.real);
      bool lost;
      value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
      return value.bitcastToAPInt().getZExtValue();
    }
    return neutral.integer;
  }

  /// Why the transitions move what they move, if that is known of each.
  ArrayAttr reasonsOf(ArrayRef<TransitionOpInterface> transitions) {
    SmallVector<Attribute> reasons;
    for (TransitionOpInterface transition : transitions)
      if (auto reason = transition->getAttrOfType<dist::ReasonAttr>(dist::kReasonAttr))
        reasons.push_back(reason);
      else
        return {};
    return builder.getArrayAttr(reasons);
  }

  /// Transitions that travel together differ in their shapes only.
  Operation *collective(ArrayRef<TransitionOpInterface> transitions) {
    TransitionOpInterface transition = transitions[0];
    CollectiveGeometry geometry = transition.getGeometry();
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    SmallVector<StringRef> names;
    for (AxisId axis : geometry.axes)
      names.push_back(transition.getTransitionMesh().axes[axis].name);
    ArrayAttr axes = builder.getStrArrayAttr(names);
    int64_t padding = paddingBits(geometry, type.getElementType());
    SmallVector<Value> sources, targets;
    SmallVector<int64_t> shapes;
    for (auto [i, each] : llvm::enumerate(transitions)) {
      sources.push_back(view(op->getOperand(i)));
      targets.push_back(bufferOf(op->getResult(i)));
      CollectiveGeometry own = TransitionOpInterface(each).getGeometry();
      shapes.append({own.outer, own.extent, own.inner, own.middle, own.otherExtent});
    }
    CollectiveKind kind;
    switch (geometry.kind) {
    case TransitionKind::Slice:
      return SliceOp::create(builder, op->getLoc(), sources[0], targets[0], axes,
                             ArrayRef<int64_t>{geometry.outer, geometry.extent, geometry.inner},
                             padding, 0);
    case TransitionKind::AllGather:
      kind = CollectiveKind::AllGather;
      break;
    case TransitionKind::AllReduce:
      kind = CollectiveKind::AllReduce;
      break;
    case TransitionKind::ReduceScatter:
      kind = CollectiveKind::ReduceScatter;
      break;
    case TransitionKind::AllToAll:
      kind = CollectiveKind::AllToAll;
      break;
    case TransitionKind::Mask:
    case TransitionKind::Partialize:
      op->emitError("a mask is a kernel; run rt-materialize-device-bodies before");
      return nullptr;
    case TransitionKind::Move:
      op->emitError("is of several stages of a pipeline; run dist-project-stages before");
      return nullptr;
    }
    Type accumulate = transition.getAccumulateType();
    auto command = CollectiveOp::create(
        builder, op->getLoc(), kind, geometry.reduction.value_or(ReduceKind::Sum), sources, targets,
        axes, shapes, accumulate ? accumulate : type.getElementType(), geometry.gatherFirst,
        padding, 0);
    if (ArrayAttr reasons = reasonsOf(transitions))
      command->setAttr(dist::kReasonsAttr, reasons);
    return command;
  }

  Operation *library(FusionOp fusion) {
    Operation *libraryOp = libraryOpOf(fusion);
    std::optional<LibraryEnd> end = libraryEndOf(fusion);
    if (!end) {
      libraryOp->emitOpError(
          "is followed by more than a library call does: to place its results, to add inputs to "
          "the first");
      return nullptr;
    }
    SmallVector<ValueLayout> written;
    SmallVector<SmallVector<int64_t, 4>> resultStrides;
    SmallVector<Value> outputs;
    for (auto [result, placed, output] :
         llvm::zip(libraryOp->getResults(), end->placed, end->outputs)) {
      written.push_back(placed ? *layoutBehind(result, placed) : denseLayout(result));
      resultStrides.push_back(written.back().strides);
      outputs.push_back(fusion.getOutputs()[output]);
    }
    SmallVector<ValueLayout> layouts;
    SmallVector<SmallVector<int64_t, 4>> strides;
    for (Value operand : libraryOp->getOperands()) {
      auto argument = dyn_cast<BlockArgument>(operand);
      layouts.push_back(argument ? specLayout(fusion.getInputs()[argument.getArgNumber()])
                                 : denseLayout(operand));
      strides.push_back(layouts.back().strides);
    }
    const Target *target = targetOf(op->getParentOfType<ModuleOp>());
    if (!target)
      return nullptr;
    SmallVector<ValueLayout> addends;
    SmallVector<SmallVector<int64_t, 4>> addendStrides;
    for (BlockArgument argument : end->addends) {
      if (isNothing(fusion.getInputs()[argument.getArgNumber()]))
        continue;
      ValueLayout addend = specLayout(fusion.getInputs()[argument.getArgNumber()]);
      if (Operation *placed = end->placed.front())
        addend.strides = layoutBehind(libraryOp->getResult(0), placed, addend.strides)->strides;
      addendStrides.push_back(addend.strides);
      addends.push_back(std::move(addend));
    }
    std::optional<LibraryLayout> plan =
        libraryLayout(*target, libraryOp, strides, resultStrides, addendStrides);
    if (!plan) {
      libraryOp->emitOpError() << "is no library call that target '" << target->name()
                               << "' takes with these types and layouts";
      return nullptr;
    }
    // What it must read, what it writes, what it may lack, what it adds.
    std::string name = (RtDialect::getDialectNamespace() + "." + plan->call.command).str();
    OperationState state(op->getLoc(), name);
    auto addOperands = [&](ArrayRef<unsigned> numbers) {
      for (unsigned i : numbers)
        state.operands.push_back(window(bufferOf(layouts[i].root), plan->operands[i].sizes,
                                        plan->operands[i].strides, layouts[i].offset));
    };
    addOperands(plan->call.reads);
    for (auto [i, part] : llvm::enumerate(plan->results))
      state.operands.push_back(
          window(bufferOf(outputs[i]), part.sizes, part.strides, written[i].offset));
    addOperands(plan->call.mayLack);
    for (auto [addend, part] : llvm::zip(addends, plan->addends))
      state.operands.push_back(
          window(bufferOf(addend.root), part.sizes, part.strides, addend.offset));
    state.attributes = plan->call.attributes;
    return builder.create(state);
  }

  OpBuilder &builder;
  Operation *op;
  const SymbolTable &symbols;
  llvm::function_ref<Value(Value)> bufferOf;
};

} // namespace

Operation *weft::rt::buildCommand(OpBuilder &builder, Operation *op, const SymbolTable &symbols,
                                  llvm::function_ref<Value(Value)> bufferOf) {
  Operation *command = CommandMaker(builder, op, symbols, bufferOf).make();
  if (Attribute action = op->getAttr(kActionAttr); action && command)
    command->setAttr(kActionAttr, action);
  return command;
}

Value weft::rt::createScratch(OpBuilder &builder, Location loc, ProgramOp routine) {
  int64_t bytes = routine.getArena().value_or(0);
  if (bytes == 0)
    return {};
  return BufferOp::create(builder, loc, MemRefType::get({bytes}, builder.getI8Type()),
                          builder.getStringAttr(routine.getSymName()), BufferClass::Workspace,
                          IntegerAttr(), DenseI64ArrayAttr());
}
