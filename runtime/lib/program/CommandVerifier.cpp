// Checks of the commands: what all of them must hold.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program/CommandRules.h"

#include <algorithm>

using namespace weft::runtime;

namespace {

constexpr uint32_t kMaxStreams = 8;
constexpr uint32_t kMaxEvents = 1u << 20;

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

/// Every element of the view lies in its buffer.
bool isView(const ProgramView &p, const View &v, uint64_t arenaBytes) {
  if (v.buffer >= p.Buffers().size() || unsigned(v.dtype) >= kNumDTypes ||
      v.sizes.count > kMaxTensorRank || v.sizes.count != v.strides.count ||
      !inRange(v.sizes, p.Ints().size()) || !inRange(v.strides, p.Ints().size()))
    return false;
  const Buffer &buffer = p.Buffers()[v.buffer];
  int64_t bytes = dtypeBytes(v.dtype);
  if (buffer.offset + buffer.bytes > arenaBytes || v.byteOffset % bytes != 0 ||
      !checkedProduct(p.ints(v.sizes)))
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

std::string faultOf(const ProgramView &p, const Body &body, const Command &command,
                    uint64_t arenaBytes) {
  if (unsigned(command.opcode) >= kNumOpcodes)
    return "has an unknown opcode";
  if (command.stream >= body.streams || command.node >= p.Strings().size() ||
      !inRange(command.views, p.Views().size()))
    return "refers to something that does not exist";
  for (const View &view : p.Views().slice(command.views))
    if (!isView(p, view, arenaBytes))
      return "has a view outside of its buffer";
  if (command.params >= numRecords(p, command.opcode))
    return "has parameters that do not exist";
  ViewRoles roles = viewRoles(command.opcode);
  if (!roles.isList && (command.views.count < roles.least || command.views.count > roles.most))
    return "has the wrong number of views";
  CommandContext context(p, body, command);
  return visitRecord(p, command, [&](const auto &record) { return check(context, record); });
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
  const View &v = view(i);
  if (!elements)
    return false;
  auto bytes = checkedProduct(*elements, dtypeBytes(v.dtype));
  auto end = bytes ? checkedSum(*bytes, v.byteOffset) : std::nullopt;
  return v.byteOffset >= 0 && end && uint64_t(*end) <= program.Buffers()[v.buffer].bytes;
}

int64_t CommandContext::shard(Table<uint32_t> axes, int64_t extent) const {
  for (uint32_t axis : axes) {
    int64_t n = program.MeshAxes()[axis].size;
    extent = extent / n + (extent % n != 0);
  }
  return extent;
}

Status weft::runtime::verifyBody(const ProgramView &p, const Body &body, uint64_t arenaBytes) {
  if (!inRange(body.commands, p.Commands().size()) || body.streams < 1 ||
      body.streams > kMaxStreams || body.events > kMaxEvents)
    return Status::user("a body has commands, streams or events that do not exist");
  for (uint32_t i = 0; i < body.commands.count; ++i) {
    const Command &command = p.Commands()[body.commands.begin + i];
    std::string fault = faultOf(p, body, command, arenaBytes);
    if (fault.empty())
      continue;
    std::string where = "command " + std::to_string(i) + " (" + opcodeName(command.opcode);
    if (command.node < p.Strings().size() && !p.string(command.node).empty())
      where += " of node '" + std::string(p.string(command.node)) + "'";
    return Status::user(where + ") " + fault);
  }
  return {};
}
