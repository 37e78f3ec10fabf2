// Walks a program once and keeps the cheapest way to each layout of live values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Search/AxisSearch.h"

#include "AxisCandidates.h"
#include "weft/Cost/Penalties.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <unordered_map>

using namespace mlir;

namespace weft {

namespace {

/// State 1 of every value is partial.
constexpr uint32_t kPartialBit = 2;
constexpr double kImpossible = std::numeric_limits<double>::infinity();

/// For each live value the set of states that exist, one bit a state. A program
/// argument that nobody has used yet has none: its first use decides.
using Frontier = SmallVector<uint32_t, 8>;

struct FrontierHash {
  size_t operator()(const Frontier &frontier) const {
    return llvm::hash_combine_range(frontier.begin(), frontier.end());
  }
};

/// The cheapest known way to a frontier.
struct Entry {
  double cost = 0;
  double bytes = 0;
  unsigned collectives = 0;
  int parent = -1; // entry of the decision before
  unsigned strategy = 0;
};

struct Decision {
  Operation *op;
  SmallVector<AxisStrategy, 8> strategies;
  SmallVector<Entry> entries;
};

struct Move {
  double seconds;
  double bytes = 0;
  unsigned collectives = 0;
};

class Search {
public:
  Search(Block &program, const AxisSearchOptions &options)
      : program(program), options(options), candidates(program, options) {}

  AxisSearchResult run();

private:
  bool visits(Operation *op) const {
    return candidates.includes(op) || op->hasTrait<OpTrait::IsTerminator>();
  }
  /// Constants and positions: each reader has its part for free, so that their
  /// splits must not multiply the frontiers while they wait for a reader.
  static bool isMadeAnywhere(Operation *op) {
    return op->getNumOperands() == 0 && !op->hasTrait<OpTrait::IsTerminator>();
  }
  double priceOfWhole(Value value);
  bool leaves(Value value) const { return !lastUse.contains(value) && !value.use_empty(); }
  void findLastUses();
  void advance(Operation *op);
  bool acquire(Value value, uint32_t &available, unsigned state, Entry &entry);
  bool finish(Value value, uint32_t &available, Entry &entry);
  bool isDominated(const Frontier &frontier, double cost, const Frontier &other, double otherCost);
  void prune(SmallVector<Entry> &entries, SmallVector<Frontier> &all);
  Move move(const AxisSplit &from, const AxisSplit &to, double bytes) const;
  AxisSearchResult trace();

