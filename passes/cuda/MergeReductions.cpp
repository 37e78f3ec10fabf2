// Finds sums of sums.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MergeReductions.h"

#include "GridPlan.h"
#include "GroupReduce.h"
#include "weft/Interfaces/KernelAttributes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace weft::cuda;

/// The one op that combines, of a reduction of one operand and one result, in any order.
static Operation *combiningOp(linalg::GenericOp generic) {
  if (!generic || generic.getNumDpsInputs() != 1 || generic->getNumResults() != 1 ||
      generic.getNumReductionLoops() == 0)
    return nullptr;
  std::optional<Combiner> combiner = combinerOf(generic);
  return combiner ? combiner->ops.front() : nullptr;
}

/// The value that all elements of a reduction's result start with.
static Operation *startOf(linalg::GenericOp generic) {
  auto fill = generic.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  return fill ? fill.value().getDefiningOp() : nullptr;
}

/// `outer` reduces what `inner` gives, as it is.
static bool areOne(linalg::GenericOp outer, linalg::GenericOp inner) {
  Operation *combiner = combiningOp(outer), *innerCombiner = combiningOp(inner);
  if (!combiner || !innerCombiner || combiner->getName() != innerCombiner->getName() ||
      !inner->hasOneUse() || outer.getBody()->getOperations().size() != 2 ||
      !outer.getMatchingIndexingMap(outer.getDpsInputOperand(0)).isPermutation())
    return false;
  // What the pieces start with is counted as often as there are pieces, unless it is the start of
  // the whole, too, and changes nothing.
  Operation *start = startOf(outer), *innerStart = startOf(inner);
  auto flags = OperationEquivalence::IgnoreLocations;
  return start && innerStart &&
         OperationEquivalence::isEquivalentTo(
             start, innerStart, OperationEquivalence::exactValueMatch, nullptr, flags);
}

/// Rows of columns that are one sum: a thread adds up as many of them alone where the columns keep
/// all threads busy.
static constexpr int64_t kMostRows = 8192;

static int64_t reducedElements(linalg::GenericOp generic) {
  int64_t count = 1;
  for (auto [kind, size] :
       llvm::zip_equal(generic.getIteratorTypesArray(), generic.getStaticLoopRanges()))
    count *= kind == utils::IteratorType::reduction ? size : 1;
  return count;
}

/// A reduction over all pieces of a dim goes over the dim that they were cut from: its loops are
/// those of other reductions of the operand, then.
static void readUncut(linalg::GenericOp generic) {
  auto expand = generic.getDpsInputs()[0].getDefiningOp<tensor::ExpandShapeOp>();
  AffineMap input = generic.getMatchingIndexingMap(generic.getDpsInputOperand(0));
  if (!expand || !input.isPermutation() || !generic.getBody()->getOps<linalg::IndexOp>().empty())
    return;
  OpBuilder builder(generic);
  SmallVector<utils::IteratorType> kinds;
  SmallVector<AffineExpr> loopOf(generic.getNumLoops()), results;
  for (auto [dim, group] : llvm::enumerate(expand.getReassociationIndices())) {
    auto kindOf = [&](int64_t piece) {
      return generic.getIteratorTypesArray()[input.getDimPosition(piece)];
    };
    kinds.push_back(kindOf(group.front()));
    loopOf[input.getDimPosition(group.front())] = builder.getAffineDimExpr(dim);
    if (group.size() > 1 && llvm::any_of(group, [&](int64_t piece) {
          return kindOf(piece) != utils::IteratorType::reduction;
        }))
      return;
  }
  AffineMap result = generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
  for (AffineExpr expr : result.getResults())
    results.push_back(loopOf[cast<AffineDimExpr>(expr).getPosition()]);
  AffineMap maps[] = {builder.getMultiDimIdentityMap(kinds.size()),
                      AffineMap::get(kinds.size(), 0, results, builder.getContext())};
  auto uncut = linalg::GenericOp::create(builder, generic.getLoc(), generic.getResultTypes(),
                                         expand.getSrc(), generic.getDpsInits(), maps, kinds);
  uncut.getRegion().takeBody(generic.getRegion());
  uncut->setDiscardableAttrs(generic->getDiscardableAttrDictionary());
  generic->replaceAllUsesWith(uncut);
  generic.erase();
}

static void merge(linalg::GenericOp outer, linalg::GenericOp inner) {
  // Loops of the inner one; those of its result are loops of the outer one.
  AffineMap innerResult = inner.getMatchingIndexingMap(inner.getDpsInitOperand(0));
  AffineMap outerInput = outer.getMatchingIndexingMap(outer.getDpsInputOperand(0));
  AffineMap outerResult = outer.getMatchingIndexingMap(outer.getDpsInitOperand(0));
  SmallVector<utils::IteratorType> kinds = inner.getIteratorTypesArray();
  SmallVector<AffineExpr> loopOf(outer.getNumLoops());
  for (auto [own, its] : llvm::zip_equal(innerResult.getResults(), outerInput.getResults())) {
    unsigned loop = cast<AffineDimExpr>(its).getPosition();
    kinds[cast<AffineDimExpr>(own).getPosition()] = outer.getIteratorTypesArray()[loop];
    loopOf[loop] = own;
  }
  SmallVector<AffineExpr> results;
  for (AffineExpr expr : outerResult.getResults())
    results.push_back(loopOf[cast<AffineDimExpr>(expr).getPosition()]);
  OpBuilder builder(outer);
  AffineMap maps[] = {inner.getMatchingIndexingMap(inner.getDpsInputOperand(0)),
                      AffineMap::get(inner.getNumLoops(), 0, results, builder.getContext())};
  auto whole = linalg::GenericOp::create(builder, outer.getLoc(), outer.getResultTypes(),
                                         inner.getDpsInputs(), outer.getDpsInits(), maps, kinds);
  whole.getRegion().takeBody(inner.getRegion());
  if (outer->hasAttr(weft::kAnyOrderAttr) && inner->hasAttr(weft::kAnyOrderAttr))
    whole->setAttr(weft::kAnyOrderAttr, builder.getUnitAttr());
  outer->replaceAllUsesWith(whole);
  outer.erase();
  inner.erase();
  readUncut(whole);
}

void weft::cuda::mergeReductions(func::FuncOp kernel) {
  for (bool found = true; found;) {
    found = false;
    for (auto outer : llvm::make_early_inc_range(kernel.getOps<linalg::GenericOp>())) {
      if (outer.getNumDpsInputs() != 1)
        continue;
      auto inner = outer.getDpsInputs()[0].getDefiningOp<linalg::GenericOp>();
      if (!inner || !areOne(outer, inner) ||
          (!isShared(inner) && reducedElements(outer) * reducedElements(inner) > kMostRows))
        continue;
      merge(outer, inner);
      found = true;
      break;
    }
  }
}
