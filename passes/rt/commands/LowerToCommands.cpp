// Turns each program's function into buffers and commands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/Nn.h"
#include "dialects/rt/IR/CallNames.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/InPlace.h"
#include "passes/rt/Passes.h"
#include "passes/rt/commands/CommandBuilder.h"
#include "weft/Support/Diagnostics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTLOWERTOCOMMANDS
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

class Lowering {
public:
  explicit Lowering(ModuleOp module)
      : module(module), symbols(module), builder(module.getContext()) {
    for (Operation &op : module.getOps())
      if (auto name = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
        taken.insert(name.getValue());
    makeRoomForStates();
  }

  LogicalResult lower(func::FuncOp function) {
    if (failed(verifyViewsAndEnd(function.getBody().front())))
      return failure();
    buffers.clear();
    scattered.clear();
    outputs.clear();
    reused.clear();
    builder.setInsertionPoint(function);
    std::string name = function.getSymName().str();
    taken.erase(name);
    function.setSymName(unique(name + ".spec"));
    function.setPrivate();
    function->setAttr(kSpecAttr, builder.getUnitAttr());
    program = ProgramOp::create(builder, function.getLoc(), unique(name), blocksOf(function));
    program->setAttr(kSpecAttr, FlatSymbolRefAttr::get(function.getSymNameAttr()));
    Block *body = builder.createBlock(&program.getBody());
    builder.setInsertionPointToStart(body);

    for (BlockArgument arg : function.getArguments())
      if (failed(lowerArgument(function, arg)))
        return failure();
    placeResults(function);
    for (auto [i, op] : llvm::enumerate(function.getBody().front()))
      if (failed(lowerOp(&op, i)))
        return failure();
    if (isRoutine(function))
      return success();
    Operation *end = function.getBody().front().getTerminator();
    for (auto [i, operand] : llvm::enumerate(end->getOperands()))
      if (!nn::updatedState(function, i))
        OutputOp::create(
            builder, operand.getLoc(),
            portName(function.getResultAttrOfType<StringAttr>(i, nn::kNameAttr), "output", i),
            buffers.lookup(operand), globalType(operand.getType()), placement(operand.getType()));
    return success();
  }

private:
  std::string unique(const std::string &base, const char *separator = ".") {
    std::string name = base;
    for (unsigned i = 1; !taken.insert(name).second; ++i)
      name = base + separator + std::to_string(i);
    return name;
  }
  /// States become symbols of their users' names, which the passes that name kernels and routines
  /// do not know.
  void makeRoomForStates() {
    llvm::SetVector<func::FuncOp> inTheWay;
    for (auto function : module.getOps<func::FuncOp>())
      for (unsigned number = 0; number < function.getNumArguments(); ++number)
        if (auto name = function.getArgAttrOfType<StringAttr>(number, nn::kNameAttr);
            name && nn::isState(function, number) && !taken.insert(name.getValue()).second)
          if (auto other = symbols.lookup<func::FuncOp>(name.getValue()))
            inTheWay.insert(other);
    for (func::FuncOp function : inTheWay) {
      // An identifier of PTX has no dots.
      [[maybe_unused]] LogicalResult renamed =
          symbols.rename(function, unique(function.getSymName().str(), "_"));
      assert(succeeded(renamed) && "the name is free");
    }
  }
  /// Which argument each result of a routine overwrites; null for a program.
  DenseI64ArrayAttr blocksOf(func::FuncOp function) {
    return isRoutine(function) ? builder.getDenseI64ArrayAttr(sharedArguments(function))
                               : DenseI64ArrayAttr();
  }

  /// Results lie in the state or argument that they overwrite, in a block of the routine, or in an
  /// output's buffer. What becomes an output by overwriting lies there from the start.
  void placeResults(func::FuncOp function) {
    SmallVector<BlockArgument> overwritten = overwrittenArguments(function);
    Operation *end = function.getBody().front().getTerminator();
    for (auto [i, operand] : llvm::enumerate(end->getOperands())) {
      if (overwritten[i]) {
        buffers[operand] = buffers.lookup(overwritten[i]);
        continue;
      }
      if (isRoutine(function)) {
        buffers[operand] =
            program.getBody().addArgument(bufferType(operand.getType()), operand.getLoc());
        continue;
      }
      auto name = function.getResultAttrOfType<StringAttr>(i, nn::kNameAttr);
      Value value = operand;
      while (auto result = dyn_cast_or_null<OpResult>(value)) {
        outputs[result] = name;
        value = reusedOperand(result);
      }
    }
  }

  StringAttr portName(StringAttr given, StringRef kind, unsigned number) {
    return given ? given : builder.getStringAttr(kind + Twine(number));
  }

  RankedTensorType globalType(Type type) { return cast<RankedTensorType>(dist::globalType(type)); }
  PlacementAttr placement(Type type) {
    SmallVector<PlacementDim> dims;
    if (dist::LocalAttr local = dist::getLocal(type)) {
      for (const DimPlacement &dim : local.getValue().dims) {
        dims.emplace_back();
        for (const PlacedFactor &part : dim) {
          dims.back().parts.push_back({part.size, {}});
          for (AxisId axis : part.axes)
            dims.back().parts.back().axes.push_back(
                builder.getStringAttr(local.getMesh().getValue().axes[axis].name));
        }
      }
    } else {
      for (int64_t size : cast<RankedTensorType>(type).getShape())
        dims.push_back({{PlacementPart{size, {}}}});
    }
    return PlacementAttr::get(builder.getContext(), dims);
  }

  LogicalResult lowerArgument(func::FuncOp function, BlockArgument arg) {
    if (isRoutine(function)) {
      buffers[arg] = program.getBody().addArgument(bufferType(arg.getType()), arg.getLoc());
      return success();
    }
    unsigned number = arg.getArgNumber();
    StringAttr name =
        portName(function.getArgAttrOfType<StringAttr>(number, nn::kNameAttr), "input", number);
    if (nn::isState(function, number)) {
      auto kind = function.getArgAttrOfType<StringAttr>(number, nn::kClassAttr);
      bool isOptimizer = kind && kind.getValue() == "optimizer";
      buffers[arg] =
          stateBuffer(arg.getLoc(), name.getValue(), arg.getType(), piecesOf(function, arg),
                      isOptimizer ? BufferClass::OptimizerState : BufferClass::Parameter);
      return success(buffers[arg] != nullptr);
    }
    Value buffer = BufferOp::create(builder, arg.getLoc(), bufferType(arg.getType()), name,
                                    BufferClass::Input, IntegerAttr(), DenseI64ArrayAttr());
    InputOp::create(builder, arg.getLoc(), name, buffer, globalType(arg.getType()),
                    placement(arg.getType()));
    buffers[arg] = buffer;
    return success();
  }

  /// Where the bytes of a state come from. What starts at zero has none.
  ArrayAttr piecesOf(func::FuncOp function, BlockArgument arg) {
    unsigned number = arg.getArgNumber();
    RankedTensorType type = globalType(arg.getType());
    auto source = function.getArgAttrOfType<nn::SourceAttr>(number, nn::kSourceAttr);
    if (!source) {
      auto initial = function.getArgAttrOfType<TypedAttr>(number, nn::kInitialAttr);
      // One number for all elements, or the elements; the loader converts from their type.
      RankedTensorType held = type.clone(getElementTypeOrSelf(initial.getType()));
      if (matchPattern(Attribute(initial), m_Zero()) ||
          matchPattern(Attribute(initial), m_PosZeroFloat()))
        return builder.getArrayAttr({});
      auto elements = dyn_cast<ElementsAttr>(Attribute(initial));
      ElementsAttr data = elements ? elements : DenseElementsAttr::get(held, Attribute(initial));
      return builder.getArrayAttr(PieceAttr::get(builder.getContext(), held, StringAttr(), 0, 0,
                                                 data, DenseI64ArrayAttr()));
    }
    // The source's own element type, where the program stores another.
    auto sourceType = function.getArgAttrOfType<TypeAttr>(number, nn::kSourceTypeAttr);
    return builder.getArrayAttr(
        PieceAttr::get(builder.getContext(), sourceType ? type.clone(sourceType.getValue()) : type,
                       builder.getStringAttr(source.getFile()), source.getOffset(),
                       source.getHash(), ElementsAttr(), DenseI64ArrayAttr()));
  }

  /// A state of that name is shared by all programs; null and an error if they
  /// do not agree on it.
  Value stateBuffer(Location loc, StringRef name, Type type, ArrayAttr pieces, BufferClass kind) {
    StateOp &state = states[name];
    if (!state) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(program);
      state = StateOp::create(builder, loc, name, globalType(type), bufferType(type),
                              placement(type), pieces, IntegerAttr(), kind);
    } else if (state.getGlobal() != globalType(type) || state.getPlacement() != placement(type) ||
               state.getPieces() != pieces || state.getKind() != kind) {
      auto diagnostic = program.emitError() << "has another type, placement or source of state \""
                                            << name << "\" than a program before";
      diagnostic.attachNote(state.getLoc())
          << "the state is " << state.getGlobal() << ' ' << state.getPlacement() << ", here "
          << globalType(type) << ' ' << placement(type);
      return nullptr;
    }
    return StateBufferOp::create(builder, loc, state.getLocal(), name);
  }

