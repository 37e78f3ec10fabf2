// Walks over a body's commands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/Walker.h"

#include <algorithm>

using namespace weft::runtime;

Walker::Walker(const ProgramView &program, const std::vector<BodyItem> &items, unsigned stream,
               std::vector<uint64_t> &records)
    : program(program), items(items), stream(stream), counts(records.data()) {
  std::fill(records.begin(), records.end(), 0);
}

const BodyItem *Walker::next() {
  while (at < items.size()) {
    const BodyItem &item = items[at++];
    const Command &command = *item.command;
    if (command.opcode == Opcode::EventRecord)
      ++counts[program.record<EventRecord>(command).event];
    if (stream == kEveryStream || command.stream == stream)
      return &item;
  }
  return nullptr;
}
