// Walks a program once and keeps the cheapest way to each layout of live values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Search/AxisSearch.h"

#include "Frontiers.h"
#include "MadeAnywhere.h"
#include "SearchedValues.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>
#include <deque>
#include <map>

using namespace mlir;

namespace weft {

struct AxisSearchMemory::Met {
  Numbers valueNumbers, listNumbers, visitNumbers, stateNumbers;
  std::deque<FrontierTable> tables; ///< by list
  size_t bytes = 0;                 ///< of all tables
  std::vector<size_t> widths;       ///< by list
  /// By list and op, and by frontier: where the op leads from there, at costs above the frontier's.
  DenseMap<std::pair<uint64_t, unsigned>, std::vector<Reached>> steps;
  size_t numSteps = 0;
  std::deque<State> states;
  std::deque<Outcome> outcomes;
  DenseMap<std::pair<unsigned, unsigned>, const Outcome *> known; ///< by state and op
};

AxisSearchMemory::AxisSearchMemory() : met(std::make_unique<Met>()) {}
AxisSearchMemory::~AxisSearchMemory() = default;

namespace {

/// So many steps are remembered. More are of programs that do not repeat.
constexpr size_t kMostSteps = 1 << 20;

class Search {
public:
  Search(Block &program, const AxisSearchOptions &options)
      : program(program), options(options), candidates(program, options),
        values(options, candidates), madeAnywhere(findMadeAnywhere(program, candidates)),
        own(options.memory ? nullptr : std::make_unique<AxisSearchMemory>()),
        met(*(options.memory ? *options.memory : *own).met) {}

  AxisSearchResult run();

private:
  /// How an op ran in the search.
  struct Decision {
    Operation *op;
    ArrayRef<AxisStrategy> strategies;
    const Outcome *outcome;
  };
  /// An op on its way into the search.
  struct Visit {
    Operation *op;
    ArrayRef<AxisStrategy> strategies;
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
  bool isMadeAnywhere(Operation *op) const { return madeAnywhere.contains(op); }
  void findLastReaders();
  ArrayRef<AxisStrategy> strategiesOf(Operation *op);
  Visit prepare(Operation *op);
  unsigned numberOf(const SearchedValue &value);
  unsigned numberOf(const Visit &visit);
  void advance(Operation *op);
  void forget();
  Outcome explore(const Visit &visit, unsigned number);
  ArrayRef<Reached> stepsFrom(unsigned frontier, const Visit &visit, unsigned number,
                              FrontierTable &behind);
  std::vector<Reached> findSteps(Frontier frontier, const Visit &visit,
                                 FrontierTable &behind) const;
  bool read(const Visit &visit, const AxisStrategy &strategy, MutableArrayRef<uint32_t> masks,
            Entry &entry) const;
  bool make(const Visit &visit, const AxisStrategy &strategy, SmallVectorImpl<uint32_t> &made,
            Entry &entry) const;
  bool acquire(const SearchedValue &value, uint32_t &available, unsigned state, Entry &entry) const;
  bool finish(const SearchedValue &value, uint32_t &available, Entry &entry) const;
  Ticks distance(Frontier from, Frontier to) const;
  Ticks sumsDue(Frontier frontier) const;
  std::vector<uint32_t> splitsOfArguments(Frontier frontier) const;
  Outcome prune(ArrayRef<Reached> reached, unsigned list);
  unsigned listOf(ArrayRef<SearchedValue *> list);
  AxisSearchResult trace();