  LogicalResult lowerOp(Operation *op, unsigned number) {
    switch (specKind(op)) {
    case SpecKind::View:
    case SpecKind::Placed:
    case SpecKind::End:
      return success();
    case SpecKind::Unknown:
      return op->emitError("has no command");
    case SpecKind::Constant:
      return lowerConstant(op);
    case SpecKind::Command:
    case SpecKind::Nothing:
      break;
    }
    if (failed(makeBuffers(op)))
      return failure();
    if (specKind(op) == SpecKind::Nothing)
      return success();
    Operation *command =
        buildCommand(builder, op, symbols, [&](Value root) { return buffers.lookup(root); });
    if (!command)
      return failure();
    command->setAttr(kOriginAttr, builder.getI64IntegerAttr(number));
    return success();
  }

  /// The buffers of what a command makes, and of a sum that one begins.
  LogicalResult makeBuffers(Operation *op) {
    return success(
        llvm::all_of(op->getResults(), [&](OpResult result) { return makeBuffer(result); }));
  }

  bool makeBuffer(OpResult result) {
    Operation *op = result.getOwner();
    if (buffers.count(result)) // a state's new value, or a routine's result
      return true;
    if (PutOp put = putOf(result))
      return makeBuffer(cast<OpResult>(put.getResult()));
    if (Value operand = reusedOperand(result)) {
      Value buffer = buffers.lookup(operand);
      if (!buffer) {
        auto diagnostic = op->emitError() << "overwrites operand of type " << operand.getType()
                                          << ", which is only a view";
        diagnostic.attachNote(operand.getLoc()) << "the view is made here";
        return false;
      }
      buffers[result] = buffer;
      return true;
    }
    auto output = outputs.find(result);
    std::string node = nodeOf(result);
    StringAttr name = builder.getStringAttr(node.empty() ? op->getName().getStringRef() : node);
    BufferClass kind = classOf(result);
    if (output != outputs.end()) {
      kind = BufferClass::Output;
      name = output->second ? output->second : name;
    }
    auto buffer = BufferOp::create(builder, op->getLoc(), bufferType(result.getType()), name, kind,
                                   IntegerAttr(), DenseI64ArrayAttr());
    buffers[result] = buffer;
    if (kind == BufferClass::Communication && op->hasAttr(kRolesAttr))
      scattered.insert(buffer);
    return true;
  }

