// All plans, one variable after the other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "BruteForce.h"

#include <algorithm>

using namespace weft::solver;

namespace {

class Trial {
public:
  explicit Trial(const Problem &problem) : problem(problem), plan(problem.variables.size()) {
    earlier.resize(problem.variables.size());
    for (const Edge &edge : problem.edges)
      earlier[std::max(edge.first, edge.second)].push_back(&edge);
    int64_t end = 0;
    for (const Variable &variable : problem.variables)
      for (const Use &use : variable.uses)
        end = std::max(end, use.end);
    used.assign(end + 1, 0);
  }

  void descend(size_t index, int64_t cost) {
    if (index == plan.size()) {
      reach(cost);
      return;
    }
    const Variable &variable = problem.variables[index];
    for (size_t strategy = 0; strategy < variable.cost.size(); ++strategy) {
      plan[index] = int32_t(strategy);
      int64_t sum = variable.cost[strategy];
      for (const Edge *edge : earlier[index]) {
        size_t columns = problem.variables[edge->second].cost.size();
        int64_t more =
            problem.tables[edge->table][plan[edge->first] * columns + plan[edge->second]];
        sum = sum == kForbidden || more == kForbidden ? kForbidden : sum + more;
      }
      if (sum == kForbidden)
        continue;
      add(variable, strategy, 1);
      descend(index + 1, cost + sum);
      add(variable, strategy, -1);
    }
  }
  Extremes result;

private:
  void add(const Variable &variable, size_t strategy, int64_t sign) {
    for (const Use &use : variable.uses)
      for (int64_t time = use.begin; time < use.end; ++time)
        used[time] += sign * use.amount[strategy];
  }
  void reach(int64_t cost) {
    int64_t peak = *std::max_element(used.begin(), used.end());
    result.leastPeak = std::min(result.leastPeak, peak);
    if (cost < result.leastCost) {
      result.leastCost = cost;
      result.peakOfCheapest = peak;
    }
    if (!problem.limit || peak <= *problem.limit)
      result.leastFitting = std::min(result.leastFitting, cost);
  }

  const Problem &problem;
  Plan plan;
  std::vector<std::vector<const Edge *>> earlier;
  std::vector<int64_t> used;
};

int32_t differing(int32_t left, int32_t right, int32_t axes) {
  int32_t count = 0;
  for (int32_t axis = 0; axis < axes; ++axis, left /= 2, right /= 2)
    count += (left & 1) != (right & 1);
  return count;
}

void addEdge(Problem &problem, int32_t first, int32_t second, int32_t axes, Random &random) {
  size_t rows = problem.variables[first].cost.size();
  size_t columns = problem.variables[second].cost.size();
  std::vector<int64_t> table;
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column) {
      int64_t cost = 40 * differing(int32_t(row), int32_t(column), axes) * (1 + random.below(8));
      table.push_back(random.below(12) == 0 ? kForbidden : cost);
    }
  problem.tables.push_back(std::move(table));
  problem.edges.push_back({first, second, int32_t(problem.tables.size()) - 1});
}

void addVariable(Problem &problem, int32_t strategies, int32_t end, Random &random) {
  Variable variable;
  int32_t time = int32_t(problem.variables.size());
  Use use{time, std::min(end, time + 1 + random.below(end)), {}};
  int64_t size = 1 + random.below(64);
  for (int32_t strategy = 0; strategy < strategies; ++strategy) {
    variable.cost.push_back(random.below(300));
    use.amount.push_back(size * 8 / (1 + strategy));
  }
  if (random.below(5))
    variable.uses.push_back(std::move(use));
  problem.variables.push_back(std::move(variable));
}

} // namespace

Problem weft::solver::randomProblem(Shape shape, double plans, Random &random) {
  Problem problem;
  int32_t axes = 1 + random.below(3);
  // A zipped block is three variables.
  int32_t end = 4 + random.below(20);
  for (double left = plans; int32_t(problem.variables.size()) < end;) {
    int32_t strategies = 2 + random.below((1 << axes) - 1);
    if ((left /= strategies) < 1)
      break;
    addVariable(problem, strategies, end, random);
  }
  int32_t count = int32_t(problem.variables.size());
  for (int32_t index = 1; index < count; ++index) {
    int32_t to = index - 1;
    if (shape == Shape::Tree)
      to = random.below(index);
    else if (shape == Shape::Zipped)
      to = index % 3 == 0 ? index - 3 : index - 1;
    addEdge(problem, to, index, axes, random);
    if (shape == Shape::Zipped && index >= 4 && index % 3 == 1)
      addEdge(problem, index, index - 3, axes, random);
  }
  if (shape == Shape::Any)
    for (int32_t extra = random.below(count + 1); extra > 0; --extra) {
      int32_t first = random.below(count), second = random.below(count);
      if (first != second)
        addEdge(problem, first, second, axes, random);
    }
  return problem;
}

Extremes weft::solver::tryAll(const Problem &problem) {
  Trial trial(problem);
  trial.descend(0, 0);
  return trial.result;
}