  Block &program;
  const AxisSearchOptions &options;
  AxisCandidates candidates;
  DenseMap<Value, Operation *> lastUse;
  DenseMap<Value, double> wholePrices;
  SmallVector<Value> live;
  SmallVector<Frontier> frontiers;
  SmallVector<Entry> current;
  std::vector<Decision> decisions;
  unsigned pruned = 0;
};

double bytesOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return 0;
  return static_cast<double>(type.getNumElements()) * ((type.getElementTypeBitWidth() + 7) / 8);
}

Move Search::move(const AxisSplit &from, const AxisSplit &to, double bytes) const {
  using Kind = AxisSplit::Kind;
  if (to.kind == Kind::Partial)
    return {kImpossible};
  if (from == to || from.kind == Kind::Replicated)
    return {0};
  double shard = bytes / options.axisSize();
  auto collective = [&](TransitionKind kind, double operand, double result) {
    return Move{options.costs.secondsOfMessages(kind, options.axis, operand, result) +
                    options.costs.secondsOfPenalty(options.axis, penalty::kSearchedCollective),
                bytesSent(kind, options.axisSize(), operand, result), 1};
  };
  if (from.kind == Kind::Partial)
    return to.kind == Kind::Sharded && options.sequenceParallel
               ? collective(TransitionKind::ReduceScatter, bytes, shard)
               : collective(TransitionKind::AllReduce, bytes, bytes);
  if (to.kind == Kind::Sharded && to.dim != from.dim)
    return collective(TransitionKind::AllToAll, shard, shard);
  return collective(TransitionKind::AllGather, shard, bytes);
}

/// The penalty for each byte of state on every device: by what reads it, itself or by
/// another view of it.
double Search::priceOfWhole(Value value) {
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

/// Makes `state` of a value exist, by the cheapest move from one that does.
bool Search::acquire(Value value, uint32_t &available, unsigned state, Entry &entry) {
  uint32_t bit = 1u << state;
  if (available & bit)
    return true;
  ArrayRef<AxisSplit> states = candidates.states(value);
  std::optional<unsigned> fixed = candidates.fixedState(value);
  if (available == 0 && fixed) {
    available = 1u << *fixed;
    return acquire(value, available, state, entry);
  }
  if (available == 0 && candidates.existingStates(value)) {
    available = candidates.existingStates(value);
    return acquire(value, available, state, entry);
  }
  if (available == 0) {
    if (states[state].kind == AxisSplit::Kind::Partial)
      return false;
    available = bit;
    if (states[state].kind == AxisSplit::Kind::Replicated && options.isState &&
        options.isState(value))
      entry.cost +=
          options.costs.secondsOfPenalty(options.axis, priceOfWhole(value) * bytesOf(value));
    return true;
  }
  // Arguments are read as they rest, or sliced.
  if (isa<BlockArgument>(value) && !(available & 1u) && !fixed)
    return false;
  Move best{kImpossible};
  for (auto [index, from] : llvm::enumerate(states))
    if (available >> index & 1)
      if (Move candidate = move(from, states[state], bytesOf(value));
          candidate.seconds < best.seconds)
        best = candidate;
  if (best.seconds == kImpossible)
    return false;
  available |= bit;
  entry.cost += best.seconds;
  entry.bytes += best.bytes;
  entry.collectives += best.collectives;
  return true;
}

/// A result of the program: partial sums are combined, and whoever reads a
/// split result must gather it, which costs but is not done here.
bool Search::finish(Value value, uint32_t &available, Entry &entry) {
  if (available == 0)
    return true;
  bool onlyPartial = available == kPartialBit;
  Entry gathered = entry;
  if (!acquire(value, available, 0, gathered))
    return isa<BlockArgument>(value);
  if (onlyPartial)
    entry = gathered;
  else
    entry.cost = gathered.cost;
  return true;
}

void Search::findLastUses() {
  for (Operation &op : program)
    if (visits(&op))
      for (Value operand : op.getOperands())
        lastUse[operand] = &op;
}

void Search::advance(Operation *op) {
  Decision decision{op, {}, {}};
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    // Results may stay split (the runtime assembles them), but not partial.
    decision.strategies.emplace_back();
  } else {
    decision.strategies = candidates.strategies(op);
    if (isMadeAnywhere(op))
      decision.strategies.resize(1);
  }
  DenseMap<Value, unsigned> slot;
  for (auto [index, value] : llvm::enumerate(live))
    slot[value] = index;
  for (Value operand : op->getOperands())
    if (slot.try_emplace(operand, live.size()).second) { // an argument's first use
      live.push_back(operand);
      for (Frontier &frontier : frontiers)
        frontier.push_back(0);
    }
  SmallVector<Value> nextLive;
  SmallVector<unsigned> kept;
  for (auto [index, value] : llvm::enumerate(live))
    if (auto last = lastUse.find(value); last != lastUse.end() && last->second != op) {
      nextLive.push_back(value);
      kept.push_back(index);
    }
  SmallVector<unsigned> keptResults;
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    if (lastUse.contains(result)) {
      nextLive.push_back(result);
      keptResults.push_back(index);
    }

  std::unordered_map<Frontier, unsigned, FrontierHash> known;
  SmallVector<Frontier> nextFrontiers;
  SmallVector<Entry> next;
  for (auto [parent, frontier, from] : llvm::enumerate(frontiers, current)) {
    for (auto [number, strategy] : llvm::enumerate(decision.strategies)) {
      Entry entry = from;
      entry.parent = parent;
      entry.strategy = number;
      entry.cost += strategy.computeCost;
      Frontier masks = frontier;
      bool possible = true;
      for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
        uint32_t &available = masks[slot[operand]];
        if (!strategy.operands.empty())
          possible = acquire(operand, available, strategy.operands[index], entry);
        else
          possible = finish(operand, available, entry);
        if (!possible)
          break;
      }
      if (!possible)
        continue;
      SmallVector<uint32_t, 2> made;
      for (auto [result, state] : llvm::zip(op->getResults(), strategy.results)) {
        uint32_t &mask = made.emplace_back(1u << state);
        if (isMadeAnywhere(op))
          mask = ((1u << candidates.states(result).size()) - 1) & ~kPartialBit;
        // What only others read, such as a gradient, may stay split, not partial.
        std::optional<unsigned> wanted =
            leaves(result) ? candidates.wantedState(result) : std::nullopt;
        if (wanted)
          possible &= acquire(result, mask, *wanted, entry);
        else if (leaves(result) && mask == kPartialBit)
          possible &= acquire(result, mask, 0, entry);
        if (std::optional<unsigned> fixed = candidates.fixedState(result)) {
          possible &= acquire(result, mask, *fixed, entry);
          mask = 1u << *fixed;
        }
      }
      if (!possible)
        continue;
      Frontier reached;
      for (unsigned index : kept)
        reached.push_back(masks[index]);
      for (unsigned index : keptResults)
        reached.push_back(made[index]);
      auto [position, isNew] = known.try_emplace(reached, next.size());
      if (isNew) {
        nextFrontiers.push_back(std::move(reached));
        next.push_back(entry);
      } else if (entry.cost < next[position->second].cost) {
        next[position->second] = entry;
      }
    }
  }
  live = std::move(nextLive);
  prune(next, nextFrontiers);
  decision.entries = next;
  decisions.push_back(std::move(decision));
  frontiers = std::move(nextFrontiers);
  current = std::move(next);
}

