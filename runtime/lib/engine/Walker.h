// Gives the commands of a body to whoever issues them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_WALKER_H
#define WEFT_RUNTIME_LIB_WALKER_H

#include "device/Device.h"

namespace weft::runtime {

/// A command of a body, made ready for one rank.
struct BodyItem {
  const Command *command;
  PreparedCommandPtr prepared; // null for events
};

/// Gives the commands of a run one after another. Which record a wait belongs to is a
/// function of the list alone, so a walker for one stream and one for all
/// streams count the same. Allocates nothing.
class Walker {
public:
  static constexpr unsigned kEveryStream = ~0u;

  /// Walks over the commands of `stream`, or of all. `records`, one for each event, counts its
  /// records.
  Walker(const ProgramView &program, const std::vector<BodyItem> &items, unsigned stream,
         std::vector<uint64_t> &records);

  /// The next command that a device runs, records or waits for; null at the end.
  const BodyItem *next();
  /// Of what `next` gave.
  uint32_t index() const { return at - 1; }
  /// Records so far, in the order of the list.
  uint64_t records(uint32_t event) const { return counts[event]; }

private:
  const ProgramView &program;
  const std::vector<BodyItem> &items;
  unsigned stream;
  uint64_t *counts;
  uint32_t at = 0; // what comes next
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_WALKER_H
