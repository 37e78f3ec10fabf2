// Cuts the line of activations, and places what follows it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/stages/StageAssignment.h"

#include "passes/dist/stages/StageChoice.h"
#include "passes/dist/stages/StageCut.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Interfaces/Sum.h"

#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <numeric>

using namespace mlir;

namespace weft::dist {

static void insert(ChunkSet &set, ArrayRef<int64_t> more) {
  llvm::append_range(set, more);
  llvm::sort(set);
  set.erase(llvm::unique(set), set.end());
}

static ChunkSet intersect(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  ChunkSet both;
  for (int64_t chunk : a)
    if (llvm::is_contained(b, chunk))
      both.push_back(chunk);
  return both;
}

/// The last chunk of a set that is not behind `most`.
static std::optional<int64_t> lastOf(const ChunkSet &set, int64_t most) {
  auto last = std::find_if(set.rbegin(), set.rend(), [&](int64_t chunk) { return chunk <= most; });
  return last == set.rend() ? std::nullopt : std::optional(*last);
}

bool isScalar(Value value) { return cast<RankedTensorType>(value.getType()).getRank() == 0; }

ChunkSet StageAssignment::everywhere() const {
  return llvm::to_vector_of<int64_t, 2>(llvm::seq<int64_t>(0, all));
}

//===--------------------------------------------------------------------===//
// What is on the line

StageClass StageAssignment::classOfOp(Operation *op) const {
  if (roleOf(op) == OpRole::Optimizer)
    return StageClass::Optimizer;
  StageClass most = StageClass::Source;
  bool ofState = false, ofInputs = false;
  for (Value operand : op->getOperands()) {
    if (Operation *maker = operand.getDefiningOp())
      most = std::max(most, classes.at(maker));
    ofState |= depends.at(operand).first;
    ofInputs |= depends.at(operand).second;
  }
  if (most == StageClass::Source && ofState && ofInputs)
    most = StageClass::Activation;
  // What makes a gradient out of activations alone begins the way back.
  if (most == StageClass::Activation && roleOf(op) == OpRole::Gradient)
    most = StageClass::Gradient;
  return most;
}

void StageAssignment::classify() {
  if (!classes.empty())
    return;
  for (BlockArgument argument : function.getArguments()) {
    bool isState = nn::isState(function, argument.getArgNumber());
    depends[argument] = {isState, !isState};
    if (isState)
      states[argument] = {argument.getArgNumber()};
  }
  for (Operation &op : function.getBody().front().without_terminator()) {
    StageClass own = classes[&op] = classOfOp(&op);
    for (Value result : op.getResults()) {
      std::pair<bool, bool> &on = depends[result];
      for (Value operand : op.getOperands()) {
        on.first |= depends.at(operand).first;
        on.second |= depends.at(operand).second;
        if (own == StageClass::Source)
          for (unsigned number : states.lookup(operand))
            if (auto &own = states[result]; !llvm::is_contained(own, number))
              own.push_back(number);
      }
    }
  }
}

std::vector<Operation *> StageAssignment::line() {
  classify();
  std::vector<Operation *> ops;
  for (Operation &op : function.getBody().front().without_terminator())
    if (classes.at(&op) == StageClass::Activation)
      ops.push_back(&op);
  return ops;
}

//===--------------------------------------------------------------------===//
// State

/// Where a state is, or null if it is on all chunks.
const ChunkSet *StageAssignment::homeOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || !nn::isState(function, argument.getArgNumber()))
    return nullptr;
  auto found = homes->find(nn::argumentName(function, argument.getArgNumber()));
  return found == homes->end() ? nullptr : &found->second;
}

ChunkSet StageAssignment::ofArgument(unsigned number) {
  const ChunkSet *home = homeOf(function.getArgument(number));
  return home ? *home : everywhere();
}

