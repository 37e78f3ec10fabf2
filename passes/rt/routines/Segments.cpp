// Where a program is cut into routines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/routines/Segments.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/Nn.h"
#include "passes/rt/Roles.h"
#include "passes/rt/commands/CommandBuilder.h"
#include "passes/rt/fusion/FusionChoice.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Support/Repeats.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/IntEqClasses.h"

#include <set>

using namespace mlir;
using namespace weft;
using namespace weft::rt;

/// Fewer ops are no block, but a pattern within one.
static constexpr size_t kLeastPeriod = 4;
/// A period that would part more than one of so many bytes that it makes is not cut.
static constexpr int64_t kMostParted = 16;

bool weft::rt::isSource(Operation *op) {
  if (op->getNumOperands() == 0)
    return op->getNumRegions() == 0 && op->getNumResults() == 1 && isPure(op);
  return isFree(op) && !op->hasAttr(kWrittenAttr);
}

void weft::rt::forEachRoot(Value value, llvm::function_ref<void(Value)> each) {
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *maker = next.getDefiningOp();
    if (!maker || !isSource(maker))
      each(next);
    else
      llvm::append_range(work, llvm::reverse(maker->getOperands()));
  }
}

bool weft::rt::isForPeople(StringRef attribute) {
  return attribute == dist::kReasonAttr || attribute == nn::kRecomputeAttr;
}

static bool isNumber(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements() == 1;
}

static bool communicates(Operation *op) {
  auto transition = dyn_cast<TransitionOpInterface>(op);
  return transition && transition.isCommunication();
}

Segments::Segments(ArrayRef<Operation *> ops, bool everything, int64_t bucketBytes,
                   llvm::function_ref<bool(Operation *)> numbered,
                   llvm::function_ref<bool(Value)> isBefore)
    : everything(everything), bucketBytes(bucketBytes) {
  for (Operation *op : ops) {
    if (isSource(op))
      continue;
    position[op] = all.size();
    all.push_back(op);
    if (numbered(op))
      apart[op] = Apart::Numbered;
  }
  findLate(all);
  findEarly(all, isBefore);
  do {
    formLine(all);
    cut();
  } while (!settle());
  place();
}

void Segments::forEachReader(Operation *op, llvm::function_ref<void(Operation *)> each) const {
  SmallVector<Operation *> work(op->getUsers());
  while (!work.empty()) {
    Operation *user = work.pop_back_val();
    if (position.contains(user))
      each(user);
    else if (isSource(user))
      llvm::append_range(work, user->getUsers());
    else
      each(nullptr);
  }
}

/// Communication whose readers are updates, the end (or another list) and other such.
void Segments::findLate(ArrayRef<Operation *> ops) {
  for (Operation *op : llvm::reverse(ops)) {
    bool late = communicates(op) && !apart.contains(op);
    forEachReader(op, [&](Operation *reader) {
      late &= !reader || isOfUpdate(reader) ||
              (apart.contains(reader) && apart.lookup(reader) == Apart::Late);
    });
    if (late)
      apart[op] = Apart::Late;
  }
}

/// Gathers of what is there from the beginning, and what only they read.
void Segments::findEarly(ArrayRef<Operation *> ops, llvm::function_ref<bool(Value)> isBefore) {
  llvm::DenseSet<Operation *> candidates;
  for (Operation *op : ops) {
    bool early = true;
    for (Value operand : op->getOperands())
      forEachRoot(operand, [&](Value root) {
        Operation *maker = root.getDefiningOp();
        early &= maker && position.contains(maker) ? candidates.contains(maker) : isBefore(root);
      });
    if (early && !apart.contains(op))
      candidates.insert(op);
  }
  for (Operation *op : llvm::reverse(ops)) {
    if (!candidates.contains(op))
      continue;
    auto transition = dyn_cast<TransitionOpInterface>(op);
    bool early = transition && transition.getTransitionKind() == TransitionKind::AllGather;
    if (!early) {
      early = !op->use_empty();
      forEachReader(op, [&](Operation *reader) {
        early &= reader && apart.contains(reader) && apart.lookup(reader) == Apart::Early;
      });
    }
    if (early)
      apart[op] = Apart::Early;
  }
}