  /// The node that makes a result: of a call, the one in the routine; of a sum of nothing, the one
  /// that adds to it first. Empty if there is none.
  std::string nodeOf(OpResult result) {
    Operation *op = result.getOwner();
    if (auto call = dyn_cast<CallOp>(op))
      if (func::FuncOp callee = calleeOf(call, symbols); callee && isRoutine(callee)) {
        Operation *end = callee.getBody().front().getTerminator();
        auto made = dyn_cast<OpResult>(end->getOperand(result.getResultNumber()));
        return made ? nameInCall(nodeOf(made), call.getLabel()) : std::string();
      }
    if (isa<NothingOp>(op))
      for (const Reader &reader : readersOf(result))
        for (OpResult sum : reader.op->getResults())
          if (reusedOperand(sum) == result)
            return nodeOf(sum);
    return nodeName(placeOf(result)).str();
  }

  /// In a bucket each transition has its own.
  static Location placeOf(OpResult result) {
    TransitionOpInterface transition = transitionOf(result.getOwner(), result.getResultNumber());
    return transition ? transition.getLoc() : result.getLoc();
  }

  /// The operand in whose buffer the result lies, or null.
  Value reusedOperand(OpResult result) {
    auto [known, isNew] = reused.try_emplace(result.getOwner());
    if (isNew)
      known->second = reusedOperands(result.getOwner());
    return known->second[result.getResultNumber()];
  }