/// A state is where the line reads it, an optimizer's own where its parameter is. Scalars are on
/// all chunks: they are needed everywhere, or no matter.
void StageAssignment::findHomes(StateHomes &found) {
  for (Operation *op : line())
    for (Value operand : op->getOperands())
      for (unsigned number : states.lookup(operand))
        if (!isScalar(function.getArgument(number)))
          insert(found[nn::argumentName(function, number)], placed.at(op));
  for (unsigned number = 0; number < function.getNumArguments(); ++number)
    if (auto parameter = function.getArgAttrOfType<StringAttr>(number, nn::kOfAttr);
        parameter && !isScalar(function.getArgument(number)))
      if (auto home = found.find(parameter.getValue()); home != found.end())
        found[nn::argumentName(function, number)] = ChunkSet(home->second);
}

/// The chunks that hold all states that an op reads, whatever else it reads.
ChunkSet StageAssignment::pinsOf(Operation *op) {
  ChunkSet pins = everywhere();
  for (Value operand : op->getOperands())
    for (unsigned number : states.lookup(operand))
      if (const ChunkSet *home = homeOf(function.getArgument(number)))
        if (ChunkSet both = intersect(pins, *home); !both.empty())
          pins = both;
  return pins;
}

//===--------------------------------------------------------------------===//
// The line and what follows it

/// The line has so many ops, which are too few.
LogicalResult StageAssignment::tellShort(int64_t ops) {
  int64_t stages = *llvm::max_element(place) + 1;
  InFlightDiagnostic diagnostic = function.emitError() << "cannot be cut into " << all;
  if (ops == 0)
    diagnostic << " stages: it has no op that depends on both weights and inputs; compile it "
                  "without stages, or with --keep-weights if its weights became constants";
  else if (all == stages)
    diagnostic << " stages: it has " << ops
               << " ops that depend on both weights and inputs, and each stage needs one; use at "
                  "most "
               << ops << " stages";
  else
    diagnostic << " chunks for " << stages << " stages: it has " << ops
               << " ops that depend on both weights and inputs, and each chunk needs one; use "
               << (ops < stages ? "at most " : "a schedule of at most ")
               << (ops < stages ? ops : ops / stages)
               << (ops < stages ? " stages" : " chunks a stage");
  return diagnostic;
}

/// Whatever the schedule is, ranks wait for the longest stage.
void StageAssignment::tellUneven(const OpCosts &costs) {
  std::vector<Operation *> ops = line();
  std::vector<int64_t> chunks;
  for (Operation *op : ops)
    chunks.push_back(placed.at(op).front());
  std::vector<double> seconds = stageSeconds(ops, costs, place, chunks);
  double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  auto longest = llvm::max_element(seconds);
  double idle = 100 * (1 - sum / (*longest * double(seconds.size())));
  if (idle > 50)
    function.emitWarning() << "stage " << (longest - seconds.begin()) << " takes "
                           << llvm::formatv("{0:f0} % of the time of all {1} stages, so that they "
                                            "idle {2:f0} % of a step on average",
                                            100 * *longest / sum, seconds.size(), idle)
                                  .str()
                           << "; use fewer stages";
}

std::vector<int64_t> StageAssignment::stagesOfLine() {
  std::vector<int64_t> stages;
  for (Operation *op : line())
    stages.push_back(place[size_t(placed.at(op).front())]);
  return stages;
}

bool StageAssignment::isAsAsked() { return !firstNotAsAsked(stagesAsked(line()), stagesOfLine()); }

void StageAssignment::tellNotAsAsked(StringRef said) {
  std::vector<Operation *> ops = line();
  weft::dist::tellNotAsAsked(ops, stagesAsked(ops), stagesOfLine(), place, said);
}

LogicalResult StageAssignment::cut(const OpCosts &costs, StringRef said, StateHomes &found) {
  homes = &found;
  std::vector<Operation *> ops = line();
  if (int64_t(ops.size()) < all)
    return tellShort(ops.size());
  std::vector<int64_t> chunks;
  if (said.empty()) {
    chunks = cutLine(ops, costs, place, stagesAsked(ops));
    if (chunks.empty())
      chunks = cutLine(ops, costs, place);
  } else {
    llvm::Expected<std::vector<int64_t>> chosen = cutAsSaid(ops, costs, place, said);
    if (!chosen)
      return function.emitError() << "--stages " << llvm::toString(chosen.takeError());
    chunks = std::move(*chosen);
  }
  for (auto [op, chunk] : llvm::zip_equal(ops, chunks))
    placed[op] = {chunk};
  findHomes(found);
  placeUpdates();
  placeGradients();
  placeNumbers();
  placeSources();
  return success();
}

