// Prepares a body's commands and issues them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/Executor.h"

#include "program/commands/Issued.h"

#include <thread>

using namespace weft::runtime;

Status PreparedBody::make(ListMaker &lists, const ProgramView &program, uint32_t programIndex,
                          const Body &body, PreparedBody &result) {
  result = {};
  result.program = &program;
  result.body = &body;
  result.programIndex = programIndex;
  return lists.make(body, result.list);
}

std::string PreparedBody::describe(uint64_t command) const {
  IssuedCommands issued(*program, *body);
  return command < issued.size() ? issued[command].describe(*program) : "the end";
}

Status PreparedBody::inject(Device &device, World &world, uint32_t command, StreamMark &mark,
                            const Injection &injection) const {
  WEFT_TRY(device.synchronize(0));
  mark.command.store(command, std::memory_order_relaxed);
  if (!injection.stall)
    return {StatusCode::RankFailed, describe(command) + ": failure injected by --inject"};
  while (!world.aborted())
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return World::stopped();
}

Status PreparedBody::issueOne(Device &device, const PreparedItem &item, const Walker &walker,
                              NumberCheck *numbers) const {
  const Command &command = *item.command;
  CommandPlace place{programIndex, walker.index()};
  if (command.opcode == Opcode::EventRecord) {
    uint32_t event = walker.eventOf(program->record<EventRecord>(command).event);
    return device.record(command.stream, event, walker.records(event));
  }
  if (command.opcode == Opcode::EventWait) {
    uint32_t event = walker.eventOf(program->record<EventWait>(command).event);
    return device.wait(command.stream, place, event, walker.records(event));
  }
  WEFT_TRY(device.issue(command.stream, place, *item.prepared));
  if (!numbers || item.views.empty())
    return {};
  // Of a device that does not block other streams may work between the elements of a view.
  for (unsigned stream = 0; stream < numStreams(); ++stream)
    if (stream == command.stream || !device.blocks())
      WEFT_TRY(device.synchronize(stream));
  return numbers->look(device, place, item.views);
}

Status PreparedBody::issue(Device &device, World &world, unsigned stream,
                           std::vector<uint64_t> &records, StreamMark &first,
                           const Injection &injection, NumberCheck *numbers) const {
  Walker walker(*program, list, stream, records);
  while (true) {
    // Before anything is read of the program: after an abort the caller may have
    // given this thread up, and freed the blob.
    if (world.aborted())
      return World::stopped();
    const PreparedItem *item = walker.next();
    if (!item)
      break;
    bool isRecord = item->command->opcode == Opcode::EventRecord;
    if (!isRecord && injection.command == int64_t(walker.index()) && item->command->stream == 0)
      return inject(device, world, walker.index(), first, injection);
    Status status = issueOne(device, *item, walker, numbers);
    if (!status.ok())
      return world.aborted() ? World::stopped() : status.prefix(describe(walker.index()));
  }
  return {};
}

Status PreparedBody::finish(Device &device, unsigned stream) const {
  for (unsigned s = 0; s < numStreams(); ++s)
    if (stream == s || stream == Walker::kEveryStream)
      WEFT_TRY(device.finish(s));
  return {};
}