/// Appends the op, behind what waits for its first reader.
static void append(Operation *op, llvm::DenseSet<Operation *> &waiting,
                   std::vector<Operation *> &list) {
  for (Value operand : op->getOperands())
    forEachRoot(operand, [&](Value root) {
      if (Operation *maker = root.getDefiningOp(); waiting.erase(maker))
        append(maker, waiting, list);
    });
  list.push_back(op);
}

/// The ops of the line: those of the optimizer, and what follows from them, behind all others.
void Segments::formLine(ArrayRef<Operation *> ops) {
  llvm::DenseMap<Operation *, bool> isLast;
  std::vector<Operation *> last;
  line.clear();
  borders.clear();
  llvm::DenseSet<Operation *> waiting(early);
  for (Operation *op : ops) {
    bool optimizer = isOfUpdate(op);
    for (Value operand : op->getOperands())
      forEachRoot(operand, [&](Value root) { optimizer |= isLast.lookup(root.getDefiningOp()); });
    isLast[op] = optimizer;
    if (apart.contains(op) || early.contains(op))
      continue;
    std::vector<Operation *> &list = optimizer ? last : line;
    if (forced.contains(op) && !optimizer)
      borders.push_back(list.size());
    append(op, waiting, list);
  }
  borders.push_back(line.size());
  for (Operation *op : last) {
    if (forced.contains(op))
      borders.push_back(line.size());
    line.push_back(op);
  }
  borders.push_back(line.size());
  placeOf.clear();
  for (auto [i, op] : llvm::enumerate(line))
    placeOf[op] = i;
  numberWords();
}

void Segments::numberWords() {
  words.clear();
  barriers.assign(1, 0);
  products.assign(1, 0);
  for (Operation *op : line) {
    words.push_back(numberOf(op));
    barriers.push_back(barriers.back() + (isArithmeticBound(op) || communicates(op)));
    products.push_back(products.back() + isArithmeticBound(op));
  }
}

/// What the op is and of which types, through sources; constants count by their types, as they can
/// be arguments.
unsigned Segments::numberOf(Operation *op) {
  if (auto found = wordOf.find(op); found != wordOf.end())
    return found->second;
  std::vector<const void *> word;
  SmallVector<Operation *> work{op};
  while (!work.empty()) {
    Operation *next = work.pop_back_val();
    NamedAttrList attributes;
    if (!next->hasTrait<OpTrait::ConstantLike>())
      for (NamedAttribute attribute : next->getAttrDictionary())
        if (!isForPeople(attribute.getName()))
          attributes.push_back(attribute);
    word.push_back(next->getName().getAsOpaquePointer());
    word.push_back(attributes.getDictionary(next->getContext()).getAsOpaquePointer());
    for (Type type : next->getResultTypes())
      word.push_back(type.getAsOpaquePointer());
    for (Value operand : next->getOperands()) {
      word.push_back(operand.getType().getAsOpaquePointer());
      if (Operation *maker = operand.getDefiningOp(); maker && isSource(maker))
        work.push_back(maker);
    }
  }
  return wordOf[op] = known.try_emplace(std::move(word), known.size()).first->second;
}

void Segments::cut() {
  pieces.clear();
  stretches = 0;
  size_t begin = 0;
  for (size_t border : borders) {
    divide(begin, border);
    begin = border;
  }
  // What is left beside what is left is one.
  std::vector<Piece> merged;
  for (const Piece &piece : pieces)
    if (!merged.empty() && !piece.stretch && !merged.back().stretch &&
        merged.back().end == piece.begin && !llvm::is_contained(borders, piece.begin))
      merged.back().end = piece.end;
    else
      merged.push_back(piece);
  pieces = std::move(merged);
  pieceOf.clear();
  for (auto [i, piece] : llvm::enumerate(pieces))
    for (size_t at = piece.begin; at < piece.end; ++at)
      pieceOf[line[at]] = i;
}

void Segments::rest(size_t begin, size_t end) {
  if (begin < end)
    pieces.push_back({begin, end, std::nullopt});
}

