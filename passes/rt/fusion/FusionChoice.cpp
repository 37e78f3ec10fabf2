// Groups the ops of a block along equal leading factors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/fusion/FusionChoice.h"
#include "passes/rt/Roles.h"
#include "passes/rt/fusion/LibraryLayout.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/Nn.h"
#include "dialects/rt/IR/Rt.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Interfaces/OpWork.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

/// Whoever reads through views goes through all of them; one behind more than
/// this is copied.
constexpr unsigned kMostViews = 64;

using Cuts = FusionChoice::Cuts;

/// Factors of a tensor's leading dims, as long as they are parallel.
SmallVector<int> leadingFactors(const FactorRule &rule, const TensorFactors &tensor,
                                unsigned dims) {
  SmallVector<int> result;
  for (const DimFactors &dim : ArrayRef<DimFactors>(tensor).take_front(dims))
    for (int factor : dim) {
      if (rule.factors[factor].kind != Factor::Kind::Parallel)
        return result;
      if (rule.factors[factor].size != 1)
        result.push_back(factor);
    }
  return result;
}

/// Whether a view of its operand has all of it once, with runs of `row` elements in one piece.
bool permutesRows(Operation *view, int64_t row) {
  if (elementsOf(view->getResult(0)) != elementsOf(view->getOperand(0)))
    return false;
  FactorRule rule = cast<ShardableOpInterface>(view).getOwnFactorRule();
  auto factorsFromTheBack = [](const TensorFactors &tensor) {
    SmallVector<int> list;
    for (const DimFactors &dim : tensor)
      llvm::append_range(list, dim);
    std::reverse(list.begin(), list.end());
    return list;
  };
  int64_t inOnePiece = 1;
  for (auto [a, b] :
       llvm::zip(factorsFromTheBack(rule.operands[0]), factorsFromTheBack(rule.results[0]))) {
    if (a != b)
      break;
    inOnePiece *= rule.factors[a].size;
  }
  return inOnePiece % row == 0;
}

/// Divisors above 1, ascending.
SmallVector<int64_t> divisorsOf(int64_t size) {
  SmallVector<int64_t> small, large;
  for (int64_t divisor = 1; divisor * divisor <= size; ++divisor)
    if (size % divisor == 0) {
      if (divisor > 1)
        small.push_back(divisor);
      if (size > 1 && divisor * divisor != size)
        large.push_back(size / divisor);
    }
  small.append(large.rbegin(), large.rend());
  return small;
}

} // namespace

Cuts weft::rt::cutsOf(Operation *op, int operand) {
  Cuts cuts{1};
  auto kernel = dyn_cast<KernelOpInterface>(op);
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  if (!kernel || !shardable)
    return cuts;
  FactorRule rule = shardable.getOwnFactorRule();
  if (rule.results.empty())
    return cuts;
  unsigned dims = std::min<unsigned>(kernel.getParallelDims(), rule.results[0].size());
  SmallVector<int> common = leadingFactors(rule, rule.results[0], dims);
  auto restrictTo = [&](const TensorFactors &tensor) {
    SmallVector<int> other = leadingFactors(rule, tensor, tensor.size());
    size_t n = 0;
    while (n < common.size() && n < other.size() && common[n] == other[n])
      ++n;
    common.truncate(n);
  };
  for (const TensorFactors &result : ArrayRef<TensorFactors>(rule.results).drop_front())
    restrictTo(result);
  if (operand >= 0)
    restrictTo(rule.operands[operand]);
  // Runs of a factor's indices are pieces, too.
  for (int factor : common) {
    int64_t before = cuts.back(), size = rule.factors[factor].size;
    if (size == 0)
      return {1};
    for (int64_t parts : divisorsOf(size))
      cuts.push_back(before * parts);
  }
  return cuts;
}

