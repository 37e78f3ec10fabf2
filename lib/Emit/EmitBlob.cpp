// Scheduled commands as the runtime's blob, op by op.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnProgram.h"
#include "dialects/rt/IR/Rt.h"
#include "weft/Emit/Emit.h"
#include "weft/Emit/Memory.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Support/Diagnostics.h"
#include "weft/runtime/ProgramBuilder.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;
namespace run = weft::runtime;
using Builder_ = run::ProgramBuilder;

namespace {

// What is cast by number: the compiler's enumerators are the runtime's.
#define WEFT_SAME(COMPILER, RUNTIME)                                                               \
  static_assert(unsigned(COMPILER) == unsigned(run::RUNTIME), "compiler and runtime disagree")
WEFT_SAME(rt::BufferClass::Parameter, BufferClass::Parameter);
WEFT_SAME(rt::BufferClass::Input, BufferClass::Input);
WEFT_SAME(rt::BufferClass::Output, BufferClass::Output);
WEFT_SAME(rt::BufferClass::Activation, BufferClass::Activation);
WEFT_SAME(rt::BufferClass::Communication, BufferClass::Communication);
WEFT_SAME(rt::BufferClass::Workspace, BufferClass::Workspace);
WEFT_SAME(rt::BufferClass::Gradient, BufferClass::Gradient);
WEFT_SAME(rt::BufferClass::OptimizerState, BufferClass::OptimizerState);
WEFT_SAME(emit::kNumClasses, kNumBufferClasses);
WEFT_SAME(rt::CollectiveKind::AllGather, CollectiveKind::AllGather);
WEFT_SAME(rt::CollectiveKind::AllReduce, CollectiveKind::AllReduce);
WEFT_SAME(rt::CollectiveKind::ReduceScatter, CollectiveKind::ReduceScatter);
WEFT_SAME(rt::CollectiveKind::AllToAll, CollectiveKind::AllToAll);
WEFT_SAME(ReduceKind::Sum, Reduction::Sum);
WEFT_SAME(ReduceKind::Prod, Reduction::Product);
WEFT_SAME(ReduceKind::Max, Reduction::Max);
WEFT_SAME(ReduceKind::Min, Reduction::Min);
WEFT_SAME(ReduceKind::And, Reduction::And);
WEFT_SAME(ReduceKind::Or, Reduction::Or);
#undef WEFT_SAME

std::optional<run::DType> dtypeOf(Type type) {
  if (type.isF64())
    return run::DType::F64;
  if (type.isF32())
    return run::DType::F32;
  if (type.isBF16())
    return run::DType::BF16;
  if (type.isF16())
    return run::DType::F16;
  if (type.isInteger(1))
    return run::DType::Bool;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 8:
    return isUnsigned ? run::DType::U8 : run::DType::I8;
  case 16:
    return isUnsigned ? run::DType::U16 : run::DType::I16;
  case 32:
    return isUnsigned ? run::DType::U32 : run::DType::I32;
  case 64:
    return isUnsigned ? run::DType::U64 : run::DType::I64;
  default:
    return std::nullopt;
  }
}

/// Row-major little-endian bytes; a bool is one byte.
std::vector<uint8_t> rawBytes(ElementsAttr value) {
  std::vector<uint8_t> bytes;
  auto append = [&](const APInt &bits) {
    unsigned count = (bits.getBitWidth() + 7) / 8;
    uint64_t word = bits.getZExtValue();
    for (unsigned i = 0; i < count; ++i)
      bytes.push_back(uint8_t(word >> (8 * i)));
  };
  if (isa<FloatType>(value.getElementType()))
    for (const APFloat &element : value.getValues<APFloat>())
      append(element.bitcastToAPInt());
  else
    for (const APInt &element : value.getValues<APInt>())
      append(element);
  return bytes;
}

class Emitter {
public:
  Emitter(ModuleOp module, const llvm::StringMap<LaunchShape> &kernels,
          const emit::BlobOptions &options)
      : module(module), symbols(module), kernels(kernels), options(options) {}

