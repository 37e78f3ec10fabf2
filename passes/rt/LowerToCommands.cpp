// Turns each program's function into buffers and commands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/CommandBuilder.h"
#include "passes/rt/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
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
  explicit Lowering(ModuleOp module) : module(module), builder(module.getContext()) {
    for (Operation &op : module.getOps())
      if (auto name = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
        taken.insert(name.getValue());
  }

  LogicalResult lower(func::FuncOp function) {
    buffers.clear();
    builder.setInsertionPoint(function);
    std::string name = function.getSymName().str();
    taken.erase(name);
    function.setSymName(unique(name + ".spec"));
    function.setPrivate();
    function->setAttr(kSpecAttr, builder.getUnitAttr());
    program = ProgramOp::create(builder, function.getLoc(), unique(name), 1, 0, IntegerAttr());
    program->setAttr(kSpecAttr, FlatSymbolRefAttr::get(function.getSymNameAttr()));
    Block *body = builder.createBlock(&program.getBody());
    builder.setInsertionPointToStart(body);

    for (BlockArgument arg : function.getArguments())
      lowerArgument(function, arg);
    Operation *end = function.getBody().front().getTerminator();
    for (auto [i, operand] : llvm::enumerate(end->getOperands()))
      outputs[operand] = function.getResultAttrOfType<StringAttr>(i, nn::kNameAttr);
    for (auto [i, op] : llvm::enumerate(function.getBody().front()))
      if (failed(lowerOp(&op, i)))
        return failure();
    for (auto [i, operand] : llvm::enumerate(end->getOperands()))
      OutputOp::create(builder, operand.getLoc(), portName(function.getResultAttrOfType<StringAttr>(i, nn::kNameAttr), "output", i),
                       buffers.lookup(operand), globalType(operand.getType()), placement(operand.getType()));
    return success();
  }

private:
  std::string unique(const std::string &base) {
    std::string name = base;
    for (unsigned i = 1; !taken.insert(name).second; ++i)
      name = base + "." + std::to_string(i);
    return name;
  }
  StringAttr portName(StringAttr given, StringRef kind, unsigned number) {
    return given ? given : builder.getStringAttr(kind + Twine(number));
  }

  RankedTensorType globalType(Type type) { return plainType(type); }
  PlacementAttr placement(Type type) {
    SmallVector<PlacementDim> dims;
    for (int64_t size : cast<RankedTensorType>(type).getShape())
      dims.push_back({{PlacementPart{size, {}}}});
    return PlacementAttr::get(builder.getContext(), dims);
  }

  void lowerArgument(func::FuncOp function, BlockArgument arg) {
    unsigned number = arg.getArgNumber();
    StringAttr name = portName(function.getArgAttrOfType<StringAttr>(number, nn::kNameAttr), "input", number);
    if (auto source = function.getArgAttrOfType<nn::SourceAttr>(number, nn::kSourceAttr)) {
      auto piece = PieceAttr::get(builder.getContext(), globalType(arg.getType()),
                                  builder.getStringAttr(source.getFile()), source.getOffset(), source.getHash(),
                                  ElementsAttr(), DenseI64ArrayAttr());
      buffers[arg] = stateBuffer(arg.getLoc(), name.getValue(), arg.getType(), piece);
      return;
    }
    Value buffer = BufferOp::create(builder, arg.getLoc(), bufferType(arg.getType()), name, BufferClass::Input,
                                    IntegerAttr(), DenseI64ArrayAttr());
    InputOp::create(builder, arg.getLoc(), name, buffer, globalType(arg.getType()), placement(arg.getType()));
    buffers[arg] = buffer;
  }

  /// A state of that name is shared by all programs.
  Value stateBuffer(Location loc, StringRef name, Type type, PieceAttr piece) {
    StateOp &state = states[name];
    if (!state) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(program);
      taken.insert(name);
      state = StateOp::create(builder, loc, name, globalType(type), bufferType(type), placement(type),
                              builder.getArrayAttr(piece), IntegerAttr());
    }
    return StateBufferOp::create(builder, loc, state.getLocal(), name);
  }

  LogicalResult lowerOp(Operation *op, unsigned number) {
    switch (specKind(op)) {
    case SpecKind::View:
    case SpecKind::End:
      return success();
    case SpecKind::Unknown:
      return op->emitError("has no command");
    case SpecKind::Constant:
      return lowerConstant(op);
    case SpecKind::Command:
      break;
    }
    for (Value result : op->getResults()) {
      auto output = outputs.find(result);
      StringRef node = nodeName(op->getLoc());
      StringAttr name = builder.getStringAttr(node.empty() ? op->getName().getStringRef() : node);
      BufferClass kind = BufferClass::Activation;
      if (output != outputs.end()) {
        kind = BufferClass::Output;
        name = output->second ? output->second : name;
      }
      buffers[result] = BufferOp::create(builder, op->getLoc(), bufferType(result.getType()), name, kind,
                                         IntegerAttr(), DenseI64ArrayAttr());
    }
    Operation *command = buildCommand(builder, op, [&](Value root) { return buffers.lookup(root); });
    if (!command)
      return failure();
    command->setAttr(kOriginAttr, builder.getI64IntegerAttr(number));
    return success();
  }

  LogicalResult lowerConstant(Operation *op) {
    if (op->use_empty())
      return success();
    ElementsAttr value;
    if (!matchPattern(op, m_Constant(&value)))
      return op->emitError("has a constant value that cannot be read");
    auto [known, isNew] = constants.try_emplace(value);
    if (isNew)
      known->second = unique("constant." + std::to_string(constants.size()));
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    auto piece = PieceAttr::get(builder.getContext(), plainType(type), StringAttr(), 0, 0, value, DenseI64ArrayAttr());
    buffers[op->getResult(0)] = stateBuffer(op->getLoc(), known->second, type, piece);
    return success();
  }

  ModuleOp module;
  OpBuilder builder;
  ProgramOp program;
  llvm::StringSet<> taken;
  llvm::StringMap<StateOp> states;
  llvm::DenseMap<Attribute, std::string> constants;
  llvm::DenseMap<Value, Value> buffers;
  llvm::DenseMap<Value, StringAttr> outputs;
};

struct LowerToCommands : weft::rt::impl::RtLowerToCommandsBase<LowerToCommands> {
  void runOnOperation() override {
    Lowering lowering(getOperation());
    SmallVector<func::FuncOp> programs;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal())
        programs.push_back(function);
    for (func::FuncOp function : programs)
      if (failed(lowering.lower(function)))
        return signalPassFailure();
  }
};

} // namespace
