// Lifetimes of buffers under streams and events.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/Lifetimes.h"

using namespace mlir;
using namespace weft::rt;

std::vector<CommandInterface> weft::rt::commandsOf(ProgramOp program) {
  std::vector<CommandInterface> commands;
  program.walk<WalkOrder::PreOrder>([&](CommandInterface command) { commands.push_back(command); });
  return commands;
}

Value weft::rt::bufferOfView(Value view) {
  while (auto op = view.getDefiningOp<ViewOp>())
    view = op.getBuffer();
  return view;
}

Lifetimes::Lifetimes(ProgramOp program) {
  std::vector<CommandInterface> commands = commandsOf(program);
  count = commands.size();
  // Begin: what a stream's next command is known to come after, in stream 0.
  std::vector<std::pair<int64_t, int64_t>> intervals(count);
  llvm::DenseMap<unsigned, int64_t> streamFloor, eventFloor;
  for (int64_t i = 0; i < count; ++i) {
    unsigned stream = commands[i].getStreamNumber();
    if (stream == 0)
      streamFloor[0] = i;
    if (auto record = dyn_cast<RecordOp>(*commands[i]))
      eventFloor[record.getEvent()] = streamFloor.lookup(stream);
    if (auto wait = dyn_cast<WaitOp>(*commands[i]); wait && stream != 0)
      streamFloor[stream] =
          std::max(streamFloor.lookup(stream), eventFloor.lookup(wait.getEvent()));
    intervals[i].first = stream == 0 ? i : streamFloor.lookup(stream);
  }
  // End: backwards, the first wait of stream 0 that covers the command.
  llvm::DenseMap<unsigned, int64_t> streamCeiling, eventCeiling;
  for (int64_t i = count; i-- > 0;) {
    unsigned stream = commands[i].getStreamNumber();
    auto ceiling = [&](llvm::DenseMap<unsigned, int64_t> &map, unsigned key) {
      auto found = map.find(key);
      return found == map.end() ? count - 1 : found->second;
    };
    if (stream == 0)
      streamCeiling[0] = i;
    if (auto wait = dyn_cast<WaitOp>(*commands[i]))
      eventCeiling[wait.getEvent()] = std::min(ceiling(eventCeiling, wait.getEvent()),
                                               stream == 0 ? i : ceiling(streamCeiling, stream));
    if (auto record = dyn_cast<RecordOp>(*commands[i])) {
      if (stream != 0)
        streamCeiling[stream] =
            std::min(ceiling(streamCeiling, stream), ceiling(eventCeiling, record.getEvent()));
      eventCeiling.erase(record.getEvent());
    }
    intervals[i].second = stream == 0 ? i : ceiling(streamCeiling, stream);
  }
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<Value> views = commands[i].getReads();
    llvm::append_range(views, commands[i].getWrites());
    for (Value view : views) {
      auto [it, isNew] = ranges.try_emplace(bufferOfView(view), intervals[i]);
      if (!isNew)
        it->second = {std::min(it->second.first, intervals[i].first),
                      std::max(it->second.second, intervals[i].second)};
    }
  }
}

std::pair<int64_t, int64_t> Lifetimes::of(BufferOp buffer) const {
  auto found = ranges.find(buffer.getResult());
  return found == ranges.end() ? std::make_pair(int64_t(0), int64_t(0)) : found->second;
}
