// Rejects programs whose commands do not compute their function.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "dialects/rt/IR/Misfit.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/InPlace.h"
#include "passes/rt/Passes.h"
#include "passes/rt/commands/CommandBuilder.h"
#include "passes/rt/memory/Lifetimes.h"
#include "passes/rt/verify/MemoryTrace.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTVERIFYCOMMANDS
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

/// Follows the values of one program's function through its commands, in list
/// order. List order is one of the orders that streams and events allow, and
/// where accesses are ordered (checked by verifyOrder) all others give the same.
class ProgramVerifier {
public:
  ProgramVerifier(ProgramOp program, func::FuncOp spec, const SymbolTable &symbols,
                  const Target &target)
      : program(program), spec(spec), symbols(symbols), target(target), memory(program) {}

  LogicalResult verify() {
    if (failed(verifyViewsAndEnd(spec.getBody().front())))
      return failure();
    bool valid = succeeded(verifyOrder(program, memory));
    valid &= succeeded(memory.verifyLifetimes());
    for (auto [i, op] : llvm::enumerate(spec.getBody().front()))
      ops.push_back(&op);
    if (failed(program.isRoutine() ? placeBlocks() : success()))
      return failure();
    valid &= succeeded(verifyNothing());
    if (!program.isRoutine()) {
      placeStates();
      valid &= succeeded(placeInputs());
    }
    for (CommandInterface command : commandsOf(program))
      if (!isa<RecordOp, WaitOp>(*command))
        valid &= succeeded(verifyCommand(command));
    for (auto [i, op] : llvm::enumerate(ops))
      if (specKind(op) == SpecKind::Command && !done.contains(i)) {
        valid = false;
        auto diagnostic = program.emitError()
                          << "no command does op " << i << " of @" << spec.getSymName();
        diagnostic.attachNote(op->getLoc()) << "this op: " << op->getName();
      }
    if (program.isRoutine())
      return success(valid & succeeded(verifyBlocks()));
    valid &= succeeded(verifyOutputs());
    valid &= succeeded(verifyStates());
    return success(valid);
  }

private:
  /// What identifies the contents of a buffer: the argument or result of the
  /// function, or for constants and states the state.
  MemoryTrace::Content content(Value root) const {
    auto state = stateOf.find(root);
    return state == stateOf.end() ? root.getAsOpaquePointer() : state->second;
  }

  /// The axis along which a state holds each process's coordinate, or null.
  static StringAttr axisOfCoordinates(StateOp state) {
    ArrayRef<PlacementDim> dims = state.getPlacement().getDims();
    if (state.getKind() != BufferClass::Workspace || state.getPieces().size() != 1 ||
        dims.size() != 1 || dims[0].parts.size() != 1 || dims[0].parts[0].axes.size() != 1)
      return {};
    bool holds =
        state.getPieces()[0] == coordinatesPiece(state.getContext(), dims[0].parts[0].size);
    return holds ? dims[0].parts[0].axes[0] : StringAttr();
  }

  void placeStates() {
    llvm::StringMap<SmallVector<Value, 1>> readers;       // of a state, by its name
    llvm::StringMap<SmallVector<Value, 1>> ofCoordinates; // by axis
    llvm::DenseMap<Attribute, SmallVector<Value, 1>> constants;
    for (BlockArgument arg : spec.getArguments())
      if (auto name = spec.getArgAttrOfType<StringAttr>(arg.getArgNumber(), nn::kNameAttr);
          name && nn::isState(spec, arg.getArgNumber()))
        readers[name.getValue()].push_back(arg);
    for (Operation *op : ops) {
      ElementsAttr value;
      if (auto coordinate = dyn_cast<CoordinateOp>(op))
        ofCoordinates[coordinate.getAxis()].push_back(coordinate.getResult());
      else if (specKind(op) == SpecKind::Constant && matchPattern(op, m_Constant(&value)))
        constants[value].push_back(op->getResult(0));
    }
    for (auto state : program->getParentOfType<ModuleOp>().getOps<StateOp>()) {
      MemoryTrace::Content key = state.getOperation();
      memory.write(state.getOffset().value_or(0), cast<MemRefType>(state.getLocal()), key);
      for (Value reader : readers.lookup(state.getSymName()))
        stateOf[reader] = key;
      if (StringAttr axis = axisOfCoordinates(state))
        for (Value reader : ofCoordinates.lookup(axis))
          stateOf[reader] = key;
      // Numbers of devices and weights may happen to have a constant's value, too.
      bool isConstant = state.getKind() == BufferClass::Workspace &&
                        cast<MemRefType>(state.getLocal()).getShape() ==
                            cast<RankedTensorType>(state.getGlobal()).getShape();
      if (isConstant && state.getPieces().size() == 1)
        if (Attribute data = cast<PieceAttr>(state.getPieces()[0]).getData())
          for (Value constant : constants.lookup(data))
            stateOf[constant] = key;
    }
  }

