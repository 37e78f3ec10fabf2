// Scheduled commands as the runtime's blob, op by op.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Elements.h"
#include "StageKernels.h"

#include "dialects/nn/IR/NnProgram.h"
#include "dialects/rt/IR/Actions.h"
#include "dialects/rt/IR/MeshAxes.h"
#include "dialects/rt/IR/Rt.h"
#include "weft/Emit/Emit.h"
#include "weft/Emit/Memory.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Support/Diagnostics.h"
#include "weft/runtime/ProgramBuilder.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Path.h"

#include <deque>

using namespace mlir;
using namespace weft;
using emit::dtypeOf;
using emit::rawBytes;
namespace run = weft::runtime;
using Builder_ = run::ProgramBuilder;

namespace {

class Emitter {
public:
  Emitter(ModuleOp module, const llvm::StringMap<LaunchShape> &kernels,
          const emit::BlobOptions &options)
      : module(module), stages(rt::stageModulesOf(module)), kernelNames(stages), kernels(kernels),
        options(options), states(stages.size()), routines(stages.size()) {
    for (ModuleOp stage : stages)
      symbols.emplace_back(stage);
  }

  FailureOr<std::vector<uint8_t>> emit() {
    run::ModuleInfo &info = out.info();
    info.weftVersion = out.string(options.version);
    info.modelName = out.string(options.modelName);
    info.modelDirectory = out.string(options.modelDirectory);
    info.target = out.string(options.target);
    info.device = out.string(options.device);
    info.processor = out.string(options.processor);
    info.features = out.string(options.features);
    info.options = out.string(options.commandLine);
    info.threadsPerRank = options.threadsPerRank;
    emitMetadata();
    if (failed(emitMesh()) || failed(emitStates()))
      return failure();
    for (stage = 0; stage < stages.size(); ++stage)
      for (auto program : stages[stage].getOps<rt::ProgramOp>())
        if (program.isRoutine() && failed(emitRoutine(program)))
          return failure();
    for (auto program : stages[0].getOps<rt::ProgramOp>())
      if (!program.isRoutine() && failed(emitProgram(program.getSymName())))
        return failure();
    for (ModuleOp stage : stages) {
      emit::MemoryUse use = emit::memoryUse(stage);
      run::Stage record{};
      record.arenaBytes = use.arenaBytes;
      llvm::copy(use.peaks, record.peakBytes);
      out.addStage(record);
    }
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

  /// All stages have one mesh, whose axes of stages count them.
  LogicalResult emitMesh() {
    int64_t count = 1;
    for (auto mesh : stages[0].getOps<rt::MeshOp>()) {
      for (auto [name, size] :
           llvm::zip(mesh.getAxes().getAsValueRange<StringAttr>(), mesh.getSizes()))
        axes[name] = out.addMeshAxis(name.str(), size);
      if (auto stageAxes = mesh.getStages())
        out.info().stageAxes = out.axes(axisIds(*stageAxes));
      count = rt::numStages(mesh).value_or(1);
    }
    if (count != int64_t(stages.size()))
      return module.emitError() << "has programs of " << stages.size() << " stages for " << count;
    return success();
  }

  /// A state of several stages. Of the executable's own constants those of one name may be
  /// different ones.
  struct SharedState {
    rt::StateOp op;
    std::string name;
    std::vector<run::Home> homes;
  };

  static bool areAlike(rt::StateOp a, rt::StateOp b) {
    return a.getGlobal() == b.getGlobal() && a.getLocal() == b.getLocal() &&
           a.getPlacement() == b.getPlacement() && a.getPieces() == b.getPieces() &&
           a.getKind() == b.getKind();
  }

  /// The entry of a state in a list of all stages, new if no stage before has it.
  FailureOr<SharedState *> entryOf(rt::StateOp state, llvm::StringMap<size_t> &known,
                                   std::deque<SharedState> &all) {
    std::string name = state.getSymName().str();
    for (unsigned number = 1;; ++number) {
      auto [found, isNew] = known.try_emplace(name, all.size());
      if (isNew)
        return &all.emplace_back(SharedState{state, name, {}});
      SharedState &entry = all[found->second];
      if (areAlike(entry.op, state))
        return &entry;
      if (state.getKind() != rt::BufferClass::Workspace) {
        auto diagnostic = state.emitError() << "is not what another stage holds by this name";
        diagnostic.attachNote(entry.op.getLoc()) << "the other stage's is here";
        return failure();
      }
      name = state.getSymName().str() + "." + std::to_string(number);
    }
  }

  LogicalResult emitStates() {
    llvm::StringMap<size_t> known;
    std::deque<SharedState> all;
    for (stage = 0; stage < stages.size(); ++stage)
      for (auto state : stages[stage].getOps<rt::StateOp>()) {
        auto type = dtype(state, state.getLocal());
        auto entry = entryOf(state, known, all);
        if (failed(type) || failed(entry))
          return failure();
        auto local = cast<MemRefType>(state.getLocal());
        run::Id buffer =
            out.addBuffer((*entry)->name, run::BufferClass(unsigned(state.getKind())), *type,
                          state.getOffset().value_or(0), bytesOf(local), ints(local.getShape()));
        (*entry)->homes.push_back({uint32_t(stage), buffer});
        states[stage][state.getSymName()] = buffer;
      }
    for (const SharedState &state : all)
      if (failed(emitState(state)))
        return failure();
    return success();
  }

  LogicalResult emitState(const SharedState &entry) {
    rt::StateOp state = entry.op;
    auto local = cast<MemRefType>(state.getLocal());
    auto global = cast<RankedTensorType>(state.getGlobal());
    auto type = dtype(state, local);
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
    out.addState(entry.name, *type, ints(global.getShape()), placement(state.getPlacement()),
                 entry.homes, pieces);
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
    routines[stage][routine.getSymName()] = out.beginRoutine(
        routine.getSymName().str(), bytes, reads, routine.getStreams(), routine.getEvents());
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

  /// The programs of one name, by stage.
  FailureOr<SmallVector<rt::ProgramOp>> bodiesOf(StringRef name) {
    SmallVector<rt::ProgramOp> bodies;
    for (ModuleOp stage : stages) {
      auto programs = stage.getOps<rt::ProgramOp>();
      auto body = llvm::find_if(programs, [&](rt::ProgramOp program) {
        return !program.isRoutine() && program.getSymName() == name;
      });
      if (body == programs.end())
        return stage.emitError() << "has no program '" << name << "', which another stage has";
      bodies.push_back(*body);
    }
    return bodies;
  }

  /// The names of a program's inputs or outputs in the order of the whole program; empty where the
  /// module says nothing of it.
  ArrayRef<Attribute> orderOf(StringRef program, bool isInput) {
    auto ports = module->getAttrOfType<DictionaryAttr>(rt::kPortsAttr);
    auto lists = ports ? ports.getAs<ArrayAttr>(program) : ArrayAttr();
    if (!lists || lists.size() != 2)
      return {};
    auto list = dyn_cast<ArrayAttr>(lists[isInput ? 0 : 1]);
    return list ? list.getValue() : ArrayRef<Attribute>();
  }

  template <typename Op>
  LogicalResult emitPorts(ArrayRef<rt::ProgramOp> bodies, Builder_::Ids &ids) {
    llvm::MapVector<StringAttr, std::pair<Op, std::vector<run::Home>>> ports;
    // Those that no stage has get no home.
    rt::ProgramOp whole = bodies.front();
    for (Attribute name : orderOf(whole.getSymName(), std::is_same_v<Op, rt::InputOp>))
      if (auto string = dyn_cast<StringAttr>(name))
        ports[string];
    for (auto [stage, program] : llvm::enumerate(bodies)) {
      rt::ProgramOp body = program;
      for (auto op : body.getOps<Op>()) {
        auto &[first, homes] = ports[op.getNameAttr()];
        if (!first)
          first = op;
        if (first.getGlobal() != op.getGlobal() || first.getPlacement() != op.getPlacement()) {
          auto diagnostic = op.emitError() << "is not what another stage has by this name";
          diagnostic.attachNote(first.getLoc()) << "the other stage's is here";
          return diagnostic;
        }
        homes.push_back({uint32_t(stage), buffers.lookup(op.getBuffer())});
      }
    }
    for (auto &[name, port] : ports) {
      if (!port.first)
        continue;
      auto global = cast<RankedTensorType>(port.first.getGlobal());
      ids.push_back(out.addPort(name.str(), *dtypeOf(global.getElementType()),
                                ints(global.getShape()), placement(port.first.getPlacement()),
                                port.second));
    }
    return success();
  }

  LogicalResult emitProgram(StringRef name) {
    auto bodies = bodiesOf(name);
    if (failed(bodies))
      return failure();
    buffers.clear();
    for (auto [stage, body] : llvm::enumerate(*bodies)) {
      for (auto use : body.getOps<rt::StateBufferOp>())
        buffers[use.getResult()] = states[stage].lookup(use.getState());
      if (failed(emitBuffers(body, run::kNone)))
        return failure();
    }
    Builder_::Ids inputs, outputs;
    if (failed(emitPorts<rt::InputOp>(*bodies, inputs)) ||
        failed(emitPorts<rt::OutputOp>(*bodies, outputs)))
      return failure();
    out.beginProgram(name.str(), inputs, outputs);
    for (stage = 0; stage < stages.size(); ++stage) {
      rt::ProgramOp body = (*bodies)[stage];
      out.beginBody(body.getStreams(), body.getEvents());
      if (failed(emitCommands(body)))
        return failure();
      out.endBody();
    }
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
    if (auto action = op->getAttrOfType<StringAttr>(rt::kActionAttr))
      on.action = action.str();
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<rt::LaunchOp, rt::GemmOp, rt::ConvOp, rt::AttentionOp, rt::AttentionGradOp,
              rt::AttentionWithSumsOp, rt::AttentionWithSumsGradOp, rt::CollectiveOp, rt::SendOp,
              rt::RecvOp, rt::SliceOp, rt::RecordOp, rt::WaitOp, rt::InvokeOp>(
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
    StringRef kernel = kernelNames.nameOf(stage, op.getKernel());
    auto shape = kernels.find(kernel);
    if (shape == kernels.end())
      return op.emitError() << "launches @" << op.getKernel() << ", which was not compiled";
    SmallVector<Value> pointers(op.getInputs());
    llvm::append_range(pointers, op.getOutputs());
    out.launch(on, out.addKernel(kernel.str()), shape->second.extent, shape->second.grain,
               views(pointers), {}, op.getInputs().size());
    return success();
  }
  LogicalResult emitCommand(const Builder_::On &on, rt::InvokeOp op) {
    auto routine = symbols[stage].lookup<rt::ProgramOp>(op.getRoutine());
    SmallVector<Value> blocks = readBlocks(routine, op.getInputs());
    llvm::append_range(blocks, op.getOutputs());
    if (op.getScratch())
      blocks.push_back(op.getScratch());
    // Where an input is overwritten, its block is that of the output.
    Builder_::Ints unset;
    int64_t reads = blocks.size() - op.getOutputs().size() - (op.getScratch() ? 1 : 0);
    for (auto [output, input] : llvm::enumerate(*routine.getRoutine()))
      if (input >= 0 && op.isUnset(input))
        unset.push_back(reads + int64_t(output));
    std::optional<int64_t> microbatch = op.getMicrobatch();
    out.invoke(on, routines[stage].lookup(op.getRoutine()), views(blocks),
               op.getLabel().value_or(""), microbatch ? uint32_t(*microbatch) : run::kNone, unset);
    return success();
  }
  LogicalResult emitCommand(const Builder_::On &on, rt::GemmOp op) {
    run::Gemm params{};
    params.accumulator = *dtypeOf(op.getAccumulate());
    out.add(on, params, views(op->getOperands()));
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
  LogicalResult emitCommand(const Builder_::On &on, rt::AttentionWithSumsOp op) {
    out.add(on, attentionParams<run::AttentionWithSums>(op), views(op->getOperands()));
    return success();
  }
  LogicalResult emitCommand(const Builder_::On &on, rt::AttentionWithSumsGradOp op) {
    out.add(on, attentionParams<run::AttentionWithSumsGradient>(op), views(op->getOperands()));
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
    params.inOrder = options.deterministic && (params.kind == run::CollectiveKind::AllReduce ||
                                               params.kind == run::CollectiveKind::ReduceScatter);
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
  /// A member of the group over the axes of stages has the number of its stage.
  template <typename Op>
  LogicalResult emitTransfer(const Builder_::On &on, run::CollectiveKind kind, Op op) {
    auto type = cast<MemRefType>(op.getBuffer().getType());
    run::Collective params{};
    params.kind = kind;
    params.dtype = params.accumulator = *dtypeOf(type.getElementType());
    params.communicator = out.addCommunicator(stageAxisIds());
    params.peer = op.getPeer();
    params.channel = out.string(op.getChannel());
    params.extent = type.getNumElements();
    params.outer = params.inner = params.middle = params.otherExtent = 1;
    out.add(on, params, views({op.getBuffer()}));
    return success();
  }
  LogicalResult emitCommand(const Builder_::On &on, rt::SendOp op) {
    return emitTransfer(on, run::CollectiveKind::Send, op);
  }
  LogicalResult emitCommand(const Builder_::On &on, rt::RecvOp op) {
    return emitTransfer(on, run::CollectiveKind::Recv, op);
  }
  Builder_::Ids stageAxisIds() {
    rt::MeshOp mesh = *stages[0].getOps<rt::MeshOp>().begin();
    return axisIds(*mesh.getStages());
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
  SmallVector<ModuleOp> stages;
  size_t stage = 0; // whose commands are emitted
  std::vector<SymbolTable> symbols;
  emit::StageKernels kernelNames;
  const llvm::StringMap<LaunchShape> &kernels;
  const emit::BlobOptions &options;
  Builder_ out;
  llvm::StringMap<run::Id> axes;
  std::vector<llvm::StringMap<run::Id>> states, routines; // by stage
  llvm::DenseMap<Value, run::Id> buffers;
};

} // namespace

FailureOr<std::vector<uint8_t>> emit::emitBlob(ModuleOp module,
                                               const llvm::StringMap<LaunchShape> &kernels,
                                               const BlobOptions &options) {
  return Emitter(module, kernels, options).emit();
}