void Segments::divide(size_t begin, size_t end) {
  Repeat found = longestRepeat(ArrayRef(words).slice(begin, end - begin));
  if (found.length == 0 || found.period < kLeastPeriod)
    return rest(begin, end);
  size_t from = begin + found.from, behind = from + found.length;
  if (std::optional<Choice> choice = choosePhase(from, found.period, found.length)) {
    divide(begin, choice->from);
    for (size_t i = 0; i < choice->count; ++i)
      pieces.push_back(
          {choice->from + i * found.period, choice->from + (i + 1) * found.period, stretches});
    ++stretches;
    return divide(choice->from + choice->count * found.period, end);
  }
  divide(begin, from);
  rest(from, behind);
  divide(behind, end);
}

/// The bytes that a cut would part though one kernel could hold them, and all that cross it, in a
/// period on each side.
std::pair<int64_t, int64_t> Segments::costOfCut(size_t at, size_t period) const {
  auto inKernel = [](Operation *op) {
    return isa<KernelOpInterface>(op) && !isArithmeticBound(op);
  };
  llvm::DenseSet<Value> crossing, parted;
  int64_t crossingBytes = 0, partedBytes = 0;
  for (size_t i = at; i < std::min(at + period, line.size()); ++i)
    for (Value operand : line[i]->getOperands())
      forEachRoot(operand, [&](Value root) {
        auto found = placeOf.find(root.getDefiningOp());
        if (found == placeOf.end() || found->second >= at || found->second + period < at)
          return;
        if (crossing.insert(root).second)
          crossingBytes += bytesOf(root);
        if (inKernel(line[i]) && inKernel(root.getDefiningOp()) &&
            barriers[i] == barriers[found->second] && parted.insert(root).second)
          partedBytes += bytesOf(root);
      });
  return {partedBytes, crossingBytes};
}

/// About how many commands a period is: products, communication, and kernels of ops that tensors of
/// more than one element connect.
size_t Segments::countCommands(size_t from, size_t period) const {
  llvm::IntEqClasses kernels(period);
  for (size_t i = from; i < from + period; ++i)
    for (Value operand : line[i]->getOperands())
      forEachRoot(operand, [&](Value root) {
        auto found = placeOf.find(root.getDefiningOp());
        if (found != placeOf.end() && found->second >= from && found->second < i &&
            barriers[i] == barriers[found->second] && !isNumber(root))
          kernels.join(i - from, found->second - from);
      });
  kernels.compress();
  std::set<unsigned> commands;
  for (size_t i = from; i < from + period; ++i)
    if (!llvm::all_of(line[i]->getResults(), isNumber))
      commands.insert(kernels[i - from]);
  return commands.size();
}

std::optional<Segments::Choice> Segments::choosePhase(size_t from, size_t period,
                                                      size_t length) const {
  std::optional<Choice> best;
  std::tuple<int64_t, int64_t, int64_t> least;
  for (size_t shift = 0; shift < period; ++shift) {
    size_t count = (length - shift) / period;
    if (count < 2)
      break;
    auto [parted, crossing] = costOfCut(from + shift + period, period);
    std::tuple cost(parted, -int64_t(count), crossing);
    if (!best || cost < least) {
      least = cost;
      best = {from + shift, count};
    }
  }
  int64_t bytes = 0;
  for (size_t i = from; i < from + period; ++i)
    for (Value result : line[i]->getResults())
      bytes += bytesOf(result);
  if (std::get<0>(least) * kMostParted > bytes || countCommands(from, period) < 2)
    return std::nullopt;
  return best;
}

/// The bytes of what stays out, whole, by the piece that reads or makes it.
void Segments::countBytes() {
  gathered.clear();
  scattered.clear();
  for (const auto &[op, kind] : apart) {
    if (kind == Apart::Numbered || !communicates(op))
      continue;
    int64_t operand = bytesOf(op->getOperand(0)), result = bytesOf(op->getResult(0));
    if (kind == Apart::Early)
      gathered[read.lookup(op)] += result;
    else if (result < operand)
      scattered[made.lookup(op)] += operand;
  }
}

bool Segments::overlapsWithin(Operation *op) const {
  switch (apart.lookup(op)) {
  case Apart::Numbered:
    return false;
  case Apart::Early:
    return isReadBehindProduct(op);
  case Apart::Late:
    return isMadeBeforeProduct(op);
  }
  llvm_unreachable("a kind of op that stays out");
}

