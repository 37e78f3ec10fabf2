// The splits of values and op strategies among which the axis search chooses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AxisCandidates.h"
#include "OnDevice.h"
#include "weft/Cost/Penalties.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace weft {

/// Few cuts per dim occur in practice; the cap only bounds hostile programs.
static constexpr unsigned kMaxCuts = 6;
/// The search keeps sets of a value's states as bits of 32.
static constexpr size_t kMostStates = 32;

static RankedTensorType tensorType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

template <typename List, typename Cut> static bool insertCut(List &list, Cut cut) {
  if (llvm::is_contained(list, cut) || list.size() >= kMaxCuts)
    return false;
  list.push_back(cut);
  return true;
}

AxisCandidates::AxisCandidates(Block &program, const AxisSearchOptions &options)
    : options(options) {
  for (Operation &op : program) {
    auto shardable = dyn_cast<ShardableOpInterface>(op);
    if (!shardable || !includes(&op))
      continue;
    FactorRule rule = shardable.getOwnFactorRule();
    auto &cuts = factorCuts[&op];
    cuts.resize(rule.factors.size());
    for (auto [factor, list] : llvm::zip(rule.factors, cuts))
      if (factor.kind != Factor::Kind::Whole && factor.size > 1)
        list.push_back({1, factor.size});
    rules.try_emplace(&op, std::move(rule));
  }
  for (Operation &op : program)
    if (includes(&op))
      for (Value operand : op.getOperands())
        seedCuts(operand);
  closeCuts(program);
  for (BlockArgument argument : program.getArguments())
    listStates(argument);
  for (Operation &op : program) {
    if (!includes(&op) && !op.hasTrait<OpTrait::IsTerminator>())
      continue;
    for (Value operand : op.getOperands())
      if (!valueStates.contains(operand))
        listStates(operand);
    for (Value result : op.getResults())
      if (!valueStates.contains(result))
        listStates(result);
  }
}

/// Lets ops consider the splits that values from outside have.
void AxisCandidates::seedCuts(Value value) {
  auto type = tensorType(value);
  if (!type || !options.existing)
    return;
  for (const AxisSplit &split : options.existing(value)) {
    if (split.kind != AxisSplit::Kind::Sharded)
      continue;
    auto &dims = valueCuts[value];
    dims.resize(type.getRank());
    insertCut(dims[split.dim], Cut{split.outer, split.size});
  }
}

void AxisCandidates::listStates(Value value) {
  auto type = tensorType(value);
  SmallVector<AxisSplit, 8> states = {AxisSplit{}, AxisSplit{AxisSplit::Kind::Partial, 0, 1, 1}};
  if (!type) {
    valueStates[value] = states;
    return;
  }
  if (std::optional<AxisSplit> fixed = options.fixed ? options.fixed(value) : std::nullopt) {
    if (!llvm::is_contained(states, *fixed))
      states.push_back(*fixed);
    fixedStates[value] = llvm::find(states, *fixed) - states.begin();
  }
  if (options.existing)
    for (const AxisSplit &split : options.existing(value)) {
      if (!llvm::is_contained(states, split)) {
        if (states.size() == kMostStates)
          continue;
        states.push_back(split);
      }
      existing[value] |= 1u << (llvm::find(states, split) - states.begin());
    }
  if (auto cuts = valueCuts.find(value); cuts != valueCuts.end())
    for (auto [dim, list] : llvm::enumerate(cuts->second))
      for (Cut cut : list) {
        AxisSplit split{AxisSplit::Kind::Sharded, static_cast<unsigned>(dim), cut.outer, cut.size};
        if (states.size() < kMostStates && !llvm::is_contained(states, split) &&
            (!options.allowed || options.allowed(value, split)))
          states.push_back(split);
      }
  valueStates[value] = states;
}

/// A block that the axis divides evenly may be cut together with all that is
/// minor to it: (12:tp)(64) is (768:tp). Taking the longest form makes equal
/// layouts compare equal.
AxisCandidates::Cut AxisCandidates::canonical(Cut cut, int64_t dimSize) const {
  if (cut.size % options.axisSize() == 0)
    cut.size = dimSize / cut.outer;
  return cut;
}