  FailureOr<std::vector<uint8_t>> emit() {
    run::ModuleInfo &info = out.info();
    info.weftVersion = out.string(options.version);
    info.modelName = out.string(options.modelName);
    info.modelDirectory = out.string(options.modelDirectory);
    info.target = out.string(options.target);
    info.processor = out.string(options.processor);
    info.features = out.string(options.features);
    info.options = out.string(options.commandLine);
    info.threadsPerRank = options.threadsPerRank;
    emitMetadata();
    for (auto mesh : module.getOps<rt::MeshOp>())
      for (auto [name, size] :
           llvm::zip(mesh.getAxes().getAsValueRange<StringAttr>(), mesh.getSizes()))
        axes[name] = out.addMeshAxis(name.str(), size);
    for (auto state : module.getOps<rt::StateOp>())
      if (failed(emitState(state)))
        return failure();
    auto programs = llvm::to_vector(module.getOps<rt::ProgramOp>());
    for (rt::ProgramOp program : programs)
      if (program.isRoutine() && failed(emitRoutine(program)))
        return failure();
    for (rt::ProgramOp program : programs)
      if (!program.isRoutine() && failed(emitProgram(program)))
        return failure();
    emit::MemoryUse use = emit::memoryUse(module);
    run::Stage stage{};
    stage.arenaBytes = use.arenaBytes;
    llvm::copy(use.peaks, stage.peakBytes);
    out.addStage(stage);
    return out.finish();
  }

private:
  static Builder_::Ints ints(ArrayRef<int64_t> values) { return {values.begin(), values.end()}; }

  FailureOr<run::DType> dtype(Operation *op, Type type) {
    if (auto result = dtypeOf(getElementTypeOrSelf(type)))
      return *result;
    return op->emitError() << "the runtime has no element type " << type;
  }

  Builder_::Ids axisIds(ArrayAttr names) {
    Builder_::Ids ids;
    for (StringRef name : names.getAsValueRange<StringAttr>())
      ids.push_back(axes.lookup(name));
    return ids;
  }

  run::Id placement(rt::PlacementAttr placement) {
    Builder_::PlacementDesc dims;
    for (const rt::PlacementDim &dim : placement.getDims()) {
      dims.emplace_back();
      for (const rt::PlacementPart &part : dim.parts) {
        Builder_::Ids ids;
        for (StringAttr axis : part.axes)
          ids.push_back(axes.lookup(axis.getValue()));
        dims.back().push_back({part.size, ids});
      }
    }
    return out.addPlacement(dims);
  }

