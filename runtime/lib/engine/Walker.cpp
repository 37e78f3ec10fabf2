// Walks over a body's commands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/Walker.h"

#include <algorithm>
#include <cstring>

using namespace weft::runtime;

namespace {

uint64_t updatedFloat(ScalarOp op, uint64_t target, uint64_t operand) {
  double value, by;
  std::memcpy(&value, &target, sizeof value);
  std::memcpy(&by, &operand, sizeof by);
  switch (op) {
  case ScalarOp::Set:
  case ScalarOp::Remainder: // integers only
    value = by;
    break;
  case ScalarOp::Add:
    value += by;
    break;
  case ScalarOp::Multiply:
    value *= by;
    break;
  case ScalarOp::Equal:
    value = value == by;
    break;
  case ScalarOp::Less:
    value = value < by;
    break;
  }
  std::memcpy(&target, &value, sizeof value);
  return target;
}

uint64_t updatedInteger(ScalarOp op, uint64_t value, uint64_t operand) {
  // Unsigned arithmetic wraps instead of overflowing.
  switch (op) {
  case ScalarOp::Set:
    value = operand;
    break;
  case ScalarOp::Add:
    value += operand;
    break;
  case ScalarOp::Multiply:
    value *= operand;
    break;
  case ScalarOp::Remainder:
    value =
        operand == 0 || operand == ~uint64_t(0) ? 0 : uint64_t(int64_t(value) % int64_t(operand));
    break;
  case ScalarOp::Equal:
    value = value == operand;
    break;
  case ScalarOp::Less:
    value = int64_t(value) < int64_t(operand);
    break;
  }
  return value;
}

} // namespace

Walker::Walker(const ProgramView &program, const std::vector<BodyItem> &items, unsigned stream,
               std::vector<uint64_t> &scalars, std::vector<uint64_t> &records)
    : program(program), items(items), stream(stream), values(scalars.data()),
      counts(records.data()) {
  std::fill(records.begin(), records.end(), 0);
}

const BodyItem *Walker::next() {
  while (at < items.size()) {
    const BodyItem &item = items[at++];
    const Command &command = *item.command;
    switch (command.opcode) {
    case Opcode::RepeatBegin:
      beginRepeat(item);
      continue;
    case Opcode::RepeatEnd:
      endRepeat();
      continue;
    case Opcode::ScalarUpdate:
      if (holds(command))
        update(program.ScalarUpdates()[command.params]);
      continue;
    default:
      break;
    }
    bool mine = stream == kEveryStream || command.stream == stream;
    bool records = command.opcode == Opcode::EventRecord;
    if ((!mine && !records) || !holds(command))
      continue;
    if (records)
      ++counts[command.params];
    if (mine)
      return &item;
  }
  return nullptr;
}

void Walker::beginRepeat(const BodyItem &item) {
  int64_t count = item.count.get(values);
  if (count <= 0) {
    at = item.match + 1;
    return;
  }
  loops[depth++] = {at, 0, count};
  setCounter(*item.command, 0);
}

void Walker::endRepeat() {
  Loop &loop = loops[depth - 1];
  if (++loop.index == loop.count) {
    --depth;
    return;
  }
  at = loop.begin;
  setCounter(*items[at - 1].command, loop.index);
}

void Walker::setCounter(const Command &repeat, int64_t value) {
  Id counter = program.Repeats()[repeat.params].counter;
  if (counter != kNone)
    values[counter] = uint64_t(value);
}

bool Walker::holds(const Command &command) const {
  return command.predicate == kNone ||
         (values[command.predicate] != 0) != (command.predicateInverted != 0);
}

void Walker::update(const ScalarUpdate &update) {
  uint64_t operand = update.operand == kNone ? update.immediate : values[update.operand];
  uint64_t &target = values[update.target];
  bool isFloat = program.Scalars()[update.target].kind == ScalarKind::F64;
  target = isFloat ? updatedFloat(update.op, target, operand)
                   : updatedInteger(update.op, target, operand);
}
