// What the axis search asks of values at every candidate, worked out once a value.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "SearchedValues.h"

#include "OnDevice.h"
#include "weft/Cost/Penalties.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace weft {

std::optional<Move> SearchedValue::move(uint32_t available, unsigned to,
                                        bool sequenceParallel) const {
  using Kind = AxisSplit::Kind;
  const AxisSplit &wanted = states[to];
  if (wanted.kind == Kind::Partial)
    return available & kWholeBit ? std::optional<Move>(Move{costOfPartialize}) : std::nullopt;
  static constexpr Move none;
  const Move *best = nullptr;
  for (uint32_t rest = available; rest; rest &= rest - 1) {
    const AxisSplit &from = states[llvm::countr_zero(rest)];
    const Move *candidate = &allGather;
    if (from.kind == Kind::Replicated)
      candidate = &none;
    else if (from.kind == Kind::Partial)
      candidate = wanted.kind != Kind::Sharded ? &allReduce
                  : sequenceParallel           ? &reduceScatter
                                               : &allReduceForParts;
    else if (wanted.kind == Kind::Sharded && wanted.dim != from.dim)
      candidate = &allToAll;
    if (!best || candidate->cost < best->cost)
      best = candidate;
  }
  return best ? std::optional<Move>(*best) : std::nullopt;
}

void appendTicks(SmallVectorImpl<int64_t> &key, Ticks ticks) {
  key.push_back(static_cast<int64_t>(ticks));
  key.push_back(static_cast<int64_t>(ticks >> 64));
}

void SearchedValue::describe(SmallVectorImpl<int64_t> &key) const {
  key.push_back(states.size());
  for (const AxisSplit &split : states) {
    key.push_back(static_cast<int64_t>(split.kind));
    key.push_back(split.dim);
  }
  auto optional = [](std::optional<unsigned> state) { return state ? int64_t(*state) : -1; };
  llvm::append_values(key, optional(fixed), optional(wanted), int64_t(existing), int64_t(leaves()),
                      int64_t(isUpdate), int64_t(isa<BlockArgument>(value)));
  for (const Move *move : {&allReduce, &reduceScatter, &allToAll, &allGather}) {
    appendTicks(key, move->cost);
    key.push_back(llvm::bit_cast<int64_t>(move->bytes));
  }
  appendTicks(key, costOfWhole);
  appendTicks(key, costOfPartialize);
}

SearchedValue &SearchedValues::of(Value value) {
  std::unique_ptr<SearchedValue> &entry = known[value];
  if (!entry) {
    entry = std::make_unique<SearchedValue>();
    entry->value = value;
    entry->states = candidates.states(value);
    entry->fixed = candidates.fixedState(value);
    entry->wanted = candidates.wantedState(value);
    entry->existing = candidates.existingStates(value);
    entry->isUpdate = options.isUpdate && options.isUpdate(value);
    setPrices(*entry);
  }
  return *entry;
}

void SearchedValues::setPrices(SearchedValue &value) {
  ValueOnDevice whole = onDevice(options, value.value);
  double shard = 1.0 / options.axisSize();
  auto collective = [&](TransitionKind kind, double operandPart, double resultPart) {
    CollectivePrice price = priceOf(options, kind, whole, operandPart, resultPart);
    return Move{ticksOf(price.seconds), price.bytes, price.collectives};
  };
  value.allReduce = collective(TransitionKind::AllReduce, 1, 1);
  value.allReduceForParts = value.allReduce;
  value.allReduceForParts.cost -= 1;
  value.reduceScatter = collective(TransitionKind::ReduceScatter, 1, shard);
  value.allToAll = collective(TransitionKind::AllToAll, shard, shard);
  value.allGather = collective(TransitionKind::AllGather, shard, 1);
  value.costOfPartialize =
      ticksOf(options.costs.secondsOfPenalty(options.axis, penalty::kLocalTransition));
  if (options.isState && options.isState(value.value))
    value.costOfWhole = ticksOf(
        options.costs.secondsOfPenalty(options.axis, priceOfWhole(value.value) * whole.bytes));
}

/// The penalty for each byte of state on every device: by what reads it, itself or by
/// another view of it.
double SearchedValues::priceOfWhole(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || llvm::count_if(type.getShape(), [](int64_t size) { return size > 1; }) < 2)
    return penalty::kWholeVector;
  auto [known, isNew] = wholePrices.try_emplace(value, penalty::kWholeVector);
  if (!isNew)
    return known->second;
  double price = penalty::kWholeVector;
  for (Operation *user : value.getUsers()) {
    auto shardable = dyn_cast<ShardableOpInterface>(user);
    if (isArithmeticBound(user))
      price = std::max(price, penalty::kWholeWeight);
    else if (shardable &&
             llvm::any_of(shardable.getOwnFactorRule().factors,
                          [](const Factor &factor) { return factor.indexOperand >= 0; }))
      price = std::max(price, penalty::kWholeTable);
    else if (user->getNumOperands() == 1 && user->getNumResults() == 1)
      price = std::max(price, priceOfWhole(user->getResult(0)));
  }
  return wholePrices[value] = price;
}

} // namespace weft
