// By comparing accounts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Choosing/Reasons.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <array>
#include <numeric>

using namespace weft;
using namespace weft::choosing;
using planner::Candidate;
using planner::Layout;
using planner::Role;

/// By Loss::Part.
static std::array<int64_t, 4> partsOf(const Candidate &candidate) {
  const cost::Causes &causes = candidate.prediction.causes;
  auto sum = [](const auto &times) {
    return std::accumulate(times.begin(), times.end(), int64_t(0));
  };
  return {sum(causes.compute), sum(causes.exposed), causes.bubble, causes.optimizer};
}

std::optional<Loss> choosing::lossOf(const Candidate &loser, const Candidate &choice) {
  std::array<int64_t, 4> mine = partsOf(loser), its = partsOf(choice);
  size_t most = 0;
  for (size_t i = 1; i < mine.size(); ++i)
    if (mine[i] - its[i] > mine[most] - its[most])
      most = i;
  if (mine[most] <= its[most])
    return std::nullopt;
  return Loss{Loss::Part(most), mine[most] - its[most]};
}

double choosing::excess(const Candidate &candidate, const Candidate &best,
                        planner::Objective objective) {
  if (objective == planner::Objective::Memory)
    return double(candidate.bytes()) / double(std::max<int64_t>(1, best.bytes())) - 1;
  return candidate.prediction.seconds() / best.prediction.seconds() - 1;
}

std::vector<Use> choosing::usesOf(const Choice &choice) {
  std::vector<Use> uses;
  auto add = [&](const char *what, bool isAsked, llvm::function_ref<bool(const Layout &)> has) {
    if (!has(*choice.layout))
      return;
    if (isAsked)
      return uses.push_back({what, std::nullopt, isAsked});
    std::optional<double> least;
    for (const Candidate &other : choice.search.kinds)
      if (!has(other.layout)) {
        double more = excess(other, choice.compared, choice.objective);
        least = std::min(more, least.value_or(more));
      }
    uses.push_back({what, least});
  };
  auto addAxis = [&](const char *what, Role role) {
    bool isAsked =
        !choice.space.allowedSizes[size_t(role)].empty() || choice.space.isNeeded[size_t(role)];
    add(what, isAsked, [&](const Layout &layout) { return layout.size(role) > 1; });
  };
  addAxis("dp", Role::Data);
  addAxis("tp", Role::Tensor);
  addAxis("pp", Role::Stages);
  add("ZeRO-3", !choice.space.allowedZero.empty(),
      [](const Layout &layout) { return layout.zero == 3; });
  return uses;
}
