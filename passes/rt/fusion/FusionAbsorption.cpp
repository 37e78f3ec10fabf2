// What library ops do to their results: they write them permuted or packed, and add to them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/fusion/FusionChoice.h"
#include "passes/rt/fusion/LibraryLayout.h"

#include "dialects/nn/IR/Nn.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Interfaces/Sum.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

using namespace mlir;
using namespace weft;
using namespace weft::rt;

static bool isWeightGradient(Operation *op) {
  auto role = op->getAttrOfType<StringAttr>(nn::kRoleAttr);
  return role && role.getValue() == nn::kRoleWeightGradient;
}

/// The one reader of what a library op makes may permute it in a way that the library can write at
/// once: so heads merge without a copy, and their gradients. Unless all are parts of one value.
void FusionChoice::absorbPermutations(Operation *op) {
  if (!absorbed(op).empty())
    return;
  for (Value result : placeableResults(op)) {
    if (!result.hasOneUse())
      continue;
    Operation *view = *result.user_begin();
    if (classes.lookup(view) != FusionClass::Free || !stridesBehindPermutation(view))
      continue;
    absorbedBy[op].push_back(view);
    if (layoutOfLibrary(op))
      classes[view] = FusionClass::Absorbed;
    else
      absorbedBy[op].pop_back();
  }
}

/// The results of a library op may be the parts of one value, which it can then write at once: so
/// gradients of queries, keys and values are packed without a copy.
void FusionChoice::absorbConcat(Operation *op) {
  ResultRange results = placeableResults(op);
  if (results.size() < 2)
    return;
  SmallVector<Operation *, 2> placing;
  for (Value value : results)
    while (value.hasOneUse()) {
      Operation *user = *value.user_begin();
      if (!isPlacing(user) || !areOfOneTime(op, user) || llvm::is_contained(placing, user))
        break;
      placing.push_back(user);
      if (user->getNumOperands() > 1)
        break;
      value = user->getResult(0);
    }
  llvm::sort(placing,
             [&](Operation *x, Operation *y) { return position.lookup(x) < position.lookup(y); });
  // As many results as operands, each of which leads to it: there is nothing else in it.
  if (placing.empty() || placing.back()->getNumOperands() != results.size() ||
      !llvm::all_of(results, [&](Value result) { return layoutBehind(result, placing.back()); }))
    return;
  absorbedBy[op] = placing;
  if (!layoutOfLibrary(op)) {
    absorbedBy.erase(op);
    return;
  }
  for (Operation *later : placing)
    classes[later] = FusionClass::Absorbed;
}

/// Whether elements of a tensor share their place in memory along some dim.
static bool repeats(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  return llvm::any_of(llvm::zip(shape, strides),
                      [](auto dim) { return std::get<0>(dim) != 1 && std::get<1>(dim) == 0; });
}

/// Whether `op` reads, however far behind, what `maker` makes, which stands before it.
bool FusionChoice::waitsFor(Operation *op, Operation *maker) const {
  const unsigned first = position.lookup(maker);
  llvm::SetVector<Operation *> before;
  before.insert(op);
  for (unsigned i = 0; i < before.size(); ++i)
    for (Value operand : before[i]->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (def == maker)
        return true;
      if (def && position.lookup(def) > first)
        before.insert(def);
    }
  return false;
}

/// The strides of what a product may add to its result by `sum`: to a gradient the sum of those
/// before it, in the network itself a row to all rows (a bias), and what is in memory anyway (a
/// residual): an argument, a library's result, or what the product waits for anyway. What a kernel
/// could add as it makes it goes through no memory, and what is still on its way from other ranks
/// should find the product done: these sums are left to kernels.
std::optional<SmallVector<int64_t, 4>> FusionChoice::stridesOfAddend(Operation *op, Operation *sum,
                                                                     Value addend) const {
  auto layout = layoutOf(addend, [&](Operation *def) { return isRoot(def); });
  Operation *maker = layout ? layout->root.getDefiningOp() : nullptr;
  if (!layout || (maker && maker->hasTrait<OpTrait::ConstantLike>()))
    return std::nullopt;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(addend.getType()).getShape();
  auto isInMemory = [&] {
    FusionClass kind = maker ? classes.lookup(maker) : FusionClass::Library;
    return kind == FusionClass::Library || kind == FusionClass::Absorbed || waitsFor(op, maker);
  };
  if (repeats(shape, layout->strides) ||
      (isRowMajor(shape, layout->strides) && (isWeightGradient(sum) || isInMemory())))
    return layout->strides;
  return std::nullopt;
}

/// A product may add to its result, unless that cuts it into more than it would be.
void FusionChoice::absorbSums(Operation *op) {
  // Only a product's result is added to, which is its only one.
  Operation *last = absorbed(op).empty() ? op : absorbed(op).back();
  SmallVector<SmallVector<int64_t, 4>, 2> addends;
  SmallVector<Operation *, 2> sums;
  while (last->getNumResults() == 1 && last->getResult(0).hasOneUse()) {
    OpOperand &use = *last->getResult(0).use_begin();
    Operation *sum = use.getOwner();
    // Of two products one adds, or each would wait for the other.
    if (!isSum(sum) || !areOfOneTime(op, sum) || classes.lookup(sum) == FusionClass::Absorbed)
      break;
    auto strides = stridesOfAddend(op, sum, sum->getOperand(1 - use.getOperandNumber()));
    if (!strides)
      break;
    addends.push_back(*strides);
    std::optional<LibraryLayout> plan = layoutOfLibrary(op, addends);
    if (!plan || plan->results[0].sizes != layoutOfLibrary(op)->results[0].sizes)
      break;
    sums.push_back(sum);
    last = sum;
  }
  for (Operation *sum : sums) {
    classes[sum] = FusionClass::Absorbed;
    absorbedBy[op].push_back(sum);
  }
}

/// The layout of a library op with what it has absorbed, and perhaps sums with what has these
/// strides.
std::optional<LibraryLayout>
FusionChoice::layoutOfLibrary(Operation *op, ArrayRef<SmallVector<int64_t, 4>> addends) const {
  SmallVector<SmallVector<int64_t, 4>> operands, results;
  auto denseStrides = [](Value value) {
    return rowMajorStrides(cast<RankedTensorType>(value.getType()).getShape());
  };
  for (Value operand : op->getOperands()) {
    auto layout = layoutOf(operand, [&](Operation *def) { return isRoot(def); });
    operands.push_back(layout ? layout->strides : denseStrides(operand));
  }
  for (Value result : op->getResults())
    results.push_back(denseStrides(result));
  SmallVector<SmallVector<int64_t, 4>> added(addends);
  auto isAbsorbed = [&](Operation *later) { return llvm::is_contained(absorbed(op), later); };
  for (auto [result, strides] : llvm::zip(placeableResults(op), results))
    if (Operation *last = placedAs(result, isAbsorbed))
      strides = layoutBehind(result, last)->strides;
  if (Operation *last = placedAs(op->getResult(0), isAbsorbed))
    for (SmallVector<int64_t, 4> &strides : added)
      strides = layoutBehind(op->getResult(0), last, strides)->strides;
  return libraryLayout(target, op, operands, results, added);
}

ArrayRef<Operation *> FusionChoice::absorbed(Operation *library) const {
  auto found = absorbedBy.find(library);
  return found == absorbedBy.end() ? ArrayRef<Operation *>() : found->second;
}
