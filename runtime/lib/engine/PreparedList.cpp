// Prepares the commands of bodies and routines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/PreparedList.h"

#include "program/commands/Issued.h"

#include <algorithm>

using namespace weft::runtime;

ListMaker::ListMaker(Device &device, const PrepareContext &context, bool keepsViews)
    : device(device), base(context), keepsViews(keepsViews) {
  uint32_t next = 0;
  for (const Body &body : base.program.Bodies())
    next = std::max(next, body.events);
  for (const Routine &routine : base.program.Routines()) {
    firstEvents.push_back(next);
    next += routine.events;
  }
  firstEvents.push_back(next);
}

Status ListMaker::make(const Body &body, PreparedList &list) {
  list.needs.resize(body.streams);
  for (uint32_t i = 0; i < body.commands.count; ++i) {
    const Command &command = base.program.Commands()[body.commands.begin + i];
    if (command.opcode == Opcode::Invoke)
      WEFT_TRY(addCall(command, i, list));
    else
      WEFT_TRY(addCommand({&command, i, nullptr, 0}, {}, {}, list));
  }
  return {};
}

Status ListMaker::addCommand(const Issued &issued, Table<uint64_t> blocks, Table<int64_t> unset,
                             PreparedList &list) {
  const Command &command = *issued.command;
  PrepareContext context = base;
  context.stream = command.stream;
  context.blocks = blocks;
  context.unset = unset;
  Status status;
  PreparedCommandPtr made = device.prepare(context, command, status);
  if (!status.ok())
    return status.prefix(issued.describe(base.program));
  PreparedList::Needs &needs = list.needs[command.stream];
  if (made)
    needs.scratch = std::max(needs.scratch, made->scratchBytes());
  needs.waits += command.opcode == Opcode::EventWait || (made && made->communicates());
  // A device that does not block comes back before other ranks have done their part.
  bool isSeen = keepsViews && made && (device.blocks() || !made->communicates());
  list.items.push_back({&command, std::move(made), nullptr,
                        isSeen ? viewsOf(context, command) : std::vector<SeenView>()});
  ++prepared;
  return {};
}

std::vector<SeenView> ListMaker::viewsOf(const PrepareContext &context,
                                         const Command &command) const {
  const ProgramView &p = base.program;
  std::vector<SeenView> views;
  for (uint32_t i = 0; i < command.views.count; ++i) {
    const View &view = p.Views()[command.views.begin + i];
    Id block = p.Buffers()[view.buffer].block;
    bool isWritten = writesView(p, command, i), isUnset = false;
    for (int64_t unset : context.unset)
      isUnset |= block != kNone && unset == int64_t(block);
    if (isWritten || !isUnset)
      views.push_back({ResolvedView(context, view), view.buffer, isWritten});
  }
  return views;
}

Status ListMaker::addCall(const Command &call, uint32_t index, PreparedList &list) {
  Binding binding;
  for (const View &view : base.program.Views().slice(call.views))
    binding.blocks.push_back(uint64_t(placeOf(base, view)));
  const Invoke &record = base.program.record<Invoke>(call);
  binding.routine = record.routine;
  Table<int64_t> unset = base.program.ints(record.unset);
  binding.unset.assign(unset.begin(), unset.end());
  auto [found, isNew] = routines.try_emplace(std::move(binding));
  const auto &[key, callee] = *found;
  if (isNew)
    WEFT_TRY(makeRoutine(call, index, key, found->second));
  for (size_t s = 0; s < callee.needs.size(); ++s) {
    list.needs[s].scratch = std::max(list.needs[s].scratch, callee.needs[s].scratch);
    list.needs[s].waits += callee.needs[s].waits;
  }
  list.items.push_back({&call, nullptr, &callee, {}});
  return {};
}

Status ListMaker::makeRoutine(const Command &call, uint32_t index, const Binding &binding,
                              PreparedList &list) {
  const Routine &routine = base.program.Routines()[binding.routine];
  list.needs.resize(routine.streams);
  list.firstEvent = firstEvents[binding.routine];
  for (uint32_t i = 0; i < routine.commands.count; ++i) {
    const Command &command = base.program.Commands()[routine.commands.begin + i];
    WEFT_TRY(addCommand({&command, i, &call, index}, {binding.blocks.data(), binding.blocks.size()},
                        {binding.unset.data(), binding.unset.size()}, list));
  }
  return {};
}
