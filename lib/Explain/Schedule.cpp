// Reads commands, buckets and memory off scheduled programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MovedBytes.h"
#include "Reason.h"
#include "weft/Explain/Explain.h"

#include "dialects/dist/IR/ScheduleAttrs.h"
#include "dialects/rt/IR/CallNames.h"
#include "dialects/rt/IR/Rt.h"
#include "weft/Cost/CostModel.h"
#include "weft/Emit/Memory.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Support/Diagnostics.h"

#include <numeric>

using namespace mlir;
using namespace weft;
using namespace weft::explain;

/// Of the whole tensors, which are the sources or the targets.
static int64_t wholeBytes(rt::CollectiveOp command) {
  int64_t sum = 0;
  for (auto [source, target] : llvm::zip(command.getSources(), command.getTargets()))
    sum += std::max(bytesOf(source), bytesOf(target));
  return sum;
}

/// A collective that a program runs, itself or in a routine.
struct RunCollective {
  rt::CollectiveOp command;
  std::string node;  // its name there
  int64_t index;     // among the commands of the program or routine
  rt::InvokeOp call; // null: no routine's
  int64_t callIndex;
};

static std::vector<RunCollective> collectivesOf(rt::ProgramOp program, const SymbolTable &symbols) {
  std::vector<RunCollective> found;
  int64_t index = 0;
  for (Operation &op : program.getBody().front()) {
    if (auto command = dyn_cast<rt::CollectiveOp>(op))
      found.push_back({command, nodeName(op.getLoc()).str(), index, nullptr, 0});
    if (auto invoke = dyn_cast<rt::InvokeOp>(op))
      for (RunCollective inner :
           collectivesOf(symbols.lookup<rt::ProgramOp>(invoke.getRoutine()), symbols)) {
        inner.node = rt::nameInCall(inner.node, invoke.getLabel());
        inner.call = invoke;
        inner.callIndex = index;
        found.push_back(std::move(inner));
      }
    index += isa<rt::CommandInterface>(op);
  }
  return found;
}

static std::vector<std::string> axesOf(rt::CollectiveOp command) {
  std::vector<std::string> axes;
  for (StringRef axis : command.getAxes().getAsValueRange<StringAttr>())
    axes.push_back(axis.str());
  return axes;
}

static AxisList axisIdsOf(const Mesh &mesh, rt::CollectiveOp command) {
  AxisList ids;
  for (StringRef axis : command.getAxes().getAsValueRange<StringAttr>())
    llvm::append_range(ids, mesh.resolve(axis));
  return ids;
}

/// What members send for tensors [begin, begin + count) of a command, if these share messages.
static Sent sentBy(const Mesh &mesh, rt::CollectiveOp command, size_t begin, size_t count) {
  std::vector<runtime::CollectiveShape> shapes;
  for (size_t i = begin; i < begin + count; ++i) {
    ArrayRef<int64_t> shape = command.getShape().slice(5 * i, 5);
    shapes.push_back({shape[0], shape[1], shape[2], shape[3], shape[4]});
  }
  return Sent::by(runtime::trafficOf(runtime::CollectiveKind(unsigned(command.getKind())),
                                     sizesOf(mesh, axisIdsOf(mesh, command)), shapes,
                                     elementBytes(command.getSources()[0].getType())));
}

static Transfer transferOf(const Mesh &mesh, const RunCollective &run) {
  rt::CollectiveOp command = run.command;
  Transfer transfer;
  transfer.kind = rt::stringifyCollectiveKind(command.getKind()).str();
  transfer.node = run.node;
  transfer.axes = axesOf(command);
  transfer.tensors = command.getSources().size();
  transfer.command = run.index;
  if (rt::InvokeOp call = run.call) {
    transfer.call = run.callIndex;
    transfer.routine = call.getRoutine().str();
    transfer.label = call.getLabel().value_or("").str();
    transfer.microbatch = call.getMicrobatch();
  }
  transfer.sent = sentBy(mesh, command, 0, transfer.tensors);
  return transfer;
}

static void collectCommands(ArrayRef<RunCollective> from, const Mesh &mesh, Program &program) {
  program.isScheduled = true;
  for (const RunCollective &run : from) {
    program.transfers.push_back(transferOf(mesh, run));
    const Transfer &transfer = program.transfers.back();
    program.movedTensors += transfer.tensors;
    if (transfer.tensors > 1)
      program.buckets.push_back(
          {transfer.kind, transfer.node, transfer.axes, transfer.tensors, wholeBytes(run.command)});
  }
}

