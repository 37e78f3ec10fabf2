// Arena contents, lifetimes and the order of accesses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/verify/MemoryTrace.h"
#include "passes/rt/verify/LastUses.h"
#include "weft/Interfaces/TensorTypes.h"

using namespace mlir;
using namespace weft;
using namespace weft::rt;

MemoryTrace::MemoryTrace(ProgramOp program) : program(program) {
  if (!program.isRoutine()) {
    for (auto state : program->getParentOfType<ModuleOp>().getOps<StateOp>())
      states[state.getSymName()] = state;
    return;
  }
  // Behind the scratch, one after the other: the caller says where, and that they share no bytes.
  int64_t end = program.getArena().value_or(0);
  for (BlockArgument block : program.getBody().getArguments()) {
    int64_t begin = end;
    end += bytesOf(block);
    ranges[block] = {begin, end};
  }
}

std::pair<int64_t, int64_t> MemoryTrace::range(Value buffer) {
  auto [found, isNew] = ranges.try_emplace(buffer);
  if (!isNew)
    return found->second;
  int64_t offset = 0;
  if (auto op = buffer.getDefiningOp<BufferOp>())
    offset = op.getOffset().value_or(0);
  else if (auto use = buffer.getDefiningOp<StateBufferOp>())
    offset = states.lookup(use.getState()).getOffset().value_or(0);
  return found->second = {offset, offset + bytesOf(buffer)};
}

void MemoryTrace::write(Value buffer, Content content) { write(range(buffer), content); }

void MemoryTrace::write(int64_t offset, MemRefType type, Content content) {
  write({offset, offset + bytesOf(type)}, content);
}

void MemoryTrace::write(std::pair<int64_t, int64_t> bytes, Content content) {
  auto [begin, end] = bytes;
  if (begin == end)
    return;
  auto it = intervals.lower_bound(begin);
  if (it != intervals.begin() && std::prev(it)->second.first > begin)
    --it;
  // A value that loses a byte is no longer held.
  while (it != intervals.end() && it->first < end)
    it = intervals.erase(it);
  intervals.insert(it, {begin, {end, content}});
}

bool MemoryTrace::holds(Value buffer, Content content) { return holds(range(buffer), content); }

bool MemoryTrace::holds(int64_t offset, MemRefType type, Content content) const {
  return holds({offset, offset + bytesOf(type)}, content);
}

bool MemoryTrace::holds(std::pair<int64_t, int64_t> bytes, Content content) const {
  auto [begin, end] = bytes;
  if (begin == end)
    return true;
  auto found = intervals.find(begin);
  return found != intervals.end() && found->second == std::pair(end, content);
}

SmallVector<std::pair<int64_t, int64_t>> MemoryTrace::scratchRanges(InvokeOp call) {
  if (!call.getScratch())
    return {};
  auto [found, isNew] = ownRanges.try_emplace(call.getRoutineAttr());
  if (isNew) {
    // Looks through all symbols of the module.
    auto routine = SymbolTable::lookupNearestSymbolFrom<ProgramOp>(call, call.getRoutineAttr());
    SmallVector<std::pair<int64_t, int64_t>> all;
    for (auto buffer : routine.getOps<BufferOp>())
      if (int64_t begin = buffer.getOffset().value_or(0), bytes = bytesOf(buffer); bytes > 0)
        all.push_back({begin, begin + bytes});
    llvm::sort(all);
    for (auto [begin, end] : all)
      if (found->second.empty() || found->second.back().second < begin)
        found->second.push_back({begin, end});
      else
        found->second.back().second = std::max(found->second.back().second, end);
  }
  int64_t base = range(bufferOfView(call.getScratch())).first;
  SmallVector<std::pair<int64_t, int64_t>> ranges;
  for (auto [begin, end] : found->second)
    ranges.push_back({base + begin, base + end});
  return ranges;
}

void MemoryTrace::clobber(InvokeOp call) {
  for (std::pair<int64_t, int64_t> bytes : scratchRanges(call))
    write(bytes, nullptr);
}

