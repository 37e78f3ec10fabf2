// Whether a schedule is one: complete, in order, free of deadlock, within memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PIPELINE_CHECK_H
#define WEFT_PIPELINE_CHECK_H

#include "weft/Pipeline/Simulate.h"

namespace weft::pipeline {

/// Returns what is wrong, or nothing: the rank, the action and what it waits for. A right schedule
/// has every F, and D or both B and W, of each chunk and microbatch once, on the chunk's rank;
/// there F comes before B or D and B before W; and no ranks wait for each other in a circle.
std::string check(const Schedule &schedule);

/// Reads a schedule that is right. On failure says in `error` what `readSchedule` or `check` does.
std::optional<Schedule> readChecked(const std::string &text, std::string &error);

/// Returns which rank holds more than its limit, after which action and how much, or nothing.
/// `schedule` is right.
std::string checkMemory(const Schedule &schedule, const Costs &costs);

/// What is right but unwise: B, W or D of a chunk not in the order of microbatches, which is that
/// of sums whatever comes first. The first few, and how many more there are.
std::vector<std::string> remarks(const Schedule &schedule);

/// What one rank sends to another after an action: the activations of F to the next chunk, the
/// gradient of B or D to the one before.
struct Transfer {
  bool isForward;
  int32_t chunk, microbatch; // of the action that made it
  int32_t from, to;          // ranks

  bool operator==(const Transfer &other) const {
    return isForward == other.isForward && chunk == other.chunk && microbatch == other.microbatch &&
           from == other.from && to == other.to;
  }
};

/// The transfers of a right schedule by rank, sends and receives in one list, in the order of their
/// simulated ends; of equal ends what others depend on comes first. If every rank issues its list
/// one by one, with sends that wait for their receive, nothing stops in any timing: the earliest
/// transfer that is not over can always end.
std::vector<std::vector<Transfer>> transfersOf(const Schedule &schedule, const Costs &costs);

/// Whether `lists` are transfers of `schedule` that can be issued like that: returns what is
/// wrong, or nothing.
std::string checkTransfers(const Schedule &schedule,
                           const std::vector<std::vector<Transfer>> &lists);

} // namespace weft::pipeline

#endif // WEFT_PIPELINE_CHECK_H