static TransitionKind transitionKindOf(rt::CollectiveKind kind) {
  switch (kind) {
  case rt::CollectiveKind::AllGather:
    return TransitionKind::AllGather;
  case rt::CollectiveKind::AllReduce:
    return TransitionKind::AllReduce;
  case rt::CollectiveKind::ReduceScatter:
    return TransitionKind::ReduceScatter;
  case rt::CollectiveKind::AllToAll:
    return TransitionKind::AllToAll;
  }
  llvm_unreachable("kind of collective");
}

/// Of a program that was read at this phase; else more is known from before. Commands keep the
/// reasons of what they move.
static void collectCollectives(ArrayRef<RunCollective> from, const CostModel &costs,
                               Program &program) {
  const Mesh &mesh = costs.mesh();
  for (const RunCollective &run : from) {
    rt::CollectiveOp command = run.command;
    auto reasons = command->getAttrOfType<ArrayAttr>(dist::kReasonsAttr);
    if (!reasons)
      continue;
    AxisList axes = axisIdsOf(mesh, command);
    for (auto [i, reason] : llvm::enumerate(reasons.getAsRange<dist::ReasonAttr>())) {
      Collective one;
      one.kind = rt::stringifyCollectiveKind(command.getKind()).str();
      for (AxisId axis : axes)
        one.axes.push_back(mesh.axes[axis].name);
      one.node = run.node;
      rt::InvokeOp call = run.call;
      describeReason(mesh, axes, reason, call ? call.getLabel() : std::nullopt, one);
      one.type = typeText(RankedTensorType::get(
          globalShape(reason.getFrom().getValue()),
          cast<MemRefType>(command.getSources()[i].getType()).getElementType()));
      one.from = one.made;
      one.to = one.wanted;
      TransitionKind kind = transitionKindOf(command.getKind());
      double source = bytesOf(command.getSources()[i]), target = bytesOf(command.getTargets()[i]);
      one.sent = sentBy(mesh, command, i, 1);
      one.ringBytes = costs.ringBytes(kind, axes, source, target);
      one.seconds = costs.seconds(kind, axes, source, target);
      program.collectives.push_back(std::move(one));
    }
  }
}

/// `held`: which stages have it; "" if all do.
static std::string placementText(rt::PlacementAttr placement, StringRef held) {
  std::string text;
  llvm::raw_string_ostream out(text);
  bool isSplit = false;
  out << '[';
  llvm::interleaveComma(placement.getDims(), out, [&](const rt::PlacementDim &dim) {
    llvm::interleave(
        dim.parts, out,
        [&](const rt::PlacementPart &part) {
          out << part.size;
          if (part.axes.empty())
            return;
          isSplit = true;
          out << '{';
          llvm::interleave(part.axes, out, [&](StringAttr axis) { out << axis.getValue(); }, ",");
          out << '}';
        },
        "*");
  });
  if (!held.empty())
    return (text + "], held = " + held).str();
  return isSplit ? text + "]" : "whole";
}

/// Of the modules of all stages, or of the only one.
static void collectStates(ArrayRef<ModuleOp> modules, const Document &document, Program &program) {
  llvm::MapVector<StringRef, std::pair<rt::StateOp, std::vector<std::string>>> found;
  for (auto [stage, module] : llvm::enumerate(modules))
    for (auto from : ModuleOp(module).getOps<rt::StateOp>())
      if (from.getKind() == rt::BufferClass::Parameter ||
          from.getKind() == rt::BufferClass::OptimizerState) {
        auto &[state, stages] = found[from.getSymName()];
        state = from;
        stages.push_back(std::to_string(stage));
      }
  for (auto &[name, held] : found) {
    auto &[from, stages] = held;
    std::string only;
    if (stages.size() < modules.size())
      only = axesText(document.stageAxes) + "[" + llvm::join(stages, ",") + "]";
    State state;
    state.name = name.str();
    state.kind = rt::stringifyBufferClass(from.getKind()).str();
    state.type = typeText(from.getGlobal());
    state.stored = state.used = placementText(from.getPlacement(), only);
    state.elements = cast<RankedTensorType>(from.getGlobal()).getNumElements();
    state.bytes = bytesOf(cast<MemRefType>(from.getLocal()));
    program.states.push_back(std::move(state));
  }
}