Cuts FusionChoice::intersect(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  Cuts result;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

ArrayRef<int64_t> FusionChoice::cutsAt(Operation *op, int operand) const {
  std::unique_ptr<Cuts> &known = knownCuts[{op, operand}];
  if (!known)
    known = std::make_unique<Cuts>(cutsOf(op, operand));
  return *known;
}

bool weft::rt::isFree(Operation *op) { return isViewOrConstant(op); }

bool weft::rt::isCheap(Operation *op) {
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  return isa<ElementwiseOpInterface>(op) && shardable && shardable.getFlopsPerPoint() <= 1;
}

int64_t weft::rt::dearBytesOf(Operation *op) {
  int64_t bytes = 0;
  if (!isCheap(op))
    for (Value result : op->getResults())
      bytes += bytesOf(result);
  return bytes;
}

bool weft::rt::isRowMajor(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  int64_t expected = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && strides[d] != expected)
      return false;
    expected *= shape[d];
  }
  return true;
}

ValueLayout weft::rt::denseLayout(Value root) {
  ValueLayout layout{root, {}, 0};
  llvm::append_range(layout.strides,
                     rowMajorStrides(cast<RankedTensorType>(root.getType()).getShape()));
  return layout;
}

std::optional<ValueLayout> weft::rt::layoutOfView(Operation *view, const ValueLayout &from) {
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (!cast<KernelOpInterface>(view).getView(from.strides, strides, offset))
    return std::nullopt;
  ValueLayout layout{from.root, {}, from.offset + offset};
  llvm::append_range(layout.strides, strides);
  return layout;
}

std::optional<ValueLayout> weft::rt::layoutOf(Value value,
                                              llvm::function_ref<bool(Operation *)> isRoot) {
  SmallVector<Operation *> views; // the last one first
  for (Operation *op = value.getDefiningOp();
       op && !isRoot(op) && !op->hasTrait<OpTrait::ConstantLike>(); op = value.getDefiningOp()) {
    if (op->getNumOperands() == 0)
      return std::nullopt;
    views.push_back(op);
    value = op->getOperand(0);
  }
  std::optional<ValueLayout> layout = denseLayout(value);
  while (layout && !views.empty())
    layout = layoutOfView(views.pop_back_val(), *layout);
  return layout;
}

/// Forward pass, backward pass, updates: each has its time. What the backward
/// pass computes from activations would be kept instead of them, or beside
/// them, if the forward pass computed it; an update of a state can overwrite it
/// if its kernel does nothing else.
static unsigned timeOf(Operation *op) { return isOfUpdate(op) ? 2 : isOfGradient(op) ? 1 : 0; }

/// Microbatches come one after the other: a kernel for two of them would make
/// the activations of both live at once. So do sections of a stage's program: what
/// stands in one kernel waits for what both await, and others may wait for it.
bool FusionChoice::areOfOneTime(Operation *a, Operation *b) {
  return timeOf(a) == timeOf(b) && a->getAttr(kMicrobatchAttr) == b->getAttr(kMicrobatchAttr) &&
         a->getAttr(dist::kSectionAttr) == b->getAttr(dist::kSectionAttr);
}

FusionChoice::FusionChoice(Block &block, const Target &target) : target(target) {
  classify(block);
  demandLayouts(block);
  formGroups(block);
  findReach();
  joinTurns(block);
  joinSiblings(block);
  copyOps(block);
  sortNodes(block);
}

void FusionChoice::classify(Block &block) {
  for (auto [i, op] : llvm::enumerate(block)) {
    position[&op] = i;
    unsigned behind = op.getNumOperands() ? views.lookup(op.getOperand(0).getDefiningOp()) + 1 : 0;
    if (behind <= kMostViews && isFree(&op)) {
      classes[&op] = FusionClass::Free;
      views[&op] = behind;
    } else if (denseLibraryLayout(target, &op))
      classes[&op] = FusionClass::Library;
    else if (isa<KernelOpInterface>(op))
      classes[&op] = FusionClass::Kernel;
    else
      classes[&op] = FusionClass::Opaque;
  }
}

/// A consumer needs this operand in memory of its own. A view becomes a member
/// of a group, so that its producer may write it in the new order at once;
/// what has no producer here is copied.
void FusionChoice::demandDense(Operation *user, unsigned operand) {
  Operation *op = user->getOperand(operand).getDefiningOp();
  if (op && classes.lookup(op) == FusionClass::Free && !op->hasTrait<OpTrait::ConstantLike>())
    classes[op] = FusionClass::Kernel;
  else
    dense.push_back({user, operand});
}