bool AxisCandidates::addFromFactor(Cuts &dimCuts, const FactorRule &rule, const DimFactors &dim,
                                   int factor, Cut cut, int64_t dimSize) const {
  int64_t before = 1;
  for (int f : dim) {
    if (f == factor)
      return insertCut(dimCuts, canonical({before * cut.outer, cut.size}, dimSize));
    before *= rule.factors[f].size;
  }
  return false;
}

bool AxisCandidates::addToFactors(const FactorRule &rule, const DimFactors &dim, Cut cut,
                                  int64_t dimSize, MutableArrayRef<Cuts> cuts) const {
  bool toEnd = cut.outer * cut.size == dimSize;
  int64_t before = 1;
  for (auto [position, f] : llvm::enumerate(dim)) {
    const Factor &factor = rule.factors[f];
    bool last = position + 1 == dim.size();
    if (cut.outer % before == 0 && factor.size % (cut.outer / before) == 0 &&
        cut.outer / before < factor.size && factor.kind != Factor::Kind::Whole) {
      int64_t outer = cut.outer / before, rest = factor.size / outer;
      // A block that runs on into minor factors must be cut within this one.
      if (toEnd && (last || rest % options.axisSize() == 0))
        return insertCut(cuts[f], Cut{outer, rest});
      if (!toEnd && rest % cut.size == 0)
        return insertCut(cuts[f], cut.size == rest ? Cut{outer, rest} : Cut{outer, cut.size});
      return false;
    }
    before *= factor.size;
    if (before > cut.outer)
      return false;
  }
  return false;
}

bool AxisCandidates::propagateThrough(Operation *op) {
  auto found = rules.find(op);
  if (found == rules.end())
    return false;
  const FactorRule &rule = found->second;
  auto &cuts = factorCuts[op];
  bool changed = false;
  auto visit = [&](ArrayRef<TensorFactors> tensors, auto values, bool outward) {
    for (auto [tensor, value] : llvm::zip(tensors, values)) {
      auto type = tensorType(value);
      if (!type)
        continue;
      auto &dimCuts = valueCuts[value];
      dimCuts.resize(type.getRank());
      for (auto [d, dim] : llvm::enumerate(tensor)) {
        int64_t size = type.getDimSize(d);
        if (outward) {
          for (int f : dim)
            for (Cut cut : cuts[f])
              changed |= addFromFactor(dimCuts[d], rule, dim, f, cut, size);
        } else {
          for (Cut cut : dimCuts[d])
            changed |= addToFactors(rule, dim, cut, size, cuts);
        }
      }
    }
  };
  for (bool outward : {false, true}) {
    visit(rule.operands, op->getOperands(), outward);
    visit(rule.results, op->getResults(), outward);
  }
  return changed;
}

/// Carries cuts that one op needs (heads of a fused QKV) to all ops that could
/// produce or consume such a layout.
void AxisCandidates::closeCuts(Block &program) {
  // Cuts travel along chains, so alternating sweeps settle in a few rounds.
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation &op : program)
      changed |= propagateThrough(&op);
    for (Operation &op : llvm::reverse(program))
      changed |= propagateThrough(&op);
  }
}

ArrayRef<AxisSplit> AxisCandidates::states(Value value) const {
  return valueStates.find(value)->second;
}

std::optional<unsigned> AxisCandidates::fixedState(Value value) const {
  auto found = fixedStates.find(value);
  return found == fixedStates.end() ? std::nullopt : std::optional<unsigned>(found->second);
}

std::optional<unsigned> AxisCandidates::wantedState(Value value) const {
  std::optional<AxisSplit> wanted = options.wanted ? options.wanted(value) : std::nullopt;
  if (!wanted)
    return std::nullopt;
  unsigned state = stateOf(value, *wanted);
  return state < states(value).size() ? std::optional<unsigned>(state) : std::nullopt;
}

unsigned AxisCandidates::stateOf(Value value, const AxisSplit &split) const {
  ArrayRef<AxisSplit> list = states(value);
  return std::distance(list.begin(), llvm::find(list, split));
}

