// The search for a kernel's nests and units.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelForm.h"
#include "KernelTiler.h"
#include "weft/Interfaces/TensorTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft::kernels;

int64_t weft::kernels::stackBytesOf(const LoopNest &nest) {
  if (nest.kind == LoopNest::Kind::Copy || nest.isScalar())
    return 0;
  int64_t bytes = 0;
  for (auto [value, result] : llvm::zip_equal(nest.values, nest.results))
    if (result < 0) {
      int64_t width = weft::elementBytes(memoryType(getElementTypeOrSelf(value)));
      bytes += llvm::alignTo(nest.boxElements() * width, 64);
    }
  return bytes;
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

/// A look-up in what a result overwrites is a nest of its own, so that it is done before.
bool KernelTiler::looksUpOverwritten(Value value) const {
  auto generic = value.getDefiningOp<linalg::GenericOp>();
  if (overwritten.empty() || !generic || !looksUp(generic))
    return false;
  SmallVector<Value> open;
  generic.getBody()->walk([&](tensor::ExtractOp extract) { open.push_back(extract.getTensor()); });
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value tensor = open.pop_back_val();
    auto stored = elements.storage.find(tensor);
    if (stored != elements.storage.end() && stored->second.isOverwritten)
      return true;
    if (Operation *op = tensor.getDefiningOp(); op && seen.insert(tensor).second)
      llvm::append_range(open, op->getOperands());
  }
  return false;
}

void KernelTiler::makeNests() {
  tiling.nests.clear();
  elements.nestResults.clear();
  Block &body = kernel.getBody().front();
  // What the results reach.
  llvm::DenseSet<Operation *> live;
  for (Operation &op : llvm::reverse(body)) {
    bool isLive = &op == terminator || llvm::any_of(op.getUsers(), [&](auto *user) {
      return live.contains(body.findAncestorOpInBlock(*user));
    });
    if (isLive)
      live.insert(&op);
  }
  llvm::DenseSet<Value> returned(terminator.getOperands().begin(), terminator.getOperands().end());
  for (Operation &op : body.without_terminator()) {
    if (!live.contains(&op) || op.getNumResults() == 0 || elements.storage.count(op.getResult(0)))
      continue;
    LoopNest nest;
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (generic && generic.getNumReductionLoops() > 0)
      nest.kind = LoopNest::Kind::Reduction;
    else if (isa<scf::ForallOp>(op))
      nest.kind = LoopNest::Kind::Rows;
    else if (isa<TensorType>(op.getResult(0).getType()) &&
             (returned.contains(op.getResult(0)) || kept.contains(op.getResult(0)) ||
              looksUpOverwritten(op.getResult(0))))
      nest.kind = LoopNest::Kind::Elementwise;
    else
      continue;
    nest.op = &op;
    nest.values.assign(op.result_begin(), op.result_end());
    nest.results.assign(nest.values.size(), -1);
    tiling.nests.push_back(std::move(nest));
  }
  for (auto [number, value] : llvm::enumerate(terminator.getOperands())) {
    bool placed = false;
    for (LoopNest &nest : tiling.nests)
      for (auto [own, result] : llvm::zip_equal(nest.values, nest.results))
        if (own == value && result < 0 && !placed) {
          result = number;
          placed = true;
        }
    if (placed)
      continue;
    LoopNest copy;
    copy.kind = LoopNest::Kind::Copy;
    copy.values = {value};
    copy.results = {int(number)};
    copy.target = resultStorages[number];
    tiling.nests.push_back(std::move(copy));
  }
  for (LoopNest &nest : tiling.nests) {
    if (nest.kind != LoopNest::Kind::Copy)
      elements.nestResults.insert(nest.values.begin(), nest.values.end());
    for (size_t dim = 0; dim < nest.shape().size(); ++dim)
      nest.groups.push_back({int64_t(dim)});
  }
}

static bool isOneElement(const LoopNest &nest) {
  return llvm::all_of(nest.shape(), [](int64_t size) { return size == 1; });
}

MutableArrayRef<LoopNest> KernelTiler::resultNests() {
  return MutableArrayRef<LoopNest>(tiling.nests).drop_while([](LoopNest &nest) {
    return nest.isTemporary();
  });
}

