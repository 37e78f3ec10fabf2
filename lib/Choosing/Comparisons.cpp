// Layouts that somebody would take without a search.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Comparisons.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace weft;
using namespace weft::choosing;
using planner::Candidate;
using planner::Layout;
using planner::Role;

/// The best of those that fit with as little recomputation as lets one fit.
static std::optional<Candidate> leastRecomputed(const Problem &problem, planner::Space space,
                                                planner::Unpriced &unpriced) {
  std::vector<Recompute> allowed = space.allowedRecompute;
  for (Recompute recompute : kUniformRecompute) {
    if (!allowed.empty() && !llvm::is_contained(allowed, recompute))
      continue;
    space.allowedRecompute = {recompute};
    planner::Options options = problem.options;
    options.wanted = 1;
    planner::Result found = problem.search(space, options, unpriced);
    if (!found.best.empty())
      return found.best.front();
  }
  return std::nullopt;
}

/// Of its kind the search may have left it out, or all of that, as none is among the best.
static void noteOfKind(const Candidate &found, planner::Objective objective,
                       std::vector<Candidate> &kinds) {
  auto measure = [&](const Candidate &candidate) {
    return objective == planner::Objective::Time ? candidate.prediction.picoseconds
                                                 : candidate.bytes();
  };
  auto known = llvm::find_if(kinds, [&](const Candidate &candidate) {
    return planner::kindOf(candidate.layout) == planner::kindOf(found.layout);
  });
  if (known != kinds.end() && measure(*known) <= measure(found))
    return;
  if (known != kinds.end())
    kinds.erase(known);
  kinds.insert(
      llvm::find_if(kinds, [&](const Candidate &c) { return measure(c) > measure(found); }), found);
}

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
      choice.folklore = leastRecomputed(problem, narrow, choice.search.unpriced);
    }
  if (choice.folklore)
    noteOfKind(*choice.folklore, problem.options.objective, choice.search.kinds);
}

void choosing::compareWithOneDevice(const Problem &problem, Choice &choice) {
  Layout alone;
  alone.microbatches = choice.batch;
  if (choice.trains)
    alone.recompute = Recompute::Full;
  if (choice.devices > 1)
    choice.oneDevice = problem.simulate(problem.space, alone, choice.search.unpriced);
}
