// Who used which bytes last, to find commands that nothing orders.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/verify/LastUses.h"

#include <algorithm>

using namespace weft::rt;

Clock weft::rt::join(Clock a, const Clock &b) {
  for (unsigned s = 0; s < a.size(); ++s)
    a[s] = std::max(a[s], b[s]);
  return a;
}

void LastUses::use(std::pair<int64_t, int64_t> bytes, bool writes, const StreamCommand &command,
                   llvm::function_ref<void(unsigned stream, int64_t index)> beside) {
  auto [begin, end] = bytes;
  if (begin == end)
    return;
  auto compareWith = [&](const Clock &uses) {
    for (unsigned stream = 0; stream < uses.size(); ++stream)
      if (stream != command.stream && uses[stream] > command.before[stream])
        beside(stream, uses[stream] - 1);
  };
  splitAt(begin);
  splitAt(end);
  auto it = segments.lower_bound(begin);
  for (int64_t at = begin; at < end; at = it->second.end, ++it) {
    int64_t next = it == segments.end() ? end : std::min(end, it->first);
    if (next > at)
      it = segments.insert(it, {at, {next, {}, {}}});
    compareWith(it->second.written);
    if (writes)
      compareWith(it->second.read);
    else
      it->second.read[command.stream] = command.index + 1;
  }
  if (!writes)
    return;
  it = segments.erase(segments.find(begin), it);
  Segment &written = segments.insert(it, {begin, {end, {}, {}}})->second;
  written.written[command.stream] = command.index + 1;
}

void LastUses::splitAt(int64_t byte) {
  auto next = segments.lower_bound(byte);
  if (next == segments.begin())
    return;
  Segment &before = std::prev(next)->second;
  if (before.end <= byte)
    return;
  segments.insert(next, {byte, before});
  before.end = byte;
}