/// All results have one shape and are computed element by element; temporaries
/// are single elements and come first.
bool KernelTiler::isElementwise() {
  ArrayRef<LoopNest> results = resultNests();
  auto isPointwise = [](const LoopNest &nest) {
    return nest.kind == LoopNest::Kind::Elementwise || nest.kind == LoopNest::Kind::Copy;
  };
  return llvm::all_of(tiling.nests, isPointwise) &&
         llvm::all_of(
             tiling.nests,
             [](const LoopNest &nest) { return !nest.isTemporary() || isOneElement(nest); }) &&
         llvm::all_of(results, [&](const LoopNest &nest) {
           return !nest.isTemporary() && nest.shape() == results.front().shape();
         });
}

/// Settles an elementwise kernel as one nest, if it can be.
bool KernelTiler::tileTogether() {
  makeNests();
  for (;;) {
    // Single elements first: nothing but them is read to make them.
    std::vector<LoopNest> numbers, others;
    for (LoopNest &nest : tiling.nests)
      (nest.isTemporary() ? numbers : others).push_back(std::move(nest));
    tiling.nests = std::move(numbers);
    llvm::append_range(tiling.nests, others);
    if (!isElementwise() || !analyse({}) || !readsInPlace)
      return false;
    // One nest computes what several results need once, whatever it costs.
    Value value = findWorthKeeping(/*isOneElement=*/!overwritten.empty());
    if (!value)
      break;
    if (cast<RankedTensorType>(value.getType()).getNumElements() != 1)
      return false;
    kept.insert(value);
    makeNests();
  }
  joinDims();
  return analyse(unitsTogether());
}

void KernelTiler::joinDims() {
  LoopNestEmitter emitter(elements);
  SmallVector<bool> joinable;
  for (LoopNest &nest : resultNests()) {
    Value value = nest.values[0];
    if (nest.kind != LoopNest::Kind::Copy)
      elements.storage[value] = resultStorages[nest.results[0]];
    SmallVector<bool> own = emitter.joinableDims(nest);
    if (nest.kind != LoopNest::Kind::Copy)
      elements.storage.erase(value);
    if (joinable.empty())
      joinable = own;
    for (auto [all, one] : llvm::zip_equal(joinable, own))
      all = all && one;
  }
  for (LoopNest &nest : resultNests()) {
    nest.groups.clear();
    for (size_t dim = 0; dim < joinable.size(); ++dim) {
      if (!joinable[dim])
        nest.groups.emplace_back();
      nest.groups.back().push_back(dim);
    }
  }
}

/// From how many reads on an element is one of something smaller, such as the mean of a row.
static constexpr double kReadsOfARow = 32;

/// A value that is computed in place more often than it has elements, and
/// costs enough; the one nearest to the results. Only one of one element if so
/// asked.
Value KernelTiler::findWorthKeeping(bool isOneElement) {
  for (Operation &op : llvm::reverse(kernel.getBody().front())) {
    if (op.getNumResults() != 1)
      continue;
    Value value = op.getResult(0);
    auto found = visits.find(value);
    if (found == visits.end() || refused.contains(value) || kept.contains(value))
      continue;
    if (isOneElement && cast<RankedTensorType>(value.getType()).getNumElements() != 1)
      continue;
    double count = 1;
    for (const BoxDim &dim : found->second.box)
      count *= dim.width;
    if (found->second.points < 1.5 * count)
      continue;
    bool isRow = found->second.points >= kReadsOfARow * count;
    double worth = count == 1 ? prices.worthAScalar
                   : isRow    ? prices.worthARow
                              : prices.worthAnArray;
    if (elements.inlineCost(value) >= worth)
      return value;
  }
  return nullptr;
}

/// Where a nest computes too much in place: what it computes most often, of these the nearest to
/// the results.
Value KernelTiler::findMostComputed() {
  Value most;
  unsigned reads = 0;
  for (Operation &op : llvm::reverse(kernel.getBody().front())) {
    if (op.getNumResults() != 1 || kept.contains(op.getResult(0)) ||
        refused.contains(op.getResult(0)))
      continue;
    auto found = visits.find(op.getResult(0));
    if (found != visits.end() && found->second.reads > reads) {
      most = op.getResult(0);
      reads = found->second.reads;
    }
  }
  return most;
}

