// Reductions: a worklist of variables, and rounds between which the slots of memory are merged.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Reduce.h"
#include "Slots.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

using namespace weft::solver;

namespace {

/// The largest table that replaces a variable of degree 2, and the most comparisons of costs for
/// which the strategies of a variable are weighed against each other.
constexpr int64_t kMostPairs = 1 << 14, kMostWeighed = 1 << 24;

class Reducer {
public:
  explicit Reducer(size_t count)
      : variables(count), strategies(count), gone(count), waiting(count) {}

  /// Runs to the end; false, if no plan is left.
  bool run();
  Reduced finish();

  std::vector<CoreVariable> variables;
  std::vector<std::vector<int32_t>> strategies;
  std::vector<size_t> originalSize;
  TableSet tables;
  std::vector<int64_t> room;
  double offset = 0;
  void join(int32_t first, int32_t second, std::vector<double> byRow);

private:
  Link *linkTo(int32_t from, int32_t to);
  void unlink(int32_t from, int32_t to);
  const double *row(const Link &link, int32_t strategy) const {
    return link.row(tables, strategy, variables[link.other].size());
  }
  void wake(int32_t variable);
  void wakeNeighbours(int32_t variable);
  void visit(int32_t variable);

  bool dropImpossible(int32_t variable);
  bool dropDominated(int32_t variable);
  bool isDominated(int32_t variable, int32_t strategy, int32_t by) const;
  void restrict(int32_t variable, const std::vector<char> &keep);
  void normalizeUses(int32_t variable);
  void fix(int32_t variable);
  bool follow(int32_t variable);
  /// For each strategy of `to` the one of `from` that it leaves; empty where it leaves several.
  std::vector<int32_t> forced(int32_t from, const Link &link) const;
  void contract(int32_t from, int32_t to, const std::vector<int32_t> &map);
  bool eliminate(int32_t variable);
  void replaceByTable(int32_t variable);
  bool mergeSlots();

