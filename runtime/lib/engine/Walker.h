// Follows a body's control: repeats, predicates, scalars, counts of events.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_WALKER_H
#define WEFT_RUNTIME_LIB_WALKER_H

#include "device/Device.h"

namespace weft::runtime {

/// A command of a body, made ready for one rank.
struct BodyItem {
  const Command *command;
  PreparedCommandPtr prepared; // null for opcodes of control
  ResolvedValue count;         // RepeatBegin
  uint32_t match = 0;          // RepeatBegin: its end
};

/// Gives the commands of a run one after another. What they depend on is a
/// function of the host alone, so a walker for one stream and one for all
/// streams pass by the same commands, with the same scalars, and streams need
/// not talk about control. Allocates nothing.
class Walker {
public:
  static constexpr unsigned kEveryStream = ~0u;

  /// Walks over the commands of `stream`, or of all. `scalars` are changed on
  /// the way; `records`, one for each event, counts its records.
  Walker(const ProgramView &program, const std::vector<BodyItem> &items, unsigned stream,
         std::vector<uint64_t> &scalars, std::vector<uint64_t> &records);

  /// The next command that a device runs, records or waits for; null at the end.
  const BodyItem *next();
  /// Of what `next` gave.
  uint32_t index() const { return at - 1; }
  const uint64_t *scalars() const { return values; }
  /// Records so far, in the order of the list, of the event that `next` gave.
  uint64_t records(const BodyItem &item) const { return counts[item.command->params]; }

private:
  struct Loop {
    uint32_t begin;
    int64_t index, count;
  };
  static constexpr unsigned kMaxRepeatDepth = 8; // as the verifier allows

  void beginRepeat(const BodyItem &item);
  void endRepeat();
  void setCounter(const Command &repeat, int64_t value);
  bool holds(const Command &command) const;
  void update(const ScalarUpdate &update);

  const ProgramView &program;
  const std::vector<BodyItem> &items;
  unsigned stream;
  uint64_t *values, *counts;
  uint32_t at = 0; // what comes next
  Loop loops[kMaxRepeatDepth];
  unsigned depth = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_WALKER_H