LogicalResult MemoryTrace::verifyLifetimes() {
  struct Life {
    int64_t first, last, begin, end;
    BufferOp buffer;
  };
  bool valid = true;
  std::vector<Life> lives;
  int64_t statesEnd = 0;
  for (auto &entry : states)
    statesEnd =
        std::max<int64_t>(statesEnd, entry.second.getOffset().value_or(0) +
                                         bytesOf(cast<MemRefType>(entry.second.getLocal())));
  Lifetimes computed(program);
  for (auto buffer : program.getOps<BufferOp>()) {
    if (!buffer.getOffset() || !buffer.getLives()) {
      valid = false;
      buffer.emitError("has no offset or lifetime");
      continue;
    }
    auto [begin, end] = range(buffer);
    auto [first, last] = computed.of(buffer);
    ArrayRef<int64_t> told = *buffer.getLives();
    if (told[0] > first || told[1] < last) {
      valid = false;
      buffer.emitError() << "lives from command " << told[0] << " to " << told[1]
                         << ", but is in use from " << first << " to " << last;
    }
    if (end > int64_t(program.getArena().value_or(0)) || (begin < statesEnd && begin != end)) {
      valid = false;
      buffer.emitError() << "occupies bytes " << begin << " to " << end
                         << ", outside of the arena or inside of states";
    }
    for (const IssueOrder::Use &use : computed.order().usesOf(buffer))
      if (use.bytes > 0)
        lives.push_back(
            {use.first, use.last, begin + use.offset, begin + use.offset + use.bytes, buffer});
  }
  // Sweep over time; buffers alive now, by their first byte.
  llvm::sort(lives, [](const Life &a, const Life &b) {
    return std::tie(a.first, a.begin) < std::tie(b.first, b.begin);
  });
  std::multimap<int64_t, const Life *> ends;
  std::map<int64_t, const Life *> alive;
  for (const Life &life : lives) {
    while (!ends.empty() && ends.begin()->first < life.first) {
      auto found = alive.find(ends.begin()->second->begin);
      if (found != alive.end() && found->second == ends.begin()->second)
        alive.erase(found);
      ends.erase(ends.begin());
    }
    auto next = alive.lower_bound(life.begin);
    const Life *clash = nullptr;
    if (next != alive.end() && next->second->begin < life.end)
      clash = next->second;
    if (next != alive.begin() && std::prev(next)->second->end > life.begin)
      clash = std::prev(next)->second;
    if (clash) {
      valid = false;
      BufferOp buffer = life.buffer, other = clash->buffer;
      auto diagnostic = buffer.emitError()
                        << "shares bytes with a buffer that is alive at the same time";
      diagnostic.attachNote(other.getLoc()) << "the other buffer is \"" << other.getName() << "\"";
      continue;
    }
    alive[life.begin] = &life;
    ends.insert({life.last, &life});
  }
  return success(valid);
}

/// Whether two views of one buffer share no element: there is a period of which both step in
/// multiples, and what they hold of each lies apart, as columns of rows do.
static bool areApart(Value a, Value b) {
  if (bufferOfView(a) != bufferOfView(b))
    return false;
  std::array<SmallVector<int64_t>, 2> strides;
  std::array<int64_t, 2> offsets{};
  std::array<MemRefType, 2> types{cast<MemRefType>(a.getType()), cast<MemRefType>(b.getType())};
  SmallVector<int64_t> periods{INT64_MAX};
  for (int i : {0, 1}) {
    if (!staticLayout(types[i], strides[i], offsets[i]))
      return false;
    llvm::copy_if(strides[i], std::back_inserter(periods),
                  [](int64_t stride) { return stride > 0; });
  }
  return llvm::any_of(periods, [&](int64_t period) {
    std::array<int64_t, 2> first{}, last{};
    for (int i : {0, 1}) {
      first[i] = last[i] = offsets[i] % period;
      for (auto [size, stride] : llvm::zip(types[i].getShape(), strides[i]))
        if (size > 1 && stride % period != 0)
          last[i] += (size - 1) * stride;
      if (last[i] >= period)
        return false;
    }
    return last[0] < first[1] || last[1] < first[0];
  });
}

