// The schedules that have names.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PIPELINE_GENERATE_H
#define WEFT_PIPELINE_GENERATE_H

#include "weft/Pipeline/Schedule.h"

namespace weft::pipeline {

/// A named way to order a pipeline of equal chunks.
struct Generator {
  const char *name;
  /// One line for people.
  const char *summary;
  int32_t leastChunksPerRank, mostChunksPerRank;
  /// Fewer microbatches are refused: so many for each rank.
  int32_t leastMicrobatchesPerRank;
  std::vector<int32_t> (*place)(int32_t ranks, int32_t chunksPerRank);
  Schedule (*make)(int32_t ranks, int32_t chunksPerRank, int32_t microbatches);
  /// Gradients of weights are actions of their own.
  bool splitsWeights = false;
};

/// All of them, from the simplest on.
const std::vector<Generator> &generators();
const Generator *findGenerator(const std::string &name);

/// What a text such as `1f1b` or `interleaved:2` names.
struct NamedSchedule {
  const Generator *generator;
  int64_t chunksPerRank;
};
/// Nothing if it names none; `error` says why and what there is.
std::optional<NamedSchedule> findSchedule(const std::string &text, std::string &error);

/// The schedule that a text names; nothing, and why in `error`, if it names none, or none for so
/// many ranks and microbatches.
std::optional<Schedule> makeSchedule(const std::string &text, int64_t ranks, int64_t microbatches,
                                     std::string &error);

/// The text that makeSchedule makes this one of; empty if none does.
std::string nameOf(const Schedule &schedule);

/// Whether `generator` has such a schedule; if not, `error` says why and what is near.
bool fits(const Generator &generator, int64_t ranks, int64_t chunksPerRank, int64_t microbatches,
          std::string &error);

/// What to say of more chunks and microbatches than kMostPairs: what these ranks may have.
std::string mostPairs(int64_t ranks, int64_t chunksPerRank);

/// One chunk on one rank, a microbatch forward and back after the other.
Schedule withoutStages(int64_t microbatches);

/// Round and round: chunk c on rank c mod `ranks`.
std::vector<int32_t> loopPlace(int32_t ranks, int32_t chunksPerRank);
/// There and back: 0 1 2 2 1 0, so that the first and the last chunk share a rank.
std::vector<int32_t> foldedPlace(int32_t ranks, int32_t chunksPerRank);

/// The bubble of the interleaved schedule as the literature counts it, over all of the time:
/// b / (m T + b) with b = (p-1)/v T + ((2v-1)p - 2) T_comm, T of a rank's share. A simulation has
/// 2vp - 2 transfers on its longest path; without transfers both are alike.
double interleavedBubble(double ranks, double chunksPerRank, double microbatches, double work,
                         double transfer);

} // namespace weft::pipeline

#endif // WEFT_PIPELINE_GENERATE_H
