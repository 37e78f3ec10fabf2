// Which ops of a program cut into stages may run before their stage hears of others.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/stages/StageSections.h"

#include "passes/dist/stages/StageSchedule.h"

using namespace mlir;

namespace weft::dist {

int64_t LoopSections::notAfter(int64_t a, int64_t b) const {
  // Gradients of weights wait for their own backward pass alone.
  auto passOf = [&](int64_t section) {
    bool isWeight = section >= weight(0) && section < late();
    return isWeight ? backward(section - weight(0)) : section;
  };
  return a == b ? a : std::min(passOf(a), passOf(b));
}

/// Whether the devices of a stage run the op.
static bool runsOn(Operation *op, int64_t stage) {
  LocalAttr local = getLocal(op->getResult(0).getType());
  return !local || !local.getValue().held || local.getValue().held->contains(stage);
}

StageSections::StageSections(func::FuncOp function, ArrayRef<int32_t> place, int64_t stages,
                             bool splitsWeights)
    : chunks(chunksByRank(place, stages)), splitsWeights(splitsWeights) {
  levels.base = 0;
  levels.width = 1;
  for (ArrayRef<int64_t> list : chunks)
    levels.width = std::max(levels.width, int64_t(list.size()));
  for (Operation &op : function.getBody().front()) {
    if (auto loop = dyn_cast<RepeatOp>(op))
      addLoop(loop);
    else
      addFlat(&op);
  }
  for (const auto &[section, crossings] : outsideBySection)
    llvm::append_range(outside, crossings);
}

int64_t StageSections::of(Operation *op, int64_t stage) const {
  auto found = flat.find(op);
  return found != flat.end() ? found->second : within.at({op, stage});
}

/// A sum over stages, or whatever else all of them do together.
bool StageSections::isSum(Operation *op) const { return crossesStages(op) && !isa<MoveOp>(op); }

/// `after`: by stage the section that makes what it sends.
void StageSections::addCrossings(Operation *op, llvm::function_ref<int64_t(int64_t)> after,
                                 std::vector<Crossing> &list) const {
  if (isSum(op))
    list.push_back({op, -1, -1, after(0), after(0)});
  if (!isa<MoveOp>(op))
    return;
  CollectiveGeometry geometry = cast<TransitionOpInterface>(op).getGeometry();
  for (auto [to, from] : llvm::enumerate(geometry.sources))
    if (from >= 0 && from != int64_t(to))
      list.push_back({op, from, int64_t(to), after(from), after(from)});
}

//===--------------------------------------------------------------------===//
// Outside of loops

void StageSections::addFlat(Operation *op) {
  int64_t section = base;
  for (Value operand : op->getOperands())
    if (Operation *maker = operand.getDefiningOp())
      section = std::max(section, flat.at(maker) + crossesStages(maker));
  flat[op] = section;
  last = std::max(last, section + crossesStages(op));
  addCrossings(op, [&](int64_t) { return section; }, outsideBySection[section]);
}

//===--------------------------------------------------------------------===//
// In loops

/// The level of `to` at which it reads at the earliest what `from` sends at that level of its own.
int64_t StageSections::arrivalOf(int64_t level, int64_t from, int64_t to) const {
  if (level >= levels.late())
    return level + 1;
  // A value goes with its pass, to the next chunk; from the last one's forward pass on there is the
  // backward pass.
  bool isForward = level < levels.width;
  ArrayRef<int64_t> there = chunks[size_t(to)];
  int64_t last = int64_t(there.size()) - 1;
  int64_t chunk = chunks[size_t(from)][isForward ? level : levels.backward(level)];
  if (isForward) {
    auto *next = llvm::find_if(there, [&](int64_t other) { return other > chunk; });
    return next == there.end() ? levels.backward(last) : levels.forward(next - there.begin());
  }
  int64_t before = llvm::count_if(there, [&](int64_t other) { return other < chunk; });
  return before == 0 ? levels.late() : levels.backward(before - 1);
}

/// That of the pass and the chunk that an op is of, whatever it reads.
int64_t StageSections::leastLevel(Operation *op, int64_t stage) const {
  auto part = op->getAttrOfType<StringAttr>(kStepPartAttr);
  bool isBackward = roleOf(op) != OpRole::Forward || (part && part.getValue() == kBackward);
  ArrayRef<int64_t> here = chunks[size_t(stage)];
  int64_t first = 0, last = int64_t(here.size()) - 1;
  if (auto attribute = op->getAttrOfType<DenseI64ArrayAttr>(kChunksAttr)) {
    auto isOf = [&](int64_t chunk) { return llvm::is_contained(attribute.asArrayRef(), chunk); };
    if (llvm::any_of(here, isOf)) {
      first = llvm::find_if(here, isOf) - here.begin();
      while (!isOf(here[last]))
        --last;
    }
  }
  return isBackward ? levels.backward(last) : levels.forward(first);
}

int64_t StageSections::levelIn(Operation *op, int64_t stage) const {
  int64_t level = leastLevel(op, stage);
  for (Value operand : op->getOperands())
    if (auto found = reading.find({operand.getDefiningOp(), stage}); found != reading.end())
      level = std::max(level, found->second);
  return level;
}

void StageSections::addLevels(Operation *op) {
  int64_t stages = int64_t(chunks.size());
  if (isa<MoveOp>(op)) {
    CollectiveGeometry geometry = cast<TransitionOpInterface>(op).getGeometry();
    for (auto [to, from] : llvm::enumerate(geometry.sources)) {
      if (from < 0)
        continue;
      int64_t level = own[{op, from}] = levelIn(op, from);
      reading[{op, int64_t(to)}] =
          from == int64_t(to) ? level : arrivalOf(level, from, int64_t(to));
    }
    return;
  }
  int64_t level = levels.late(); // what all stages do together is in no pass of one microbatch
  for (int64_t stage = 0; stage < stages; ++stage)
    if (isSum(op) || runsOn(op, stage))
      own[{op, stage}] = reading[{op, stage}] = levelIn(op, stage);
  if (!isSum(op))
    return;
  for (int64_t stage = 0; stage < stages; ++stage)
    level = std::max(level, own.at({op, stage}));
  for (int64_t stage = 0; stage < stages; ++stage) {
    own[{op, stage}] = level;
    reading[{op, stage}] = level + 1;
  }
}

bool StageSections::isWeightGradient(Operation *op) const {
  auto role = op->getAttrOfType<StringAttr>(nn::kRoleAttr);
  return role ? role.getValue() == nn::kRoleWeightGradient
              : isa<TransitionOpInterface>(op) && !crossesStages(op);
}

/// Takes the gradients of weights out of the backward pass, and what only brings them together.
void StageSections::splitWeights(RepeatOp loop) {
  Operation *end = loop.getBody().front().getTerminator();
  // By another stage. Who awaits the sum awaits what the last microbatch adds to it.
  auto isAwaited = [&](OpOperand &use) {
    return use.getOwner() == end
               ? llvm::any_of(loop.getResult(use.getOperandNumber()).getUsers(), crossesStages)
               : crossesStages(use.getOwner());
  };
  for (Operation &op : llvm::reverse(loop.getBody().front().without_terminator()))
    for (int64_t stage = 0; isWeightGradient(&op) && stage < int64_t(chunks.size()); ++stage) {
      auto found = own.find({&op, stage});
      if (found == own.end() || found->second < levels.width || found->second >= levels.weight(0))
        continue;
      int64_t weight = levels.weight(levels.backward(found->second));
      if (llvm::all_of(op.getUses(), [&](OpOperand &use) {
            auto reads = own.find({use.getOwner(), stage});
            return !isAwaited(use) && (reads == own.end() || reads->second == weight);
          }))
        found->second = weight;
    }
}

void StageSections::addLoop(RepeatOp loop) {
  base = ofLoops.empty() && flat.empty() ? 0 : last + 1;
  flat[loop] = base;
  own.clear();
  reading.clear();
  int64_t most = levels.late();
  for (Operation &op : loop.getBody().front().without_terminator())
    addLevels(&op);
  for (auto [key, level] : reading)
    most = std::max(most, level);
  if (splitsWeights)
    splitWeights(loop);
  LoopSections &sections = ofLoops[loop] = levels;
  sections.splitsWeights = splitsWeights;
  sections.base = base;
  sections.end = base + most + 1;
  for (auto [key, level] : own) {
    within[key] = base + level;
    sections.hasBackward |= level >= levels.width && level < levels.late();
  }
  for (Operation &op : loop.getBody().front().without_terminator())
    addCrossings(&op, [&](int64_t from) { return within.at({&op, from}); }, sections.crossings);
  int64_t next = sections.end;
  for (Crossing &crossing : sections.crossings)
    crossing.section = next++;
  base = last = next;
}

} // namespace weft::dist