LogicalResult MemoryTrace::verifyNoOverlap(CommandInterface command,
                                           const llvm::DenseSet<std::pair<Value, Value>> &allowed) {
  struct Access {
    std::pair<int64_t, int64_t> bytes;
    Value view;
  };
  auto accessOf = [&](Value view) { return Access{range(bufferOfView(view)), view}; };
  SmallVector<Value> written = command.getWrites();
  auto invoke = dyn_cast<InvokeOp>(*command);
  if (invoke)
    llvm::erase(written, invoke.getScratch());
  auto mayShare = [&](Value a, Value b) {
    a = bufferOfView(a), b = bufferOfView(b);
    return invoke && a != b && a.getDefiningOp<BufferOp>() && b.getDefiningOp<BufferOp>();
  };
  SmallVector<Access> writes = llvm::map_to_vector(written, accessOf);
  llvm::sort(writes, [](const Access &a, const Access &b) { return a.bytes < b.bytes; });
  auto overlap = [](const Access &a, const Access &b) {
    return a.bytes.first < b.bytes.second && b.bytes.first < a.bytes.second;
  };
  for (size_t i = 0; i < writes.size(); ++i)
    for (size_t j = i + 1; j < writes.size() && overlap(writes[i], writes[j]); ++j)
      if (!mayShare(writes[i].view, writes[j].view) && !areApart(writes[i].view, writes[j].view))
        return command->emitError("writes the same bytes twice");
  for (Value view : command.getReads()) {
    Access read = accessOf(view);
    for (const Access &write : writes)
      if (overlap(read, write) && !mayShare(view, write.view) &&
          (write.bytes != read.bytes || !allowed.contains({view, write.view})))
        return command->emitError("writes bytes that it reads");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

namespace {

struct Point : StreamCommand {
  CommandInterface command;
};

bool isBefore(const Point &a, const Point &b) { return b.before[a.stream] > a.index; }

/// What a routine does on other streams starts behind what stream 0 did before the call, and ends
/// before it goes on; but where the call itself is on that stream.
LogicalResult verifyBorders(ArrayRef<Point> points, const std::array<Clock, 8> &end) {
  auto isSync = [](const Point &point) { return isa<RecordOp, WaitOp>(*point.command); };
  if (llvm::all_of(points, [&](const Point &point) {
        CommandInterface command = point.command;
        return command.isCommunication() && point.stream == points[0].stream;
      }))
    return success();
  bool valid = true;
  for (const Point &point : points) {
    if (isSync(point) || point.stream == 0)
      continue;
    CommandInterface command = point.command;
    if (point.before[0] == 0) {
      valid = false;
      command->emitError("may start before its routine is called: its stream waits for no event of "
                         "stream 0");
    }
    if (end[0][point.stream] <= point.index) {
      valid = false;
      command->emitError("may end after its routine: stream 0 does not wait for it");
    }
  }
  return success(valid);
}

} // namespace

LogicalResult weft::rt::verifyOrder(ProgramOp program, MemoryTrace &memory) {
  bool valid = true;
  std::vector<Point> points;
  std::array<Clock, 8> now{};
  std::array<std::vector<size_t>, 8> streams;
  llvm::DenseMap<unsigned, Clock> events;
  for (CommandInterface command : commandsOf(program)) {
    unsigned stream = command.getStreamNumber();
    if (stream >= program.getStreams()) {
      command->emitError() << "runs on stream " << stream << " of " << program.getStreams();
      return failure();
    }
    Point point{{stream, int64_t(streams[stream].size()), now[stream]}, command};
    if (auto wait = dyn_cast<WaitOp>(*command)) {
      auto event = events.find(wait.getEvent());
      if (event == events.end()) {
        valid = false;
        command->emitError() << "waits for event " << wait.getEvent()
                             << ", which is not recorded before";
      } else {
        now[stream] = join(now[stream], event->second);
      }
    }
    now[stream][stream] = point.index + 1;
    if (auto record = dyn_cast<RecordOp>(*command))
      events[record.getEvent()] = now[stream];
    streams[stream].push_back(points.size());
    points.push_back(point);
  }
  if (program.isRoutine())
    valid &= succeeded(verifyBorders(points, now));
  LastUses uses;
  const Point *lastCommunication = nullptr, *lastTransfer = nullptr;
  for (const Point &point : points) {
    CommandInterface command = point.command;
    auto invoke = dyn_cast<InvokeOp>(*command);
    const Point *beside = nullptr;
    auto use = [&](std::pair<int64_t, int64_t> bytes, bool writes) {
      uses.use(bytes, writes, point,
               [&](unsigned stream, int64_t index) { beside = &points[streams[stream][index]]; });
    };
    auto useAll = [&](ValueRange views, bool writes) {
      for (Value view : views)
        if (!invoke || view != invoke.getScratch())
          use(memory.range(bufferOfView(view)), writes);
    };
    useAll(command.getReads(), false);
    useAll(command.getWrites(), true);
    if (invoke)
      for (std::pair<int64_t, int64_t> bytes : memory.scratchRanges(invoke))
        use(bytes, true);
    if (beside) {
      valid = false;
      auto diagnostic = command->emitError() << "is not ordered with a command of stream "
                                             << beside->stream << " that uses the same bytes";
      CommandInterface other = beside->command;
      diagnostic.attachNote(other->getLoc()) << "this command: " << other->getName();
    }
    if (!command.isCommunication())
      continue;
    const Point *&last = command.isTransfer() ? lastTransfer : lastCommunication;
    if (last && last->stream != point.stream && !isBefore(*last, point)) {
      valid = false;
      command->emitError() << "is not ordered with the "
                           << (command.isTransfer() ? "transfer" : "communication") << " before it";
    }
    last = &point;
  }
  return success(valid);
}