/// Analyses until no further value is worth a temporary and all fit.
bool KernelTiler::settle(ArrayRef<UnitDim> units) {
  for (;;) {
    makeNests();
    if (!analyse(units)) {
      Value value = isTooMuch ? findMostComputed() : Value();
      if (!value)
        return false;
      kept.insert(value);
      continue;
    }
    if (tiling.stackBytes > stackLimit) {
      // Give up the greatest temporary that can be computed in place.
      LoopNest *greatest = nullptr;
      for (LoopNest &nest : tiling.nests)
        if (nest.kind == LoopNest::Kind::Elementwise && kept.contains(nest.values[0]) &&
            (!greatest || stackBytesOf(nest) > stackBytesOf(*greatest)))
          greatest = &nest;
      if (!greatest)
        return false;
      kept.erase(greatest->values[0]);
      refused.insert(greatest->values[0]);
      continue;
    }
    Value value = findWorthKeeping();
    if (!value)
      return true;
    kept.insert(value);
  }
}

llvm::Expected<KernelTiling> KernelTiler::run() {
  // Temporaries are chosen for units as small as possible, then units for them.
  bool empty = llvm::any_of(terminator.getOperandTypes(), [](Type type) {
    return cast<RankedTensorType>(type).getNumElements() == 0;
  });
  tiling.together = true;
  if (!empty && tileTogether())
    return std::move(tiling);
  tiling.together = false;
  kept.clear();
  makeNests();
  SmallVector<SmallVector<UnitDim>> ways = candidates();
  if (empty)
    ways.assign(1, {});
  std::optional<KernelTiling> best;
  double bestScore = 0;
  // What another way gives up may fit here.
  llvm::DenseSet<Value> bestKept, bestRefused;
  for (auto &units : ways) {
    if (!settle(units))
      continue;
    double score = this->score();
    if (!best || score < prices.clearlyLess * bestScore) {
      best = tiling;
      bestScore = score;
      bestKept = kept;
      bestRefused = refused;
    }
  }
  kept = std::move(bestKept);
  refused = std::move(bestRefused);
  // Boxes refer to the loops of their own analysis.
  SmallVector<UnitDim> units = best ? best->units : SmallVector<UnitDim>();
  if (!best && !overwritten.empty())
    return llvm::createStringError("in every way to cut the kernel something reads an argument "
                                   "that was overwritten, or temporaries of the fused ops need "
                                   "more than " +
                                   Twine(stackLimit) + " bytes of " + prices.temporaryMemory);
  if (!best || !settle(units))
    return llvm::createStringError("temporaries of the fused ops need more than " +
                                   Twine(stackLimit) + " bytes of " + prices.temporaryMemory +
                                   " in every way to cut the kernel");
  return std::move(tiling);
}

unsigned KernelTiler::sharedDims(SmallVectorImpl<ArrayRef<int64_t>> &shapes) {
  for (Value value : terminator.getOperands())
    shapes.push_back(cast<RankedTensorType>(value.getType()).getShape());
  unsigned shared = 0;
  auto isShared = [&](unsigned dim) {
    return llvm::all_of(shapes, [&](ArrayRef<int64_t> shape) {
      return dim < shape.size() && shape[dim] == shapes[0][dim];
    });
  };
  while (isShared(shared))
    ++shared;
  return shared;
}

SmallVector<int64_t> KernelTiler::partsOf(unsigned dim, ArrayRef<ArrayRef<int64_t>> shapes) {
  int64_t before = 1;
  SmallVector<int64_t> parts;
  if (llvm::any_of(shapes, [&](ArrayRef<int64_t> shape) { return dim >= shape.size(); }))
    return parts;
  for (int64_t size : shapes[0].take_front(dim))
    before *= size;
  if (before == 0)
    return parts;
  for (const LoopNest &nest : tiling.nests) {
    // What sums up something else, such as a piece of each column, is cut where that is.
    if (nest.kind != LoopNest::Kind::Reduction ||
        llvm::none_of(shapes, [&](ArrayRef<int64_t> shape) {
          return llvm::product_of(shape) ==
                 llvm::product_of(cast<linalg::GenericOp>(nest.op).getStaticLoopRanges());
        }))
      continue;
    int64_t product = 1;
    for (int64_t size : nest.shape()) {
      product *= size;
      int64_t count = product / before;
      bool isPart =
          product % before == 0 && count > 1 &&
          llvm::all_of(shapes, [&](ArrayRef<int64_t> shape) { return shape[dim] % count == 0; });
      if (isPart && !llvm::is_contained(parts, count) &&
          llvm::any_of(shapes, [&](ArrayRef<int64_t> shape) { return shape[dim] != count; }))
        parts.push_back(count);
    }
  }
  llvm::sort(parts);
  return parts;
}
