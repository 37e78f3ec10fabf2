// Prepares a body's commands and issues them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/Executor.h"

#include <algorithm>
#include <thread>

using namespace weft::runtime;

std::string weft::runtime::describeCommand(const ProgramView &p, const Command &command,
                                           uint64_t index) {
  std::string text = "command " + std::to_string(index) + " (" + opcodeName(command.opcode);
  if (command.opcode == Opcode::Collective)
    text += std::string(" ") + collectiveKindName(p.Collectives()[command.params].kind);
  std::string_view node = p.string(command.node);
  if (!node.empty())
    text += " of node '" + std::string(node) + "'";
  return text + ")";
}

Status PreparedBody::make(Device &device, uint32_t programIndex, const Body &body,
                          const PrepareContext &base, PreparedBody &result) {
  const ProgramView &program = base.program;
  result = {};
  result.program = &program;
  result.programIndex = programIndex;
  result.streams = body.streams;
  result.events = body.events;
  result.scratch.assign(body.streams, 0);
  std::vector<uint32_t> open;
  std::vector<uint32_t> recorder(body.events, kNone);
  Table<Command> commands = program.Commands().slice(body.commands);
  for (uint32_t i = 0; i < commands.size(); ++i) {
    const Command &command = commands[i];
    BodyItem item{&command, nullptr, {}, 0};
    PrepareContext context = base;
    context.stream = command.stream;
    Status status;
    item.prepared = device.prepare(context, command, status);
    if (!status.ok())
      return status.prefix(describeCommand(program, command, i));
    if (item.prepared)
      result.scratch[command.stream] =
          std::max(result.scratch[command.stream], item.prepared->scratchBytes());
    switch (command.opcode) {
    case Opcode::RepeatBegin:
      item.count =
          ResolvedValue(context, program.ScalarValues()[program.Repeats()[command.params].count]);
      open.push_back(i);
      break;
    case Opcode::RepeatEnd:
      result.items[open.back()].match = i;
      open.pop_back();
      break;
    case Opcode::EventRecord:
      // A wait counts records; two recorders could overtake each other.
      if (recorder[command.params] != kNone && recorder[command.params] != command.stream)
        return Status::internal("event " + std::to_string(command.params) +
                                " is recorded on two streams");
      recorder[command.params] = command.stream;
      break;
    default:
      break;
    }
    result.items.push_back(std::move(item));
  }
  return {};
}

std::string PreparedBody::describe(uint64_t command) const {
  if (command >= items.size())
    return "the end";
  return describeCommand(*program, *items[command].command, command);
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

Status PreparedBody::issueOne(Device &device, const BodyItem &item, const Walker &walker) const {
  const Command &command = *item.command;
  CommandPlace place{programIndex, walker.index()};
  switch (command.opcode) {
  case Opcode::EventRecord:
    return device.record(command.stream, command.params, walker.records(item));
  case Opcode::EventWait:
    return device.wait(command.stream, place, command.params, walker.records(item));
  default:
    return device.issue(command.stream, place, *item.prepared, walker.scalars());
  }
}

Status PreparedBody::issue(Device &device, World &world, unsigned stream, IssuerState &state,
                           StreamMark &first, const Injection &injection) const {
  Walker walker(*program, items, stream, state.scalars, state.records);
  while (true) {
    // Before anything is read of the program: after an abort the caller may have
    // given this thread up, and freed the blob.
    if (world.aborted())
      return World::stopped();
    const BodyItem *item = walker.next();
    if (!item)
      break;
    bool records = item->command->opcode == Opcode::EventRecord;
    if (!records && injection.command == int64_t(walker.index()) && item->command->stream == 0)
      return inject(device, world, walker.index(), first, injection);
    Status status = issueOne(device, *item, walker);
    if (!status.ok())
      return world.aborted() ? World::stopped() : status.prefix(describe(walker.index()));
  }
  for (unsigned s = 0; s < streams; ++s)
    if (stream == s || stream == Walker::kEveryStream)
      WEFT_TRY(device.finish(s));
  return {};
}