  Block &program;
  const AxisSearchOptions &options;
  AxisCandidates candidates;
  SearchedValues values;
  OpsMadeAnywhere madeAnywhere;
  SmallVector<SearchedValue *> live;
  std::deque<SmallVector<AxisStrategy, 8>> strategies;
  std::unique_ptr<AxisSearchMemory> own;
  AxisSearchMemory::Met &met;
  size_t mostBytes = 0; ///< of all tables at a time
  unsigned numSearched = 0;
  std::vector<Reached> unremembered;
  unsigned state = 0; ///< the one reached
  std::vector<Decision> decisions;
};

} // namespace

std::vector<int64_t> State::key() const {
  std::vector<int64_t> key = {int64_t(list)};
  SmallVector<int64_t, 2> ticks;
  for (auto [frontier, cost] : llvm::zip(frontiers, costs)) {
    key.push_back(frontier);
    ticks.clear();
    appendTicks(ticks, cost);
    llvm::append_range(key, ticks);
  }
  return key;
}

namespace {

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
      entry.cost += value.costOfWhole;
    return true;
  }
  std::optional<Move> move = value.move(available, state, options.sequenceParallel);
  if (!move)
    return false;
  // State is read as it rests, or sliced, wherever its readers can. What a person asked for may be
  // no good for the axis, and is priced as any value.
  bool isMovedArgument = isa<BlockArgument>(value.value) && !(available & kWholeBit);
  if (isMovedArgument && (!value.fixed || options.isStatePlacedForAxis))
    entry.cost += value.costOfWhole;
  available |= bit;
  entry.cost += move->cost;
  entry.bytes += move->bytes;
  entry.collectives += move->collectives;
  return true;
}

/// A result of the program: partial sums are combined, and whoever reads a
/// split result must gather it, which costs but is not done here.
bool Search::finish(const SearchedValue &value, uint32_t &available, Entry &entry) const {
  bool onlyPartial = available == kPartialBit;
  if (available == 0 || (value.isUpdate && !onlyPartial))
    return true;
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

ArrayRef<AxisStrategy> Search::strategiesOf(Operation *op) {
  SmallVector<AxisStrategy, 8> &list = strategies.emplace_back();
  // Results may stay split (the runtime assembles them), but not partial.
  if (op->hasTrait<OpTrait::IsTerminator>())
    list.emplace_back();
  else
    list = candidates.strategies(op);
  if (isMadeAnywhere(op))
    list.resize(1);
  return list;
}

Search::Visit Search::prepare(Operation *op) {
  Visit visit;
  visit.op = op;
  visit.strategies = strategiesOf(op);
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
  bool anywhere = isMadeAnywhere(visit.op), possible = true;
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

unsigned Search::numberOf(const SearchedValue &value) {
  SmallVector<int64_t, 48> key;
  value.describe(key);
  return met.valueNumbers.of(key).first;
}

/// The number of all ops that lead from one state to one state, in the same ways.
unsigned Search::numberOf(const Visit &visit) {
  SmallVector<int64_t, 96> key = {visit.op->hasTrait<OpTrait::IsTerminator>(),
                                  isMadeAnywhere(visit.op)};
  auto append = [&](const auto &list) {
    key.push_back(list.size());
    llvm::append_range(key, list);
  };
  append(visit.operands);
  append(visit.kept);
  append(visit.keptResults);
  key.push_back(visit.before.size());
  for (SearchedValue *value : ArrayRef(visit.before).drop_front(met.widths[met.states[state].list]))
    key.push_back(numberOf(*value));
  for (SearchedValue *value : visit.results)
    key.push_back(numberOf(*value));
  for (const AxisStrategy &strategy : visit.strategies) {
    append(strategy.operands);
    append(strategy.results);
    appendTicks(key, strategy.cost);
  }
  return met.visitNumbers.of(key).first;
}

void Search::advance(Operation *op) {
  Visit visit = prepare(op);
  unsigned number = numberOf(visit);
  const Outcome *&outcome = met.known[{state, number}];
  if (!outcome || !options.replay) {
    ++numSearched;
    outcome = &met.outcomes.emplace_back(explore(visit, number));
  }
  decisions.push_back({op, visit.strategies, outcome});
  state = outcome->next;
  if (met.bytes > options.rememberedBytes)
    forget();
}

/// Goes on from the frontiers reached as if none had been met before.
void Search::forget() {
  State reached = std::move(met.states[state]);
  Frontiers frontiers(live.size());
  for (unsigned number : reached.frontiers)
    frontiers.push_back(met.tables[reached.list][number]);
  met.tables.clear();
  met.widths.clear();
  met.steps.clear();
  met.states.clear();
  met.known.clear();
  met.listNumbers = met.stateNumbers = Numbers();
  met.numSteps = 0;
  reached.list = listOf(live);
  FrontierTable &table = met.tables[reached.list];
  for (auto [index, number] : llvm::enumerate(reached.frontiers))
    number = table.numberOf(frontiers[index]);
  met.bytes = table.bytes();
  state = met.stateNumbers.of(reached.key()).first;
  met.states.push_back(std::move(reached));
}

/// The number of all lists of values of which the same is asked.
unsigned Search::listOf(ArrayRef<SearchedValue *> values) {
  SmallVector<int64_t, 48> key;
  for (const SearchedValue *value : values)
    key.push_back(numberOf(*value));
  // What all values are moved by.
  llvm::append_values(key, -1, int64_t(options.sequenceParallel),
                      int64_t(options.isStatePlacedForAxis), int64_t(options.beam));
  auto [number, isNew] = met.listNumbers.of(key);
  if (isNew) {
    met.tables.emplace_back(values.size());
    met.widths.push_back(values.size());
  }
  return number;
}

Outcome Search::explore(const Visit &visit, unsigned number) {
  const State &from = met.states[state];
  unsigned list = listOf(live);
  FrontierTable &behind = met.tables[list];
  met.bytes -= behind.bytes();
  constexpr unsigned kNowhere = ~0u;
  std::vector<unsigned> places; // in `reached`, by frontier
  std::vector<Reached> reached;
  for (auto [parent, frontier, cost] : llvm::enumerate(from.frontiers, from.costs))
    for (const Reached &step : stepsFrom(frontier, visit, number, behind)) {
      if (step.frontier >= places.size())
        places.resize(behind.size(), kNowhere);
      unsigned &place = places[step.frontier];
      Ticks whole = cost + step.entry.cost;
      if (place == kNowhere) {
        place = reached.size();
        reached.push_back(step);
      } else if (whole < reached[place].entry.cost) {
        reached[place] = step;
      } else {
        continue;
      }
      reached[place].entry.cost = whole;
      reached[place].entry.parent = parent;
    }
  Outcome outcome = prune(reached, list);
  met.bytes += behind.bytes();
  mostBytes = std::max(mostBytes, met.bytes);
  return outcome;
}

/// In equal blocks the same frontiers come again, though not always at the same costs.
ArrayRef<Reached> Search::stepsFrom(unsigned frontier, const Visit &visit, unsigned number,
                                    FrontierTable &behind) {
  unsigned list = met.states[state].list;
  if (!options.replay)
    return unremembered = findSteps(met.tables[list][frontier], visit, behind);
  uint64_t way = uint64_t(list) << 32 | number;
  if (auto found = met.steps.find({way, frontier}); found != met.steps.end())
    return found->second;
  unremembered = findSteps(met.tables[list][frontier], visit, behind);
  met.numSteps += unremembered.size();
  if (met.numSteps > kMostSteps)
    return unremembered;
  return met.steps[{way, frontier}] = unremembered;
}

std::vector<Reached> Search::findSteps(Frontier frontier, const Visit &visit,
                                       FrontierTable &behind) const {
  std::vector<Reached> found;
  // A copy, as its table may be `behind`, which grows.
  SmallVector<uint32_t> before(frontier), masks, made, left;
  for (auto [number, strategy] : llvm::enumerate(visit.strategies)) {
    Entry entry{strategy.cost, 0, 0, 0, unsigned(number)};
    masks = before;
    masks.resize(visit.before.size(), 0);
    made.clear();
    if (!read(visit, strategy, masks, entry) || !make(visit, strategy, made, entry))
      continue;
    left.clear();
    for (unsigned column : visit.kept)
      left.push_back(masks[column]);
    for (unsigned result : visit.keptResults)
      left.push_back(made[result]);
    found.push_back({behind.numberOf(left), entry});
  }
  return found;
}

/// What it costs to make of frontier `from` all that `to` has and it lacks, if that is possible.
Ticks Search::distance(Frontier from, Frontier to) const {
  Entry reached;
  for (auto [value, has, wanted] : llvm::zip(live, from, to)) {
    uint32_t available = has;
    for (uint32_t missing = wanted & ~has; missing; missing &= missing - 1)
      if (!acquire(*value, available, llvm::countr_zero(missing), reached))
        return FrontierTable::kImpossible;
  }
  return reached.cost;
}

/// What it takes to combine all sums that are due. Who has not paid for them looks cheaper than who
/// has, and a beam would keep nobody else.
Ticks Search::sumsDue(Frontier frontier) const {
  Ticks due = 0;
  for (auto [value, mask] : llvm::zip(live, frontier))
    if (mask == kPartialBit)
      due += value->allReduce.cost;
  return due;
}

/// The states of the arguments alive, as a key. A table that is looked up at the start and is the
/// output layer's weight at the end pays for its split only there.
std::vector<uint32_t> Search::splitsOfArguments(Frontier frontier) const {
  std::vector<uint32_t> key;
  for (auto [value, mask] : llvm::zip(live, frontier))
    if (isa<BlockArgument>(value->value))
      key.push_back(mask);
  return key;
}

/// Keeps the frontiers that can still lead to the best end: the `beam` cheapest with the sums that
/// are due, and of each way in which arguments are split a quarter of that, together at most four
/// times `beam`.
Outcome Search::prune(ArrayRef<Reached> reached, unsigned list) {
  FrontierTable &table = met.tables[list];
  // By cost with what is due; of equals first what has paid least, which may find company.
  SmallVector<std::tuple<Ticks, Ticks, unsigned>> order;
  for (auto [index, way] : llvm::enumerate(reached)) {
    Ticks due = table.sumsDue(way.frontier, [&](Frontier frontier) { return sumsDue(frontier); });
    order.emplace_back(way.entry.cost + due, way.entry.cost, index);
  }
  llvm::sort(order);
  Outcome outcome{0, {}, 0};
  State next;
  next.list = list;
  SmallVector<unsigned> kept; // by the splits of arguments
  // The cheapest few dominate nearly all that is ever dominated: it is no dearer to go on from one
  // of them and make, when needed, what the frontier has and it lacks.
  constexpr size_t kJudges = 8;
  SmallVector<std::vector<Ticks> *, kJudges> distances; // from the judges
  auto isDominated = [&](unsigned frontier, Ticks cost) {
    for (auto [judge, list] : llvm::enumerate(distances)) {
      Ticks &way = (*list)[frontier];
      if (way == FrontierTable::kUnknown)
        way = distance(table[next.frontiers[judge]], table[frontier]);
      if (way != FrontierTable::kImpossible && next.costs[judge] + way <= cost)
        return true;
    }
    return false;
  };
  for (auto [whole, paid, index] : order) {
    const Reached &way = reached[index];
    Ticks cost = paid - std::get<1>(order.front());
    if (isDominated(way.frontier, cost))
      continue;
    unsigned kind =
        table.kindOf(way.frontier, [&](Frontier frontier) { return splitsOfArguments(frontier); });
    if (kind >= kept.size())
      kept.resize(kind + 1, 0);
    unsigned &alike = kept[kind];
    if (next.costs.size() >= options.beam &&
        (alike >= options.beam / 4 || next.costs.size() >= 4 * options.beam)) {
      ++outcome.pruned;
      continue;
    }
    ++alike;
    next.frontiers.push_back(way.frontier);
    next.costs.push_back(cost);
    if (distances.size() < kJudges)
      distances.push_back(&table.distancesFrom(way.frontier));
    outcome.entries.push_back(way.entry);
  }
  auto [number, isNew] = met.stateNumbers.of(next.key());
  if (isNew)
    met.states.push_back(std::move(next));
  outcome.next = number;
  return outcome;
}

/// Follows the best end back to the start and reads off every op's choice.
AxisSearchResult Search::trace() {
  AxisSearchResult result;
  result.numOpsSearched = numSearched;
  result.rememberedBytes = mostBytes;
  SmallVector<unsigned> chosen(decisions.size());
  // At the end nothing is alive: there is one frontier.
  unsigned entry = 0;
  for (int index = decisions.size() - 1; index >= 0; --index) {
    const Entry &way = decisions[index].outcome->entries[entry];
    result.bytesMoved += way.bytes;
    result.numCollectives += way.collectives;
    result.numStatesPruned += decisions[index].outcome->pruned;
    chosen[index] = way.strategy;
    entry = way.parent;
  }
  // A value that is made partial, and that some op reads so, must rest so; others read it combined.
  // What is made whole rests whole, and is made partial for the reader.
  DenseSet<Value> madePartial, readPartial;
  auto rest = [&](Value value, const AxisSplit &split) {
    if (candidates.existingStates(value))
      return;
    if (split.kind == AxisSplit::Kind::Partial && !madePartial.contains(value))
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
    for (auto [value, state] : llvm::zip(decision.op->getResults(), strategy.results)) {
      const AxisSplit &split = result.splits[value] = candidates.states(value)[state];
      if (split.kind == AxisSplit::Kind::Partial)
        madePartial.insert(value);
    }
  }
  for (Value value : readPartial)
    result.splits[value] = AxisSplit{AxisSplit::Kind::Partial, 0, 1, 1};
  splitAsRead(madeAnywhere, candidates, result);
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
  State start;
  start.list = listOf({});
  start.frontiers.push_back(met.tables[start.list].numberOf({}));
  start.costs.push_back(0);
  auto [number, isNew] = met.stateNumbers.of(start.key());
  if (isNew)
    met.states.push_back(std::move(start));
  state = number;
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
