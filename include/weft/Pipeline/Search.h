// Looks for a schedule for given costs, never worse than those that have names.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PIPELINE_SEARCH_H
#define WEFT_PIPELINE_SEARCH_H

#include "weft/Pipeline/Simulate.h"

namespace weft::pipeline {

enum class Objective { Span, Wall };

struct SearchRequest {
  int32_t ranks = 1, chunksPerRank = 1, microbatches = 1;
  /// The rank of each chunk; empty: round and round, and there and back with two chunks a rank.
  std::vector<int32_t> place;
  Objective objective = Objective::Wall;
  /// How many schedules are simulated at most beside those of generators, unless there are so few
  /// orders that all are tried; negative: `defaultEvaluations`.
  int64_t evaluations = -1;
  /// The result does not depend on it.
  unsigned threads = 1;
};

/// As many as simulate about sixteen million actions, from 16 to 30000: a few seconds on one core,
/// and more only for schedules of more than a million actions.
int64_t defaultEvaluations(size_t chunks, int32_t microbatches);

struct SearchResult {
  Schedule schedule;
  Timing timing;
  Bounds bounds;
  /// So many of `evaluations` were made.
  int64_t evaluations;
};

/// The best schedule found within the limits of `costs`: candidates are the generators that fit,
/// lists made in simulated time by rules whose parameters are searched, and small changes of the
/// best order; where there are few orders, all of them. The same request gives the same bytes. If
/// no order fits, returns nothing and says in `error` what `checkLimits` does.
std::optional<SearchResult> search(const SearchRequest &request, const Costs &costs,
                                   std::string &error);

/// Whether an order fits within the limits, on the placement that comes nearest: returns nothing,
/// or what each rank that is short needs and the least limit that works on all.
std::string checkLimits(const SearchRequest &request, const Costs &costs);

} // namespace weft::pipeline

#endif // WEFT_PIPELINE_SEARCH_H
