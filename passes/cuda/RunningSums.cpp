// Finds sums of exponentials of distances to a maximum.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RunningSums.h"

#include "GridPlan.h"
#include "GroupReduce.h"
#include "weft/Interfaces/KernelAttributes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace weft::cuda;

namespace {

/// An element of a tensor, its indices in terms of a reduction's loops.
struct Element {
  Value tensor;
  AffineMap at;
};

/// The op that computes an element, in the body of the op that makes the tensor.
struct Maker {
  Operation *op = nullptr;
  linalg::GenericOp generic;
  AffineMap loops; // of `generic`, in terms of the reduction's
};

} // namespace

/// The element that a value of the body is, if it is one of an operand.
static Element operandOf(Value inBody, linalg::GenericOp generic, AffineMap loops) {
  auto argument = dyn_cast<BlockArgument>(inBody);
  if (!argument)
    return {};
  OpOperand &operand = generic->getOpOperand(argument.getArgNumber());
  return {operand.get(), generic.getMatchingIndexingMap(&operand).compose(loops)};
}

/// Computes element by element, and each for itself.
static linalg::GenericOp elementwiseMaker(Value tensor) {
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  bool isElementwise = generic && generic.getNumReductionLoops() == 0 &&
                       generic->getNumResults() == 1 &&
                       generic.getMatchingIndexingMap(generic.getDpsInitOperand(0)).isIdentity();
  return isElementwise ? generic : linalg::GenericOp();
}

/// The same element of the tensor that it was copied from.
static Element sourceOf(Element element) {
  while (auto generic = element.tensor ? elementwiseMaker(element.tensor) : linalg::GenericOp()) {
    Element from =
        operandOf(generic.getBody()->getTerminator()->getOperand(0), generic, element.at);
    if (!from.tensor)
      break;
    element = from;
  }
  return element;
}

static Maker makerOf(Element element) {
  element = sourceOf(element);
  auto generic = element.tensor ? elementwiseMaker(element.tensor) : linalg::GenericOp();
  if (!generic)
    return {};
  return {generic.getBody()->getTerminator()->getOperand(0).getDefiningOp(), generic, element.at};
}

/// What computes an operand of the maker: another op of its body, or that of an operand.
static Maker makerOf(Maker maker, unsigned operand) {
  Value value = maker.op->getOperand(operand);
  if (Operation *op = value.getDefiningOp(); op && op->getBlock() == maker.generic.getBody())
    return {op, maker.generic, maker.loops};
  return makerOf(operandOf(value, maker.generic, maker.loops));
}

/// The element that a reduction combines with what it has so far, if that is all that it does, in
/// what it reads: all of that, where this may be a part of a larger tensor.
static Element readBy(linalg::GenericOp generic) {
  Operation *op = generic.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  if (generic->getNumResults() != 1 || !op || op->getNumOperands() != 2)
    return {};
  unsigned own = op->getOperand(0) == generic.getRegionOutputArgs()[0] ? 1 : 0;
  AffineMap loops = AffineMap::getMultiDimIdentityMap(generic.getNumLoops(), generic.getContext());
  return operandOf(op->getOperand(own), generic, loops);
}

/// The same where that was copied from, to compare it.
static Element reducedBy(linalg::GenericOp generic) { return sourceOf(readBy(generic)); }

/// Whether all elements of a reduction's result start as this number.
static bool startsAs(linalg::GenericOp generic,
                     llvm::function_ref<bool(const APFloat &)> isWanted) {
  auto fill = generic.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  FloatAttr value;
  return fill && matchPattern(fill.value(), m_Constant(&value)) && isWanted(value.getValue());
}

static AffineMap resultMap(linalg::GenericOp generic) {
  return generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
}