void StageAssignment::follow(const StateHomes &known) {
  homes = &known;
  classify();
  for (Operation *op : line()) {
    int64_t least = 0;
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp();
          maker && classes.at(maker) == StageClass::Activation)
        least = std::max(least, placed.at(maker).front());
    ChunkSet pins = pinsOf(op);
    auto *first = llvm::find_if(pins, [&](int64_t chunk) { return chunk >= least; });
    placed[op] = {first != pins.end() ? *first : pins.back()};
  }
  placeUpdates();
  placeGradients();
  placeNumbers();
  placeSources();
}

void StageAssignment::findAvailable() {
  for (Operation *op : line()) {
    for (Value result : op->getResults())
      insert(available[result], placed.at(op));
    for (Value operand : op->getOperands())
      insert(available[operand], placed.at(op));
  }
}

void StageAssignment::placeGradients() {
  findAvailable();
  WeightGradients ofWeights;
  // Ops that no gradient with a place leads to: what begins the way back, or is computed again from
  // activations. They go where they are read, among the chunks that have their operands.
  llvm::MapVector<Operation *, ChunkSet> free;
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (classes.at(&op) != StageClass::Gradient)
      continue;
    int64_t latest = all - 1;
    ChunkSet pins = pinsOf(&op), both = pins; // both: with what free ops make
    bool isFree = int64_t(pins.size()) == all, isOfWeights = isWeightGradient(&op);
    for (Value operand : op.getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (!maker || classes.at(maker) == StageClass::Source)
        continue;
      if (auto found = free.find(maker); found != free.end()) {
        both = intersect(both, found->second);
        continue;
      }
      if (classes.at(maker) == StageClass::Gradient) {
        latest = std::min(latest, placed.at(maker).front());
        isFree = false;
        // What reshards gradients of weights has no role of its own.
        isOfWeights |= roleOf(&op) == OpRole::Forward && ofWeights.contains(maker);
        continue;
      }
      ChunkSet having = available.lookup(operand);
      both = intersect(both, having);
      if (ChunkSet within = intersect(pins, having); !within.empty())
        pins = within;
    }
    if (isFree && !both.empty()) {
      free[&op] = both;
      continue;
    }
    // What free ops make need not be sent where the line comes to a chunk that has it.
    placed[&op] = {lastOf(both, latest).value_or(lastOf(pins, latest).value_or(pins.front()))};
    if (isOfWeights)
      ofWeights[&op] = both;
  }
  for (auto &[op, chunks] : llvm::reverse(ofWeights))
    followReaders(op, ofWeights);
  for (auto &[op, chunks] : llvm::reverse(free)) {
    ChunkSet read;
    for (Operation *reader : op->getUsers())
      if (auto found = placed.find(reader); found != placed.end())
        insert(read, intersect(found->second, chunks));
    placed[op] = read.empty() ? ChunkSet{chunks.back()} : read;
  }
}

/// A gradient of weights is made where they are, and not where the last of what it is made of is:
/// it goes back to the latest chunk that reads it, if it can.
void StageAssignment::followReaders(Operation *op, const WeightGradients &ofWeights) {
  int64_t latest = -1;
  for (Operation *reader : op->getUsers())
    if (auto found = placed.find(reader); found != placed.end())
      latest = std::max(latest, found->second.back());
  if (latest >= 0 && latest < placed.at(op).front() && canGoTo(latest, op, ofWeights))
    placed[op] = {latest};
}