/// The state of a tensor when `factor` is cut; false if it is not offered.
bool AxisCandidates::cutStates(const FactorRule &rule, const TensorFactors &tensor, Value value,
                               int factor, Cut cut, unsigned &state) const {
  state = 0;
  auto type = tensorType(value);
  for (auto [d, dim] : llvm::enumerate(tensor)) {
    int64_t before = 1;
    for (int f : dim) {
      if (f == factor) {
        Cut whole = canonical({before * cut.outer, cut.size}, type.getDimSize(d));
        state = stateOf(
            value, {AxisSplit::Kind::Sharded, static_cast<unsigned>(d), whole.outer, whole.size});
        return state < states(value).size();
      }
      before *= rule.factors[f].size;
    }
  }
  return true;
}

SmallVector<AxisStrategy, 8> AxisCandidates::strategies(Operation *op) const {
  SmallVector<AxisStrategy, 8> list;
  AxisStrategy whole;
  whole.operands.assign(op->getNumOperands(), 0);
  whole.results.assign(op->getNumResults(), 0);
  auto found = rules.find(op);
  if (found == rules.end()) {
    list.push_back(whole);
    return list;
  }
  const FactorRule &rule = found->second;
  auto shardable = cast<ShardableOpInterface>(op);
  double shared = 1.0 - 1.0 / options.axisSize();
  double flopsPerPoint = shardable.getFlopsPerPoint(), points = pointsOnDevice(options, op, rule);
  auto penaltyOf = [&](double bytes) {
    return ticksOf(options.costs.secondsOfPenalty(options.axis, bytes));
  };
  bool heavy = isArithmeticBound(op);
  if (heavy)
    whole.cost = penaltyOf(penalty::kRepeatedArithmetic * shared * points * flopsPerPoint);
  else
    whole.cost =
        penaltyOf((options.sequenceParallel && flopsPerPoint > 0 ? penalty::kRepeatedElement
                                                                 : penalty::kRepeatedMove) *
                  shared * points);
  list.push_back(whole);

  auto cuts = factorCuts.find(op);
  for (auto [f, factor] : llvm::enumerate(rule.factors)) {
    bool reduction = factor.kind == Factor::Kind::Reduction;
    if (factor.kind == Factor::Kind::Whole)
      continue;
    for (Cut cut : cuts->second[f]) {
      AxisStrategy strategy;
      bool offered = true;
      for (auto [tensor, value] : llvm::zip(rule.operands, op->getOperands()))
        offered &= cutStates(rule, tensor, value, f, cut, strategy.operands.emplace_back());
      for (auto [tensor, value] : llvm::zip(rule.results, op->getResults()))
        offered &= cutStates(rule, tensor, value, f, cut, strategy.results.emplace_back());
      if (!offered)
        continue;
      // Other sums than of parts are combined at once: no value waits for them.
      bool atOnce = reduction && factor.reduction != ReduceKind::Sum;
      if (reduction)
        strategy.results.assign(op->getNumResults(), atOnce ? 0 : 1);
      // Padding of an uneven cut is work that all but the last device do.
      int64_t shard = (cut.size + options.axisSize() - 1) / options.axisSize();
      double waste = static_cast<double>(shard * options.axisSize()) / cut.size - 1.0;
      double price =
          heavy ? penalty::kRepeatedArithmetic * flopsPerPoint : penalty::kRepeatedElement;
      strategy.cost = penaltyOf(waste * price * points / options.axisSize());
      if (atOnce)
        for (Value result : op->getResults())
          strategy.cost += ticksOf(
              priceOf(options, TransitionKind::AllReduce, onDevice(options, result), 1, 1).seconds);
      list.push_back(std::move(strategy));
    }
  }
  for (const PartialRule &partial : shardable.getPartialRules(ReduceKind::Sum)) {
    AxisStrategy strategy = whole;
    for (unsigned operand : partial)
      strategy.operands[operand] = 1;
    strategy.results.assign(op->getNumResults(), 1);
    list.push_back(std::move(strategy));
  }
  llvm::erase_if(list,
                 [&](const AxisStrategy &strategy) { return !isPossible(op, rule, strategy); });
  return list;
}

bool AxisCandidates::isPossible(Operation *op, const FactorRule &rule,
                                const AxisStrategy &strategy) const {
  if (!options.possible)
    return true;
  SmallVector<AxisSplit, 3> splits;
  for (auto [operand, state] : llvm::zip(op->getOperands(), strategy.operands))
    splits.push_back(states(operand)[state]);
  return options.possible(op, rule, splits);
}

} // namespace weft
