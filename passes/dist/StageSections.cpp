// Which ops of a program cut into stages may run before their stage hears of others.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/StageSections.h"

using namespace mlir;

namespace weft::dist {

/// Levels in a loop. A late value that crosses is one level later there.
enum Level : int64_t { kForwardPass, kBackwardPass, kWeightGradients, kLate };

StageSections::StageSections(func::FuncOp function, bool splitsWeights)
    : splitsWeights(splitsWeights) {
  for (Operation &op : function.getBody().front()) {
    if (auto loop = dyn_cast<RepeatOp>(op))
      addLoop(loop);
    else
      addFlat(&op);
  }
  for (const auto &[section, crossings] : outsideBySection)
    llvm::append_range(outside, crossings);
}

/// A sum over stages, or whatever else all of them do together.
bool StageSections::isSum(Operation *op) const { return crossesStages(op) && !isa<MoveOp>(op); }

void StageSections::addCrossings(Operation *op, int64_t after, std::vector<Crossing> &list) const {
  if (isSum(op))
    list.push_back({op, -1, -1, after, after});
  if (!isa<MoveOp>(op))
    return;
  CollectiveGeometry geometry = cast<TransitionOpInterface>(op).getGeometry();
  for (auto [to, from] : llvm::enumerate(geometry.sources))
    if (from >= 0 && from != int64_t(to))
      list.push_back({op, from, int64_t(to), after, after});
}

//===--------------------------------------------------------------------===//
// Outside of loops

void StageSections::addFlat(Operation *op) {
  int64_t section = base;
  for (Value operand : op->getOperands())
    if (Operation *maker = operand.getDefiningOp())
      section = std::max(section, sections.at(maker) + crossesStages(maker));
  sections[op] = section;
  last = std::max(last, section + crossesStages(op));
  addCrossings(op, section, outsideBySection[section]);
}

//===--------------------------------------------------------------------===//
// In loops

/// The level at which who reads what `maker` makes is at the earliest.
int64_t StageSections::arrivalOf(Operation *maker) const {
  int64_t level = levels.at(maker);
  if (!crossesStages(maker))
    return level;
  if (level >= kLate)
    return level + 1;
  // A value goes with its pass; one that goes against the forward pass is there for the backward.
  bool goesOn = true;
  CollectiveGeometry geometry = cast<TransitionOpInterface>(maker).getGeometry();
  for (auto [to, from] : llvm::enumerate(geometry.sources))
    if (from >= 0 && from != int64_t(to))
      goesOn &= (from < int64_t(to)) == (level == kForwardPass);
  if (goesOn)
    return level;
  return level == kForwardPass ? kBackwardPass : kLate;
}

int64_t StageSections::levelIn(Operation *op) const {
  auto part = op->getAttrOfType<StringAttr>(kStepPartAttr);
  bool isBackward = roleOf(op) != OpRole::Forward || (part && part.getValue() == kBackward);
  int64_t level = isBackward ? kBackwardPass : kForwardPass;
  for (Value operand : op->getOperands())
    if (auto found = levels.find(operand.getDefiningOp()); found != levels.end())
      level = std::max(level, arrivalOf(found->first));
  // What all stages do together is in no pass of one microbatch.
  return isSum(op) ? std::max<int64_t>(level, kLate) : level;
}

/// Takes the gradients of weights out of the backward pass, and what only brings them together.
void StageSections::splitWeights(RepeatOp loop) {
  Operation *end = loop.getBody().front().getTerminator();
  for (Operation &op : llvm::reverse(loop.getBody().front().without_terminator())) {
    auto role = op.getAttrOfType<StringAttr>(nn::kRoleAttr);
    bool isGradient = role ? role.getValue() == nn::kRoleWeightGradient
                           : isa<TransitionOpInterface>(op) && !crossesStages(&op);
    if (levels.at(&op) == kBackwardPass && isGradient &&
        llvm::all_of(op.getUsers(), [&](Operation *user) {
          return user == end || levels.at(user) == kWeightGradients;
        }))
      levels[&op] = kWeightGradients;
  }
}

void StageSections::addLoop(RepeatOp loop) {
  base = ofLoops.empty() && sections.empty() ? 0 : last + 1;
  sections[loop] = base;
  levels.clear();
  int64_t most = kLate;
  for (Operation &op : loop.getBody().front().without_terminator()) {
    int64_t level = levels[&op] = levelIn(&op);
    most = std::max(most, level + crossesStages(&op));
  }
  if (splitsWeights)
    splitWeights(loop);
  LoopSections &own = ofLoops[loop];
  own.forward = base;
  own.backward = base + kBackwardPass;
  own.weight = base + kWeightGradients;
  own.late = base + kLate;
  own.end = base + most + 1;
  for (Operation &op : loop.getBody().front().without_terminator()) {
    int64_t level = levels.at(&op);
    own.hasBackward |= level == kBackwardPass || level == kWeightGradients;
    sections[&op] = base + level;
    addCrossings(&op, base + level, own.crossings);
  }
  int64_t next = own.end;
  for (Crossing &crossing : own.crossings)
    crossing.section = next++;
  base = last = next;
}

} // namespace weft::dist
