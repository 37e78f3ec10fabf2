// Reads commands, buckets and memory off scheduled programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Explain/Explain.h"

#include "dialects/rt/IR/Rt.h"
#include "weft/Emit/Memory.h"

#include <numeric>

using namespace mlir;
using namespace weft;
using namespace weft::explain;

/// Of the whole tensors, which are the sources or the targets.
static int64_t bytesOf(rt::CollectiveOp command) {
  int64_t sum = 0;
  for (auto [source, target] : llvm::zip(command.getSources(), command.getTargets())) {
    auto from = cast<MemRefType>(source.getType()), to = cast<MemRefType>(target.getType());
    sum += std::max(from.getNumElements(), to.getNumElements()) * std::max(1u, from.getElementTypeBitWidth() / 8);
  }
  return sum;
}

static void collectCommands(rt::ProgramOp from, Program &program) {
  for (auto command : from.getOps<rt::CollectiveOp>()) {
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
    bucket.bytes = bytesOf(command);
    bucket.firstNode = rt::nodeName(command.getLoc()).str();
    program.buckets.push_back(std::move(bucket));
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
    auto fullest = std::max_element(moments.begin() + begin, moments.begin() + end,
                                    [&](const auto &a, const auto &b) { return total(a) < total(b); });
    kept.push_back({fullest->command, std::vector<int64_t>(fullest->bytes.begin(), fullest->bytes.end())});
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
    memory.atPeak.push_back({item.name.str(), rt::stringifyBufferClass(item.kind).str(), item.bytes});
  for (const emit::MemoryTimeline &line : use.timelines) {
    memory.timelines.push_back({line.program.str(), line.commands, thinned(line.moments)});
  }
  return memory;
}

void weft::explain::collectSchedule(ModuleOp module, Document &document) {
  for (auto from : module.getOps<rt::ProgramOp>())
    collectCommands(from, document.program(from.getSymName()));
  document.memory = memoryOf(module);
  document.hasMemory = true;
  for (const MemoryTimeline &line : document.memory.timelines)
    document.program(line.program).commands = line.commands;
}