/// Whether a chunk has what a gradient of weights reads, and no more values cross if it is made
/// there. Often fewer do: a gradient that goes back along the line is there anyhow. What only hands
/// another one on, as a sum over microbatches does, goes where that can go: so it is the sum that
/// crosses, once a step.
bool StageAssignment::canGoTo(int64_t chunk, Operation *op,
                              const WeightGradients &ofWeights) const {
  const ChunkSet &having = ofWeights.find(op)->second;
  if (!llvm::is_contained(having, chunk))
    return false;
  Operation *only = op->getNumOperands() == 1 ? op->getOperand(0).getDefiningOp() : nullptr;
  if (only && only->hasOneUse() && ofWeights.contains(only))
    return canGoTo(chunk, only, ofWeights);
  llvm::SmallDenseSet<Value> crossing;
  for (Value operand : op->getOperands()) {
    auto isThere = [&](Operation *other) {
      auto found = placed.find(other);
      return other != op && found != placed.end() && found->second.front() <= chunk;
    };
    Operation *maker = operand.getDefiningOp();
    if (maker && classes.at(maker) == StageClass::Gradient && placed.contains(maker) &&
        placed.at(maker).front() > chunk && llvm::none_of(operand.getUsers(), isThere))
      crossing.insert(operand);
  }
  return crossing.size() <= op->getNumResults();
}

/// The chunks that have a value, once what makes it is placed; null if all have it.
const ChunkSet *StageAssignment::makersOf(Value value) {
  const ChunkSet *makers = homeOf(value);
  Operation *maker = value.getDefiningOp();
  if (maker && placed.contains(maker))
    makers = &placed.find(maker)->second;
  return makers && int64_t(makers->size()) < all ? makers : nullptr;
}

/// An op whose result is the sum of what it makes of each stage's part of its operands, and whose
/// operands are on several stages, or such sums. One that is on all stages as the sum of several
/// counts as well, so that no stage has a sum for others alone.
bool StageAssignment::canAddUp(Operation *op) {
  SmallVector<int32_t> first;
  bool areSeveral = false, hasWhole = false;
  for (Value operand : op->getOperands()) {
    Operation *maker = operand.getDefiningOp();
    areSeveral |= adding.contains(maker);
    hasWhole |= ofSums.contains(maker);
    if (adding.contains(maker))
      continue;
    const ChunkSet *makers = makersOf(operand);
    if (!makers)
      continue;
    SmallVector<int32_t> stages;
    for (int64_t chunk : *makers)
      stages.push_back(place[size_t(chunk)]);
    llvm::sort(stages);
    stages.erase(llvm::unique(stages), stages.end());
    areSeveral |= !first.empty() && first != stages;
    first = stages;
  }
  return (areSeveral || (hasWhole && !first.empty())) &&
         llvm::any_of(partialRulesOf(op, ReduceKind::Sum),
                      [&](const PartialRule &rule) { return rule.size() == op->getNumOperands(); });
}

/// From the end: an op of the optimizer runs where its state is, else where a reader does (what is
/// made of scalars alone: where all do).
void StageAssignment::placeUpdates() {
  Block &body = function.getBody().front();
  auto stateOf = [&](Operation *op) -> const ChunkSet * {
    for (Value operand : op->getOperands())
      if (const ChunkSet *home = homeOf(operand))
        return home;
    for (OpOperand &use : op->getUses())
      if (StringAttr state = use.getOwner() == body.getTerminator()
                                 ? nn::updatedState(function, use.getOperandNumber())
                                 : StringAttr())
        if (auto home = homes->find(state.getValue()); home != homes->end())
          return &home->second;
    return nullptr;
  };
  auto makesScalars = [](Operation *op) { return llvm::all_of(op->getResults(), isScalar); };
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (classes.at(&op) != StageClass::Optimizer || makesScalars(&op))
      continue;
    if (const ChunkSet *home = stateOf(&op)) {
      placed[&op] = *home;
      continue;
    }
    ChunkSet readers;
    bool ofScalars = llvm::all_of(op.getOperands(), isScalar);
    for (Operation *reader : op.getUsers())
      if (auto found = placed.find(reader); found != placed.end() && (ofScalars || readers.empty()))
        insert(readers, found->second);
    if (!readers.empty())
      placed[&op] = readers;
  }
}

bool StageAssignment::meet() const {
  return !adding.empty() || llvm::none_of(classes, [](const auto &entry) {
    return entry.second == StageClass::Optimizer;
  });
}

void StageAssignment::findTold() {
  for (Operation &op : llvm::reverse(function.getBody().front().without_terminator()))
    if (classes.at(&op) == StageClass::Optimizer && llvm::all_of(op.getResults(), isScalar) &&
        llvm::all_of(op.getUses(), [&](OpOperand &use) {
          Operation *reader = use.getOwner();
          return reader->hasTrait<OpTrait::IsTerminator>()
                     ? !nn::updatedState(function, use.getOperandNumber())
                     : told.contains(reader);
        }))
      told.insert(&op);
}

