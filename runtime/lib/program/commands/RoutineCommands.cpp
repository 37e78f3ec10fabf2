// Rules of routines and of their calls.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program/commands/CommandRules.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace weft::runtime {

//===----------------------------------------------------------------------===//
// Routines
//===----------------------------------------------------------------------===//

namespace {

/// Follows what streams of a routine know of each other, to find which one's command a call of
/// it can be: a command on another stream begins after a record of that one, which has waited
/// for it when the routine ends. Positions count from 1; 0 = nothing is known.
class StreamOrder {
public:
  explicit StreamOrder(const ProgramView &p, const Routine &routine)
      : p(p), recorded(routine.events) {}

  /// What is wrong with the next command, or nothing.
  std::string add(const Command &command) {
    Known &mine = known[command.stream];
    uint32_t here = ++position;
    streams |= 1u << command.stream;
    if (command.opcode == Opcode::EventWait)
      return wait(mine, p.record<EventWait>(command).event);
    mine[command.stream] = here;
    if (command.opcode == Opcode::EventRecord)
      recorded[p.record<EventRecord>(command).event] = mine;
    else
      work(mine, command.stream, here);
    return "";
  }

  /// Streams of which a call may be, a bit each.
  uint32_t callStreams() const {
    uint32_t result = 0;
    for (uint32_t s = 0; s < kMaxStreams; ++s)
      result |= uint32_t(streams >> s & 1 && leads(s)) << s;
    return result;
  }

private:
  /// The last position on each stream that is known to be done.
  using Known = std::array<uint32_t, kMaxStreams>;

  std::string wait(Known &mine, uint32_t event) const {
    const Known &told = recorded[event];
    if (told == Known{})
      return "waits for event " + std::to_string(event) + ", which its routine has not recorded";
    for (uint32_t s = 0; s < kMaxStreams; ++s)
      mine[s] = std::max(mine[s], told[s]);
    return "";
  }
  void work(const Known &mine, uint32_t stream, uint32_t here) {
    last[stream] = here;
    for (uint32_t s = 0; s < kMaxStreams; ++s)
      early[stream] |= uint32_t(mine[s] == 0) << s;
  }
  bool leads(uint32_t stream) const {
    for (uint32_t s = 0; s < kMaxStreams; ++s)
      if (s != stream && (early[s] >> stream & 1 || known[stream][s] < last[s]))
        return false;
    return true;
  }

