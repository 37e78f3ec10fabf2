// Buckets: each holds the factors of its variable, and leaves a table over its scope.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Eliminate.h"

#include <algorithm>
#include <cmath>
#include <queue>

using namespace weft::solver;

namespace {

/// The graph while variables go: neighbours are sorted.
class Graph {
public:
  Graph(const Core &core, const std::vector<int32_t> &wanted) {
    local.assign(core.variables.size(), -1);
    for (size_t index = 0; index < wanted.size(); ++index)
      local[wanted[index]] = int32_t(index);
    near.resize(wanted.size());
    weight.resize(wanted.size());
    for (size_t index = 0; index < wanted.size(); ++index) {
      const CoreVariable &variable = core.variables[wanted[index]];
      weight[index] = std::log2(double(variable.size()));
      for (const Link &link : variable.links)
        if (local[link.other] >= 0)
          near[index].push_back(local[link.other]);
      std::sort(near[index].begin(), near[index].end());
    }
  }

  double bitsOf(int32_t index) const {
    double bits = weight[index];
    for (int32_t other : near[index])
      bits += weight[other];
    return bits;
  }
  void remove(int32_t index) {
    for (int32_t other : near[index])
      near[other].erase(std::lower_bound(near[other].begin(), near[other].end(), index));
  }
  /// Joins its neighbours to each other.
  void eliminate(int32_t index) {
    remove(index);
    for (int32_t left : near[index]) {
      std::vector<int32_t> merged;
      std::set_union(near[left].begin(), near[left].end(), near[index].begin(), near[index].end(),
                     std::back_inserter(merged));
      merged.erase(std::lower_bound(merged.begin(), merged.end(), left));
      near[left] = std::move(merged);
    }
  }
  std::vector<std::vector<int32_t>> near;
  std::vector<double> weight; // log2 of the number of strategies

private:
  std::vector<int32_t> local;
};

} // namespace

EliminationOrder weft::solver::orderOf(const Core &core, const std::vector<int32_t> &wanted,
                                       double mostEntries, Random *random) {
  Graph graph(core, wanted);
  EliminationOrder result;
  double mostBits = std::log2(mostEntries);
  using Entry = std::pair<double, int32_t>;
  // Chance in who is given lets each variable be free in some orders.
  std::vector<double> chance(wanted.size(), 1);
  if (random)
    for (double &value : chance)
      value += random->unit();
  auto shareOf = [&](int32_t index) {
    return double(graph.near[index].size()) * graph.weight[index] * chance[index];
  };
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<double> bits(wanted.size());
  std::vector<char> gone(wanted.size());
  auto push = [&](int32_t index) {
    bits[index] = graph.bitsOf(index);
    queue.push({bits[index], index});
  };
  for (size_t index = 0; index < wanted.size(); ++index)
    push(int32_t(index));
  while (!queue.empty()) {
    auto [size, index] = queue.top();
    queue.pop();
    if (gone[index] || size != bits[index])
      continue;
    if (size > mostBits) {
      // Whoever takes part in most of what is too large goes: many neighbours, many strategies.
      int32_t worst = index;
      for (int32_t other : graph.near[index])
        if (shareOf(other) > shareOf(worst))
          worst = other;
      gone[worst] = true;
      graph.remove(worst);
      result.given.push_back(wanted[worst]);
      for (int32_t other : graph.near[worst])
        push(other);
      if (worst != index)
        push(index);
      continue;
    }
    gone[index] = true;
    graph.eliminate(index);
    result.order.push_back(wanted[index]);
    result.entries += std::exp2(size);
    for (int32_t other : graph.near[index])
      push(other);
  }
  return result;
}

Elimination::Elimination(const Core &core, EliminationOrder order)
    : core(core), chosen(std::move(order)), position(core.variables.size(), -1) {
  size_t count = chosen.order.size();
  for (size_t index = 0; index < count; ++index)
    position[chosen.order[index]] = int32_t(index);
  buckets.resize(count);
  unary.resize(count);
  std::vector<std::vector<int32_t>> incoming(count);
  size_t largestScope = 0, end = 0;
  for (size_t index = 0; index < count; ++index) {
    Bucket &bucket = buckets[index];
    bucket.variable = chosen.order[index];
    const CoreVariable &variable = core.variables[bucket.variable];
    std::vector<int32_t> scope; // positions
    for (const Link &link : variable.links)
      if (position[link.other] > int32_t(index))
        scope.push_back(position[link.other]);
    for (int32_t from : incoming[index])
      for (int32_t other : buckets[from].scope)
        if (position[other] > int32_t(index))
          scope.push_back(position[other]);
    std::sort(scope.begin(), scope.end(), std::greater<>());
    scope.erase(std::unique(scope.begin(), scope.end()), scope.end());
    for (int32_t place : scope) {
      bucket.scope.push_back(chosen.order[place]);
      bucket.sizes.push_back(core.variables[chosen.order[place]].size());
      bucket.entries *= bucket.sizes.back();
    }
    auto levelOf = [&](int32_t other) {
      return size_t(std::find(bucket.scope.begin(), bucket.scope.end(), other) -
                    bucket.scope.begin());
    };
    for (const Link &link : variable.links)
      if (position[link.other] > int32_t(index)) {
        Factor factor;
        Link back{bucket.variable, link.table, !link.flipped};
        factor.values = back.row(core.tables, 0, variable.size());
        factor.stride.assign(scope.size(), 0);
        factor.level = levelOf(link.other) + 1;
        factor.stride[factor.level - 1] = variable.size();
        bucket.factors.push_back(std::move(factor));
      }
    for (int32_t from : incoming[index]) {
      Factor factor;
      factor.message = from;
      factor.stride.assign(scope.size(), 0);
      int64_t stride = variable.size();
      const Bucket &source = buckets[from];
      for (size_t level = source.scope.size() - 1; level-- > 0;) {
        size_t mine = levelOf(source.scope[level]);
        factor.stride[mine] = stride;
        factor.level = std::max(factor.level, mine + 1);
        stride *= source.sizes[level];
      }
      bucket.factors.push_back(std::move(factor));
    }
    if (!scope.empty())
      incoming[scope.back()].push_back(int32_t(index));
    bucket.table = end;
    end += bucket.entries;
    largestScope = std::max(largestScope, scope.size());
  }
  values.resize(end);
  partial.resize(largestScope + 1);
}

