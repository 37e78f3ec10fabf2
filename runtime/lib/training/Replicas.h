// Compares what several ranks hold alike.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_TRAINING_REPLICAS_H
#define WEFT_RUNTIME_LIB_TRAINING_REPLICAS_H

#include "session/Session.h"

namespace weft::runtime {

/// By the placements of states some ranks hold the same elements, and they compute the same
/// from the same sums, to the bit. A faulty processor, memory or link shows in that they do not.
class Replicas {
public:
  /// Of one rank and state. Ranks whose `place` is the same hold the same elements.
  struct Print {
    uint64_t place = 0; // hash of which elements it holds; 0 = none
    uint64_t bytes = 0; // hash of these, padding left out
  };

  explicit Replicas(weft_session &session);

  /// After step `step`: RankFailed on all processes where ranks differ, naming state and ranks.
  /// Collective.
  Status compare(int64_t step);
  /// States that more than one rank holds; known on the first process once they were compared.
  int64_t numCompared() const { return compared; }

  /// What is wrong with `prints`, by rank and then by state, in words; empty = nothing. Of the
  /// ranks that differ those that are fewer are named.
  static std::string differenceIn(const std::vector<Print> &prints,
                                  const std::vector<std::string> &states, int64_t &compared);

private:
  Status printOf(RankContext &rank, const State &state, Print &print) const;

  weft_session &session;
  std::vector<std::string> states;
  std::vector<Print> own; // of this process's ranks; places are found once
  int64_t compared = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_TRAINING_REPLICAS_H
