// Who used which bytes last, to find commands that nothing orders.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_RT_VERIFY_LASTUSES_H
#define WEFT_PASSES_RT_VERIFY_LASTUSES_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <array>
#include <cstdint>
#include <map>

namespace weft::rt {

/// A vector clock: how many commands of each stream are known to be done.
using Clock = std::array<int64_t, 8>;

Clock join(Clock a, const Clock &b);

/// A command of a stream.
struct StreamCommand {
  unsigned stream;
  int64_t index; // in its stream
  Clock before;  // done before it starts
};

/// The last uses of each byte, by stream. Commands come in an order in which all that a command
/// waits for is before it. A write that is ordered behind all uses before it stands for them, since
/// what is ordered behind it is ordered behind them; so each byte has few uses to compare with,
/// however many commands run beside each other (FastTrack, Flanagan and Freund, PLDI 2009). Of
/// commands behind the first pair that is not ordered, some pairs may not be found.
class LastUses {
public:
  /// Notes that `command` reads or writes bytes [first, last), and calls `beside` for earlier
  /// commands of other streams that use some of them, not all only to read, and may still run.
  void use(std::pair<int64_t, int64_t> bytes, bool writes, const StreamCommand &command,
           llvm::function_ref<void(unsigned stream, int64_t index)> beside);

private:
  struct Segment {
    int64_t end;
    Clock read, written; // commands of each stream up to its last that does so
  };

  void splitAt(int64_t byte);

  std::map<int64_t, Segment> segments; // by their first byte
};

} // namespace weft::rt

#endif // WEFT_PASSES_RT_VERIFY_LASTUSES_H
