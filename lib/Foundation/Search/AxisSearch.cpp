// Walks a program once and keeps the cheapest way to each layout of live values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Search/AxisSearch.h"

#include "SearchedValues.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

#include <cassert>
#include <unordered_set>

using namespace mlir;

namespace weft {

namespace {

/// State 1 of every value is partial.
constexpr uint32_t kPartialBit = 2;

/// For each live value the set of states that exist, one bit a state. A program
/// argument that nobody has used yet has none: its first use decides.
using Frontier = ArrayRef<uint32_t>;

/// Frontiers of the same live values, in one piece of memory: a search makes millions of them.
class Frontiers {
public:
  explicit Frontiers(size_t width) : width(width) {}

  size_t size() const { return count; }
  Frontier operator[](size_t index) const { return Frontier(masks).slice(index * width, width); }
  void push_back(Frontier frontier) {
    masks.insert(masks.end(), frontier.begin(), frontier.end());
    ++count;
  }
  void pop_back() {
    masks.resize(masks.size() - width);
    --count;
  }

private:
  size_t width, count = 0;
  std::vector<uint32_t> masks;
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
  std::vector<Entry> entries;
};

/// The frontiers behind an op, each once, with the cheapest way there.
class Reached {
public:
  explicit Reached(size_t width) : frontiers(width) {}

  void add(Frontier frontier, const Entry &entry) {
    frontiers.push_back(frontier);
    auto [position, isNew] = known.insert(entries.size());
    if (isNew) {
      entries.push_back(entry);
      return;
    }
    frontiers.pop_back();
    if (entry.cost < entries[*position].cost)
      entries[*position] = entry;
  }

  Frontiers frontiers;
  std::vector<Entry> entries;

private:
  struct Hash {
    const Frontiers &frontiers;
    size_t operator()(unsigned index) const {
      Frontier frontier = frontiers[index];
      return llvm::hash_combine_range(frontier.begin(), frontier.end());
    }
  };
  struct Equal {
    const Frontiers &frontiers;
    bool operator()(unsigned a, unsigned b) const { return frontiers[a] == frontiers[b]; }
  };
  std::unordered_set<unsigned, Hash, Equal> known{0, Hash{frontiers}, Equal{frontiers}};
};

class Search {
public:
  Search(Block &program, const AxisSearchOptions &options)
      : program(program), options(options), candidates(program, options),
        values(options, candidates) {}

  AxisSearchResult run();

private:
  /// An op on its way into the search.
  struct Visit {
    Decision decision;
    /// Live values before it; its operands are among them.
    SmallVector<SearchedValue *> before;
    SmallVector<unsigned> operands;
    SmallVector<SearchedValue *> results;
    /// What of both is alive behind it.
    SmallVector<unsigned> kept, keptResults;
  };

  bool visits(Operation *op) const {
    return candidates.includes(op) || op->hasTrait<OpTrait::IsTerminator>();
  }
  /// Constants and positions: each reader has its part for free, so that their
  /// splits must not multiply the frontiers while they wait for a reader.
  static bool isMadeAnywhere(Operation *op) {
    return op->getNumOperands() == 0 && !op->hasTrait<OpTrait::IsTerminator>();
  }
  void findLastReaders();
  Visit prepare(Operation *op);
  void advance(Operation *op);
  bool read(const Visit &visit, const AxisStrategy &strategy, MutableArrayRef<uint32_t> masks,
            Entry &entry) const;
  bool make(const Visit &visit, const AxisStrategy &strategy, SmallVectorImpl<uint32_t> &made,
            Entry &entry) const;
  bool acquire(const SearchedValue &value, uint32_t &available, unsigned state, Entry &entry) const;
  bool finish(const SearchedValue &value, uint32_t &available, Entry &entry) const;
  bool isDominated(Frontier frontier, double cost, Frontier other, double otherCost) const;
  void prune(const Reached &reached);
  AxisSearchResult trace();

