// Local search by blocks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace weft::solver;

namespace {

enum BlockKind { kAll, kNear, kStretch, kSlot };

/// Rounds of prices in one move.
constexpr int kRounds = 8;
/// The most entries of tables in one of them: a deadline waits for the move under way.
constexpr double kMostWork = 1e7;
/// Up to so many variables a block may be all of them.
constexpr size_t kFewVariables = 800;

/// A core in which nothing is forbidden, only dearer than all else.
Core softened(const Core &core, double &forbidden) {
  double most = 1;
  auto finite = [&](double cost) {
    if (cost < kInfinity)
      most = std::max(most, cost);
  };
  for (const CoreVariable &variable : core.variables) {
    for (double cost : variable.cost)
      finite(cost);
    for (const Link &link : variable.links)
      for (double cost : core.tables[link.table].byRow)
        finite(cost);
  }
  forbidden = 1000 * most;
  Core soft;
  soft.offset = core.offset;
  soft.room = core.room;
  std::vector<int32_t> made;
  for (const CoreVariable &variable : core.variables) {
    soft.variables.push_back(variable);
    for (Link &link : soft.variables.back().links) {
      if (size_t(link.table) >= made.size())
        made.resize(link.table + 1, -1);
      if (made[link.table] < 0) {
        const Table &table = core.tables[link.table];
        std::vector<double> values = table.byRow;
        for (double &value : values)
          value = std::min(value, forbidden);
        made[link.table] = soft.tables.intern(table.rows, table.columns, std::move(values));
      }
      link.table = made[link.table];
    }
  }
  return soft;
}

} // namespace

Search::Search(const Core &core, uint64_t seed)
    : core(core), random(seed), current(core.variables.size()), base(core),
      prices(core.variables.size()), inBlock(core.variables.size()),
      isMember(core.variables.size()) {
  if (core.variables.size() <= kFewVariables)
    for (double entries : {1e3, 1e4, 1e5, 1e6})
      arms.push_back({kAll, int32_t(core.variables.size()), entries});
  for (int kind : {kNear, kStretch, kSlot})
    for (int32_t size : {6, 20, 60, 200, 600})
      for (double entries : {2e3, 3e4, 4e5})
        if (size_t(size) < core.variables.size() && (kind != kSlot || !core.room.empty()))
          arms.push_back({kind, size, entries});
  if (arms.empty())
    arms.push_back({kAll, int32_t(core.variables.size()), 1e6});
}

void Search::restart(const std::vector<int32_t> &plan) {
  current = plan;
  currentCost = core.costOf(plan);
  left = leftBy(core, plan);
  if (currentCost < bestCost) {
    best = plan;
    bestCost = currentCost;
  }
}

void Search::setPrices(const std::vector<double> &perByte) {
  base.perByte() = perByte;
  base.sum();
}

double Search::costAround(const std::vector<int32_t> &variables,
                          const std::vector<int32_t> &of) const {
  double sum = 0;
  for (int32_t index : variables)
    isMember[index] = true;
  for (int32_t index : variables) {
    const CoreVariable &self = core.variables[index];
    sum += self.cost[of[index]];
    for (const Link &link : self.links)
      if (!isMember[link.other] || link.other > index)
        sum += link.row(core.tables, of[index], core.variables[link.other].size())[of[link.other]];
  }
  for (int32_t index : variables)
    isMember[index] = false;
  return sum;
}

void Search::pricesOf(const std::vector<int32_t> &variables, const SlotPrices &slots,
                      double noise) {
  for (int32_t index : variables) {
    slots.of(index, prices[index]);
    if (noise > 0)
      for (double &price : prices[index])
        price += noise * random.unit();
  }
}

void Search::growBlock(std::vector<int32_t> &block, size_t size) {
  // A random walk's front: hubs take part, but do not bring all of their neighbours.
  constexpr size_t kMostFromOne = 24;
  for (int32_t index : block)
    inBlock[index] = true;
  for (size_t at = 0; at < block.size() && block.size() < size; ++at) {
    std::swap(block[at], block[at + random.below(int32_t(std::min<size_t>(block.size() - at, 4)))]);
    const std::vector<Link> &links = core.variables[block[at]].links;
    size_t from = links.size() > kMostFromOne ? random.below(int32_t(links.size())) : 0;
    for (size_t step = 0; step < std::min(links.size(), kMostFromOne) && block.size() < size;
         ++step) {
      int32_t other = links[(from + step) % links.size()].other;
      if (inBlock[other])
        continue;
      inBlock[other] = true;
      block.push_back(other);
    }
  }
  for (int32_t index : block)
    inBlock[index] = false;
}

std::vector<int32_t> Search::blockOf(const Arm &arm) {
  int32_t count = int32_t(core.variables.size());
  std::vector<int32_t> block;
  if (arm.kind == kAll || arm.kind == kStretch) {
    int32_t first = arm.kind == kAll ? 0 : random.below(count - arm.size + 1);
    block.resize(std::min(arm.size, count));
    std::iota(block.begin(), block.end(), first);
    return block;
  }
  block.push_back(random.below(count));
  if (arm.kind == kSlot) {
    // Others that use memory at the same time: what one saves another may use.
    const CoreVariable &seed = core.variables[block[0]];
    int32_t slot = seed.uses.empty() ? random.below(int32_t(core.room.size()))
                                     : seed.uses[random.below(int32_t(seed.uses.size()))].first;
    int32_t wanted = 1 + arm.size / 6;
    for (int32_t attempt = 0; attempt < 8 * wanted && int32_t(block.size()) < wanted; ++attempt) {
      int32_t other = random.below(count);
      for (const CoreUse &use : core.variables[other].uses)
        if (use.first <= slot && slot <= use.last &&
            std::find(block.begin(), block.end(), other) == block.end()) {
          block.push_back(other);
          break;
        }
    }
  }
  growBlock(block, arm.size);
  return block;
}

