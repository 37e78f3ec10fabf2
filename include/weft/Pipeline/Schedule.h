// Schedules of a pipeline: which rank does which part of which microbatch, in which order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PIPELINE_SCHEDULE_H
#define WEFT_PIPELINE_SCHEDULE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::pipeline {

/// What a rank does at once with one microbatch on one chunk of the model.
enum class Kind : uint8_t {
  Forward,  // F
  Backward, // B: the gradient of the chunk's input
  Weight,   // W: the gradients of its weights, after B
  Both      // D: B and W in one
};
constexpr unsigned kNumKinds = 4;

/// "F", "B", "W" or "D".
char letterOf(Kind kind);

struct Action {
  Kind kind;
  int32_t chunk, microbatch;

  bool operator==(const Action &other) const {
    return kind == other.kind && chunk == other.chunk && microbatch == other.microbatch;
  }
};

/// "F1.3": forward of chunk 1 with microbatch 3.
std::string nameOf(const Action &action);

/// The model is cut into chunks, one after the other; `place` says the rank of each. A schedule
/// orders the actions of each rank; what waits for what follows from the chunks.
///
///   weft schedule 1
///   ranks 2  chunks 2  microbatches 3
///   place 0 1                          # the rank of each chunk
///   rank 0: F0.0 F0.1 D0.0 F0.2 D0.1 D0.2
///   rank 1: F1.0 D1.0 F1.1 D1.1 F1.2 D1.2
struct Schedule {
  int32_t microbatches = 0;
  std::vector<int32_t> place;
  std::vector<std::vector<Action>> ranks;

  bool operator==(const Schedule &other) const {
    return microbatches == other.microbatches && place == other.place && ranks == other.ranks;
  }
};

/// At most so many pairs of chunk and microbatch, and ranks: what memory holds with ease.
constexpr int64_t kMostPairs = int64_t(1) << 22;
constexpr int64_t kMostRanks = 1 << 16;
/// Bytes of a text that is read: three actions a pair, of a letter, a dot, a space and the digits
/// of both numbers, of which there are 8 as their product is at most kMostPairs; and the rest.
constexpr size_t kMostText = size_t(192) << 20;

/// The text above: one line a rank, in order.
std::string writeSchedule(const Schedule &schedule);

/// Reads that text; `#` begins a comment. On failure says in `error` which line and word is wrong
/// and what belongs there. What is read has a sound form; `check` says whether it is a schedule.
std::optional<Schedule> readSchedule(const std::string &text, std::string &error);

} // namespace weft::pipeline

#endif // WEFT_PIPELINE_SCHEDULE_H