  Block &program;
  const AxisSearchOptions &options;
  AxisCandidates candidates;
  SearchedValues values;
  SmallVector<SearchedValue *> live;
  Frontiers frontiers{0};
  std::vector<Entry> current;
  std::vector<Decision> decisions;
  unsigned pruned = 0;
};

/// Makes `state` of a value exist, by the cheapest move from one that does.
bool Search::acquire(const SearchedValue &value, uint32_t &available, unsigned state,
                     Entry &entry) const {
  uint32_t bit = 1u << state;
  if (available == 0 && value.fixed)
    available = 1u << *value.fixed;
  else if (available == 0)
    available = value.existing;
  if (available & bit)
    return true;
  AxisSplit::Kind kind = value.states[state].kind;
  if (available == 0) {
    if (kind == AxisSplit::Kind::Partial)
      return false;
    available = bit;
    if (kind == AxisSplit::Kind::Replicated)
      entry.cost += value.secondsOfWhole;
    return true;
  }
  // Arguments are read as they rest, or sliced.
  if (isa<BlockArgument>(value.value) && !(available & 1u) && !value.fixed)
    return false;
  std::optional<Move> move = value.move(available, state, options.sequenceParallel);
  if (!move)
    return false;
  available |= bit;
  entry.cost += move->seconds;
  entry.bytes += move->bytes;
  entry.collectives += move->collectives;
  return true;
}

/// A result of the program: partial sums are combined, and whoever reads a
/// split result must gather it, which costs but is not done here.
bool Search::finish(const SearchedValue &value, uint32_t &available, Entry &entry) const {
  if (available == 0)
    return true;
  bool onlyPartial = available == kPartialBit;
  Entry gathered = entry;
  if (!acquire(value, available, 0, gathered))
    return isa<BlockArgument>(value.value);
  if (onlyPartial)
    entry = gathered;
  else
    entry.cost = gathered.cost;
  return true;
}

void Search::findLastReaders() {
  for (Operation &op : program)
    if (visits(&op))
      for (Value operand : op.getOperands())
        values.of(operand).lastReader = &op;
}

Search::Visit Search::prepare(Operation *op) {
  Visit visit;
  visit.decision.op = op;
  // Results may stay split (the runtime assembles them), but not partial.
  if (op->hasTrait<OpTrait::IsTerminator>())
    visit.decision.strategies.emplace_back();
  else
    visit.decision.strategies = candidates.strategies(op);
  if (isMadeAnywhere(op))
    visit.decision.strategies.resize(1);
  for (Value operand : op->getOperands()) {
    SearchedValue *value = &values.of(operand);
    auto *found = llvm::find(live, value);
    visit.operands.push_back(found - live.begin());
    if (found == live.end()) // an argument's first use
      live.push_back(value);
  }
  SmallVector<SearchedValue *> behind;
  for (auto [index, value] : llvm::enumerate(live))
    if (value->lastReader != op) {
      behind.push_back(value);
      visit.kept.push_back(index);
    }
  visit.before = std::exchange(live, std::move(behind));
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    SearchedValue *value = visit.results.emplace_back(&values.of(result));
    if (value->lastReader) {
      live.push_back(value);
      visit.keptResults.push_back(index);
    }
  }
  return visit;
}

/// Brings the operands into the states that the strategy wants.
bool Search::read(const Visit &visit, const AxisStrategy &strategy, MutableArrayRef<uint32_t> masks,
                  Entry &entry) const {
  for (auto [index, column] : llvm::enumerate(visit.operands)) {
    const SearchedValue &operand = *visit.before[column];
    if (strategy.operands.empty()
            ? !finish(operand, masks[column], entry)
            : !acquire(operand, masks[column], strategy.operands[index], entry))
      return false;
  }
  return true;
}

/// Adds the states in which the strategy leaves the results.
bool Search::make(const Visit &visit, const AxisStrategy &strategy, SmallVectorImpl<uint32_t> &made,
                  Entry &entry) const {
  bool anywhere = isMadeAnywhere(visit.decision.op), possible = true;
  for (auto [result, state] : llvm::zip(visit.results, strategy.results)) {
    uint32_t &mask = made.emplace_back(1u << state);
    if (anywhere) {
      // Whole and partial are states of every value.
      assert(!result->states.empty());
      mask = (~0u >> (32 - result->states.size())) & ~kPartialBit;
    }
    // What only others read, such as a gradient, may stay split, not partial.
    if (result->leaves() && result->wanted)
      possible &= acquire(*result, mask, *result->wanted, entry);
    else if (result->leaves() && mask == kPartialBit)
      possible &= acquire(*result, mask, 0, entry);
    if (result->fixed) {
      possible &= acquire(*result, mask, *result->fixed, entry);
      mask = 1u << *result->fixed;
    }
  }
  return possible;
}

void Search::advance(Operation *op) {
  Visit visit = prepare(op);
  Reached reached(live.size());
  SmallVector<uint32_t> masks, made, behind;
  for (auto [parent, from] : llvm::enumerate(current)) {
    for (auto [number, strategy] : llvm::enumerate(visit.decision.strategies)) {
      Entry entry = from;
      entry.parent = parent;
      entry.strategy = number;
      entry.cost += strategy.computeCost;
      masks.assign(frontiers[parent].begin(), frontiers[parent].end());
      masks.resize(visit.before.size(), 0);
      made.clear();
      if (!read(visit, strategy, masks, entry) || !make(visit, strategy, made, entry))
        continue;
      behind.clear();
      for (unsigned column : visit.kept)
        behind.push_back(masks[column]);
      for (unsigned result : visit.keptResults)
        behind.push_back(made[result]);
      reached.add(behind, entry);
    }
  }
  prune(reached);
  visit.decision.entries = current;
  decisions.push_back(std::move(visit.decision));
}

/// True if it is no dearer to go on from `other` and make, when needed, what
/// `frontier` has and `other` lacks.
bool Search::isDominated(Frontier frontier, double cost, Frontier other, double otherCost) const {
  Entry reached;
  reached.cost = otherCost;
  for (auto [value, mask, otherMask] : llvm::zip(live, frontier, other)) {
    uint32_t available = otherMask;
    for (uint32_t missing = mask & ~otherMask; missing; missing &= missing - 1)
      if (!acquire(*value, available, llvm::countr_zero(missing), reached) || reached.cost > cost)
        return false;
  }
  return true;
}

/// Keeps the frontiers that can still lead to the best end, at most `beam`.
void Search::prune(const Reached &reached) {
  SmallVector<unsigned> order = llvm::to_vector(llvm::seq<unsigned>(0, reached.entries.size()));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::tie(reached.entries[a].cost, a) < std::tie(reached.entries[b].cost, b);
  });
  frontiers = Frontiers(live.size());
  current.clear();
  for (unsigned index : order) {
    Frontier frontier = reached.frontiers[index];
    const Entry &entry = reached.entries[index];
    // The cheapest few dominate nearly all that is ever dominated.
    constexpr size_t judges = 8;
    bool dominated = false;
    for (size_t judge = 0; judge < std::min(judges, current.size()) && !dominated; ++judge)
      dominated = isDominated(frontier, entry.cost, frontiers[judge], current[judge].cost);
    if (dominated)
      continue;
    if (current.size() == options.beam) {
      ++pruned;
      continue;
    }
    frontiers.push_back(frontier);
    current.push_back(entry);
  }
}

/// Follows the best end back to the start and reads off every op's choice.
AxisSearchResult Search::trace() {
  AxisSearchResult result;
  const auto *best =
      &*llvm::min_element(current, [](const Entry &a, const Entry &b) { return a.cost < b.cost; });
  result.bytesMoved = best->bytes;
  result.numCollectives = best->collectives;
  result.numStatesPruned = pruned;
  SmallVector<unsigned> chosen(decisions.size());
  int entry = best - current.data();
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
    const SearchedValue &searched = values.of(value);
    if (!searched.leaves())
      continue;
    if (searched.wanted)
      split = searched.states[*searched.wanted];
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
  findLastReaders();
  frontiers.push_back({});
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
