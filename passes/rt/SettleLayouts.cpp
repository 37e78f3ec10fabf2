// Lets library calls write the parts of a value where they stand in it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/LibraryLayout.h"
#include "passes/rt/Passes.h"
#include "passes/rt/Routines.h"

#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Interfaces/Sum.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTSETTLELAYOUTS
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// The addends of a sum of sums, each of one use and of what the sum is of.
void collectAddends(Operation *sum, SmallVectorImpl<Operation *> &sums,
                    SmallVectorImpl<Operation *> &leaves) {
  sums.push_back(sum);
  for (Value operand : sum->getOperands()) {
    Operation *def = operand.getDefiningOp();
    bool isInner = def && operand.hasOneUse() && isSum(def) &&
                   def->getDiscardableAttrDictionary() == sum->getDiscardableAttrDictionary();
    if (isInner)
      collectAddends(def, sums, leaves);
    else
      leaves.push_back(def);
  }
}

/// The only dim along which the op puts zeros around its operand.
std::optional<int64_t> paddedDim(nn::PadOp pad) {
  std::optional<int64_t> dim;
  for (auto [d, low, high] : llvm::enumerate(pad.getLow(), pad.getHigh())) {
    if (low == 0 && high == 0)
      continue;
    if (dim)
      return std::nullopt;
    dim = d;
  }
  bool isZero = matchPattern(Attribute(pad.getValue()), m_AnyZeroFloat());
  return isZero ? dim : std::nullopt;
}

/// A sum of values with zeros around them, which tile it along one dim, is their concatenation. So
/// gradients of the parts of a value come.
void joinParts(Operation *sum) {
  SmallVector<Operation *> sums, leaves;
  collectAddends(sum, sums, leaves);
  SmallVector<nn::PadOp> parts;
  for (Operation *leaf : leaves) {
    auto pad = dyn_cast_or_null<nn::PadOp>(leaf);
    if (!pad || !pad->hasOneUse() ||
        pad->getDiscardableAttrDictionary() != sum->getDiscardableAttrDictionary())
      return;
    parts.push_back(pad);
  }
  std::optional<int64_t> dim = paddedDim(parts.front());
  if (!dim || !llvm::all_of(parts, [&](nn::PadOp part) { return paddedDim(part) == dim; }))
    return;
  llvm::sort(parts, [&](nn::PadOp a, nn::PadOp b) { return a.getLow()[*dim] < b.getLow()[*dim]; });
  int64_t next = 0;
  SmallVector<Value> inputs;
  for (nn::PadOp part : parts) {
    if (part.getLow()[*dim] != next)
      return;
    inputs.push_back(part.getOperand());
    next += shapeOf(part.getOperand())[*dim];
  }
  if (next != shapeOf(sum->getResult(0))[*dim])
    return;
  OpBuilder builder(sum);
  auto whole =
      nn::ConcatOp::create(builder, sum->getLoc(), sum->getResult(0).getType(), inputs, *dim);
  whole->setDiscardableAttrs(sum->getDiscardableAttrDictionary());
  sum->replaceAllUsesWith(whole);
  for (Operation *dead : sums)
    dead->erase();
  for (nn::PadOp dead : parts)
    dead->erase();
}

struct SettleLayouts : weft::rt::impl::RtSettleLayoutsBase<SettleLayouts> {
  void runOnOperation() override {
    for (func::FuncOp program : programsOf(getOperation()))
      for (Operation &op : llvm::make_early_inc_range(program.getBody().front()))
        if (isSum(&op))
          joinParts(&op);
  }
};

} // namespace