/// Whether the op takes the operand as the view that it is: row-major, and by a kernel that starts
/// where buffers do.
bool FusionChoice::takesView(Operation *op, Value operand) const {
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  if (!type)
    return true;
  std::optional<ValueLayout> layout =
      layoutOf(operand, [&](Operation *def) { return isRoot(def); });
  if (!layout)
    return false;
  if (classes.lookup(op) == FusionClass::Library)
    return true;
  int64_t start = layout->offset * elementBytes(type.getElementType());
  return isRowMajor(type.getShape(), layout->strides) &&
         (!isa<CallOp>(op) || start % target.traits().kernelAlignment == 0);
}

/// What a library, a call or anything unknown reads must be what it takes. Returns whether that
/// makes buffers of views.
bool FusionChoice::demandOperands(Operation *op) {
  FusionClass kind = classes.lookup(op);
  if ((kind != FusionClass::Library && kind != FusionClass::Opaque) ||
      op->hasTrait<OpTrait::IsTerminator>())
    return false;
  bool changed = false;
  auto demand = [&](unsigned operand) {
    demandDense(op, operand);
    changed = true;
  };
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (!takesView(op, op->getOperand(i)))
      demand(i);
  // Strided operands may not collapse into the library's dims; dense ones do.
  if (kind == FusionClass::Library)
    for (unsigned i = 0; i < op->getNumOperands() && !layoutOfLibrary(op); ++i)
      if (Operation *view = op->getOperand(i).getDefiningOp();
          view && !isRoot(view) && !view->hasTrait<OpTrait::ConstantLike>())
        demand(i);
  return changed;
}

/// Each output is a buffer of its own, written by its producer.
void FusionChoice::demandOutputs(Operation *end) {
  llvm::DenseSet<Value> returned;
  for (unsigned i = 0; i < end->getNumOperands(); ++i) {
    Value operand = end->getOperand(i);
    Operation *def = operand.getDefiningOp();
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    if (!returned.insert(operand).second)
      dense.push_back({end, i});
    else if (!def || !isRoot(def))
      demandDense(end, i);
  }
}

void FusionChoice::demandLayouts(Block &block) {
  for (Operation &op : block) {
    demandOperands(&op);
    if (classes.lookup(&op) == FusionClass::Library) {
      absorbConcat(&op);
      absorbPermutations(&op);
      absorbSums(&op);
    }
  }
  demandOutputs(block.getTerminator());
  // A view that became a buffer is where others begin, that read it through further views: of them
  // some now have other strides, or another start.
  for (bool again = true; std::exchange(again, false);)
    for (Operation &op : block)
      again |= demandOperands(&op);
}

Value FusionChoice::behindViews(Value value) const {
  Operation *op = value.getDefiningOp();
  for (; op && !isRoot(op) && op->getNumOperands() > 0; op = value.getDefiningOp())
    value = op->getOperand(0);
  return value;
}

bool FusionChoice::forEachUse(Value value, llvm::function_ref<bool(OpOperand &)> visit) const {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    return isRoot(user) ? visit(use) : forEachUse(user->getResult(0), visit);
  });
}

/// Bytes in which a kernel keeps a result that no reader can compute again: sums of small floats
/// are f32, and beside an index, such as that of a row's greatest, is what it was found by.
static int64_t keptBytesOf(Operation *op, Value result) {
  if (isa<ElementwiseOpInterface>(op))
    return 0;
  auto isFloat = [](Value value) { return isa<FloatType>(getElementTypeOrSelf(value.getType())); };
  auto bytesOfOne = [](Value value) {
    Type element = getElementTypeOrSelf(value.getType());
    return isa<FloatType>(element) ? std::max<int64_t>(4, elementBytes(element))
                                   : elementBytes(element);
  };
  int64_t bytes = bytesOfOne(result);
  if (!isFloat(result) && op->getNumOperands() > 0 && isFloat(op->getOperand(0)))
    bytes += bytesOfOne(op->getOperand(0));
  return elementsOf(result) * bytes;
}