  /// What no command writes is read by none that needs it: a sum of nothing.
  LogicalResult verifyNothing() {
    bool valid = true;
    for (auto [number, op] : llvm::enumerate(ops)) {
      if (specKind(op) != SpecKind::Nothing || isOnlyAddedOnce(op->getResult(0)))
        continue;
      for (OpOperand &use : op->getUses()) {
        if (mayReadNothing(use, symbols))
          continue;
        valid = false;
        auto diagnostic = use.getOwner()->emitError();
        diagnostic << "op " << llvm::find(ops, use.getOwner()) - ops.begin() << " of @"
                   << spec.getSymName() << " reads as operand " << use.getOperandNumber()
                   << " a sum to which nothing was added (op " << number
                   << "), and does more than to add it to one product; let a command make that sum";
        diagnostic.attachNote(op->getLoc()) << "the sum starts here";
      }
    }
    return success(valid);
  }

  /// At its start a routine's arguments lie in their blocks.
  LogicalResult placeBlocks() {
    bool fits =
        isRoutine(spec) && ArrayRef<int64_t>(sharedArguments(spec)) == *program.getRoutine();
    auto types = [](ValueRange blocks) { return blocks.getTypes(); };
    auto wanted = [](TypeRange tensors) { return llvm::map_to_vector(tensors, bufferType); };
    fits = fits &&
           llvm::equal(types(program.getArgumentBlocks()), wanted(spec.getArgumentTypes())) &&
           llvm::equal(types(program.getResultBlocks()), wanted(spec.getResultTypes()));
    if (!fits)
      return program.emitError() << "has other blocks than @" << spec.getSymName()
                                 << " has arguments and results";
    for (auto [block, argument] : llvm::zip(program.getArgumentBlocks(), spec.getArguments()))
      memory.write(block, content(argument));
    return success();
  }

  /// At its end the results lie in theirs, and what is not overwritten holds the argument.
  LogicalResult verifyBlocks() {
    bool valid = true;
    SmallVector<Value> results = program.getResultBlocks();
    for (auto [i, block, value] : llvm::enumerate(results, ops.back()->getOperands()))
      if (!memory.holds(block, content(value))) {
        valid = false;
        program.emitError() << "result " << i
                            << " is not written, or overwritten, when the routine ends";
      }
    for (auto [i, block, value] : llvm::enumerate(program.getArgumentBlocks(), spec.getArguments()))
      if (!llvm::is_contained(results, block) && !memory.holds(block, content(value))) {
        valid = false;
        program.emitError() << "overwrites argument " << i << ", which its callers may read again";
      }
    return success(valid);
  }

  LogicalResult placeInputs() {
    auto inputs = llvm::to_vector(program.getOps<InputOp>());
    size_t next = 0;
    for (BlockArgument arg : spec.getArguments()) {
      if (stateOf.count(arg))
        continue;
      auto name = spec.getArgAttrOfType<StringAttr>(arg.getArgNumber(), nn::kNameAttr);
      if (next == inputs.size() || (name && inputs[next].getNameAttr() != name) ||
          inputs[next].getBuffer().getType() != bufferType(arg.getType()))
        return program.emitError() << "has no input for argument " << arg.getArgNumber() << " of @"
                                   << spec.getSymName();
      memory.write(inputs[next++].getBuffer(), content(arg));
    }
    if (next < inputs.size())
      return inputs[next].emitError() << "is the input of no argument of @" << spec.getSymName();
    return success();
  }

