// Reads commands, buckets and memory off scheduled programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Reason.h"
#include "weft/Explain/Explain.h"

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
static int64_t bytesMoved(rt::CollectiveOp command) {
  int64_t sum = 0;
  for (auto [source, target] : llvm::zip(command.getSources(), command.getTargets())) {
    auto from = cast<MemRefType>(source.getType()), to = cast<MemRefType>(target.getType());
    sum += std::max(bytesOf(from), bytesOf(to));
  }
  return sum;
}

/// A collective that a program runs, itself or in a routine, and the name of its node there.
struct RunCollective {
  rt::CollectiveOp command;
  std::string node;
};

static std::vector<RunCollective> collectivesOf(rt::ProgramOp program, const SymbolTable &symbols) {
  std::vector<RunCollective> found;
  for (Operation &op : program.getBody().front()) {
    if (auto command = dyn_cast<rt::CollectiveOp>(op))
      found.push_back({command, nodeName(op.getLoc()).str()});
    auto invoke = dyn_cast<rt::InvokeOp>(op);
    if (!invoke)
      continue;
    for (RunCollective inner :
         collectivesOf(symbols.lookup<rt::ProgramOp>(invoke.getRoutine()), symbols)) {
      size_t hole = inner.node.find("{}");
      if (hole != std::string::npos)
        inner.node.replace(hole, 2, invoke.getLabel().value_or("").str());
      found.push_back(std::move(inner));
    }
  }
  return found;
}

static void collectCommands(ArrayRef<RunCollective> from, Program &program) {
  for (auto [command, node] : from) {
    int64_t tensors = command.getSources().size();
    ++program.collectiveCommands;
    program.movedTensors += tensors;
    if (tensors == 1)
      continue;
    Bucket bucket;
    bucket.kind = rt::stringifyCollectiveKind(command.getKind()).str();
    for (StringRef axis : command.getAxes().getAsValueRange<StringAttr>())
      bucket.axes.push_back(axis.str());
    bucket.tensors = tensors;
    bucket.bytes = bytesMoved(command);
    bucket.firstNode = node;
    program.buckets.push_back(std::move(bucket));
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
  for (auto [command, node] : from) {
    auto reasons = command->getAttrOfType<ArrayAttr>(dist::kReasonsAttr);
    if (!reasons)
      continue;
    AxisList axes;
    for (StringRef axis : command.getAxes().getAsValueRange<StringAttr>())
      llvm::append_range(axes, mesh.resolve(axis));
    for (auto [i, reason] : llvm::enumerate(reasons.getAsRange<dist::ReasonAttr>())) {
      Collective one;
      one.kind = rt::stringifyCollectiveKind(command.getKind()).str();
      for (AxisId axis : axes)
        one.axes.push_back(mesh.axes[axis].name);
      one.node = node;
      describeReason(mesh, axes, reason, one);
      one.type = typeText(RankedTensorType::get(
          globalShape(reason.getFrom().getValue()),
          cast<MemRefType>(command.getSources()[i].getType()).getElementType()));
      one.from = one.made;
      one.to = one.wanted;
      TransitionKind kind = transitionKindOf(command.getKind());
      double source = bytesOf(command.getSources()[i]), target = bytesOf(command.getTargets()[i]);
      one.bytes = bytesSent(kind, mesh.groupSize(axes), source, target);
      one.seconds = costs.seconds(kind, axes, source, target);
      program.collectives.push_back(std::move(one));
    }
  }
}

static std::string placementText(rt::PlacementAttr placement) {
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
  return isSplit ? text + "]" : "whole";
}

static void collectStates(ModuleOp module, Program &program) {
  for (auto from : module.getOps<rt::StateOp>()) {
    if (from.getKind() != rt::BufferClass::Parameter &&
        from.getKind() != rt::BufferClass::OptimizerState)
      continue;
    State state;
    state.name = from.getSymName().str();
    state.kind = rt::stringifyBufferClass(from.getKind()).str();
    state.type = typeText(from.getGlobal());
    state.stored = state.used = placementText(from.getPlacement());
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

void weft::explain::collectSchedule(ModuleOp module, Document &document) {
  dist::MeshAttr mesh = dist::getMesh(module);
  bool isResumed = document.programs.empty();
  if (mesh && isResumed)
    for (const Mesh::Axis &axis : mesh.getValue().axes)
      document.mesh.push_back({axis.name, axis.size, axis.temporal});
  FailureOr<CostModel> costs = costModelOf(module, mesh ? mesh.getValue() : Mesh());
  SymbolTable symbols(module);
  for (auto from : module.getOps<rt::ProgramOp>()) {
    if (from.isRoutine())
      continue;
    Program &program = document.program(from.getSymName());
    std::vector<RunCollective> collectives = collectivesOf(from, symbols);
    collectCommands(collectives, program);
    if (isResumed && succeeded(costs))
      collectCollectives(collectives, *costs, program);
  }
  if (isResumed && !document.programs.empty())
    collectStates(module, document.programs.front());
  document.memory = memoryOf(module);
  document.hasMemory = true;
  for (const MemoryTimeline &line : document.memory.timelines)
    document.program(line.program).commands = line.commands;
}