/// A picture has no more points, and a large program ten times as many.
static constexpr size_t kMoments = 1000;

/// Of each stretch the moment at which most is alive.
static std::vector<MemoryMoment> thinned(llvm::ArrayRef<emit::MemoryTimeline::Moment> moments) {
  auto total = [](const emit::MemoryTimeline::Moment &moment) {
    return std::accumulate(moment.bytes.begin(), moment.bytes.end(), int64_t(0));
  };
  std::vector<MemoryMoment> kept;
  for (size_t i = 0, count = std::min(kMoments, moments.size()); i < count; ++i) {
    size_t begin = i * moments.size() / count, end = (i + 1) * moments.size() / count;
    auto fullest =
        std::max_element(moments.begin() + begin, moments.begin() + end,
                         [&](const auto &a, const auto &b) { return total(a) < total(b); });
    kept.push_back(
        {fullest->command, std::vector<int64_t>(fullest->bytes.begin(), fullest->bytes.end())});
  }
  return kept;
}

static Memory memoryOf(ModuleOp module) {
  emit::MemoryUse use = emit::memoryUse(module);
  Memory memory;
  memory.arena = use.arenaBytes;
  for (unsigned c = 0; c < emit::kNumClasses; ++c)
    memory.classes.push_back(rt::stringifyBufferClass(rt::BufferClass(c)).str());
  memory.peaks.assign(use.peaks.begin(), use.peaks.end());
  memory.program = use.program.str();
  memory.command = use.command;
  for (const emit::MemoryItem &item : use.atPeak)
    memory.atPeak.push_back(
        {item.name.str(), rt::stringifyBufferClass(item.kind).str(), item.bytes});
  for (const emit::MemoryTimeline &line : use.timelines) {
    memory.timelines.push_back({line.program.str(), line.commands, thinned(line.moments)});
  }
  return memory;
}

static bool movesMore(const Program &a, const Program &b) {
  auto total = [](const Program &program) {
    int64_t bytes = 0;
    for (const MovedBytes &moved : program.moved)
      bytes += moved.read + moved.written;
    return bytes;
  };
  return total(a) > total(b);
}

/// What the member of a stage's number gives to another stage.
static Sent sentBy(rt::SendOp send, size_t stage, const Document &document) {
  Sent sent;
  for (size_t member = 0; member < document.stages.size(); ++member)
    sent.add(member == stage ? runtime::Volume{1, uint64_t(bytesOf(send.getBuffer()))}
                             : runtime::Volume());
  return sent;
}

static Transfer transferOf(rt::SendOp send, int64_t command, size_t stage,
                           const Document &document) {
  Transfer transfer;
  transfer.kind = "send";
  transfer.node = nodeName(send.getLoc()).str();
  transfer.axes = document.stageAxes;
  transfer.command = command;
  transfer.sent = sentBy(send, stage, document);
  return transfer;
}

/// Of a pipeline that was read at this phase: what is sent is a value's move to one stage.
static void collectMove(rt::SendOp send, size_t stage, const CostModel &costs,
                        const Document &document, Program &program) {
  auto reasons = send->getAttrOfType<ArrayAttr>(dist::kReasonsAttr);
  if (!reasons)
    return;
  const Mesh &mesh = costs.mesh();
  AxisList axes = {*mesh.stageAxis()};
  auto reason = cast<dist::ReasonAttr>(reasons[0]);
  double bytes = bytesOf(send.getBuffer());
  Collective one;
  one.kind = stringifyTransitionKind(TransitionKind::Move).str();
  one.isMove = true;
  one.axes = document.stageAxes;
  one.node = nodeName(send.getLoc()).str();
  describeReason(mesh, axes, reason, std::nullopt, one);
  one.type = typeText(
      RankedTensorType::get(globalShape(reason.getFrom().getValue()),
                            cast<MemRefType>(send.getBuffer().getType()).getElementType()));
  one.from = one.made;
  one.to = one.wanted;
  one.sent = sentBy(send, stage, document);
  one.ringBytes = costs.ringBytes(TransitionKind::Move, axes, bytes, bytes);
  one.seconds = costs.seconds(TransitionKind::Move, axes, bytes, bytes);
  program.collectives.push_back(std::move(one));
}

