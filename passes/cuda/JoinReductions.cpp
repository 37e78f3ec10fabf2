// Finds reductions that can share their loops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "JoinReductions.h"

#include "GridPlan.h"
#include "GroupReduce.h"
#include "weft/Interfaces/KernelAttributes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace weft::cuda;

/// Results of one reduction: a thread has up to eight sums of each in registers.
static constexpr unsigned kMostResults = 4;

/// All that `op` is computed from: values of the block, and itself.
static llvm::DenseSet<Value> sourcesOf(Operation *op) {
  llvm::DenseSet<Value> sources;
  SmallVector<Operation *> open = {op};
  llvm::DenseSet<Operation *> seen = {op};
  while (!open.empty()) {
    Operation *next = open.pop_back_val();
    sources.insert(next->result_begin(), next->result_end());
    next->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *maker = operand.getDefiningOp();
        maker = maker ? op->getBlock()->findAncestorOpInBlock(*maker) : nullptr;
        if (maker && seen.insert(maker).second)
          open.push_back(maker);
        else if (operand.getParentBlock() == op->getBlock())
          sources.insert(operand);
      }
    });
  }
  return sources;
}

/// Whether the second one has to come later: it needs the first one, or what overwrites an argument
/// that the first one reads.
static bool mustFollow(linalg::GenericOp second, linalg::GenericOp first) {
  llvm::DenseSet<Value> its = sourcesOf(second), sources = sourcesOf(first);
  if (llvm::any_of(first->getResults(), [&](Value value) { return its.contains(value); }))
    return true;
  auto kernel = first->getParentOfType<func::FuncOp>();
  auto written = kernel->getAttrOfType<DenseI64ArrayAttr>(weft::kInPlaceAttr);
  if (!written)
    return false;
  Operation *end = kernel.getBody().front().getTerminator();
  return llvm::any_of(llvm::zip_equal(end->getOperands(), written.asArrayRef()), [&](auto pair) {
    auto [result, argument] = pair;
    return argument >= 0 && its.contains(result) && sources.contains(kernel.getArgument(argument));
  });
}

static bool canJoin(linalg::GenericOp first, linalg::GenericOp second) {
  auto resultMap = [](linalg::GenericOp generic) {
    return generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
  };
  return first->getNumResults() + second->getNumResults() <= kMostResults &&
         first.getStaticLoopRanges() == second.getStaticLoopRanges() &&
         first.getIteratorTypesArray() == second.getIteratorTypesArray() &&
         resultMap(first) == resultMap(second) && isShared(first) == isShared(second) &&
         isOfColumns(first) == isOfColumns(second) && !first->hasAttr(kRunningAttr) &&
         !second->hasAttr(kRunningAttr) &&
         first->hasAttr(weft::kAnyOrderAttr) == second->hasAttr(weft::kAnyOrderAttr) &&
         !mustFollow(second, first) && !mustFollow(first, second);
}

/// One op with the operands, results and bodies of both, in the second one's place.
static linalg::GenericOp join(linalg::GenericOp first, linalg::GenericOp second) {
  SmallVector<Value> inputs, inits;
  SmallVector<Type> types;
  SmallVector<AffineMap> maps;
  for (linalg::GenericOp generic : {first, second}) {
    llvm::append_range(inputs, generic.getDpsInputs());
    llvm::append_range(inits, generic.getDpsInits());
    llvm::append_range(types, generic.getResultTypes());
    for (OpOperand *input : generic.getDpsInputOperands())
      maps.push_back(generic.getMatchingIndexingMap(input));
  }
  for (linalg::GenericOp generic : {first, second})
    for (OpOperand &init : generic.getDpsInitsMutable())
      maps.push_back(generic.getMatchingIndexingMap(&init));
  OpBuilder builder(second);
  auto build = [&](OpBuilder &inner, Location loc, ValueRange arguments) {
    ValueRange ins = arguments.take_front(inputs.size()),
               sums = arguments.drop_front(inputs.size());
    SmallVector<Value> yielded;
    for (linalg::GenericOp generic : {first, second}) {
      IRMapping mapping;
      mapping.map(generic.getRegionInputArgs(), ins.take_front(generic.getNumDpsInputs()));
      mapping.map(generic.getRegionOutputArgs(), sums.take_front(generic.getNumDpsInits()));
      ins = ins.drop_front(generic.getNumDpsInputs());
      sums = sums.drop_front(generic.getNumDpsInits());
      for (Operation &op : generic.getBody()->without_terminator())
        inner.clone(op, mapping);
      for (Value value : generic.getBody()->getTerminator()->getOperands())
        yielded.push_back(mapping.lookupOrDefault(value));
    }
    linalg::YieldOp::create(inner, loc, yielded);
  };
  auto joined = linalg::GenericOp::create(builder, second.getLoc(), types, inputs, inits, maps,
                                          second.getIteratorTypesArray(), build);
  joined->setDiscardableAttrs(second->getDiscardableAttrDictionary());
  first->replaceAllUsesWith(joined->getResults().take_front(first->getNumResults()));
  second->replaceAllUsesWith(joined->getResults().drop_front(first->getNumResults()));
  first.erase();
  second.erase();
  return joined;
}

void weft::cuda::joinReductions(func::FuncOp kernel) {
  SmallVector<linalg::GenericOp> open;
  for (auto generic : llvm::make_early_inc_range(kernel.getOps<linalg::GenericOp>())) {
    if (generic.getNumReductionLoops() == 0)
      continue;
    auto partner = llvm::find_if(open, [&](auto other) { return canJoin(other, generic); });
    if (partner == open.end())
      open.push_back(generic);
    else
      *partner = join(*partner, generic);
  }
  // What reads the earlier one of a pair may stand before the later one.
  sortTopologically(&kernel.getBody().front());
}