  void emitMetadata() {
    auto entries = module->getAttrOfType<DictionaryAttr>(nn::kMetadataAttr);
    for (NamedAttribute entry : entries ? entries.getValue() : ArrayRef<NamedAttribute>()) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      if (auto string = dyn_cast<StringAttr>(entry.getValue()))
        stream << string.getValue();
      else
        entry.getValue().print(stream, /*elideType=*/true);
      out.addMetadata(entry.getName().getValue(), text);
    }
  }

  LogicalResult emitState(rt::StateOp state) {
    auto local = cast<MemRefType>(state.getLocal());
    auto global = cast<RankedTensorType>(state.getGlobal());
    auto type = dtype(state, local);
    if (failed(type))
      return failure();
    std::string name = state.getSymName().str();
    auto kind = run::BufferClass(unsigned(state.getKind()));
    run::Id buffer = out.addBuffer(name, kind, *type, state.getOffset().value_or(0), bytesOf(local),
                                   ints(local.getShape()));
    std::vector<Builder_::PieceDesc> pieces;
    for (auto piece : state.getPieces().getAsRange<rt::PieceAttr>()) {
      auto source = cast<RankedTensorType>(piece.getType());
      auto sourceType = dtype(state, source);
      if (failed(sourceType))
        return failure();
      Builder_::PieceDesc desc;
      desc.dtype = *sourceType;
      desc.sourceShape = ints(source.getShape());
      if (auto dense = dyn_cast_if_present<DenseElementsAttr>(piece.getData());
          dense && dense.isSplat() && dense.getNumElements() > 1) {
        // One number is stored once.
        auto one = RankedTensorType::get(SmallVector<int64_t>(source.getRank(), 1),
                                         source.getElementType());
        std::vector<uint8_t> data = rawBytes(dense.resizeSplat(one));
        desc.kind = run::SourceKind::Embedded;
        desc.byteOffset = out.addData(data.data(), data.size());
        desc.sourceShape = ints(one.getShape());
        desc.transforms.push_back(
            {run::TransformKind::Broadcast, *sourceType, ints(source.getShape())});
      } else if (piece.getData()) {
        std::vector<uint8_t> data = rawBytes(piece.getData());
        desc.kind = run::SourceKind::Embedded;
        desc.byteOffset = out.addData(data.data(), data.size());
      } else {
        desc.path = piece.getFile() ? piece.getFile().getValue().str() : "";
        desc.byteOffset = piece.getOffset();
        desc.confined = desc.path != options.modelName && desc.path != options.bundle &&
                        llvm::sys::path::is_relative(desc.path);
        if (auto found = options.hashes.find(piece); found != options.hashes.end())
          desc.hashes = found->second;
      }
      if (source.getElementType() != local.getElementType())
        desc.transforms.push_back({run::TransformKind::Cast, *type, {}});
      if (piece.getStart())
        desc.start = ints(piece.getStart().asArrayRef());
      pieces.push_back(std::move(desc));
    }
    out.addState(name, *type, ints(global.getShape()), placement(state.getPlacement()), buffer,
                 pieces);
    states[state.getSymName()] = buffer;
    return success();
  }

  /// Buffers of a program's arena, or of the block that is a routine's scratch.
  LogicalResult emitBuffers(rt::ProgramOp program, run::Id block) {
    for (auto buffer : program.getOps<rt::BufferOp>()) {
      auto type = cast<MemRefType>(buffer.getType());
      auto element = dtype(buffer, type);
      if (failed(element))
        return failure();
      if (!buffer.getOffset())
        return buffer.emitError("has no offset in the arena; run rt-plan-arena before emitting");
      buffers[buffer.getResult()] =
          out.addBuffer(buffer.getName().str(), run::BufferClass(unsigned(buffer.getKind())),
                        *element, *buffer.getOffset(), bytesOf(type), ints(type.getShape()), block);
    }
    return success();
  }

  LogicalResult emitCommands(rt::ProgramOp program) {
    for (Operation &op : program.getBody().front())
      if (failed(emitOp(&op)))
        return failure();
    return success();
  }

  /// Arguments that are not overwritten come first, then what is written: results, scratch. An
  /// argument that a result overwrites is the result's block.
  LogicalResult emitRoutine(rt::ProgramOp routine) {
    buffers.clear();
    Builder_::Ints bytes;
    auto addBlock = [&](Value block) -> LogicalResult {
      auto type = cast<MemRefType>(block.getType());
      auto element = dtype(routine, type);
      if (failed(element))
        return failure();
      buffers[block] =
          out.addBuffer("block " + std::to_string(bytes.size()), run::BufferClass::Activation,
                        *element, 0, bytesOf(type), ints(type.getShape()), run::Id(bytes.size()));
      bytes.push_back(bytesOf(type));
      return success();
    };
    for (Value block : readBlocks(routine, routine.getArgumentBlocks()))
      if (failed(addBlock(block)))
        return failure();
    size_t reads = bytes.size();
    for (Value block : routine.getResultBlocks())
      if (failed(addBlock(block)))
        return failure();
    if (failed(emitBuffers(routine, run::Id(bytes.size()))))
      return failure();
    if (int64_t scratch = routine.getArena().value_or(0))
      bytes.push_back(scratch);
    routines[routine.getSymName()] = out.beginRoutine(routine.getSymName().str(), bytes, reads,
                                                      routine.getStreams(), routine.getEvents());
    if (failed(emitCommands(routine)))
      return failure();
    out.endRoutine();
    return success();
  }

  /// Of a routine's arguments, or of what a call passes for them, those that are not overwritten.
  static SmallVector<Value> readBlocks(rt::ProgramOp routine, ValueRange arguments) {
    SmallVector<Value> blocks;
    ArrayRef<int64_t> overwritten = *routine.getRoutine();
    for (auto [i, value] : llvm::enumerate(arguments))
      if (!llvm::is_contained(overwritten, int64_t(i)))
        blocks.push_back(value);
    return blocks;
  }

  LogicalResult emitProgram(rt::ProgramOp program) {
    buffers.clear();
    for (auto use : program.getOps<rt::StateBufferOp>())
      buffers[use.getResult()] = states.lookup(use.getState());
    if (failed(emitBuffers(program, run::kNone)))
      return failure();
    Builder_::Ids inputs, outputs;
    auto port = [&](auto op, Builder_::Ids &ids) {
      auto global = cast<RankedTensorType>(op.getGlobal());
      ids.push_back(out.addPort(op.getName().str(), *dtypeOf(global.getElementType()),
                                ints(global.getShape()), placement(op.getPlacement()),
                                buffers.lookup(op.getBuffer())));
    };
    for (auto op : program.getOps<rt::InputOp>())
      port(op, inputs);
    for (auto op : program.getOps<rt::OutputOp>())
      port(op, outputs);
    out.beginProgram(program.getSymName().str(), inputs, outputs);
    out.beginBody(program.getStreams(), program.getEvents());
    if (failed(emitCommands(program)))
      return failure();
    out.endBody();
    out.endProgram();
    return success();
  }

  run::View view(Value value) {
    auto type = cast<MemRefType>(value.getType());
    SmallVector<int64_t> strides;
    int64_t offset = 0;
    rt::staticLayout(type, strides, offset);
    Value buffer = value;
    while (auto op = buffer.getDefiningOp<rt::ViewOp>())
      buffer = op.getBuffer();
    run::DType element = *dtypeOf(type.getElementType());
    return out.view(buffers.lookup(buffer), element, offset * run::dtypeBytes(element),
                    ints(type.getShape()), ints(strides));
  }
  std::vector<run::View> views(ValueRange values) {
    std::vector<run::View> result;
    for (Value value : values)
      if (value)
        result.push_back(view(value));
    return result;
  }

  LogicalResult emitOp(Operation *op) {
    Builder_::On on(0, nodeName(op->getLoc()).str());
    if (auto command = dyn_cast<rt::CommandInterface>(op))
      on.stream = command.getStreamNumber();
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<rt::LaunchOp, rt::GemmOp, rt::ConvOp, rt::AttentionOp, rt::AttentionGradOp,
              rt::CollectiveOp, rt::SliceOp, rt::RecordOp, rt::WaitOp, rt::InvokeOp>(
            [&](auto command) { return emitCommand(on, command); })
        .Case<rt::BufferOp, rt::StateBufferOp, rt::ViewOp, rt::InputOp, rt::OutputOp>(
            [](auto) { return success(); })
        .Default([&](Operation *other) { return emitPlain(on, other); });
  }

  /// A command without parameters: the runtime's of the same name, with the op's operands.
  LogicalResult emitPlain(const Builder_::On &on, Operation *op) {
    unsigned opcode = run::opcodeNamed(op->getName().stripDialect());
    if (!isa<rt::CommandInterface>(op) || opcode == run::kNumOpcodes ||
        !out.add(on, run::Opcode(opcode), views(op->getOperands())))
      return op->emitError("is no command of a program");
    return success();
  }

  LogicalResult emitCommand(const Builder_::On &on, rt::LaunchOp op) {
    auto shape = kernels.find(op.getKernel());
    if (shape == kernels.end())
      return op.emitError() << "launches @" << op.getKernel() << ", which was not compiled";
    SmallVector<Value> pointers(op.getInputs());
    llvm::append_range(pointers, op.getOutputs());
    out.launch(on, out.addKernel(op.getKernel().str()), shape->second.extent, shape->second.grain,
               views(pointers), {}, op.getInputs().size());
    return success();
  }
  LogicalResult emitCommand(const Builder_::On &on, rt::InvokeOp op) {
    auto routine = symbols.lookup<rt::ProgramOp>(op.getRoutine());
    SmallVector<Value> blocks = readBlocks(routine, op.getInputs());
    llvm::append_range(blocks, op.getOutputs());
    if (op.getScratch())
      blocks.push_back(op.getScratch());
    std::optional<int64_t> microbatch = op.getMicrobatch();
    out.invoke(on, routines.lookup(op.getRoutine()), views(blocks), op.getLabel().value_or(""),
               microbatch ? uint32_t(*microbatch) : run::kNone);
    return success();
  }
  LogicalResult emitCommand(const Builder_::On &on, rt::GemmOp op) {
    run::Gemm params{};
    params.accumulator = *dtypeOf(op.getAccumulate());
    out.add(on, params, views({op.getLhs(), op.getRhs(), op.getResult()}));
    return success();
  }
  LogicalResult emitCommand(const Builder_::On &on, rt::ConvOp op) {
    run::Convolution params{};
    params.groups = op.getGroups();
    params.strides = out.ints(ints(op.getStrides()));
    params.dilations = out.ints(ints(op.getDilations()));
    params.inputDilations = out.ints(ints(op.getInputDilations()));
    params.padsBegin = out.ints(ints(op.getPads()));
    out.add(on, params, views({op.getInput(), op.getFilter(), op.getResult()}));
    return success();
  }
  template <typename Record, typename Op> static Record attentionParams(Op op) {
    Record params{};
    params.scale = op.getScale().convertToDouble();
    params.softcap = op.getSoftcap().convertToDouble();
    params.causal = op.getCausal();
    return params;
  }
  LogicalResult emitCommand(const Builder_::On &on, rt::AttentionGradOp op) {
    out.add(
        on, attentionParams<run::AttentionGradient>(op),
        views({op.getQuery(), op.getKey(), op.getValue(), op.getOutput(), op.getOutputGradient(),
               op.getQueryGradient(), op.getKeyGradient(), op.getValueGradient(), op.getMask()}));
    return success();
  }
  LogicalResult emitCommand(const Builder_::On &on, rt::AttentionOp op) {
    out.add(on, attentionParams<run::Attention>(op),
            views({op.getQuery(), op.getKey(), op.getValue(), op.getResult(), op.getMask()}));
    return success();
  }
  LogicalResult emitCommand(const Builder_::On &on, rt::SliceOp op) {
    run::Slice params{};
    params.axes = out.axes(axisIds(op.getAxes()));
    params.outer = op.getShape()[0];
    params.extent = op.getShape()[1];
    params.inner = op.getShape()[2];
    params.padBits = op.getPadding();
    out.add(on, params, views({op.getSource(), op.getTarget()}));
    return success();
  }
  LogicalResult emitCommand(const Builder_::On &on, rt::CollectiveOp op) {
    run::Collective params{};
    params.kind = run::CollectiveKind(unsigned(op.getKind()));
    params.reduction = run::Reduction(unsigned(op.getReduction()));
    params.dtype = *dtypeOf(cast<MemRefType>(op.getSources()[0].getType()).getElementType());
    params.accumulator = *dtypeOf(op.getAccumulate());
    params.communicator = out.addCommunicator(axisIds(op.getAxes()));
    params.gatherFirst = op.getGatherFirst();
    params.padBits = op.getPadding();
    std::vector<run::Collective> bucket;
    SmallVector<Value> places;
    for (auto [i, source, target] : llvm::enumerate(op.getSources(), op.getTargets())) {
      ArrayRef<int64_t> shape = op.getShape().slice(5 * i, 5);
      params.outer = shape[0];
      params.extent = shape[1];
      params.inner = shape[2];
      params.middle = shape[3];
      params.otherExtent = shape[4];
      bucket.push_back(params);
      places.append({source, target});
    }
    out.add(on, bucket, views(places));
    return success();
  }
  LogicalResult emitCommand(const Builder_::On &on, rt::RecordOp op) {
    out.add(on, run::EventRecord{op.getEvent()}, {});
    return success();
  }
  LogicalResult emitCommand(const Builder_::On &on, rt::WaitOp op) {
    out.add(on, run::EventWait{op.getEvent()}, {});
    return success();
  }
  ModuleOp module;
  SymbolTable symbols;
  const llvm::StringMap<LaunchShape> &kernels;
  const emit::BlobOptions &options;
  Builder_ out;
  llvm::StringMap<run::Id> axes, states, routines;
  llvm::DenseMap<Value, run::Id> buffers;
};

} // namespace

FailureOr<std::vector<uint8_t>> emit::emitBlob(ModuleOp module,
                                               const llvm::StringMap<LaunchShape> &kernels,
                                               const BlobOptions &options) {
  return Emitter(module, kernels, options).emit();
}
