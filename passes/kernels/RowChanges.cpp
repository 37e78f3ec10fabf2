// Recognizes rows that are filled and then changed, from their loops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RowChanges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace weft::kernels;

SmallVector<int64_t> RowLoops::extents() const {
  return llvm::map_to_vector(
      loops, [](scf::ForOp loop) { return loop.getStaticTripCount()->getSExtValue(); });
}

/// Carries nothing but one tensor, from 0 to a number in steps of 1.
static bool isPlain(scf::ForOp loop) {
  auto isNumber = [](OpFoldResult value, int64_t number) {
    return getConstantIntValue(value) == number;
  };
  return loop.getNumResults() == 1 && isa<TensorType>(loop.getResult(0).getType()) &&
         loop.getStaticTripCount() && isNumber(loop.getLowerBound(), 0) &&
         isNumber(loop.getStep(), 1);
}

/// Constants and the op itself are all that its block has.
static bool isAlone(Operation *op) {
  return llvm::all_of(op->getBlock()->without_terminator(), [&](Operation &other) {
    return &other == op || isa<arith::ConstantOp>(other);
  });
}

static std::optional<RowLoops> loopsFrom(scf::ForOp loop) {
  RowLoops row;
  Value yielded;
  while (isPlain(loop)) {
    row.loops.push_back(loop);
    yielded = loop.getYieldedValues().front();
    auto inner = yielded.getDefiningOp<scf::ForOp>();
    if (!inner)
      break;
    if (!isAlone(inner) || inner.getInitArgs().front() != loop.getRegionIterArgs().front())
      return std::nullopt;
    loop = inner;
  }
  if (row.loops.empty() || row.loops.back() != loop)
    return std::nullopt;
  Value carried = loop.getRegionIterArgs().front();
  row.guard = yielded.getDefiningOp<scf::IfOp>();
  if (row.guard) {
    if (row.guard.getNumResults() != 1 || row.guard.elseYield().getOperand(0) != carried)
      return std::nullopt;
    yielded = row.guard.thenYield().getOperand(0);
  }
  row.insert = yielded.getDefiningOp<tensor::InsertOp>();
  Block *block = row.guard ? row.guard.thenBlock() : loop.getBody();
  if (!row.insert || row.insert.getDest() != carried || row.insert->getBlock() != block)
    return std::nullopt;
  // The row is read for the element that is set only.
  for (Operation *user : carried.getUsers()) {
    auto extract = dyn_cast<tensor::ExtractOp>(user);
    bool isOwn =
        extract ? extract.getIndices() == row.insert.getIndices() && extract->getBlock() == block
                : user == row.insert || (row.guard && user == row.guard.elseYield());
    if (!isOwn)
      return std::nullopt;
  }
  // Which element it is, is known before it is.
  bool isChosenBefore = !row.guard || llvm::none_of(row.insert.getIndices(), [&](Value index) {
    return index.getParentBlock() == block;
  });
  return isChosenBefore ? std::optional(row) : std::nullopt;
}

/// Sets every element of the row, in order, whatever is there.
static bool isFill(RowLoops &row) {
  Value carried = scf::ForOp(row.loops.back()).getRegionIterArgs().front();
  auto type = cast<RankedTensorType>(carried.getType());
  bool isInOrder = llvm::equal(
      row.insert.getIndices(),
      llvm::map_range(row.loops, [](scf::ForOp loop) { return loop.getInductionVar(); }));
  return !row.guard && carried.hasOneUse() && isInOrder &&
         scf::ForOp(row.loops.front()).getInitArgs().front().getDefiningOp<tensor::EmptyOp>() &&
         ArrayRef<int64_t>(row.extents()) == type.getShape();
}

/// Marks what of the forall's own variables the value depends on, by their numbers.
static void markSources(Value value, scf::ForallOp forall, llvm::DenseSet<Value> &seen,
                        SmallVectorImpl<bool> &sources) {
  if (!seen.insert(value).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() == forall.getBody() && argument.getArgNumber() < forall.getRank())
      sources[argument.getArgNumber()] = true;
    return;
  }
  if (!forall->isProperAncestor(value.getDefiningOp()))
    return;
  value.getDefiningOp()->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      markSources(operand, forall, seen, sources);
  });
}

std::optional<RowChanges> weft::kernels::rowChangesOf(scf::ForallOp forall) {
  auto inserts = forall.getTerminator().getOps<tensor::ParallelInsertSliceOp>();
  auto loops = llvm::to_vector(forall.getBody()->getOps<scf::ForOp>());
  if (!llvm::hasSingleElement(inserts) || loops.size() != 2)
    return std::nullopt;
  for (Operation &op : forall.getBody()->without_terminator())
    if (!isa<arith::ConstantOp, tensor::EmptyOp, scf::ForOp>(op))
      return std::nullopt;
  tensor::ParallelInsertSliceOp whole = *inserts.begin();
  auto fill = loopsFrom(loops[0]), change = loopsFrom(loops[1]);
  if (!fill || !change || !isFill(*fill) || !change->guard ||
      loops[1].getInitArgs().front() != loops[0].getResult(0) ||
      whole.getSource() != loops[1].getResult(0))
    return std::nullopt;
  RowChanges rows{loops[0].getInitArgs().front(), *fill, *change, {}};
  SmallVector<bool> sources(forall.getRank(), false);
  llvm::DenseSet<Value> seen;
  markSources(rows.change.guard.getCondition(), forall, seen, sources);
  for (Value index : rows.change.insert.getIndices())
    markSources(index, forall, seen, sources);
  for (OpFoldResult offset : whole.getMixedOffsets()) {
    auto iv = dyn_cast<Value>(offset);
    rows.choosing.push_back(iv && sources[cast<BlockArgument>(iv).getArgNumber()]);
  }
  return rows;
}