  const ProgramView &p;
  std::vector<Known> recorded; // by event
  Known known[kMaxStreams] = {};
  Known last{};                     // of each stream: its last command that works
  uint32_t early[kMaxStreams] = {}; // streams that it works without having heard of
  uint32_t position = 0, streams = 0;
};

Status checkShape(const ProgramView &p, const Routine &routine) {
  if (!inRange(routine.blocks, p.Ints().size()) || routine.reads > routine.blocks.count)
    return Status::user("it has blocks that do not exist");
  for (int64_t bytes : p.ints(routine.blocks))
    if (bytes < 0 || bytes > INT64_MAX / 4)
      return Status::user("it has a block of " + std::to_string(bytes) + " bytes");
  if (routine.commands.count == 0)
    return Status::user("it has no commands");
  return {};
}

/// By block: the buffers in it that commands use, and from when to when. Of a block that none uses
/// all is used at any time.
std::vector<std::vector<RoutineNeeds::Use>> usesOf(const ProgramView &p, const Routine &routine) {
  std::map<Id, RoutineNeeds::Use> byBuffer;
  for (uint32_t i = 0; i < routine.commands.count; ++i)
    for (const View &view : p.Views().slice(p.Commands()[routine.commands.begin + i].views)) {
      const Buffer &buffer = p.Buffers()[view.buffer];
      auto begin = uint64_t(buffer.offset), end = begin + buffer.bytes;
      byBuffer.try_emplace(view.buffer, RoutineNeeds::Use{begin, end, i, i}).first->second.last = i;
    }
  std::vector<std::vector<RoutineNeeds::Use>> uses(routine.blocks.count);
  for (const auto &[buffer, use] : byBuffer)
    uses[p.Buffers()[buffer].block].push_back(use);
  for (uint32_t i = 0; i < routine.blocks.count; ++i)
    if (uses[i].empty())
      uses[i] = {{0, uint64_t(p.ints(routine.blocks)[i]), 0, routine.commands.count - 1}};
  return uses;
}

bool isSameView(const ProgramView &p, const View &a, const View &b) {
  auto areEqual = [&](Range x, Range y) {
    Table<int64_t> own = p.ints(x), other = p.ints(y);
    return std::equal(own.begin(), own.end(), other.begin(), other.end());
  };
  return a.buffer == b.buffer && a.dtype == b.dtype && a.byteOffset == b.byteOffset &&
         areEqual(a.sizes, b.sizes) && areEqual(a.strides, b.strides);
}

/// Whether a product adds to its result what lies in the same place, and nothing else.
bool addsInPlace(const ProgramView &p, const Command &command) {
  Table<View> views = p.Views().slice(command.views);
  return command.opcode == Opcode::Gemm && views.size() == kGemmAddend + 1 &&
         isSameView(p, views[kGemmAddend], views[kGemmAddend - 1]);
}

/// By block: whether one product adds in place what was in it, and no other command reads it, nor
/// writes it before that.
std::vector<bool> addedOnce(const ProgramView &p, const Routine &routine) {
  std::vector<uint32_t> readers(routine.blocks.count);
  std::vector<bool> isTouched(routine.blocks.count), isSum(routine.blocks.count);
  for (const Command &command : p.Commands().slice(routine.commands)) {
    auto blockOf = [&](uint32_t i) {
      return p.Buffers()[p.Views()[command.views.begin + i].buffer].block;
    };
    if (addsInPlace(p, command) && !isTouched[blockOf(kGemmAddend)])
      isSum[blockOf(kGemmAddend)] = true;
    for (uint32_t i = 0; i < command.views.count; ++i) {
      readers[blockOf(i)] += !writesView(p, command, i);
      isTouched[blockOf(i)] = true;
    }
  }
  std::vector<bool> result;
  for (uint32_t i = 0; i < routine.blocks.count; ++i)
    result.push_back(readers[i] == 1 && isSum[i]);
  return result;
}

Status checkStreams(const ProgramView &p, const Routine &routine, uint32_t &callStreams) {
  StreamOrder order(p, routine);
  for (uint32_t i = 0; i < routine.commands.count; ++i) {
    std::string fault = order.add(p.Commands()[routine.commands.begin + i]);
    if (!fault.empty())
      return Status::user("command " + std::to_string(i) + " " + fault);
  }
  callStreams = order.callStreams();
  if (callStreams == 0)
    return Status::user("it has no stream after whose record all others begin, and which waits "
                        "for all of them before the end");
  return {};
}

} // namespace

