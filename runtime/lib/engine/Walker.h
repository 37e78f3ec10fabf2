// Gives the commands of a body to whoever issues them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_ENGINE_WALKER_H
#define WEFT_RUNTIME_LIB_ENGINE_WALKER_H

#include "engine/PreparedList.h"

namespace weft::runtime {

/// Gives the commands of a run one after another, those of routines where they are called.
/// Which record a wait belongs to is a function of the list alone, so a walker for one stream
/// and one for all streams count the same, however far one call is behind another. Allocates
/// nothing.
class Walker {
public:
  static constexpr unsigned kEveryStream = ~0u;

  /// Walks over the commands of `stream`, or of all. `records`, one for each event, counts its
  /// records.
  Walker(const ProgramView &program, const PreparedList &body, unsigned stream,
         std::vector<uint64_t> &records);

  /// The next command that a device runs, records or waits for; null at the end.
  const PreparedItem *next();
  /// Of what `next` gave: its number among all that the run issues (Issued.h).
  uint32_t index() const { return number - 1; }
  /// The rank's number of an event that what `next` gave records or waits for.
  uint32_t eventOf(uint32_t event) const { return list->firstEvent + event; }
  /// Records of the rank's event so far, in the order of the list.
  uint64_t records(uint32_t event) const { return counts[event]; }

private:
  /// Leaves a call that is over; false at the end of all.
  bool comeBack();

  const ProgramView &program;
  const PreparedList &body;
  const PreparedList *list; // the body, or what it calls
  unsigned stream;
  uint64_t *counts;
  size_t at = 0, returnTo = 0; // what comes next in the list, and behind the call
  uint32_t number = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_ENGINE_WALKER_H