void FusionChoice::formGroups(Block &block) {
  for (Operation &op : block) {
    if (classes.lookup(&op) != FusionClass::Kernel)
      continue;
    groupOf[&op] = groups.size();
    Group single;
    single.ops = {&op};
    single.runsAt = position.lookup(&op);
    single.cuts = Cuts(cutsAt(&op, -1));
    single.bytes = dearBytesOf(&op);
    for (Value result : op.getResults()) {
      single.keptBytes += keptBytesOf(&op, result);
      single.elements = std::max(single.elements, elementsOf(result));
    }
    single.size = std::max(op.getNumOperands(), 2u) - 1;
    for (Value operand : op.getOperands()) {
      // What is summed up is work, too.
      single.elements = std::max(single.elements, elementsOf(operand));
      single.size += views.lookup(operand.getDefiningOp());
    }
    groups.push_back(std::move(single));
    // A product that no library does is a loop nest of its own.
    if (cast<KernelOpInterface>(op).getLibraryCall())
      continue;
    for (unsigned i = 0; i < op.getNumOperands(); ++i)
      tryMerge(&op, i);
  }
}

/// One number that several larger kernels read, such as the learning rate: to
/// take it in would tie them all together.
bool FusionChoice::isSharedNumber(Operation *producer, Operation *consumer) const {
  if (!isOfUpdate(consumer) || elementsOf(producer->getResult(0)) != 1)
    return false;
  unsigned from = groupOf.lookup(producer), into = groupOf.lookup(consumer);
  if (groups[into].elements == 1)
    return false;
  SmallVector<Operation *> work(groups[from].ops.begin(), groups[from].ops.end());
  while (!work.empty())
    for (Operation *user : work.pop_back_val()->getUsers()) {
      auto group = groupOf.find(user);
      if (classes.lookup(user) == FusionClass::Free)
        work.push_back(user);
      else if (group == groupOf.end() || (group->second != from && group->second != into))
        return true;
    }
  return false;
}

/// The norm of all gradients, as one kernel, would need them all at once.
bool FusionChoice::joinsGradients(Operation *producer, Operation *consumer) const {
  auto readsMany = [](Operation *op) {
    return llvm::any_of(op->getOperands(), [](Value operand) { return elementsOf(operand) > 1; });
  };
  return isOfUpdate(consumer) && elementsOf(consumer->getResult(0)) == 1 &&
         elementsOf(producer->getResult(0)) == 1 &&
         llvm::any_of(groups[groupOf.lookup(producer)].ops, readsMany);
}

/// What keeps two groups apart that could run together in `cuts`; nothing: they may join.
std::optional<FusionChoice::Obstacle> FusionChoice::whyApart(unsigned from, unsigned into,
                                                             ArrayRef<int64_t> cuts) const {
  const Group &a = groups[from], &b = groups[into];
  const TargetTraits &traits = target.traits();
  int64_t pieces = cuts.back(), bytes = (a.bytes + b.bytes) / pieces,
          keptBytes = (a.keptBytes + b.keptBytes) / pieces,
          elements = std::max(a.elements, b.elements);
  if (a.size + b.size > traits.mostKernelOps)
    return Obstacle{Limit::Ops, a.size + b.size, traits.mostKernelOps};
  if (bytes > traits.onChipBytes)
    return Obstacle{Limit::Bytes, bytes, traits.onChipBytes};
  if (keptBytes > traits.keptBytes)
    return Obstacle{Limit::Kept, keptBytes, traits.keptBytes};
  if (pieces < traits.leastPieces && elements > traits.smallElements)
    return Obstacle{Limit::Pieces, pieces, traits.leastPieces};
  if (wouldCycle(from, into))
    return Obstacle{Limit::Order};
  return std::nullopt;
}

Operation *FusionChoice::producerOf(Value operand) const {
  Operation *producer = behindViews(operand).getDefiningOp();
  bool isKernel = producer && classes.lookup(producer) == FusionClass::Kernel &&
                  !cast<KernelOpInterface>(producer).getLibraryCall();
  return isKernel ? producer : nullptr;
}