/// The maximum that all that `sum` adds up are exponentials of distances to, of what is there.
static linalg::GenericOp maximumOf(linalg::GenericOp sum) {
  std::optional<Combiner> combiner = combinerOf(sum);
  if (!combiner || combiner->ops.size() != 1 || !isa<arith::AddFOp>(combiner->ops[0]) ||
      !isSharedByThreads(sum) ||
      !startsAs(sum, [](const APFloat &start) { return start.isZero(); }))
    return {};
  Maker exponential = makerOf(reducedBy(sum));
  if (!isa_and_nonnull<math::ExpOp>(exponential.op))
    return {};
  Maker distance = makerOf(exponential, 0);
  if (!isa_and_nonnull<arith::SubFOp>(distance.op))
    return {};
  auto operand = [&](unsigned number) {
    return sourceOf(operandOf(distance.op->getOperand(number), distance.generic, distance.loops));
  };
  Element x = operand(0), greatest = operand(1);
  auto maximum =
      greatest.tensor ? greatest.tensor.getDefiningOp<linalg::GenericOp>() : linalg::GenericOp();
  if (!maximum || maximum->getNumResults() != 1 || maximum.getNumReductionLoops() == 0 ||
      maximum.getStaticLoopRanges() != sum.getStaticLoopRanges() ||
      maximum.getIteratorTypesArray() != sum.getIteratorTypesArray() ||
      resultMap(maximum) != resultMap(sum) || greatest.at != resultMap(sum) ||
      maximum.getResultTypes() != sum.getResultTypes() ||
      !startsAs(maximum,
                [](const APFloat &start) { return start.isNegative() && start.isInfinity(); }))
    return {};
  std::optional<Combiner> ofMaximum = combinerOf(maximum);
  Element reduced = reducedBy(maximum);
  bool isOfSame = reduced.tensor && reduced.tensor == x.tensor && reduced.at == x.at;
  return ofMaximum && isa<arith::MaximumFOp>(ofMaximum->ops[0]) && isOfSame ? maximum
                                                                            : linalg::GenericOp();
}

/// One op with the results of both, in the place of the sum.
static void join(linalg::GenericOp maximum, linalg::GenericOp sum) {
  Element x = readBy(maximum);
  OpBuilder builder(sum);
  Value inits[] = {maximum.getDpsInits()[0], sum.getDpsInits()[0]};
  Type types[] = {maximum.getResultTypes()[0], sum.getResultTypes()[0]};
  AffineMap maps[] = {x.at, resultMap(sum), resultMap(sum)};
  Operation *greater = combinerOf(maximum)->ops[0], *add = combinerOf(sum)->ops[0];
  auto both = linalg::GenericOp::create(
      builder, sum.getLoc(), types, x.tensor, inits, maps, sum.getIteratorTypesArray(),
      [&](OpBuilder &inner, Location loc, ValueRange arguments) {
        Value distance = arith::SubFOp::create(inner, loc, arguments[0], arguments[1]);
        Value term = math::ExpOp::create(inner, loc, distance);
        Value results[] = {combine(inner, greater, arguments[1], arguments[0]),
                           combine(inner, add, arguments[2], term)};
        linalg::YieldOp::create(inner, loc, results);
      });
  both->setAttr(weft::kAnyOrderAttr, builder.getUnitAttr());
  both->setAttr(kRunningAttr, builder.getUnitAttr());
  // m - m is 0 or not a number.
  auto type = cast<RankedTensorType>(types[1]);
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> parallel(type.getRank(), utils::IteratorType::parallel);
  Value empty =
      tensor::EmptyOp::create(builder, sum.getLoc(), type.getShape(), type.getElementType());
  auto checked = linalg::GenericOp::create(
      builder, sum.getLoc(), type, both->getResults(), empty,
      ArrayRef<AffineMap>{identity, identity, identity}, parallel,
      [&](OpBuilder &inner, Location loc, ValueRange arguments) {
        Value none = arith::SubFOp::create(inner, loc, arguments[0], arguments[0]);
        Value total = arith::AddFOp::create(inner, loc, arguments[1], none);
        linalg::YieldOp::create(inner, loc, total);
      });
  maximum->replaceAllUsesWith(both->getResults().take_front());
  sum->replaceAllUsesWith(checked);
  maximum.erase();
  sum.erase();
}

void weft::cuda::joinRunningSums(func::FuncOp kernel) {
  for (auto sum : llvm::make_early_inc_range(kernel.getOps<linalg::GenericOp>()))
    if (sum.getNumReductionLoops() > 0)
      if (linalg::GenericOp maximum = maximumOf(sum))
        join(maximum, sum);
  // What reads a maximum may stand before the sum.
  sortTopologically(&kernel.getBody().front());
}
