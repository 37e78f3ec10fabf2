// Prices for memory, by subgradients.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Dual.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace weft::solver;

namespace {
/// Passes of messages between two changes of prices.
constexpr int kPasses = 2;
} // namespace

Dual::Dual(const Core &core, double mostEntries)
    : core(core), messages(core), slots(core), strategyPrices(core.variables.size()),
      bestPrice(core.room.size()), direction(core.room.size()) {
  std::vector<int32_t> all(core.variables.size());
  std::iota(all.begin(), all.end(), 0);
  EliminationOrder order = orderOf(core, all, mostEntries);
  if (order.given.empty() && order.entries <= 8 * mostEntries) {
    entries = order.entries;
    exact = std::make_unique<Elimination>(core, std::move(order));
  } else {
    for (const CoreVariable &variable : core.variables)
      for (const Link &link : variable.links)
        entries += double(variable.size()) * core.variables[link.other].size();
    entries *= kPasses;
  }
  for (const CoreVariable &variable : core.variables)
    for (const CoreUse &use : variable.uses)
      entries += double(use.amount.size());
}

void Dual::priceStrategies() {
  slots.sum();
  for (size_t index = 0; index < core.variables.size(); ++index)
    slots.of(int32_t(index), strategyPrices[index]);
}

double Dual::evaluate(std::vector<int32_t> &plan, Budget &budget) {
  budget.spend(entries);
  priceStrategies();
  double reached = 0;
  if (exact) {
    reached = exact->run(&strategyPrices, plan);
    reached -= std::abs(reached) * double(core.variables.size()) * 0x1p-48;
    exact->trace(plan);
  } else {
    for (int pass = 0; pass < kPasses; ++pass)
      reached = messages.pass(strategyPrices);
    messages.decode(strategyPrices, plan);
  }
  double paid = slots.ofRoom();
  return core.offset + reached - paid * (1 + double(core.room.size()) * 0x1p-50);
}

const Elimination &Dual::tables(Budget &budget) {
  std::vector<int32_t> plan(core.variables.size());
  slots.perByte() = bestPrice;
  evaluate(plan, budget);
  return *exact;
}

void Dual::setPrices(const std::vector<double> &perByte) {
  slots.perByte() = bestPrice = perByte;
  if (std::all_of(perByte.begin(), perByte.end(), [](double price) { return price == 0; }))
    return;
  stepFactor = 0.2;
  settling = exact ? 0 : 40;
}

void Dual::run(Budget &budget, const double &target,
               const std::function<void(const std::vector<int32_t> &)> &met) {
  std::vector<int32_t> plan(core.variables.size());
  while (!budget.isSpent() && !isDone() && bestBound < target - 0.75) {
    double reached = evaluate(plan, budget);
    met(plan);
    bool rises = reached > bestBound + std::abs(bestBound) * 1e-9;
    if (reached > bestBound) {
      bestBound = reached;
      bestPrice = slots.perByte();
    }
    since = rises ? 0 : since + 1;
    if (since >= 15) {
      since = 0;
      stepFactor *= 0.65;
      slots.perByte() = bestPrice;
    }
    // Long steps again, as long as that raised the bound.
    if (isDone() && bestBound > cycleBound + std::abs(bestBound) * 5e-4) {
      cycleBound = bestBound;
      stepFactor = 0.3;
    }
    if (core.room.empty()) {
      if (exact)
        stepFactor = 0;
      continue;
    }
    if (settling > 0) {
      --settling;
      continue;
    }
    double gap = std::max(std::min(target, core.costOf(plan)) - reached, std::abs(reached) * 1e-9);
    if (gap == kInfinity)
      gap = std::abs(reached) * 0.1 + 1;
    if (!step(gap, plan) && exact)
      stepFactor = 0;
  }
}

/// Whether there is anything to change.
bool Dual::step(double gap, const std::vector<int32_t> &plan) {
  std::vector<int64_t> left = leftBy(core, plan);
  std::vector<double> &price = slots.perByte();
  size_t count = left.size();
  for (size_t slot = 0; slot < count; ++slot)
    direction[slot] = 0.5 * direction[slot] - 0.5 * double(left[slot]);
  // Of a stretch that is short only the worst slot gets a price: the others are short because of
  // the same uses, and would pay for them again.
  std::vector<size_t> changed;
  for (size_t slot = 0; slot < count;) {
    size_t worst = slot;
    for (; slot < count && direction[slot] > 0; ++slot)
      if (direction[slot] > direction[worst])
        worst = slot;
    if (direction[worst] > 0)
      changed.push_back(worst);
    else
      ++slot;
  }
  for (size_t slot = 0; slot < count; ++slot)
    if (price[slot] > 0)
      changed.push_back(slot);
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  double length = 0;
  for (size_t slot : changed)
    length += direction[slot] * direction[slot];
  if (length == 0)
    return false;
  for (size_t slot : changed)
    price[slot] = std::max(0.0, price[slot] + stepFactor * gap / length * direction[slot]);
  return true;
}

std::vector<std::vector<double>> Dual::excess(Budget &budget) {
  std::vector<std::vector<double>> result(core.variables.size());
  if (exact)
    return {};
  std::vector<int32_t> plan(core.variables.size());
  slots.perByte() = bestPrice;
  double before = evaluate(plan, budget);
  budget.spend(entries);
  messages.pass(strategyPrices, &result);
  for (std::vector<double> &costs : result)
    for (double &cost : costs)
      cost = std::max(0.0, cost - std::max(0.0, bestBound - before));
  return result;
}
