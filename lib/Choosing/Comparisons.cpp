// Layouts that somebody would take without a search.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Comparisons.h"

#include <numeric>

using namespace weft;
using namespace weft::choosing;
using planner::Candidate;
using planner::Layout;
using planner::Role;

void choosing::compareWithFolklore(const Problem &problem, Choice &choice) {
  const planner::Space &space = problem.space;
  const Cluster &cluster = problem.cluster;
  int64_t node = cluster.levels.size() > 1 ? cluster.levels.front().devices : choice.devices;
  int64_t tensor = std::gcd(node, choice.devices);
  if (choice.devices > 1 && space.blocks > 1)
    for (int64_t stages = 1; stages <= choice.devices / tensor && !choice.folklore; ++stages) {
      planner::Space narrow = space;
      if ((choice.devices / tensor) % stages != 0 || stages > space.blocks ||
          !narrow.allowedSizes[size_t(Role::Tensor)].empty() ||
          !narrow.allowedSizes[size_t(Role::Stages)].empty())
        continue;
      narrow.allowedSizes[size_t(Role::Stages)] = {stages};
      narrow.allowedSizes[size_t(Role::Tensor)] = {tensor};
      narrow.ordersMatter = false;
      narrow.schedules = {"1f1b"};
      if (narrow.allowedZero.empty())
        narrow.allowedZero = {0, 1};
      planner::Options options = problem.options;
      options.wanted = 1;
      planner::Result found = problem.search(narrow, options, choice.search.unpriced);
      if (!found.best.empty())
        choice.folklore = found.best.front();
    }
  // Of its kind the search may have left it out, as it is not among the best of all.
  if (choice.folklore)
    for (Candidate &candidate : choice.search.kinds)
      if (planner::kindOf(candidate.layout) == planner::kindOf(choice.folklore->layout) &&
          choice.folklore->prediction.picoseconds < candidate.prediction.picoseconds)
        candidate = *choice.folklore;
}

void choosing::compareWithOneDevice(const Problem &problem, Choice &choice) {
  Layout alone;
  alone.microbatches = choice.batch;
  if (choice.trains)
    alone.recompute = Recompute::Full;
  if (choice.devices > 1)
    choice.oneDevice = problem.simulate(problem.space, alone, choice.search.unpriced);
}
