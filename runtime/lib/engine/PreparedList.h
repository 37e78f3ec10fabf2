// Lists of commands made ready for one rank.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_ENGINE_PREPAREDLIST_H
#define WEFT_RUNTIME_LIB_ENGINE_PREPAREDLIST_H

#include "device/NumberCheck.h"

#include <map>
#include <tuple>

namespace weft::runtime {

struct Issued;
struct PreparedList;

/// A command of a list, or a call of another list.
struct PreparedItem {
  const Command *command;
  PreparedCommandPtr prepared; // null for events and calls
  const PreparedList *callee;  // of a call, else null
  std::vector<SeenView> views; // none unless numbers are looked at
};

/// The commands of a body, or of a routine whose blocks lie in certain places. A routine's
/// has no calls.
struct PreparedList {
  /// What a run of it needs of a stream.
  struct Needs {
    uint64_t scratch = 0; // bytes
    size_t waits = 0;     // commands that wait for other streams or ranks
  };
  std::vector<PreparedItem> items;
  std::vector<Needs> needs; // by stream, of what it calls, too
  uint32_t firstEvent = 0;  // the rank's number of its event 0
};

/// Makes the lists of one rank. A routine is prepared once for each distinct list of places of its
/// blocks, and of those that are unset, by whatever programs and however many calls it is used: so
/// every address is fixed before a run, and what is kept does not grow with microbatches that share
/// memory.
class ListMaker {
public:
  /// `keepsViews`: for a NumberCheck.
  ListMaker(Device &device, const PrepareContext &context, bool keepsViews = false);

  Status make(const Body &body, PreparedList &list);

  /// Bodies number their events from 0, all alike; behind them each routine has its own.
  uint32_t numEvents() const { return firstEvents.back(); }
  /// Commands of all lists made so far.
  size_t numPrepared() const { return prepared; }

private:
  /// All in which one call of a routine differs from another, but for names.
  struct Binding {
    Id routine;
    std::vector<uint64_t> blocks; // places in the arena
    std::vector<int64_t> unset;   // numbers of blocks

    bool operator<(const Binding &other) const {
      return std::tie(routine, blocks, unset) < std::tie(other.routine, other.blocks, other.unset);
    }
  };

  Status addCommand(const Issued &issued, Table<uint64_t> blocks, Table<int64_t> unset,
                    PreparedList &list);
  std::vector<SeenView> viewsOf(const PrepareContext &context, const Command &command) const;
  Status addCall(const Command &call, uint32_t index, PreparedList &list);
  Status makeRoutine(const Command &call, uint32_t index, const Binding &binding,
                     PreparedList &list);

  Device &device;
  PrepareContext base;
  bool keepsViews;
  std::vector<uint32_t> firstEvents; // by routine, and the end
  std::map<Binding, PreparedList> routines;
  size_t prepared = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_ENGINE_PREPAREDLIST_H
