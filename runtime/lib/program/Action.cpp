// Reads names of actions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program/Action.h"

#include "program/commands/Issued.h"

#include <charconv>
#include <map>

using namespace weft::runtime;

bool weft::runtime::parse(std::string_view text, Action &action) {
  if (text.empty() || std::string_view("FBWD").find(text[0]) == std::string_view::npos)
    return false;
  action.kind = text[0];
  const char *end = text.data() + text.size();
  auto chunk = std::from_chars(text.data() + 1, end, action.chunk);
  if (chunk.ec != std::errc() || chunk.ptr == end || *chunk.ptr != '.')
    return false;
  auto microbatch = std::from_chars(chunk.ptr + 1, end, action.microbatch);
  return microbatch.ec == std::errc() && microbatch.ptr == end;
}

std::vector<Action> weft::runtime::actionsOf(const ProgramView &p, const Body &body) {
  std::map<std::string_view, uint64_t> last; // command of an action
  IssuedCommands issued(p, body);
  for (uint64_t i = 0; i < issued.size(); ++i) {
    Issued one = issued[i];
    if (one.command->stream == 0 && one.command->opcode != Opcode::Collective &&
        !one.action(p).empty())
      last[one.action(p)] = i;
  }
  std::map<uint64_t, Action> inOrder;
  for (auto [name, command] : last)
    parse(name, inOrder[command]);
  std::vector<Action> result;
  for (const auto &[command, action] : inOrder)
    result.push_back(action);
  return result;
}