  /// By result.
  SmallVector<Value> reusedOperands(Operation *op) const {
    SmallVector<Value> operands;
    SmallVector<TransitionOpInterface> transitions = transitionsOf(op);
    for (auto [i, transition] : llvm::enumerate(transitions))
      operands.push_back(transition->hasAttr(kReusesAttr) ? op->getOperand(i) : Value());
    if (transitions.empty())
      for (int64_t argument : sharedArguments(op, symbols))
        operands.push_back(argument >= 0 ? op->getOperand(argument) : Value());
    return operands;
  }

  /// A gradient that is never kept whole.
  bool isOnlyScattered(Value value) const {
    return llvm::all_of(readersOf(value), [&](const Reader &reader) {
      SmallVector<TransitionOpInterface> transitions = communicationOf(reader.op, symbols);
      return !transitions.empty() &&
             llvm::all_of(transitions, [](TransitionOpInterface transition) {
               return transition.getTransitionKind() == TransitionKind::ReduceScatter;
             });
    });
  }

  /// A value that is there for other stages alone: it, or what overwrites it, is sent and not read
  /// otherwise. So what a stage keeps of a microbatch is what its own backward pass reads.
  bool isOnlySent(Value value) {
    std::vector<Reader> readers = readersOf(value);
    return !readers.empty() && llvm::all_of(readers, [&](const Reader &reader) {
      return isa<dist::SendOp>(reader.op) ||
             llvm::any_of(reader.op->getResults(), [&](OpResult result) {
               return reusedOperand(result) == value && isOnlySent(result);
             });
    });
  }

  /// True if updates or the network read the value's buffer, not only a sum of
  /// gradients that lies elsewhere.
  bool isKept(Value value) {
    for (const Reader &reader : readersOf(value)) {
      auto roles = reader.op->getAttrOfType<ArrayAttr>(kRolesAttr);
      if (!roles || cast<StringAttr>(roles[0]).getValue() != nn::kRoleWeightGradient)
        return true;
      for (OpResult result : reader.op->getResults())
        if (reusedOperand(result) == value && isKept(result))
          return true;
    }
    return false;
  }

  /// Gradients are what weight-gradient ops make, also after it was reduced or
  /// copied; what the optimizer makes besides states is workspace.
  BufferClass classOf(OpResult result) {
    Operation *op = result.getOwner();
    BufferClass ofPass = isOnlySent(result) ? BufferClass::Communication : BufferClass::Activation;
    if (auto roles = op->getAttrOfType<ArrayAttr>(kRolesAttr)) {
      StringRef role = cast<StringAttr>(roles[result.getResultNumber()]).getValue();
      if (role == nn::kRoleWeightGradient && isOnlyScattered(result))
        return BufferClass::Communication;
      if (role == nn::kRoleWeightGradient)
        return isKept(result) ? BufferClass::Gradient : BufferClass::Workspace;
      return role == nn::kRoleOptimizer ? BufferClass::Workspace : ofPass;
    }
    if (isa<dist::ReceiveOp>(op))
      return BufferClass::Communication;
    bool isCopy = isa<DenseOp, PutOp>(op);
    Value moved = isCopy ? op->getOperand(0) : movedOperand(result, symbols);
    if (!moved)
      return ofPass;
    Value root = specLayout(moved).root;
    if (specKind(op) == SpecKind::Placed) {
      BufferClass made = classOf(cast<OpResult>(root));
      return made == BufferClass::Gradient || made == BufferClass::Workspace ? made : ofPass;
    }
    auto from = buffers.lookup(root).getDefiningOp<BufferOp>();
    if (from &&
        (from.getKind() == BufferClass::Gradient || from.getKind() == BufferClass::Workspace))
      return from.getKind();
    // What only the network reads is communication; the part that comes back is a gradient again.
    if (from && scattered.contains(from))
      return isKept(result) ? BufferClass::Gradient : BufferClass::Workspace;
    return isCopy ? ofPass : BufferClass::Communication;
  }

