// Problems: what is wrong with one, and what a plan of it costs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Solver/Problem.h"

#include <algorithm>
#include <map>

using namespace weft::solver;

namespace {

std::string number(int64_t value) { return std::to_string(value); }

/// Adds the largest finite value to `sum`; says what is wrong with the values.
std::string addLargest(const std::vector<int64_t> &values, int64_t &sum) {
  int64_t most = 0;
  for (int64_t value : values) {
    if (value < 0)
      return "is negative: " + number(value);
    if (value != kForbidden)
      most = std::max(most, value);
  }
  if (most > kMostSum || (sum += most) > kMostSum)
    return "makes the sum of the largest values exceed 2^60; use a larger unit";
  return {};
}

std::string checkVariable(const Variable &variable, int64_t &costs, int64_t &memory) {
  if (variable.cost.empty())
    return "has no strategy";
  if (std::string wrong = addLargest(variable.cost, costs); !wrong.empty())
    return "has a cost that " + wrong;
  for (const Use &use : variable.uses) {
    if (use.amount.size() != variable.cost.size())
      return "has " + number(variable.cost.size()) + " strategies, and a use has " +
             number(use.amount.size()) + " amounts";
    if (std::find(use.amount.begin(), use.amount.end(), kForbidden) != use.amount.end())
      return "has no end of memory in a use; forbid the strategy by its cost";
    if (std::string wrong = addLargest(use.amount, memory); !wrong.empty())
      return "has an amount of memory that " + wrong;
  }
  return {};
}

std::string checkEdge(const Problem &problem, const Edge &edge, int64_t &costs) {
  size_t count = problem.variables.size();
  if (edge.first < 0 || edge.second < 0 || size_t(edge.first) >= count ||
      size_t(edge.second) >= count)
    return "joins variables " + number(edge.first) + " and " + number(edge.second) + " of " +
           number(count);
  if (edge.first == edge.second)
    return "joins variable " + number(edge.first) + " to itself";
  if (edge.table < 0 || size_t(edge.table) >= problem.tables.size())
    return "has table " + number(edge.table) + " of " + number(problem.tables.size());
  const std::vector<int64_t> &table = problem.tables[edge.table];
  size_t rows = problem.variables[edge.first].cost.size();
  size_t columns = problem.variables[edge.second].cost.size();
  if (table.size() != rows * columns)
    return "wants a table of " + number(rows) + " x " + number(columns) + ", and this has " +
           number(table.size()) + " costs";
  std::string wrong = addLargest(table, costs);
  return wrong.empty() ? wrong : "has a cost that " + wrong;
}

} // namespace

std::string weft::solver::check(const Problem &problem) {
  if (problem.limit && *problem.limit < 0)
    return "the limit is negative: " + number(*problem.limit);
  int64_t costs = 0, memory = 0;
  for (size_t index = 0; index < problem.variables.size(); ++index)
    if (std::string wrong = checkVariable(problem.variables[index], costs, memory); !wrong.empty())
      return "variable " + number(index) + " " + wrong;
  for (size_t index = 0; index < problem.edges.size(); ++index)
    if (std::string wrong = checkEdge(problem, problem.edges[index], costs); !wrong.empty())
      return "edge " + number(index) + " " + wrong;
  return {};
}

int64_t weft::solver::costOf(const Problem &problem, const Plan &plan) {
  int64_t sum = 0;
  auto add = [&](int64_t cost) {
    sum = sum == kForbidden || cost == kForbidden ? kForbidden : sum + cost;
  };
  for (size_t index = 0; index < problem.variables.size(); ++index)
    add(problem.variables[index].cost[plan[index]]);
  for (const Edge &edge : problem.edges) {
    size_t columns = problem.variables[edge.second].cost.size();
    add(problem.tables[edge.table][plan[edge.first] * columns + plan[edge.second]]);
  }
  return sum;
}

int64_t weft::solver::peakOf(const Problem &problem, const Plan &plan) {
  std::map<int64_t, int64_t> changes;
  for (size_t index = 0; index < problem.variables.size(); ++index)
    for (const Use &use : problem.variables[index].uses)
      if (use.begin < use.end) {
        changes[use.begin] += use.amount[plan[index]];
        changes[use.end] -= use.amount[plan[index]];
      }
  int64_t now = 0, peak = 0;
  for (const auto &[time, change] : changes)
    peak = std::max(peak, now += change);
  return peak;
}