Status verifyRoutine(const ProgramView &p, const Routine &routine, RoutineNeeds &needs) {
  WEFT_TRY(checkShape(p, routine));
  WEFT_TRY(verifyCommands(p, CommandScope(routine)));
  needs.alignments.assign(routine.blocks.count, 1);
  for (const Command &command : p.Commands().slice(routine.commands))
    for (const View &view : p.Views().slice(command.views)) {
      unsigned &alignment = needs.alignments[p.Buffers()[view.buffer].block];
      alignment = std::max(alignment, dtypeBytes(view.dtype));
    }
  needs.uses = usesOf(p, routine);
  needs.mayBeUnset = addedOnce(p, routine);
  return checkStreams(p, routine, needs.callStreams);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {

/// A block as a call places it, in bytes from the arena's start.
struct Place {
  uint64_t begin, end;
  uint32_t block;
  bool isWritten;
};

std::vector<Place> placesOf(const CommandContext &c, const Routine &routine) {
  std::vector<Place> places;
  for (uint32_t i = 0; i < routine.blocks.count; ++i) {
    const View &view = c.view(i);
    uint64_t begin = c.program.Buffers()[view.buffer].offset + uint64_t(view.byteOffset);
    uint64_t bytes = uint64_t(c.program.ints(routine.blocks)[i]);
    if (bytes > 0)
      places.push_back({begin, begin + bytes, i, i >= routine.reads});
  }
  std::sort(places.begin(), places.end(), [](const Place &a, const Place &b) {
    return std::tie(a.begin, a.end, a.block) < std::tie(b.begin, b.end, b.block);
  });
  return places;
}

std::string faultOfSharing(const CommandContext &c, const Place &a, const Place &b) {
  const Place &written = b.isWritten ? b : a, &other = b.isWritten ? a : b;
  return "writes block " + c.num(written.block) + " at bytes [" + c.num(written.begin) + ", " +
         c.num(written.end) + ") of the arena, where block " + c.num(other.block) + " has [" +
         c.num(other.begin) + ", " + c.num(other.end) + ")";
}

/// Whether what commands use of the two blocks is apart, or used one after the other.
bool areApart(const RoutineNeeds &needs, const Place &a, const Place &b) {
  for (const RoutineNeeds::Use &x : needs.uses[a.block])
    for (const RoutineNeeds::Use &y : needs.uses[b.block]) {
      bool share = a.begin + x.begin < b.begin + y.end && b.begin + y.begin < a.begin + x.end;
      if (share && x.first <= y.last && y.first <= x.last)
        return false;
    }
  return true;
}

/// A written block shares bytes with others only where the routine uses them one after the other,
/// or where a result takes the place of its one operand.
std::string checkSharing(const CommandContext &c, const Routine &routine,
                         const RoutineNeeds &needs) {
  std::vector<Place> places = placesOf(c, routine);
  auto isAt = [](const Place &a, const Place &b) { return a.begin == b.begin && a.end == b.end; };
  for (size_t i = 0; i < places.size(); ++i) {
    const Place &place = places[i];
    for (size_t j = i + 1; j < places.size() && places[j].begin < place.end; ++j) {
      const Place &other = places[j];
      // No third block is at the same place; in order, it would be beside them.
      bool isInPlace = isAt(place, other) && place.isWritten != other.isWritten &&
                       (i == 0 || !isAt(places[i - 1], place)) &&
                       (j + 1 == places.size() || !isAt(places[j + 1], place)) && j == i + 1;
      if ((place.isWritten || other.isWritten) && !isInPlace && !areApart(needs, place, other))
        return faultOfSharing(c, place, other);
    }
  }
  return "";
}

/// Whether the caller gives a block of that number what it must be.
std::string checkBlock(const CommandContext &c, const Invoke &call, uint32_t block) {
  int64_t bytes = c.program.ints(c.program.Routines()[call.routine].blocks)[block];
  const View &view = c.view(block);
  if (!c.holdsBytes(block, bytes))
    return "gives block " + c.num(block) + " the bytes from " + c.num(view.byteOffset) +
           " of buffer " + c.num(view.buffer) + ", which has " +
           c.num(c.program.Buffers()[view.buffer].bytes) + "; it needs " + c.num(bytes);
  unsigned alignment = (*c.scope.needs)[call.routine].alignments[block];
  if (view.byteOffset % alignment != 0)
    return "begins block " + c.num(block) + " at byte " + c.num(view.byteOffset) + " of buffer " +
           c.num(view.buffer) + ", which is no multiple of " + c.num(alignment);
  return "";
}

/// Whether the routine can do without what the caller did not write.
std::string checkUnset(const CommandContext &c, const Invoke &call) {
  const Routine &routine = c.program.Routines()[call.routine];
  if (!inRange(call.unset, c.program.Ints().size()))
    return "leaves blocks unset in a list that does not exist";
  for (int64_t block : c.program.ints(call.unset))
    if (block < routine.reads || block >= routine.blocks.count ||
        !(*c.scope.needs)[call.routine].mayBeUnset[block])
      return "leaves block " + c.num(block) +
             " unset, with which its routine does not only add it to one product";
  return "";
}

} // namespace

std::string check(const CommandContext &c, const Invoke &call) {
  const ProgramView &p = c.program;
  if (c.scope.routine)
    return "is a call in a routine, which calls nothing";
  if (call.routine >= p.Routines().size() || call.label >= p.Strings().size())
    return "has a routine or a label that does not exist";
  const Routine &routine = p.Routines()[call.routine];
  if (c.numViews() != routine.blocks.count)
    return "gives " + c.num(c.numViews()) + " blocks to a routine of " +
           c.num(routine.blocks.count);
  if (routine.streams > c.scope.streams)
    return "needs " + c.num(routine.streams) + " streams of a body that has " +
           c.num(c.scope.streams);
  if (((*c.scope.needs)[call.routine].callStreams >> c.command.stream & 1) == 0)
    return "is of stream " + c.num(c.command.stream) +
           ", with which not all of the routine's streams begin and end";
  for (uint32_t i = 0; i < routine.blocks.count; ++i)
    if (std::string fault = checkBlock(c, call, i); !fault.empty())
      return fault;
  if (std::string fault = checkUnset(c, call); !fault.empty())
    return fault;
  return checkSharing(c, routine, (*c.scope.needs)[call.routine]);
}

std::string describe(const CommandContext &c, const Invoke &call) {
  std::string text = " " + c.str(c.program.Routines()[call.routine].name);
  if (!c.program.string(call.label).empty())
    text += " for " + c.str(call.label);
  if (call.microbatch != kNone)
    text += " microbatch " + c.num(call.microbatch);
  return text + (call.unset.count == 0 ? "" : " unset " + c.list(call.unset));
}

} // namespace weft::runtime