/// Of what is read in one piece alone, which is a routine.
bool Segments::isReadBehindProduct(Operation *gather) const {
  int64_t in = read.lookup(gather);
  if (gathered.lookup(in) <= bucketBytes)
    return false;
  size_t first = line.size();
  bool isInOne = true;
  forEachReader(gather, [&](Operation *reader) {
    auto found = pieceOf.find(reader);
    isInOne &= reader && found != pieceOf.end() && found->second == in;
    if (isInOne)
      first = std::min(first, placeOf.lookup(reader));
  });
  if (!isInOne || first == line.size())
    return false;
  const Piece &piece = pieces[in];
  return (everything || piece.stretch) && products[first] > products[piece.begin];
}

/// Of what makes less of its operand, which is made in a routine.
bool Segments::isMadeBeforeProduct(Operation *scatter) const {
  int64_t in = made.lookup(scatter);
  if (scattered.lookup(in) <= bucketBytes)
    return false;
  size_t behind = 0;
  forEachRoot(scatter->getOperand(0), [&](Value root) {
    if (auto found = placeOf.find(root.getDefiningOp()); found != placeOf.end())
      behind = std::max(behind, found->second + 1);
  });
  if (behind == 0 || bytesOf(scatter->getResult(0)) >= bytesOf(scatter->getOperand(0)))
    return false;
  const Piece &piece = pieces[in];
  return (everything || piece.stretch) && products[piece.end] > products[behind];
}

/// Finds the pieces between which each op that stays out stands. Of those that cannot, or need not
/// stay out, communication goes into its piece, and others cut it: then false.
bool Segments::settle() {
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  made.clear();
  read.clear();
  for (Operation *op : all) {
    if (!apart.contains(op))
      continue;
    int64_t &last = made[op] = -1;
    for (Value operand : op->getOperands())
      forEachRoot(operand, [&](Value root) {
        Operation *maker = root.getDefiningOp();
        if (auto found = pieceOf.find(maker); found != pieceOf.end())
          last = std::max(last, found->second);
        else if (auto other = made.find(maker); other != made.end() && maker != op)
          last = std::max(last, other->second);
      });
  }
  bool settled = true;
  for (Operation *op : llvm::reverse(all)) {
    if (!apart.contains(op))
      continue;
    int64_t first = kEnd;
    forEachReader(op, [&](Operation *reader) {
      if (auto found = pieceOf.find(reader); reader && found != pieceOf.end())
        first = std::min(first, found->second);
      else if (auto other = read.find(reader); reader && other != read.end())
        first = std::min(first, other->second);
    });
    read[op] = first;
  }
  countBytes();
  for (Operation *op : llvm::reverse(all)) {
    if (!apart.contains(op))
      continue;
    int64_t first = read.lookup(op);
    bool isBetween = made.lookup(op) < first;
    if (isBetween && !overlapsWithin(op))
      continue;
    settled = false;
    if (apart.lookup(op) != Apart::Numbered) {
      if (apart.lookup(op) == Apart::Early)
        early.insert(op);
      apart.erase(op);
      continue;
    }
    for (Operation *next : ArrayRef(all).drop_front(position.lookup(op)))
      if (pieceOf.contains(next) && pieceOf.lookup(next) == first) {
        forced.insert(next);
        break;
      }
  }
  return settled;
}

void Segments::place() {
  std::map<int64_t, std::vector<Operation *>> before, behind;
  for (Operation *op : all)
    if (auto found = apart.find(op); found != apart.end()) {
      bool late = found->second == Apart::Late;
      (late ? behind[made.lookup(op)] : before[read.lookup(op)]).push_back(op);
    }
  auto stay = [&](const std::vector<Operation *> &ops) {
    if (!ops.empty())
      segments.push_back({ops, false, std::nullopt});
  };
  stay(behind[-1]);
  for (auto [i, piece] : llvm::enumerate(pieces)) {
    stay(before[i]);
    segments.push_back({{line.begin() + piece.begin, line.begin() + piece.end},
                        everything || piece.stretch,
                        piece.stretch});
    stay(behind[i]);
  }
  stay(before[std::numeric_limits<int64_t>::max()]);
}