  LogicalResult verifyOutputs() {
    auto outputs = llvm::to_vector(program.getOps<OutputOp>());
    SmallVector<Value> returned;
    for (auto [i, value] : llvm::enumerate(ops.back()->getOperands()))
      if (!nn::updatedState(spec, i))
        returned.push_back(value);
    if (outputs.size() != returned.size())
      return program.emitError() << "has " << outputs.size() << " outputs, but @"
                                 << spec.getSymName() << " returns " << returned.size();
    bool valid = true;
    for (auto [output, value] : llvm::zip(outputs, returned))
      if (!memory.holds(output.getBuffer(), content(value))) {
        auto diagnostic = output.emitError()
                          << "output \"" << output.getName()
                          << "\" is not written, or overwritten, when the program ends";
        diagnostic.attachNote(value.getLoc()) << "this is what it returns";
        valid = false;
      }
    return success(valid);
  }

  /// Each state holds its new value at the end, and its old one if it has none:
  /// the next program reads it.
  LogicalResult verifyStates() {
    llvm::StringMap<Value> updated;
    for (auto [i, value] : llvm::enumerate(ops.back()->getOperands()))
      if (StringAttr name = nn::updatedState(spec, i))
        updated[name.getValue()] = value;
    bool valid = true;
    for (auto state : program->getParentOfType<ModuleOp>().getOps<StateOp>()) {
      auto found = updated.find(state.getSymName());
      bool isUpdated = found != updated.end();
      MemoryTrace::Content wanted = isUpdated ? content(found->second) : state.getOperation();
      if (memory.holds(state.getOffset().value_or(0), cast<MemRefType>(state.getLocal()), wanted))
        continue;
      valid = false;
      auto diagnostic = program.emitError() << "does not leave the " << (isUpdated ? "new" : "old")
                                            << " value in state \"" << state.getSymName() << "\"";
      diagnostic.attachNote(state.getLoc()) << "the state is here";
    }
    return success(valid);
  }

  using Pairs = llvm::DenseSet<std::pair<Value, Value>>;

  /// What a command overwrites as its kernel or routine says is one buffer, as that is compiled
  /// for.
  LogicalResult findOverwritten(Operation *command, Operation *callee,
                                ArrayRef<int64_t> overwritten, ValueRange inputs,
                                ValueRange outputs, Pairs &pairs) {
    for (auto [result, argument] : llvm::enumerate(overwritten)) {
      if (argument < 0)
        continue;
      Value read = inputs[argument], written = outputs[result];
      if (read.getType() != written.getType() ||
          memory.range(bufferOfView(read)) != memory.range(bufferOfView(written)))
        return misfit(command, callee) << "does not overwrite argument " << argument
                                       << " with result " << result << ", as what it runs does";
      pairs.insert({read, written});
    }
    return success();
  }

  /// That a kernel may be in place is derived anew from its body; that a routine is, where its
  /// commands are judged. Other commands work in place or not.
  LogicalResult verifySharing(CommandInterface command) {
    if (failed(verifyStarts(command)))
      return failure();
    Pairs shared;
    if (auto launch = dyn_cast<LaunchOp>(*command)) {
      auto kernel = symbols.lookup<func::FuncOp>(launch.getKernelAttr().getAttr());
      SmallVector<int64_t> overwritten = sharedArguments(kernel);
      for (auto [result, argument] : llvm::enumerate(overwritten))
        if (argument >= 0 && (argument >= int64_t(launch.getInputs().size()) ||
                              !mayOverwrite(kernel, argument, result)))
          return misfit(launch, kernel) << "runs a kernel that may not overwrite argument "
                                        << argument << " with result " << result;
      if (failed(findOverwritten(launch, kernel, overwritten, launch.getInputs(),
                                 launch.getOutputs(), shared)))
        return failure();
    } else if (auto invoke = dyn_cast<InvokeOp>(*command)) {
      auto routine = symbols.lookup<ProgramOp>(invoke.getRoutine());
      if (failed(verifyStreams(invoke, routine)) ||
          failed(findOverwritten(invoke, routine, *routine.getRoutine(), invoke.getInputs(),
                                 invoke.getOutputs(), shared)))
        return failure();
    }
    SmallVector<Value> reads = command.getReads();
    for (auto pair : command.getOverwrites())
      if (llvm::count(reads, pair.first) == 1)
        shared.insert(pair);
    return memory.verifyNoOverlap(command, shared);
  }