size_t Search::pickArm() {
  double sum = 0;
  for (const Arm &arm : arms)
    sum += arm.merit;
  // A third by chance: what finds nothing now may find something later.
  if (sum <= 0 || random.below(3) == 0)
    return random.below(int32_t(arms.size()));
  double at = random.unit() * sum;
  for (size_t index = 0; index < arms.size(); ++index)
    if ((at -= arms[index].merit) <= 0)
      return index;
  return arms.size() - 1;
}

/// The worst slot of each stretch that is short: `gain` is what it costs at what it is short of.
static void raisePrices(const std::vector<int64_t> &left, double gain,
                        std::vector<double> &prices) {
  for (size_t slot = 0; slot < left.size(); ++slot)
    if (left[slot] < 0 && (slot == 0 || left[slot - 1] > left[slot]) &&
        (slot + 1 == left.size() || left[slot + 1] >= left[slot]))
      prices[slot] += gain / double(-left[slot]);
}

bool Search::tryPrices(Elimination &elimination, SlotPrices &slots, Budget &budget) {
  const std::vector<int32_t> &variables = elimination.order().order;
  double before = costAround(variables, current);
  // Mostly a quarter, which only decides between equals; else what may lead out of a dead end.
  double noise = 0.25;
  if (random.below(3) == 0)
    noise = (before / double(variables.size()) + 1) * std::exp2(-10 * random.unit());
  double step = 1;
  for (int round = 0; round < kRounds; ++round) {
    pricesOf(variables, slots, noise);
    elimination.run(&prices, current);
    budget.spend(elimination.order().entries);
    elimination.trace(candidate);
    double gain = before - costAround(variables, candidate);
    std::vector<int64_t> after = left;
    changeLeft(core, variables, current, candidate, after);
    bool fits = std::all_of(after.begin(), after.end(), [](int64_t bytes) { return bytes >= 0; });
    if (fits && gain >= 0) {
      for (int32_t index : variables)
        current[index] = candidate[index];
      currentCost -= gain;
      left = after;
      if (gain > 0)
        return true;
    }
    if (fits && slots.ofRoom() == 0)
      return false;
    if (fits)
      for (double &price : slots.perByte())
        price *= 0.5;
    else if (gain <= 0)
      return false;
    else
      raisePrices(after, step * gain, slots.perByte());
    if (!fits)
      step *= 2;
    slots.sum();
  }
  return false;
}

bool Search::move(const Arm &arm, Budget &budget) {
  std::vector<int32_t> block = blockOf(arm);
  double mostEntries = arm.mostEntries;
  EliminationOrder order = orderOf(core, block, mostEntries, &random);
  while (order.entries > kMostWork && mostEntries > 1e3)
    order = orderOf(core, block, mostEntries /= 8, &random);
  Elimination elimination(core, std::move(order));
  budget.spend(double(block.size()) * 50 + double(core.variables.size() + core.room.size()));
  candidate = current;
  SlotPrices slots = base;
  double factor = std::exp2(4 * random.unit() - 2);
  for (double &price : slots.perByte())
    price *= factor;
  slots.sum();
  bool better = tryPrices(elimination, slots, budget);
  if (currentCost < bestCost - 0.25) {
    best = current;
    bestCost = currentCost;
  }
  return better;
}

void Search::improve(Budget &budget, double stop) {
  while (!budget.isSpent() && bestCost > stop) {
    Arm &arm = arms[pickArm()];
    double cost = currentCost, work = budget.spent();
    move(arm, budget);
    double merit = std::max(0.0, cost - currentCost) / (budget.spent() - work);
    arm.merit += 0.1 * (merit - arm.merit);
  }
}

bool Search::sweep(const Core &soft, double factor, Budget &budget) {
  size_t covered = 0;
  Arm whole{core.variables.size() <= kFewVariables ? kAll : kNear,
            int32_t(std::min(core.variables.size(), kFewVariables)), 2e3};
  Arm near{kNear, int32_t(std::min<size_t>(core.variables.size(), 200)), 2e3};
  while (covered < size_t(factor * double(core.variables.size())) && !budget.isSpent()) {
    std::vector<int32_t> block = blockOf(random.below(2) ? whole : near);
    Elimination elimination(soft, orderOf(soft, block, whole.mostEntries, &random));
    pricesOf(elimination.order().order, base, 0.25);
    elimination.run(&prices, current);
    budget.spend(elimination.order().entries + double(block.size()) * 50);
    elimination.trace(current);
    covered += block.size();
  }
  return !budget.isSpent();
}

bool Search::findFirst(Budget &budget) {
  double forbidden = 0;
  Core soft = softened(core, forbidden);
  left = leftBy(core, current);
  // To begin with, all room costs about as much as all variables.
  double usual = 1, rooms = 1;
  for (const CoreVariable &variable : core.variables)
    usual += variable.cost[0];
  for (int64_t room : core.room)
    rooms += double(room);
  usual /= rooms;
  while (true) {
    bool goesOn = sweep(soft, 2, budget);
    left = leftBy(core, current);
    if (shortOf(left) == 0 && core.costOf(current) < kInfinity) {
      restart(current);
      return true;
    }
    for (size_t slot = 0; slot < left.size(); ++slot) {
      double &price = base.perByte()[slot];
      if (left[slot] < 0)
        price = price * 1.3 + usual;
      else
        price *= 0.97;
    }
    base.sum();
    // The next call goes on from these prices.
    if (!goesOn)
      return false;
  }
}