/// Sends and receives of a stage's program.
static void collectFlow(rt::ProgramOp from, size_t stage, const FailureOr<CostModel> &costs,
                        Document &document, Program &program) {
  Stage::Flow flow{from.getSymName().str(), {}, {}};
  int64_t command = 0;
  for (Operation &op : from.getBody().front()) {
    if (auto send = dyn_cast<rt::SendOp>(op)) {
      flow.sent += {1, uint64_t(bytesOf(send.getBuffer()))};
      program.transfers.push_back(transferOf(send, command, stage, document));
      if (succeeded(costs))
        collectMove(send, stage, *costs, document, program);
      ++program.movedTensors;
    } else if (auto recv = dyn_cast<rt::RecvOp>(op)) {
      flow.received += {1, uint64_t(bytesOf(recv.getBuffer()))};
    }
    command += isa<rt::CommandInterface>(op);
  }
  document.stages[stage].flows.push_back(std::move(flow));
}

/// Programs of a module; `stage` where it is that of one stage of a pipeline.
static void collectPrograms(ModuleOp module, std::optional<size_t> stage, const Mesh &mesh,
                            const FailureOr<CostModel> &costs, Document &document) {
  SymbolTable symbols(module);
  for (auto from : module.getOps<rt::ProgramOp>()) {
    if (from.isRoutine())
      continue;
    Program &program = document.program(from.getSymName());
    std::vector<RunCollective> collectives = collectivesOf(from, symbols);
    size_t first = program.transfers.size();
    collectCommands(collectives, mesh, program);
    for (size_t i = first; stage && i < program.transfers.size(); ++i)
      program.transfers[i].stage = *stage;
    // Of the stage that moves most.
    Program moved;
    collectMovedBytes(from, symbols, moved);
    if (!stage || *stage == 0 || movesMore(moved, program)) {
      program.moved = std::move(moved.moved);
      program.arena = moved.arena;
    }
    // Of the program's first input, which an early stage has.
    if (program.units == 0) {
      program.units = moved.units;
      program.unit = moved.unit;
    }
    if (stage)
      collectFlow(from, *stage, costs, document, program);
    if (succeeded(costs))
      collectCollectives(collectives, *costs, program);
  }
}

static void collectMemory(ArrayRef<ModuleOp> modules, Document &document) {
  document.hasMemory = true;
  for (auto [number, module] : llvm::enumerate(modules)) {
    Memory memory = memoryOf(module);
    if (!document.stages.empty()) {
      Stage &stage = document.stages[number];
      for (auto state : ModuleOp(module).getOps<rt::StateOp>()) {
        ++stage.states;
        stage.stateBytes += bytesOf(cast<MemRefType>(state.getLocal()));
      }
      memory.stage = number;
      stage.memory = memory;
    }
    if (number == 0 || memory.arena > document.memory.arena)
      document.memory = std::move(memory);
  }
  for (const MemoryTimeline &line : document.memory.timelines)
    document.program(line.program).commands = line.commands;
}

void weft::explain::collectSchedule(ModuleOp module, Document &document) {
  dist::MeshAttr attribute = dist::getMesh(module);
  Mesh mesh = attribute ? attribute.getValue() : Mesh();
  bool isResumed = document.programs.empty();
  if (isResumed) {
    document.mesh.clear(); // of stages nothing but this is known before
    for (const Mesh::Axis &axis : mesh.axes)
      document.mesh.push_back({axis.name, axis.size, axis.kind == AxisKind::Temporal});
  }
  FailureOr<CostModel> costs = failure();
  if (isResumed)
    costs = costModelOf(module, mesh);
  SmallVector<ModuleOp> modules = rt::stageModulesOf(module);
  bool isPipeline = modules.front() != module;
  if (isPipeline) {
    document.stages.resize(modules.size());
    if (auto reason = module->getAttrOfType<StringAttr>(dist::kScheduleReasonAttr))
      document.schedule = reason.str();
    if (std::optional<AxisId> axis = mesh.stageAxis())
      document.stageAxes = {mesh.axes[*axis].name};
  }
  for (auto [number, stage] : llvm::enumerate(modules))
    collectPrograms(stage, isPipeline ? std::optional<size_t>(number) : std::nullopt, mesh, costs,
                    document);
  if (isResumed && !document.programs.empty())
    collectStates(modules, document, document.programs.front());
  document.addUpSent();
  collectChunks(module, document);
  collectMemory(modules, document);
}
