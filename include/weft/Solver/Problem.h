// Choices with costs: variables, tables between pairs of them, and memory over time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SOLVER_PROBLEM_H
#define WEFT_SOLVER_PROBLEM_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::solver {

/// A cost that no plan may have, of a strategy or of a pair.
constexpr int64_t kForbidden = INT64_MAX;
/// The largest sum of finite costs, and of memory. Up to 2^52 the search adds exactly; above, only
/// the figures of what it finds are exact.
constexpr int64_t kMostSum = int64_t(1) << 60;

/// Memory that a variable uses in [begin, end), in bytes for each strategy; 0 or more.
struct Use {
  int64_t begin = 0, end = 0;
  std::vector<int64_t> amount;
};

/// Exactly one of `cost.size()` strategies is taken, and its cost paid; 0 or more.
struct Variable {
  std::vector<int64_t> cost;
  std::vector<Use> uses;
};

/// `tables[table]` has the cost of each pair of strategies, row-major: `first` chooses the row.
/// Tables may be shared by edges, and edges may join the same variables.
struct Edge {
  int32_t first = 0, second = 0, table = 0;
};

/// Choose one strategy of each variable so that the sum of the costs of variables and edges is
/// least and, where there is a limit, memory is nowhere above it: for every time t the sum of
/// `amount` over uses with begin <= t < end is at most `limit`.
struct Problem {
  std::vector<Variable> variables;
  std::vector<Edge> edges;
  std::vector<std::vector<int64_t>> tables;
  std::optional<int64_t> limit;
};

/// Nothing, or what is wrong with the problem: shapes, signs, sums above `kMostSum`.
std::string check(const Problem &problem);

/// One strategy for each variable.
using Plan = std::vector<int32_t>;

/// The cost of a plan; `kForbidden` where a part of it is forbidden.
int64_t costOf(const Problem &problem, const Plan &plan);
/// The most memory used at any time; 0 without uses.
int64_t peakOf(const Problem &problem, const Plan &plan);

} // namespace weft::solver

#endif // WEFT_SOLVER_PROBLEM_H