  std::vector<char> gone, waiting;
  std::vector<int32_t> slots; // by slot: which it was before
  std::deque<int32_t> work;
  std::vector<Replaced> replaced;
  RangeLeast roomIn;
  bool isPossible = true;
};

Link *Reducer::linkTo(int32_t from, int32_t to) {
  for (Link &link : variables[from].links)
    if (link.other == to)
      return &link;
  return nullptr;
}

void Reducer::unlink(int32_t from, int32_t to) {
  std::vector<Link> &links = variables[from].links;
  links.erase(
      std::find_if(links.begin(), links.end(), [&](const Link &link) { return link.other == to; }));
}

void Reducer::join(int32_t first, int32_t second, std::vector<double> byRow) {
  int32_t rows = variables[first].size(), columns = variables[second].size();
  bool shorter = variables[first].links.size() <= variables[second].links.size();
  if (shorter ? linkTo(first, second) != nullptr : linkTo(second, first) != nullptr) {
    Link *there = linkTo(first, second);
    for (int32_t strategy = 0; strategy < rows; ++strategy) {
      const double *old = row(*there, strategy);
      for (int32_t other = 0; other < columns; ++other)
        byRow[size_t(strategy) * columns + other] += old[other];
    }
    int32_t table = tables.intern(rows, columns, std::move(byRow));
    *there = {second, table, false};
    *linkTo(second, first) = {first, table, true};
    return;
  }
  int32_t table = tables.intern(rows, columns, std::move(byRow));
  variables[first].links.push_back({second, table, false});
  variables[second].links.push_back({first, table, true});
}

void Reducer::wake(int32_t variable) {
  if (waiting[variable] || gone[variable])
    return;
  waiting[variable] = true;
  work.push_back(variable);
}

void Reducer::wakeNeighbours(int32_t variable) {
  for (const Link &link : variables[variable].links)
    wake(link.other);
}

/// Uses whose amounts are all the same say nothing of a choice: `room` has them.
void Reducer::normalizeUses(int32_t variable) {
  std::vector<CoreUse> &uses = variables[variable].uses;
  std::vector<CoreUse> kept;
  std::sort(uses.begin(), uses.end(), [](const CoreUse &left, const CoreUse &right) {
    return std::pair(left.first, left.last) < std::pair(right.first, right.last);
  });
  for (CoreUse &use : uses) {
    if (!kept.empty() && kept.back().first == use.first && kept.back().last == use.last) {
      for (size_t strategy = 0; strategy < use.amount.size(); ++strategy)
        kept.back().amount[strategy] += use.amount[strategy];
      continue;
    }
    kept.push_back(std::move(use));
  }
  uses.clear();
  for (CoreUse &use : kept) {
    int64_t least = *std::min_element(use.amount.begin(), use.amount.end());
    if (least)
      for (int32_t slot = use.first; slot <= use.last; ++slot)
        room[slot] -= least;
    bool varies = false;
    for (int64_t &amount : use.amount)
      varies |= (amount -= least) != 0;
    if (varies)
      uses.push_back(std::move(use));
  }
}

void Reducer::restrict(int32_t variable, const std::vector<char> &keep) {
  CoreVariable &self = variables[variable];
  std::vector<int32_t> left;
  for (int32_t strategy = 0; strategy < self.size(); ++strategy)
    if (keep[strategy])
      left.push_back(strategy);
  if (left.empty()) {
    isPossible = false;
    return;
  }
  for (Link &link : self.links) {
    int32_t columns = variables[link.other].size();
    std::vector<double> values;
    values.reserve(left.size() * columns);
    for (int32_t strategy : left) {
      const double *costs = row(link, strategy);
      values.insert(values.end(), costs, costs + columns);
    }
    int32_t table = tables.intern(int32_t(left.size()), columns, std::move(values));
    link = {link.other, table, false};
    *linkTo(link.other, variable) = {variable, table, true};
  }
  auto pick = [&](auto &values) {
    for (size_t index = 0; index < left.size(); ++index)
      values[index] = values[left[index]];
    values.resize(left.size());
  };
  pick(self.cost);
  pick(strategies[variable]);
  for (CoreUse &use : self.uses)
    pick(use.amount);
  normalizeUses(variable);
}

bool Reducer::dropImpossible(int32_t variable) {
  const CoreVariable &self = variables[variable];
  std::vector<char> keep(self.size(), true);
  bool drops = false;
  for (int32_t strategy = 0; strategy < self.size(); ++strategy) {
    bool fits = std::isfinite(self.cost[strategy]);
    for (size_t use = 0; fits && use < self.uses.size(); ++use)
      fits = self.uses[use].amount[strategy] <=
             roomIn.least(self.uses[use].first, self.uses[use].last);
    for (size_t link = 0; fits && link < self.links.size(); ++link) {
      const double *costs = row(self.links[link], strategy);
      fits = std::any_of(costs, costs + variables[self.links[link].other].size(),
                         [](double cost) { return cost < kInfinity; });
    }
    keep[strategy] = fits;
    drops |= !fits;
  }
  if (drops)
    restrict(variable, keep);
  return drops;
}

bool Reducer::isDominated(int32_t variable, int32_t strategy, int32_t by) const {
  const CoreVariable &self = variables[variable];
  for (const CoreUse &use : self.uses)
    if (use.amount[by] > use.amount[strategy])
      return false;
  double gain = self.cost[strategy] - self.cost[by];
  for (const Link &link : self.links) {
    int32_t columns = variables[link.other].size();
    const double *mine = row(link, strategy), *its = row(link, by);
    double least = kInfinity;
    for (int32_t other = 0; other < columns; ++other)
      if (mine[other] < kInfinity)
        least = std::min(least, mine[other] - its[other]);
    if (least == -kInfinity)
      return false;
    gain += least;
  }
  return gain >= 0;
}

bool Reducer::dropDominated(int32_t variable) {
  const CoreVariable &self = variables[variable];
  int64_t weighed = 1;
  for (const Link &link : self.links)
    weighed += variables[link.other].size();
  if (self.size() < 2 || weighed * self.size() * self.size() > kMostWeighed)
    return false;
  std::vector<char> keep(self.size(), true);
  bool drops = false;
  for (int32_t strategy = 0; strategy < self.size(); ++strategy)
    for (int32_t by = 0; keep[strategy] && by < self.size(); ++by)
      if (by != strategy && keep[by] && isDominated(variable, strategy, by)) {
        keep[strategy] = false;
        drops = true;
      }
  if (drops)
    restrict(variable, keep);
  return drops;
}

void Reducer::fix(int32_t variable) {
  CoreVariable &self = variables[variable];
  offset += self.cost[0];
  for (const Link &link : self.links) {
    const double *costs = row(link, 0);
    CoreVariable &other = variables[link.other];
    for (int32_t strategy = 0; strategy < other.size(); ++strategy)
      other.cost[strategy] += costs[strategy];
    unlink(link.other, variable);
  }
  wakeNeighbours(variable);
  replaced.push_back({variable, -1, -1, 1, {strategies[variable][0]}});
  gone[variable] = true;
  self = {};
}

std::vector<int32_t> Reducer::forced(int32_t from, const Link &link) const {
  std::vector<int32_t> map;
  int32_t size = variables[from].size(), columns = variables[link.other].size();
  Link back{from, link.table, !link.flipped};
  for (int32_t other = 0; other < columns; ++other) {
    const double *costs = back.row(tables, other, size);
    int32_t only = -1;
    for (int32_t strategy = 0; strategy < size; ++strategy)
      if (costs[strategy] < kInfinity) {
        if (only >= 0)
          return {};
        only = strategy;
      }
    if (only < 0)
      return {};
    map.push_back(only);
  }
  return map;
}

void Reducer::contract(int32_t from, int32_t to, const std::vector<int32_t> &map) {
  CoreVariable source = std::move(variables[from]);
  CoreVariable &target = variables[to];
  std::vector<int32_t> lift(originalSize[to], -1);
  for (int32_t strategy = 0; strategy < target.size(); ++strategy)
    lift[strategies[to][strategy]] = strategies[from][map[strategy]];
  replaced.push_back({from, to, -1, 1, std::move(lift)});
  for (const Link &link : source.links) {
    unlink(link.other, from);
    int32_t columns = variables[link.other].size();
    if (link.other == to) {
      for (int32_t strategy = 0; strategy < target.size(); ++strategy)
        target.cost[strategy] +=
            source.cost[map[strategy]] + link.row(tables, map[strategy], columns)[strategy];
      continue;
    }
    std::vector<double> values;
    values.reserve(map.size() * columns);
    for (int32_t strategy : map) {
      const double *costs = link.row(tables, strategy, columns);
      values.insert(values.end(), costs, costs + columns);
    }
    join(to, link.other, std::move(values));
  }
  for (CoreUse &use : source.uses) {
    std::vector<int64_t> amount;
    for (int32_t strategy : map)
      amount.push_back(use.amount[strategy]);
    use.amount = std::move(amount);
    target.uses.push_back(std::move(use));
  }
  gone[from] = true;
  variables[from] = {};
  normalizeUses(to);
  wake(to);
  wakeNeighbours(to);
}

bool Reducer::follow(int32_t variable) {
  for (const Link &link : variables[variable].links) {
    int32_t other = link.other;
    if (std::vector<int32_t> map = forced(variable, link); !map.empty()) {
      contract(variable, other, map);
      return true;
    }
    Link back{variable, link.table, !link.flipped};
    if (std::vector<int32_t> map = forced(other, back); !map.empty()) {
      contract(other, variable, map);
      return true;
    }
  }
  return false;
}

bool Reducer::eliminate(int32_t variable) {
  const CoreVariable &self = variables[variable];
  if (!self.uses.empty() || self.links.size() > 2)
    return false;
  int64_t pairs = 1;
  size_t original = 1;
  for (const Link &link : self.links) {
    pairs *= variables[link.other].size();
    original *= originalSize[link.other];
  }
  if (pairs > kMostPairs || original > size_t(kMostPairs) * 64)
    return false;
  replaceByTable(variable);
  return true;
}

void Reducer::replaceByTable(int32_t variable) {
  CoreVariable self = std::move(variables[variable]);
  Replaced step{variable, -1, -1, 1, {}};
  std::vector<double> none{0};
  auto costs = [&](size_t link, int32_t strategy) {
    return link < self.links.size()
               ? self.links[link].row(tables, strategy, variables[self.links[link].other].size())
               : none.data();
  };
  auto sizeOf = [&](size_t link) {
    return link < self.links.size() ? variables[self.links[link].other].size() : 1;
  };
  auto originalOf = [&](size_t link, int32_t strategy) {
    return link < self.links.size() ? strategies[self.links[link].other][strategy] : 0;
  };
  if (!self.links.empty())
    step.first = self.links[0].other;
  if (self.links.size() > 1) {
    step.second = self.links[1].other;
    step.sizeOfSecond = int32_t(originalSize[step.second]);
  }
  step.strategies.assign((step.first < 0 ? 1 : originalSize[step.first]) * step.sizeOfSecond, -1);
  int32_t rows = sizeOf(0), columns = sizeOf(1);
  std::vector<double> best(size_t(rows) * columns, kInfinity);
  for (int32_t strategy = 0; strategy < self.size(); ++strategy) {
    const double *left = costs(0, strategy), *right = costs(1, strategy);
    for (int32_t row = 0; row < rows; ++row)
      for (int32_t column = 0; column < columns; ++column) {
        double cost = self.cost[strategy] + left[row] + right[column];
        if (cost >= best[size_t(row) * columns + column])
          continue;
        best[size_t(row) * columns + column] = cost;
        step.strategies[size_t(originalOf(0, row)) * step.sizeOfSecond + originalOf(1, column)] =
            strategies[variable][strategy];
      }
  }
  for (const Link &link : self.links)
    unlink(link.other, variable);
  gone[variable] = true;
  variables[variable] = {};
  if (self.links.empty())
    offset += best[0];
  else if (self.links.size() == 1)
    for (int32_t row = 0; row < rows; ++row)
      variables[step.first].cost[row] += best[row];
  else
    join(step.first, step.second, std::move(best));
  replaced.push_back(std::move(step));
  for (const Link &link : self.links)
    wake(link.other);
}

void Reducer::visit(int32_t variable) {
  if (gone[variable])
    return;
  if (dropImpossible(variable) && isPossible)
    wakeNeighbours(variable);
  if (!isPossible)
    return;
  if (variables[variable].size() == 1)
    return fix(variable);
  if (dropDominated(variable)) {
    wakeNeighbours(variable);
    return wake(variable);
  }
  if (!follow(variable))
    eliminate(variable);
}

/// Whether anything changed.
bool Reducer::mergeSlots() {
  SlotMap map = mergedSlots(variables, room);
  if (map.room.size() == room.size())
    return false;
  room = map.room;
  for (size_t slot = 0; slot < map.kept.size(); ++slot)
    slots[slot] = slots[map.kept[slot]];
  slots.resize(map.kept.size());
  for (size_t index = 0; index < variables.size(); ++index) {
    std::vector<CoreUse> kept;
    for (CoreUse &use : variables[index].uses)
      if (map.next[use.first] <= map.last[use.last]) {
        use.first = map.next[use.first];
        use.last = map.last[use.last];
        kept.push_back(std::move(use));
      }
    if (kept.size() != variables[index].uses.size())
      wake(int32_t(index));
    variables[index].uses = std::move(kept);
    normalizeUses(int32_t(index));
  }
  return true;
}

bool Reducer::run() {
  originalSize.resize(variables.size());
  slots.resize(room.size());
  std::iota(slots.begin(), slots.end(), 0);
  for (size_t index = 0; index < variables.size(); ++index) {
    originalSize[index] = strategies[index].size();
    normalizeUses(int32_t(index));
  }
  mergeSlots();
  for (size_t index = 0; index < variables.size(); ++index)
    wake(int32_t(index));
  // Each round leaves less room in fewer slots; the later ones find little.
  for (int round = 0; round < 8 && !work.empty(); ++round) {
    roomIn = RangeLeast(room);
    while (!work.empty() && isPossible) {
      int32_t variable = work.front();
      work.pop_front();
      waiting[variable] = false;
      visit(variable);
    }
    if (!isPossible || std::any_of(room.begin(), room.end(), [](int64_t left) { return left < 0; }))
      return false;
    std::vector<int64_t> before = room;
    if (mergeSlots() || before != room)
      for (size_t index = 0; index < variables.size(); ++index)
        if (!gone[index] && !variables[index].uses.empty())
          wake(int32_t(index));
  }
  return true;
}

Reduced Reducer::finish() {
  Reduced result;
  result.original = variables.size();
  result.replaced = std::move(replaced);
  result.slots = std::move(slots);
  result.core.offset = offset;
  result.core.room = std::move(room);
  std::vector<int32_t> number(variables.size(), -1);
  for (size_t index = 0; index < variables.size(); ++index)
    if (!gone[index]) {
      number[index] = int32_t(result.variable.size());
      result.variable.push_back(int32_t(index));
      result.strategies.push_back(std::move(strategies[index]));
    }
  // Tables that only intermediate steps needed stay behind.
  std::vector<int32_t> kept;
  for (int32_t index : result.variable) {
    CoreVariable &self = variables[index];
    for (Link &link : self.links) {
      if (size_t(link.table) >= kept.size())
        kept.resize(link.table + 1, -1);
      if (kept[link.table] < 0) {
        const Table &table = tables[link.table];
        kept[link.table] = result.core.tables.intern(table.rows, table.columns, table.byRow);
      }
      link = {number[link.other], kept[link.table], link.flipped};
    }
    result.core.variables.push_back(std::move(self));
  }
  return result;
}

std::optional<Reduced> finished(Reducer &reducer) {
  if (!reducer.run())
    return std::nullopt;
  return reducer.finish();
}

} // namespace