  /// What a kernel is given, also by a routine, starts where those of the target can read.
  LogicalResult verifyStarts(CommandInterface command) {
    if (!isa<InvokeOp, LaunchOp>(*command))
      return success();
    for (auto [i, view] : llvm::enumerate(command->getOperands())) {
      auto type = cast<MemRefType>(view.getType());
      SmallVector<int64_t> strides;
      int64_t offset = 0;
      if (type.getNumElements() > 0 && staticLayout(type, strides, offset) &&
          offset * elementBytes(type.getElementType()) % target.traits().kernelAlignment != 0)
        return command->emitError()
               << "gives operand " << i << " at byte "
               << offset * elementBytes(type.getElementType())
               << " of its buffer, which is no multiple of the " << target.traits().kernelAlignment
               << " that kernels of the target start at";
    }
    return success();
  }

  /// A call counts as a command of one stream: that of all its communication, or the one that
  /// waits for all its others.
  LogicalResult verifyStreams(InvokeOp invoke, ProgramOp routine) {
    if (routine.getStreams() > program.getStreams())
      return misfit(invoke, routine) << "invokes a routine of " << routine.getStreams()
                                     << " streams in a program of " << program.getStreams();
    if (!invoke.getCommunicates() && invoke.getStream() != 0)
      return misfit(invoke, routine)
             << "runs on stream " << invoke.getStream() << ", but its routine computes";
    if (!invoke.getCommunicates())
      return success();
    for (CommandInterface command : commandsOf(routine))
      if (command.getStreamNumber() != invoke.getStream())
        return misfit(invoke, command)
               << "runs on stream " << invoke.getStream()
               << ", but a command of its routine on stream " << command.getStreamNumber();
    return success();
  }

  LogicalResult verifyCommand(CommandInterface command) {
    auto origin = command->getAttrOfType<IntegerAttr>(kOriginAttr);
    if (!origin || origin.getInt() < 0 || origin.getInt() >= int64_t(ops.size()) ||
        specKind(ops[origin.getInt()]) != SpecKind::Command)
      return command->emitError() << "belongs to no op of @" << spec.getSymName();
    auto [first, isFirst] = done.try_emplace(origin.getInt(), command);
    if (!isFirst) {
      auto diagnostic = command->emitError() << "does op " << origin.getInt() << " of @"
                                             << spec.getSymName() << " a second time";
      diagnostic.attachNote(first->second->getLoc()) << "this does it first";
      return diagnostic;
    }
    Operation *op = ops[origin.getInt()];

    // The command that the op asks for, on placeholders for its buffers.
    Block scratch;
    OpBuilder builder(program.getContext());
    builder.setInsertionPointToEnd(&scratch);
    Operation *expected =
        buildCommand(builder, op, symbols, [&](Value root) { return placeholderOf(root); });
    if (!expected)
      return failure();
    LogicalResult result = compare(command, cast<CommandInterface>(expected));
    Views writes = writesOf(expected);
    Value own;
    if (auto invoke = dyn_cast<InvokeOp>(*command)) {
      memory.clobber(invoke);
      own = invoke.getScratch();
    }
    if (auto put = dyn_cast<PutOp>(op); put && succeeded(result))
      result = verifyRest(command, 0, put);
    for (OpResult made : op->getResults())
      if (PutOp put = putOf(made); put && succeeded(result))
        result = verifyRest(command, made.getResultNumber(), put);
    // Whatever was wrong is reported once: from here on the result is right.
    for (auto [view, expectedView] : llvm::zip(command->getOperands(), expected->getOperands()))
      if (writes.contains(expectedView) && view != own)
        memory.write(bufferOfView(view), content(roots.lookup(bufferOfView(expectedView))));
    return result;
  }

  /// What rows are put into holds the others.
  LogicalResult verifyRest(CommandInterface command, unsigned written, PutOp put) {
    if (!put.getInto() ||
        memory.holds(bufferOfView(command.getWrites()[written]), content(put.getInto())))
      return success();
    return command->emitError()
           << "puts rows into a buffer that does not hold the others: never written, or "
              "overwritten since";
  }

  Value placeholderOf(Value root) {
    Value &buffer = placeholders[root];
    if (!buffer) {
      OpBuilder builder(program.getContext());
      builder.setInsertionPointToEnd(&placeholderBlock);
      buffer = BufferOp::create(builder, root.getLoc(), bufferType(root.getType()),
                                builder.getStringAttr(""), BufferClass::Workspace, IntegerAttr(),
                                DenseI64ArrayAttr());
      roots[buffer] = root;
    }
    return buffer;
  }

  using Views = llvm::SmallDenseSet<Value, 16>;