Cuts FusionChoice::cutsBetween(unsigned from, unsigned into) const {
  Cuts cuts = intersect(groups[from].cuts, groups[into].cuts);
  for (auto [maker, reader] : {std::pair(from, into), std::pair(into, from)})
    for (Operation *op : groups[reader].ops)
      for (unsigned i = 0; i < op->getNumOperands(); ++i) {
        Operation *producer = producerOf(op->getOperand(i));
        if (!producer || groupOf.lookup(producer) != maker)
          continue;
        cuts = intersect(cuts, cutsAt(op, i));
        for (Operation *view = op->getOperand(i).getDefiningOp(); view != producer;
             view = view->getOperand(0).getDefiningOp())
          cuts = intersect(cuts, cutsAt(view, 0));
      }
  return cuts;
}

/// Where all that a group makes is written as a view has it: the numbers of pieces of the view that
/// are whole pieces of the group, in any order. Else none.
///
/// Worked example: a kernel makes rows of d, [b, h, s, d], for a product that wants [b, s, h d]. In
/// their order, both have the pieces of b in common; as the view has them, those of b s h.
Cuts FusionChoice::cutsBehindView(Operation *view, Operation *producer) const {
  unsigned from = groupOf.lookup(producer);
  int64_t elements = elementsOf(producer->getResult(0));
  if (!isFree(view) || elements == 0)
    return {};
  auto isWithin = [&](OpOperand &use) {
    auto group = groupOf.find(use.getOwner());
    return use.getOwner() == view || (group != groupOf.end() && group->second == from);
  };
  for (Operation *op : groups[from].ops)
    for (Value result : op->getResults())
      if (!forEachUse(result, isWithin))
        return {};
  int64_t row = elements / groups[from].cuts.back();
  for (Operation *op = view; op != producer; op = op->getOperand(0).getDefiningOp())
    if (!permutesRows(op, row))
      return {};
  Cuts cuts(cutsAt(view, -1));
  llvm::erase_if(cuts, [&](int64_t count) { return elements / count % row != 0; });
  return cuts;
}

void FusionChoice::tryMerge(Operation *consumer, unsigned operand) {
  Operation *producer = producerOf(consumer->getOperand(operand));
  if (!producer)
    return;
  unsigned from = groupOf.lookup(producer), into = groupOf.lookup(consumer);
  if (from == into || !areOfOneTime(producer, consumer) || isSharedNumber(producer, consumer) ||
      joinsGradients(producer, consumer))
    return;
  Cuts cuts = cutsBetween(from, into);
  Cuts others = cutsBehindView(consumer, producer);
  bool isPermuted = !others.empty() && others.back() > cuts.back();
  if (isPermuted)
    cuts = std::move(others);
  if (std::optional<Obstacle> obstacle = whyApart(from, into, cuts)) {
    refused.insert({{producer, consumer}, *obstacle});
    return;
  }
  join(from, into, cuts);
  groups[from].isPermuted |= isPermuted;
}

std::optional<FusionChoice::Obstacle> FusionChoice::tryJoin(unsigned from, unsigned into,
                                                            Cuts cuts) {
  // Numbers of pieces are of different things.
  if (groups[from].isPermuted || groups[into].isPermuted)
    return Obstacle{Limit::Order};
  cuts = intersect(cuts, cutsBetween(from, into));
  std::optional<Obstacle> obstacle = whyApart(from, into, cuts);
  if (!obstacle)
    join(from, into, std::move(cuts));
  return obstacle;
}

/// Keeps the earlier group's number; ops stay in program order.
void FusionChoice::join(unsigned from, unsigned into, Cuts cuts) {
  Group &a = groups[from], &b = groups[into];
  for (Operation *op : b.ops)
    groupOf[op] = from;
  llvm::append_range(a.ops, b.ops);
  llvm::sort(a.ops,
             [&](Operation *x, Operation *y) { return position.lookup(x) < position.lookup(y); });
  a.cuts = std::move(cuts);
  a.bytes += b.bytes;
  a.keptBytes += b.keptBytes;
  a.elements = std::max(a.elements, b.elements);
  a.size += b.size;
  a.runsAt = std::max(a.runsAt, b.runsAt);
  a.isPermuted |= b.isPermuted;
  b = Group();
  unsigned last = position.lookup(a.ops.back());
  for (size_t at = position.lookup(a.ops.front()); at < reach.size() && reach[at] < last; ++at)
    reach[at] = last;
}
