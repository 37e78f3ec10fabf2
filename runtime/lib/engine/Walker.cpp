// Walks over a body's commands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/Walker.h"

#include <algorithm>

using namespace weft::runtime;

Walker::Walker(const ProgramView &program, const PreparedList &body, unsigned stream,
               std::vector<uint64_t> &records)
    : program(program), body(body), list(&body), stream(stream), counts(records.data()) {
  std::fill(records.begin(), records.end(), 0);
}

bool Walker::comeBack() {
  if (list == &body)
    return false;
  list = &body;
  at = returnTo;
  return true;
}

const PreparedItem *Walker::next() {
  while (at < list->items.size() || comeBack()) {
    if (at == list->items.size())
      continue; // the call was the last command
    const PreparedItem &item = list->items[at++];
    if (item.callee) {
      returnTo = at;
      list = item.callee;
      at = 0;
      continue;
    }
    ++number;
    const Command &command = *item.command;
    if (command.opcode == Opcode::EventRecord)
      ++counts[eventOf(program.record<EventRecord>(command).event)];
    if (stream == kEveryStream || command.stream == stream)
      return &item;
  }
  return nullptr;
}
