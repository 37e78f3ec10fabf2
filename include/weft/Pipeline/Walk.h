// Goes through a schedule as ranks do, whatever the times.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PIPELINE_WALK_H
#define WEFT_PIPELINE_WALK_H

#include "weft/Pipeline/Schedule.h"

namespace weft::pipeline {

/// Visits actions in an order in which each comes after the one before it on its rank and after
/// what it reads. Keeps its memory between runs.
class Walk {
public:
  Walk(std::vector<int32_t> place, int32_t microbatches)
      : place(std::move(place)), microbatches(microbatches) {}

  /// Calls `visit(rank, position, action)` for each action that can run. Returns whether that was
  /// all; if not, `stoppedAt` tells where each rank waits. `schedule` has each action at most
  /// once, on its chunk's rank.
  template <typename Visit> bool run(const Schedule &schedule, Visit &&visit) {
    size_t slots = place.size() * microbatches, over = 0;
    done[0].assign(slots, 0);
    done[1].assign(slots, 0);
    waiting[0].assign(slots, -1);
    waiting[1].assign(slots, -1);
    next.assign(schedule.ranks.size(), 0);
    runnable.clear();
    for (size_t rank = schedule.ranks.size(); rank-- > 0;)
      runnable.push_back(int32_t(rank));
    while (!runnable.empty()) {
      int32_t rank = runnable.back();
      runnable.pop_back();
      const std::vector<Action> &actions = schedule.ranks[rank];
      for (size_t &at = next[rank]; at < actions.size() && canRun(actions[at], rank); ++at) {
        visit(size_t(rank), at, actions[at]);
        finish(actions[at]);
      }
      over += next[rank] == actions.size();
    }
    return over == schedule.ranks.size();
  }

  const std::vector<size_t> &stoppedAt() const { return next; }

private:
  size_t slotOf(int32_t chunk, int32_t microbatch) const {
    return size_t(chunk) * microbatches + microbatch;
  }

  /// If what comes from another chunk is missing, `rank` is woken when it is there.
  bool canRun(const Action &action, int32_t rank) {
    size_t slot = slotOf(action.chunk, action.microbatch);
    switch (action.kind) {
    case Kind::Forward:
      return action.chunk == 0 || isThere(0, slot - microbatches, rank);
    case Kind::Weight:
      return done[1][slot];
    default:
      return done[0][slot] &&
             (size_t(action.chunk) + 1 == place.size() || isThere(1, slot + microbatches, rank));
    }
  }

  bool isThere(unsigned direction, size_t slot, int32_t rank) {
    if (done[direction][slot])
      return true;
    waiting[direction][slot] = rank;
    return false;
  }

  void finish(const Action &action) {
    if (action.kind == Kind::Weight)
      return;
    unsigned direction = action.kind == Kind::Forward ? 0 : 1;
    size_t slot = slotOf(action.chunk, action.microbatch);
    done[direction][slot] = 1;
    // A rank that waits for itself stays where it is.
    if (int32_t &rank = waiting[direction][slot]; rank >= 0 && rank != place[action.chunk]) {
      runnable.push_back(rank);
      rank = -1;
    }
  }

  std::vector<int32_t> place;
  int32_t microbatches;
  std::vector<char> done[2];       // of F, of B or D
  std::vector<int32_t> waiting[2]; // the rank that waits for it, or -1
  std::vector<size_t> next;        // by rank
  std::vector<int32_t> runnable;
};

} // namespace weft::pipeline

#endif // WEFT_PIPELINE_WALK_H