  static Views writesOf(Operation *command) {
    SmallVector<Value> writes = cast<CommandInterface>(command).getWrites();
    return Views(writes.begin(), writes.end());
  }

  /// Same kind, same parameters, same views; and what is read holds the value.
  LogicalResult compare(CommandInterface actual, CommandInterface expected) {
    // Neither is the op's to say.
    expected->setDiscardableAttr(kOriginAttr, actual->getDiscardableAttr(kOriginAttr));
    expected.setStreamNumber(actual.getStreamNumber());
    bool areAlike =
        actual->getName() == expected->getName() &&
        actual->getNumOperands() == expected->getNumOperands() &&
        actual->getDiscardableAttrDictionary() == expected->getDiscardableAttrDictionary() &&
        actual->getName().compareOpProperties(actual->getPropertiesStorage(),
                                              expected->getPropertiesStorage());
    if (!areAlike) {
      NamedAttrList parameters(expected->getAttrDictionary());
      parameters.erase(kOriginAttr);
      parameters.erase("stream");
      auto diagnostic = actual->emitError() << "is not what its op asks for";
      diagnostic.attachNote(expected->getLoc())
          << "this op: expected " << expected->getName() << " with " << expected->getNumOperands()
          << " operands and " << parameters.getDictionary(expected->getContext());
      return diagnostic;
    }
    Views writes = writesOf(expected);
    for (unsigned i = 0; i < actual->getNumOperands(); ++i) {
      Value got = actual->getOperand(i), want = expected->getOperand(i);
      Value gotBuffer = bufferOfView(got), wantBuffer = bufferOfView(want);
      if (got.getType() != want.getType() || gotBuffer.getType() != wantBuffer.getType())
        return actual->emitError()
               << "has view " << got.getType() << " of " << gotBuffer.getType() << " as operand "
               << i << ", expected " << want.getType() << " of " << wantBuffer.getType();
      if (writes.contains(want))
        continue;
      if (isNothing(roots.lookup(wantBuffer))) // verifyNothing
        continue;
      if (!memory.holds(gotBuffer, content(roots.lookup(wantBuffer))))
        return actual->emitError()
               << "reads operand " << i
               << ", whose buffer does not hold the value: never written, or overwritten since";
    }
    return verifySharing(actual);
  }

  ProgramOp program;
  func::FuncOp spec;
  const SymbolTable &symbols;
  const Target &target;
  MemoryTrace memory;
  std::vector<Operation *> ops;
  Block placeholderBlock;
  llvm::DenseMap<Value, Value> placeholders, roots; // of what ops read and make, and back
  llvm::DenseMap<Value, MemoryTrace::Content> stateOf;
  llvm::DenseMap<int64_t, Operation *> done; // the command that does an op of the function
};

struct VerifyCommands : weft::rt::impl::RtVerifyCommandsBase<VerifyCommands> {
  /// All processes communicate in one order: that of the list, calls included, if it is on one
  /// stream. Transfers, which stand in no routine, are ordered by their stages' lists.
  LogicalResult verifyCommunication() {
    auto programs = llvm::to_vector(getOperation().getOps<ProgramOp>());
    if (llvm::none_of(programs, [](ProgramOp program) { return program.isRoutine(); }))
      return success();
    std::optional<unsigned> stream;
    for (ProgramOp program : programs)
      for (CommandInterface command : commandsOf(program)) {
        if (!command.isCommunication() || command.isTransfer())
          continue;
        stream = stream.value_or(command.getStreamNumber());
        if (command.getStreamNumber() != *stream)
          return command->emitError() << "communicates on stream " << command.getStreamNumber()
                                      << ", other commands on stream " << *stream;
      }
    return success();
  }

  void runOnOperation() override {
    const Target *target = targetOf(getOperation());
    if (!target)
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    bool valid = succeeded(verifyCommunication());
    for (auto program : getOperation().getOps<ProgramOp>()) {
      auto name = program->getAttrOfType<FlatSymbolRefAttr>(kSpecAttr);
      auto spec = name ? symbols.lookup<func::FuncOp>(name.getValue()) : func::FuncOp();
      if (!spec || spec.isExternal()) {
        program.emitError() << "names no function that it computes (attribute " << kSpecAttr << ")";
        valid = false;
        continue;
      }
      valid &= succeeded(ProgramVerifier(program, spec, symbols, *target).verify());
    }
    markAllAnalysesPreserved();
    if (!valid)
      signalPassFailure();
  }
};

} // namespace