void Elimination::addUnary(const Prices *prices, const std::vector<int32_t> &plan) {
  for (size_t index = 0; index < buckets.size(); ++index) {
    int32_t self = buckets[index].variable;
    const CoreVariable &variable = core.variables[self];
    unary[index] = variable.cost;
    if (prices)
      for (int32_t strategy = 0; strategy < variable.size(); ++strategy)
        unary[index][strategy] += (*prices)[self][strategy];
    for (const Link &link : variable.links) {
      if (position[link.other] >= 0)
        continue;
      Link back{self, link.table, !link.flipped};
      const double *costs = back.row(core.tables, plan[link.other], variable.size());
      for (int32_t strategy = 0; strategy < variable.size(); ++strategy)
        unary[index][strategy] += costs[strategy];
    }
  }
}

void Elimination::fillLevel(const Bucket &bucket, size_t level, std::vector<const double *> &at,
                            double *&out) {
  size_t count = partial[0].size();
  if (level == bucket.scope.size()) {
    const std::vector<double> &costs = partial[level];
    double least = kInfinity;
    for (size_t strategy = 0; strategy < count; ++strategy)
      least = std::min(least, costs[strategy]);
    *out++ = least;
    return;
  }
  const std::vector<double> &before = partial[level];
  std::vector<double> &costs = partial[level + 1];
  for (int32_t strategy = 0; strategy < bucket.sizes[level]; ++strategy) {
    std::copy(before.begin(), before.end(), costs.begin());
    for (size_t factor = 0; factor < at.size(); ++factor) {
      if (bucket.factors[factor].level != level + 1)
        continue;
      const double *values = at[factor];
      for (size_t index = 0; index < count; ++index)
        costs[index] += values[index];
    }
    fillLevel(bucket, level + 1, at, out);
    for (size_t factor = 0; factor < at.size(); ++factor)
      at[factor] += bucket.factors[factor].stride[level];
  }
  for (size_t factor = 0; factor < at.size(); ++factor)
    at[factor] -= bucket.factors[factor].stride[level] * bucket.sizes[level];
}

void Elimination::fill(const Bucket &bucket) {
  size_t index = position[bucket.variable];
  for (size_t level = 0; level <= bucket.scope.size(); ++level)
    partial[level].resize(unary[index].size());
  partial[0] = unary[index];
  std::vector<const double *> at;
  for (const Factor &factor : bucket.factors) {
    at.push_back(start(factor));
    if (!factor.level)
      for (size_t strategy = 0; strategy < partial[0].size(); ++strategy)
        partial[0][strategy] += at.back()[strategy];
  }
  double *out = values.data() + bucket.table;
  fillLevel(bucket, 0, at, out);
}

double Elimination::run(const Prices *prices, const std::vector<int32_t> &plan) {
  addUnary(prices, plan);
  double sum = 0;
  for (const Bucket &bucket : buckets) {
    fill(bucket);
    if (bucket.scope.empty())
      sum += values[bucket.table];
  }
  return sum;
}

void Elimination::costsAt(size_t place, const std::vector<int32_t> &plan,
                          std::vector<double> &costs) const {
  const Bucket &bucket = buckets[place];
  costs = unary[place];
  for (const Factor &factor : bucket.factors) {
    const double *from = start(factor);
    for (size_t level = 0; level < bucket.scope.size(); ++level)
      from += factor.stride[level] * plan[bucket.scope[level]];
    for (size_t strategy = 0; strategy < costs.size(); ++strategy)
      costs[strategy] += from[strategy];
  }
}

void Elimination::trace(std::vector<int32_t> &plan) const {
  std::vector<double> costs;
  for (size_t place = buckets.size(); place-- > 0;) {
    costsAt(place, plan, costs);
    plan[buckets[place].variable] =
        int32_t(std::min_element(costs.begin(), costs.end()) - costs.begin());
  }
}