/// True if it is no dearer to go on from `other` and make, when needed, what
/// `frontier` has and `other` lacks.
bool Search::isDominated(const Frontier &frontier, double cost, const Frontier &other,
                         double otherCost) {
  Entry reached;
  reached.cost = otherCost;
  for (auto [value, mask, otherMask] : llvm::zip(live, frontier, other)) {
    uint32_t available = otherMask;
    for (uint32_t missing = mask & ~otherMask; missing; missing &= missing - 1)
      if (!acquire(value, available, llvm::countr_zero(missing), reached) || reached.cost > cost)
        return false;
  }
  return true;
}

/// Keeps the frontiers that can still lead to the best end, at most `beam`.
void Search::prune(SmallVector<Entry> &entries, SmallVector<Frontier> &all) {
  SmallVector<unsigned> order = llvm::to_vector(llvm::seq<unsigned>(0, entries.size()));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::tie(entries[a].cost, a) < std::tie(entries[b].cost, b);
  });
  SmallVector<Frontier> keptFrontiers;
  SmallVector<Entry> kept;
  for (unsigned index : order) {
    // The cheapest few dominate nearly all that is ever dominated.
    constexpr size_t judges = 8;
    bool dominated = false;
    for (size_t judge = 0; judge < std::min(judges, kept.size()) && !dominated; ++judge)
      dominated =
          isDominated(all[index], entries[index].cost, keptFrontiers[judge], kept[judge].cost);
    if (dominated)
      continue;
    if (kept.size() == options.beam) {
      ++pruned;
      continue;
    }
    keptFrontiers.push_back(std::move(all[index]));
    kept.push_back(entries[index]);
  }
  entries = std::move(kept);
  all = std::move(keptFrontiers);
}

/// Follows the best end back to the start and reads off every op's choice.
AxisSearchResult Search::trace() {
  AxisSearchResult result;
  const auto *best =
      llvm::min_element(current, [](const Entry &a, const Entry &b) { return a.cost < b.cost; });
  result.bytesMoved = best->bytes;
  result.numCollectives = best->collectives;
  result.numStatesPruned = pruned;
  SmallVector<unsigned> chosen(decisions.size());
  int entry = best - current.begin();
  for (int index = decisions.size() - 1; index >= 0; --index) {
    chosen[index] = decisions[index].entries[entry].strategy;
    entry = decisions[index].entries[entry].parent;
  }
  // A value that some op reads partial must rest so; others read it combined.
  DenseSet<Value> readPartial;
  auto rest = [&](Value value, const AxisSplit &split) {
    if (candidates.existingStates(value))
      return;
    if (split.kind == AxisSplit::Kind::Partial)
      readPartial.insert(value);
    auto [position, isNew] = result.splits.try_emplace(value, split);
    if (!isNew && position->second.kind == AxisSplit::Kind::Partial)
      position->second = split;
  };
  for (auto [decision, number] : llvm::zip(decisions, chosen)) {
    const AxisStrategy &strategy = decision.strategies[number];
    auto &uses = result.uses[decision.op];
    for (auto [operand, state] : llvm::zip(decision.op->getOperands(), strategy.operands)) {
      const AxisSplit &split = candidates.states(operand)[state];
      uses.push_back(split);
      rest(operand, split);
    }
    for (auto [value, state] : llvm::zip(decision.op->getResults(), strategy.results))
      result.splits[value] = candidates.states(value)[state];
  }
  for (Value value : readPartial)
    result.splits[value] = AxisSplit{AxisSplit::Kind::Partial, 0, 1, 1};
  // What only the end of the program, or others, consume must not rest partial.
  for (auto &[value, split] : result.splits) {
    if (!leaves(value))
      continue;
    if (std::optional<unsigned> wanted = candidates.wantedState(value))
      split = candidates.states(value)[*wanted];
    else if (split.kind == AxisSplit::Kind::Partial)
      split = AxisSplit{};
  }
  for (Value operand : program.getTerminator()->getOperands())
    if (auto found = result.splits.find(operand); found != result.splits.end() &&
                                                  found->second.kind == AxisSplit::Kind::Partial &&
                                                  !readPartial.contains(operand))
      found->second = AxisSplit{};
  return result;
}

AxisSearchResult Search::run() {
  findLastUses();
  frontiers.emplace_back();
  current.emplace_back();
  for (Operation &op : program)
    if (visits(&op))
      advance(&op);
  return trace();
}

} // namespace

AxisSearchResult searchAxis(Block &program, const AxisSearchOptions &options) {
  return Search(program, options).run();
}

} // namespace weft