Plan Reduced::lift(const std::vector<int32_t> &plan) const {
  Plan whole(original, -1);
  for (size_t index = 0; index < plan.size(); ++index)
    whole[variable[index]] = strategies[index][plan[index]];
  for (auto step = replaced.rbegin(); step != replaced.rend(); ++step) {
    size_t first = step->first < 0 ? 0 : whole[step->first];
    size_t second = step->second < 0 ? 0 : whole[step->second];
    whole[step->variable] = step->strategies[first * step->sizeOfSecond + second];
  }
  return whole;
}

std::optional<Reduced> weft::solver::reduce(const Problem &problem) {
  size_t count = problem.variables.size();
  Reducer reducer(count);
  auto costs = [](const std::vector<int64_t> &values) {
    std::vector<double> result;
    result.reserve(values.size());
    for (int64_t value : values)
      result.push_back(value == kForbidden ? kInfinity : double(value));
    return result;
  };
  std::vector<std::vector<CoreUse>> uses = slotsOf(problem, reducer.room);
  for (size_t index = 0; index < count; ++index) {
    CoreVariable &variable = reducer.variables[index];
    variable.cost = costs(problem.variables[index].cost);
    variable.uses = std::move(uses[index]);
    for (int32_t strategy = 0; strategy < variable.size(); ++strategy)
      reducer.strategies[index].push_back(strategy);
  }
  for (const Edge &edge : problem.edges)
    reducer.join(edge.first, edge.second, costs(problem.tables[edge.table]));
  return finished(reducer);
}

std::optional<Reduced> weft::solver::reduce(const Core &core,
                                            const std::vector<std::vector<char>> &keep) {
  size_t count = core.variables.size();
  Reducer reducer(count);
  reducer.room = core.room;
  reducer.offset = core.offset;
  reducer.tables = core.tables;
  for (size_t index = 0; index < count; ++index) {
    reducer.variables[index] = core.variables[index];
    for (int32_t strategy = 0; strategy < core.variables[index].size(); ++strategy) {
      reducer.strategies[index].push_back(strategy);
      if (!keep[index][strategy])
        reducer.variables[index].cost[strategy] = kInfinity;
    }
  }
  return finished(reducer);
}
