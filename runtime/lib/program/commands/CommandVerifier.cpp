// Checks of the commands: what all of them must hold.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program/Action.h"
#include "program/commands/CommandRules.h"
#include "program/commands/Issued.h"

#include <algorithm>

using namespace weft::runtime;

namespace {

/// Records of the opcode's kind.
size_t numRecords(const ProgramView &p, Opcode opcode) {
  switch (opcode) {
#define WEFT_COUNT(RECORD, NAME, VIEWS)                                                            \
  case Opcode::RECORD:                                                                             \
    return p.records<RECORD>().size();
    WEFT_COMMANDS(WEFT_COUNT)
#undef WEFT_COUNT
  }
  return 0;
}

/// Bytes of the memory that the block, or kNone for the arena, names in the scope.
std::optional<uint64_t> spaceBytes(const ProgramView &p, const CommandScope &scope, Id block) {
  if (!scope.routine)
    return block == kNone ? std::optional(scope.arenaBytes) : std::nullopt;
  Table<int64_t> blocks = p.ints(scope.routine->blocks);
  return block < blocks.size() ? std::optional(uint64_t(blocks[block])) : std::nullopt;
}

/// The buffer lies where commands of the scope may reach.
std::string faultOfBuffer(const ProgramView &p, const CommandScope &scope, Id id) {
  const Buffer &buffer = p.Buffers()[id];
  std::string name = "buffer " + std::to_string(id);
  auto space = spaceBytes(p, scope, buffer.block);
  if (!space)
    return "uses " + name + ", which lies in " +
           (buffer.block == kNone ? "the arena" : "block " + std::to_string(buffer.block)) +
           " and so not in " + (scope.routine ? "a block of its routine" : "the arena");
  if (buffer.offset + buffer.bytes > *space)
    return "uses " + name + ", which ends at byte " + std::to_string(buffer.offset + buffer.bytes) +
           " of the " + std::to_string(*space) + " of its " + (scope.routine ? "block" : "arena");
  return "";
}

/// What it names exists.
bool isView(const ProgramView &p, const View &v) {
  return v.buffer < p.Buffers().size() && unsigned(v.dtype) < kNumDTypes &&
         v.sizes.count <= kMaxTensorRank && v.sizes.count == v.strides.count &&
         inRange(v.sizes, p.Ints().size()) && inRange(v.strides, p.Ints().size());
}

/// Every element of the view lies in its buffer.
bool isInBuffer(const ProgramView &p, const View &v) {
  const Buffer &buffer = p.Buffers()[v.buffer];
  int64_t bytes = dtypeBytes(v.dtype);
  if (v.byteOffset % bytes != 0 || !checkedProduct(p.ints(v.sizes)))
    return false;
  if (v.byteOffset > INT64_MAX / 2 || v.byteOffset < INT64_MIN / 2)
    return false;
  int64_t low = v.byteOffset, high = v.byteOffset + bytes;
  bool empty = false;
  for (uint32_t d = 0; d < v.sizes.count; ++d) {
    int64_t size = p.ints(v.sizes)[d], stride = p.ints(v.strides)[d], reach;
    if (size == 0) {
      empty = true;
      continue;
    }
    if (__builtin_mul_overflow(size - 1, stride, &reach) ||
        __builtin_mul_overflow(reach, bytes, &reach) ||
        __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
      return false;
  }
  return empty || (low >= 0 && uint64_t(high) <= buffer.bytes);
}

std::string faultOfView(const ProgramView &p, const CommandScope &scope, const View &view) {
  if (!isView(p, view) || !isInBuffer(p, view))
    return "has a view outside of its buffer";
  return faultOfBuffer(p, scope, view.buffer);
}

/// A routine leaves alone what its callers do not expect to be written.
std::string faultOfWrites(const ProgramView &p, const CommandScope &scope, const Command &command) {
  for (uint32_t i = 0; scope.routine && i < command.views.count; ++i) {
    Id block = p.Buffers()[p.Views()[command.views.begin + i].buffer].block;
    if (block < scope.routine->reads && writesView(p, command, i))
      return "writes block " + std::to_string(block) + " of its routine, which is only read";
  }
  return "";
}

std::string faultOf(const ProgramView &p, const CommandScope &scope, const Command &command) {
  if (unsigned(command.opcode) >= kNumOpcodes)
    return "has an unknown opcode";
  if (command.stream >= scope.streams || command.node >= p.Strings().size() ||
      !inRange(command.views, p.Views().size()))
    return "refers to something that does not exist";
  if (command.action >= p.Strings().size())
    return "refers to something that does not exist";
  if (Action action; !p.string(command.action).empty() && !parse(p.string(command.action), action))
    return "is of action '" + std::string(p.string(command.action)) +
           "', which is none such as 'F0.3'";
  for (const View &view : p.Views().slice(command.views))
    if (std::string fault = faultOfView(p, scope, view); !fault.empty())
      return fault;
  if (command.params >= numRecords(p, command.opcode))
    return "has parameters that do not exist";
  ViewRoles roles = viewRoles(command.opcode);
  if (!roles.isList && (command.views.count < roles.least || command.views.count > roles.most))
    return "has the wrong number of views";
  CommandContext context(p, scope, command);
  std::string fault =
      visitRecord(p, command, [&](const auto &record) { return check(context, record); });
  return fault.empty() ? faultOfWrites(p, scope, command) : fault;
}

/// Names a command of which nothing is known to be right.
std::string nameOf(const ProgramView &p, const Command &command, uint32_t index) {
  if (command.opcode == Opcode::Invoke && command.params < p.records<Invoke>().size()) {
    const Invoke &call = p.record<Invoke>(command);
    if (call.routine < p.Routines().size() && call.label < p.Strings().size())
      return describeCall(p, command, index);
  }
  std::string name = "command " + std::to_string(index) + " (" + opcodeName(command.opcode);
  if (command.node < p.Strings().size() && !p.string(command.node).empty())
    name += " of node '" + std::string(p.string(command.node)) + "'";
  return name + ")";
}

/// A wait counts records; two recorders could overtake each other.
std::string faultOfRecord(const ProgramView &p, const Command &command,
                          std::vector<uint32_t> &recorders) {
  if (command.opcode != Opcode::EventRecord)
    return "";
  uint32_t event = p.record<EventRecord>(command).event;
  uint32_t first = recorders[event] == kNone ? command.stream : recorders[event];
  recorders[event] = first;
  return first == command.stream ? ""
                                 : "records event " + std::to_string(event) + " on stream " +
                                       std::to_string(command.stream) + ", which stream " +
                                       std::to_string(first) + " records, too";
}

} // namespace

bool CommandContext::sameSizes(uint32_t i, uint32_t j) const {
  return std::equal(sizes(i).begin(), sizes(i).end(), sizes(j).begin(), sizes(j).end());
}

bool CommandContext::isRowMajor(uint32_t i) const {
  int64_t expected = 1;
  for (uint32_t d = view(i).sizes.count; d-- > 0; expected *= sizes(i)[d])
    if (sizes(i)[d] != 1 && program.ints(view(i).strides)[d] != expected)
      return false;
  return true;
}

bool CommandContext::holds(uint32_t i, std::optional<int64_t> elements) const {
  auto bytes = elements ? checkedProduct(*elements, dtypeBytes(view(i).dtype)) : std::nullopt;
  return bytes && holdsBytes(i, *bytes);
}

bool CommandContext::holdsBytes(uint32_t i, int64_t bytes) const {
  const View &v = view(i);
  auto end = checkedSum(bytes, v.byteOffset);
  return v.byteOffset >= 0 && end && uint64_t(*end) <= program.Buffers()[v.buffer].bytes;
}

int64_t CommandContext::shard(Table<uint32_t> axes, int64_t extent) const {
  for (uint32_t axis : axes) {
    int64_t n = program.MeshAxes()[axis].size;
    extent = extent / n + (extent % n != 0);
  }
  return extent;
}

Status weft::runtime::verifyCommands(const ProgramView &p, const CommandScope &scope) {
  if (!inRange(scope.commands, p.Commands().size()) || scope.streams < 1 ||
      scope.streams > kMaxStreams || scope.events > kMaxEvents)
    return Status::user("it has commands, streams or events that do not exist");
  std::vector<uint32_t> recorders(scope.events, kNone);
  for (uint32_t i = 0; i < scope.commands.count; ++i) {
    const Command &command = p.Commands()[scope.commands.begin + i];
    std::string fault = faultOf(p, scope, command);
    if (fault.empty())
      fault = faultOfRecord(p, command, recorders);
    if (!fault.empty())
      return Status::user(nameOf(p, command, i) + " " + fault);
  }
  return {};
}
