// The forward pass of a training step as a line of ops, and where it is narrow.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/step/ForwardPass.h"

#include "dialects/nn/IR/Nn.h"
#include "passes/nn/step/Losses.h"
#include "weft/Support/Repeats.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace weft;
using namespace weft::step;

bool weft::step::isExpensive(Operation *op) {
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  return shardable && shardable.getComputeClass() == ComputeClass::Contraction;
}

ForwardPass::ForwardPass(func::FuncOp function) {
  for (BlockArgument arg : function.getArguments())
    (nn::isState(function, arg.getArgNumber()) ? ofState : ofInput).insert(arg);
  for (Operation &op : function.getBody().front().without_terminator())
    if (!op.hasAttr(nn::kRoleAttr))
      add(&op);
  findCuts();
}

void ForwardPass::add(Operation *op) {
  bool state =
      llvm::any_of(op->getOperands(), [&](Value value) { return ofState.contains(value); });
  bool input =
      llvm::any_of(op->getOperands(), [&](Value value) { return ofInput.contains(value); });
  for (Value result : op->getResults()) {
    if (state)
      ofState.insert(result);
    if (input)
      ofInput.insert(result);
  }
  if (!llvm::any_of(op->getResults(), [&](Value result) { return isActivation(result); }))
    return;
  position[op] = line.size();
  line.push_back(op);
}

bool ForwardPass::isWorthKeeping(Value value) const {
  Operation *op = value.getDefiningOp();
  return op && (isExpensive(op) ||
                llvm::count_if(op->getOperands(), [&](Value v) { return isActivation(v); }) > 1);
}

void ForwardPass::findCuts() {
  std::vector<SmallVector<Value, 2>> ends(line.size());
  llvm::DenseSet<Value> alive;
  for (Operation *op : line)
    for (Value result : op->getResults())
      if (std::optional<size_t> last = isActivation(result) ? lastUse(result) : std::nullopt)
        ends[*last].push_back(result);
  for (auto [i, op] : llvm::enumerate(line)) {
    for (Value value : ends[i])
      alive.erase(value);
    for (Value result : op->getResults())
      if (isActivation(result) && lastUse(result))
        alive.insert(result);
    only.push_back(alive.size() == 1 ? *alive.begin() : Value());
    if (alive.size() == 1 && (narrow.empty() || isWorthKeeping(*alive.begin())) &&
        (narrow.empty() || narrow.back().value != *alive.begin()))
      narrow.push_back({*alive.begin(), i});
  }
}

/// By an op of the forward pass.
std::optional<size_t> ForwardPass::lastUse(Value value) const {
  std::optional<size_t> last;
  for (Operation *user : value.getUsers())
    if (auto found = position.find(user); found != position.end())
      last = std::max(last.value_or(0), found->second);
  return last;
}

/// What stands between one cut and the next: equal stretches have equal numbers.
std::vector<unsigned> ForwardPass::signatures() const {
  std::vector<unsigned> numbers;
  llvm::StringMap<unsigned> known;
  size_t from = 0;
  for (const Cut &cut : narrow) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    for (size_t i = from; i <= cut.position; ++i)
      stream << line[i]->getName() << line[i]->getResult(0).getType() << ';';
    numbers.push_back(known.try_emplace(text, known.size()).first->second);
    from = cut.position + 1;
  }
  return numbers;
}

llvm::DenseSet<Value> ForwardPass::blockBorders() const {
  Repeat blocks = longestRepeat(signatures());
  llvm::DenseSet<Value> kept;
  for (size_t i = 0; i < narrow.size(); ++i) {
    bool within = i >= blocks.from && i < blocks.from + blocks.length;
    // Cut i ends segment i.
    if (!within || (i - blocks.from) % blocks.period == blocks.period - 1)
      kept.insert(narrow[i].value);
  }
  return kept;
}

/// By what stands for an op in `signatures`.
bool ForwardPass::areAlike(size_t op, size_t other) const {
  return line[op]->getName() == line[other]->getName() &&
         line[op]->getResult(0).getType() == line[other]->getResult(0).getType();
}

/// The borders of blocks of which the first begins with op `first`.
SmallVector<ForwardPass::Cut> ForwardPass::bordersFrom(size_t first, size_t period,
                                                       size_t end) const {
  SmallVector<Cut> borders;
  for (size_t at = first; at <= end && at > 0; at += period) {
    Value value = only[at - 1];
    if (!value || (!borders.empty() && value.getType() != borders.front().value.getType()))
      return {};
    borders.push_back({value, at - 1});
  }
  return borders;
}

SmallVector<ForwardPass::Cut> ForwardPass::repeatedBorders() const {
  Repeat blocks = longestRepeat(signatures());
  if (blocks.length == 0)
    return {};
  // Cut i ends segment i.
  size_t begin = blocks.from == 0 ? 0 : narrow[blocks.from - 1].position + 1;
  size_t period = narrow[blocks.from + blocks.period - 1].position + 1 - begin;
  size_t end = narrow[blocks.from + blocks.length - 1].position + 1;
  // The first block shares its first segment with what is before it.
  while (begin > 0 && areAlike(begin - 1, begin - 1 + period))
    --begin;
  while (end < line.size() && areAlike(end, end - period))
    ++end;
  llvm::DenseSet<Value> cutValues;
  for (const Cut &cut : narrow)
    cutValues.insert(cut.value);
  SmallVector<Cut> best;
  bool isBestOfCuts = false;
  for (size_t first = begin; first < begin + period; ++first) {
    SmallVector<Cut> borders = bordersFrom(first, period, end);
    bool areCuts = llvm::all_of(llvm::drop_begin(borders, !borders.empty()),
                                [&](const Cut &cut) { return cutValues.contains(cut.value); });
    if (borders.size() > best.size() ||
        (borders.size() == best.size() && areCuts && !isBestOfCuts)) {
      best = std::move(borders);
      isBestOfCuts = areCuts;
    }
  }
  return best.size() > 2 ? best : SmallVector<Cut>();
}
