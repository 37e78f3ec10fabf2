// Lifetimes of buffers under streams and events.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/memory/Lifetimes.h"

#include <map>

using namespace mlir;
using namespace weft::rt;

std::vector<CommandInterface> weft::rt::commandsOf(ProgramOp program) {
  std::vector<CommandInterface> commands;
  program.walk<WalkOrder::PreOrder>([&](CommandInterface command) { commands.push_back(command); });
  return commands;
}

/// When the commands of a program may run: on stream 0 at their position.
static std::vector<std::pair<int64_t, int64_t>> intervalsOf(const IssueOrder &issued) {
  ArrayRef<IssueOrder::Item> items = issued.items();
  // Begin: what a stream's next command is known to come after, in stream 0.
  std::vector<std::pair<int64_t, int64_t>> intervals(items.size());
  llvm::DenseMap<unsigned, int64_t> streamFloor, eventFloor;
  for (auto [i, item] : llvm::enumerate(items)) {
    CommandInterface command = item.command;
    unsigned stream = command.getStreamNumber();
    if (stream == 0)
      streamFloor[0] = item.first;
    if (auto record = dyn_cast<RecordOp>(*command))
      eventFloor[record.getEvent()] = streamFloor.lookup(stream);
    if (auto wait = dyn_cast<WaitOp>(*command); wait && stream != 0)
      streamFloor[stream] =
          std::max(streamFloor.lookup(stream), eventFloor.lookup(wait.getEvent()));
    intervals[i].first = stream == 0 ? item.first : streamFloor.lookup(stream);
  }
  // End: backwards, the first wait of stream 0 that covers the command.
  llvm::DenseMap<unsigned, int64_t> streamCeiling, eventCeiling;
  for (size_t i = items.size(); i-- > 0;) {
    CommandInterface command = items[i].command;
    unsigned stream = command.getStreamNumber();
    auto ceiling = [&](llvm::DenseMap<unsigned, int64_t> &map, unsigned key) {
      auto found = map.find(key);
      return found == map.end() ? issued.size() - 1 : found->second;
    };
    if (stream == 0)
      streamCeiling[0] = items[i].last;
    if (auto wait = dyn_cast<WaitOp>(*command))
      eventCeiling[wait.getEvent()] =
          std::min(ceiling(eventCeiling, wait.getEvent()),
                   stream == 0 ? items[i].last : ceiling(streamCeiling, stream));
    if (auto record = dyn_cast<RecordOp>(*command)) {
      if (stream != 0)
        streamCeiling[stream] =
            std::min(ceiling(streamCeiling, stream), ceiling(eventCeiling, record.getEvent()));
      eventCeiling.erase(record.getEvent());
    }
    intervals[i].second = stream == 0 ? items[i].last : ceiling(streamCeiling, stream);
  }
  return intervals;
}

Lifetimes::Lifetimes(ProgramOp program) : issued(program) {
  std::map<Operation *, Lifetimes> routines;
  std::vector<Life> intervals = intervalsOf(issued);
  for (auto [interval, item] : llvm::zip_equal(intervals, issued.items())) {
    CommandInterface command = item.command;
    if (item.routine && command.getStreamNumber() == 0) {
      const Lifetimes &routine = routines.try_emplace(item.routine, item.routine).first->second;
      addCall(cast<InvokeOp>(*command), item, routine);
      continue;
    }
    for (Value view : command.getReads())
      add(view, interval);
    for (Value view : command.getWrites())
      add(view, interval);
  }
}

void Lifetimes::add(Value view, Life life) {
  auto [it, isNew] = ranges.try_emplace(bufferOfView(view), life);
  if (!isNew)
    it->second = {std::min(it->second.first, life.first), std::max(it->second.second, life.second)};
}

void Lifetimes::addCall(InvokeOp call, const IssueOrder::Item &item, const Lifetimes &routine) {
  auto lifeOf = [&](Value block) {
    auto found = routine.ranges.find(block);
    return found == routine.ranges.end() ? Life(0, item.last - item.first) : found->second;
  };
  ProgramOp callee = item.routine;
  for (auto [i, view, block] : llvm::enumerate(call.getInputs(), callee.getArgumentBlocks())) {
    auto [first, last] = lifeOf(block);
    add(view, {item.first + (call.isUnset(i) ? first : 0), item.first + last});
  }
  for (auto [view, block] : llvm::zip(call.getOutputs(), callee.getResultBlocks()))
    add(view, {item.first + lifeOf(block).first, item.last});
  if (call.getScratch())
    add(call.getScratch(), {item.first, item.last});
}

std::pair<int64_t, int64_t> Lifetimes::of(Value buffer) const {
  auto found = ranges.find(buffer);
  return found == ranges.end() ? std::make_pair(int64_t(0), int64_t(0)) : found->second;
}
