// What is searched, and in what.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_CHOOSING_PROBLEM_H
#define WEFT_LIB_CHOOSING_PROBLEM_H

#include "weft/Planner/Search.h"

namespace weft::choosing {

/// A question as the search takes it.
struct Problem {
  planner::Space space;
  Cluster cluster;
  planner::Models &models;
  planner::Options options;
  /// The number of microbatches is part of the program, as where it reads rows of a batch together.
  bool keepsMicrobatches = false;

  /// Beside the search for the choice: what cannot be simulated is added to `unpriced`.
  planner::Result search(const planner::Space &where, const planner::Options &how,
                         planner::Unpriced &unpriced) const;
  std::optional<planner::Candidate> simulate(const planner::Space &where,
                                             const planner::Layout &layout,
                                             planner::Unpriced &unpriced) const;
};

} // namespace weft::choosing

#endif // WEFT_LIB_CHOOSING_PROBLEM_H