bool StageAssignment::isToldSum(Operation *op) const { return told.contains(op) && isSum(op); }

/// Whether it is added to others by a sum that is placed with it.
bool StageAssignment::isPartOfToldSum(Operation *op) const {
  return isToldSum(op) && op->hasOneUse() && isToldSum(*op->user_begin()) &&
         op->getResult(0).getType() == op->user_begin()->getResult(0).getType();
}

/// Adds in the order of stages what `root` and the sums that are part of it add.
void StageAssignment::placeToldSum(Operation *root) {
  SmallVector<Operation *> sums; // a sum before its parts
  SmallVector<Value> addends, next{root->getResult(0)};
  while (!next.empty()) {
    Value value = next.pop_back_val();
    Operation *maker = value.getDefiningOp();
    if (!maker || (maker != root && !isPartOfToldSum(maker))) {
      addends.push_back(value);
      continue;
    }
    sums.push_back(maker);
    for (Value operand : llvm::reverse(maker->getOperands()))
      next.push_back(operand);
  }
  auto chunkOf = [&](Value value) -> int64_t {
    const ChunkSet *makers = makersOf(value);
    return makers ? makers->front() : -1;
  };
  auto stageOf = [&](Value value) {
    int64_t chunk = chunkOf(value);
    return chunk < 0 ? -1 : place[size_t(chunk)];
  };
  auto isLike = [&](Value value) { return value.getType() == root->getResult(0).getType(); };
  if (llvm::all_of(addends, isLike)) {
    std::map<int64_t, SmallVector<Value>> byStage;
    for (Value value : addends)
      byStage[stageOf(value)].push_back(value);
    addends.clear();
    for (const auto &[stage, values] : byStage)
      llvm::append_range(addends, values);
  }
  Value sum = addends.front();
  for (auto [op, addend] : llvm::zip_equal(llvm::reverse(sums), ArrayRef(addends).drop_front())) {
    int64_t before = chunkOf(sum), own = chunkOf(addend);
    if (op != root)
      op->moveBefore(root);
    op->setOperands({sum, addend});
    int64_t chunk = own < 0 ? before : own;
    placed[op] = chunk < 0 ? everywhere() : ChunkSet{chunk};
    sum = op->getResult(0);
  }
}

/// The rest of the optimizer, such as the norm of all gradients, runs where its operands are.
void StageAssignment::placeNumbers() {
  findTold();
  for (Operation &op :
       llvm::make_early_inc_range(function.getBody().front().without_terminator())) {
    if (classes.at(&op) != StageClass::Optimizer || placed.contains(&op) || isPartOfToldSum(&op))
      continue;
    if (isToldSum(&op)) {
      placeToldSum(&op);
      continue;
    }
    ChunkSet chunks = everywhere();
    if (canAddUp(&op))
      adding.insert(&op);
    else
      for (Value operand : op.getOperands())
        if (const ChunkSet *makers = makersOf(operand))
          chunks = {makers->front()};
    auto isOfSum = [&](Value operand) {
      Operation *maker = operand.getDefiningOp();
      return adding.contains(maker) || ofSums.contains(maker);
    };
    if (!adding.contains(&op) && int64_t(chunks.size()) == all &&
        llvm::any_of(op.getOperands(), isOfSum))
      ofSums.insert(&op);
    placed[&op] = chunks;
  }
}

/// Sources run with all chunks that read what they make.
void StageAssignment::placeSources() {
  for (Operation &op : llvm::reverse(function.getBody().front().without_terminator())) {
    if (classes.at(&op) != StageClass::Source)
      continue;
    ChunkSet chunks;
    for (Operation *reader : op.getUsers())
      insert(chunks, reader->hasTrait<OpTrait::IsTerminator>() ? everywhere() : placed.at(reader));
    ChunkSet pins = pinsOf(&op);
    // What is made of a state runs where that is, and what it makes is moved.
    ChunkSet within = intersect(chunks, pins);
    placed[&op] = within.empty() ? pins : within;
  }
}

} // namespace weft::dist
