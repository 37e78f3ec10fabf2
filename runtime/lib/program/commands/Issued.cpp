// Numbers and names of commands that are issued.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program/commands/Issued.h"

#include <algorithm>

using namespace weft::runtime;

/// What a call adds to messages: "h.5, microbatch 2".
static std::string detailOf(const ProgramView &p, const Invoke &call) {
  std::string text(p.string(call.label));
  if (call.microbatch != kNone)
    text += (text.empty() ? "" : ", ") + ("microbatch " + std::to_string(call.microbatch));
  return text;
}

std::string weft::runtime::describeCall(const ProgramView &p, const Command &call, uint32_t index) {
  const Invoke &record = p.record<Invoke>(call);
  std::string detail = detailOf(p, record);
  return "call " + std::to_string(index) + " of " +
         std::string(p.string(p.Routines()[record.routine].name)) +
         (detail.empty() ? "" : " (" + detail + ")");
}

std::string Issued::node(const ProgramView &p) const {
  std::string name(p.string(command->node));
  if (!call)
    return name;
  std::string_view label = p.string(p.record<Invoke>(*call).label);
  for (size_t at = name.find("{}"); at != std::string::npos; at = name.find("{}", at)) {
    name.replace(at, 2, label);
    at += label.size();
  }
  return name;
}

uint64_t weft::runtime::bytesOf(const ProgramView &p, const Command &command) {
  uint64_t bytes = 0;
  for (const View &view : p.Views().slice(command.views)) {
    uint64_t size = dtypeBytes(view.dtype);
    for (size_t d = 0; d < p.ints(view.sizes).size(); ++d)
      size *= p.ints(view.strides)[d] ? p.ints(view.sizes)[d] : 1;
    bytes += size;
  }
  return bytes;
}

std::string_view Issued::action(const ProgramView &p) const {
  std::string_view own = p.string(command->action);
  return own.empty() && call ? p.string(call->action) : own;
}

/// " send to stage 1 on 'F1.x'".
static std::string describe(const ProgramView &p, const Collective &c) {
  std::string text = std::string(" ") + collectiveKindName(c.kind);
  bool isTransfer = c.kind == CollectiveKind::Send || c.kind == CollectiveKind::Recv;
  if (!isTransfer || p.string(c.channel).empty())
    return text;
  return text + (c.kind == CollectiveKind::Send ? " to stage " : " from stage ") +
         std::to_string(c.peer) + " on '" + std::string(p.string(c.channel)) + "'";
}

std::string Issued::describe(const ProgramView &p) const {
  std::string text = "command " + std::to_string(index) + " (" + opcodeName(command->opcode);
  if (command->opcode == Opcode::Collective)
    text += ::describe(p, p.record<Collective>(*command));
  std::string name = node(p);
  if (!name.empty())
    text += " of node '" + name + "'";
  return text + ")" + (call ? " in " + describeCall(p, *call, callIndex) : "");
}

IssuedCommands::IssuedCommands(const ProgramView &program, const Body &body)
    : program(program), commands(program.Commands().slice(body.commands)) {
  uint64_t number = 0;
  for (const Command &command : commands) {
    begins.push_back(number);
    number += command.opcode == Opcode::Invoke
                  ? program.Routines()[program.record<Invoke>(command).routine].commands.count
                  : 1;
  }
  begins.push_back(number);
}

Issued IssuedCommands::operator[](uint64_t number) const {
  auto after = std::upper_bound(begins.begin(), begins.end(), number);
  auto index = uint32_t(after - begins.begin() - 1);
  const Command &command = commands[index];
  if (command.opcode != Opcode::Invoke)
    return {&command, index, nullptr, 0};
  const Routine &routine = program.Routines()[program.record<Invoke>(command).routine];
  auto inside = uint32_t(number - begins[index]);
  return {&program.Commands()[routine.commands.begin + inside], inside, &command, index};
}