  LogicalResult lowerConstant(Operation *op) {
    if (op->use_empty())
      return success();
    if (program.isRoutine())
      return op->emitError("stands in a routine; run rt-hoist-constants before");
    if (auto coordinate = dyn_cast<CoordinateOp>(op))
      return lowerCoordinate(coordinate);
    ElementsAttr value;
    if (!matchPattern(op, m_Constant(&value)))
      return op->emitError("has a constant value that cannot be read");
    auto [known, isNew] = constants.try_emplace(value);
    if (isNew)
      known->second = unique("constant." + std::to_string(constants.size() - 1));
    // The same on all devices, whatever it is a shard of: others may share it.
    RankedTensorType type = withoutEncoding(op->getResult(0).getType());
    auto piece =
        PieceAttr::get(builder.getContext(), type, StringAttr(), 0, 0, value, DenseI64ArrayAttr());
    buffers[op->getResult(0)] = stateBuffer(op->getLoc(), known->second, type,
                                            builder.getArrayAttr(piece), BufferClass::Workspace);
    return success();
  }

  /// 0, 1, ... along the axis, each process holding its own.
  LogicalResult lowerCoordinate(CoordinateOp op) {
    StateOp &state = coordinates[op.getAxis()];
    if (!state) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(program);
      int64_t size = 0;
      for (const Mesh::Axis &axis : dist::getMesh(module).getValue().axes)
        if (axis.name == op.getAxis())
          size = axis.size;
      PieceAttr piece = coordinatesPiece(builder.getContext(), size);
      auto placed = PlacementAttr::get(
          builder.getContext(),
          PlacementDim{{PlacementPart{size, {builder.getStringAttr(op.getAxis())}}}});
      state =
          StateOp::create(builder, op.getLoc(), unique(("coordinate." + op.getAxis()).str()),
                          cast<RankedTensorType>(piece.getType()), bufferType(op.getType()), placed,
                          builder.getArrayAttr(piece), IntegerAttr(), BufferClass::Workspace);
    }
    buffers[op.getResult()] =
        StateBufferOp::create(builder, op.getLoc(), state.getLocal(), state.getSymName());
    return success();
  }

  ModuleOp module;
  SymbolTable symbols; // of before: what is made here is not in it
  OpBuilder builder;
  ProgramOp program;
  llvm::StringSet<> taken;
  llvm::StringMap<StateOp> states;
  llvm::StringMap<StateOp> coordinates; // by axis
  llvm::DenseMap<Attribute, std::string> constants;
  llvm::DenseMap<Value, Value> buffers;
  llvm::DenseMap<Value, StringAttr> outputs;
  llvm::DenseMap<Operation *, SmallVector<Value>> reused; // operands, by result
  llvm::DenseSet<Operation *> scattered; // buffers of gradients that are never kept whole
};

struct LowerToCommands : weft::rt::impl::RtLowerToCommandsBase<LowerToCommands> {
  void createMesh(const Mesh &mesh) {
    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    SmallVector<StringRef> names, stages;
    SmallVector<int64_t> sizes;
    for (const Mesh::Axis &axis : mesh.axes)
      if (axis.kind != AxisKind::Temporal) { // no process differs along it
        names.push_back(axis.name);
        sizes.push_back(axis.size);
        if (axis.kind == AxisKind::Stages)
          stages.push_back(axis.name);
      }
    MeshOp::create(builder, getOperation().getLoc(), builder.getStrArrayAttr(names), sizes,
                   stages.empty() ? ArrayAttr() : builder.getStrArrayAttr(stages));
  }

  void runOnOperation() override {
    if (dist::MeshAttr mesh = dist::getMesh(getOperation()))
      createMesh(mesh.getValue());
    Lowering lowering(getOperation());
    for (func::FuncOp function : commandFunctionsOf(getOperation()))
      if (failed(lowering.lower(function)))
        return signalPassFailure();
  }
};

} // namespace
