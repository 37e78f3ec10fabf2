// Lets library calls write values as all their readers want them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/Passes.h"
#include "passes/rt/fusion/LibraryLayout.h"
#include "passes/rt/routines/Routines.h"

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

//===----------------------------------------------------------------------===//
// Sums of values that stand beside each other
//===----------------------------------------------------------------------===//

/// Sums that are no concatenations, nor any sum of them.
using OtherSums = llvm::DenseSet<Operation *>;

/// Whether all addends of a sum of sums, each of one use and of what the sum is of, are values with
/// something around them. Of sums of sums the inner ones are asked about first.
bool collectParts(Operation *sum, OtherSums &others, SmallVectorImpl<Operation *> &sums,
                  SmallVectorImpl<nn::PadOp> &parts) {
  DictionaryAttr attributes = sum->getDiscardableAttrDictionary();
  sums.push_back(sum);
  for (size_t i = 0; i < sums.size(); ++i)
    for (Value operand : sums[i]->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (!def || !operand.hasOneUse() || def->getDiscardableAttrDictionary() != attributes ||
          others.contains(def))
        return others.insert(sum), false;
      if (isSum(def))
        sums.push_back(def);
      else if (auto pad = dyn_cast<nn::PadOp>(def))
        parts.push_back(pad);
      else
        return others.insert(sum), false;
    }
  return true;
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
void joinParts(Operation *sum, OtherSums &others) {
  SmallVector<Operation *> sums;
  SmallVector<nn::PadOp> parts;
  if (!collectParts(sum, others, sums, parts))
    return;
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

//===----------------------------------------------------------------------===//
// Permutations that some readers need in memory
//===----------------------------------------------------------------------===//

/// Gives the other readers of what a library call makes the permutation that one of them needs in
/// memory. Then the call writes that alone, and they see through to it.
class SharedPermutation {
public:
  SharedPermutation(const Target &target, Operation *library) : target(target), library(library) {}

  void run() {
    if (placeableResults(library).size() != 1 || library->getResult(0).hasOneUse())
      return;
    Value value = library->getResult(0);
    for (Operation *user : value.getUsers())
      if (isFree(user) && stridesBehindPermutation(user) && isCopied(user->getResult(0)))
        return share(user);
  }

private:
  /// What has memory of its own: once it is shared, the permutation.
  bool isRoot(Operation *op) const { return !isFree(op) || op == shared; }
  std::optional<ValueLayout> layoutOf(Value value) const {
    return rt::layoutOf(value, [&](Operation *op) { return isRoot(op); });
  }

  /// Whether what reads the value needs a copy of it, in other order.
  bool isCopied(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      if (isFree(user))
        return !layoutOf(user->getResult(0)) || isCopied(user->getResult(0));
      if (denseLibraryLayout(target, user))
        return !libraryLayout(target, user, [&](Operation *op) { return isRoot(op); });
      if (isa<KernelOpInterface>(user))
        return false;
      std::optional<ValueLayout> layout = layoutOf(value);
      return !layout || !isRowMajor(shapeOf(value), layout->strides);
    });
  }

  /// The operand's dims by those of the view's result.
  static std::optional<SmallVector<int64_t>> inverseOf(Operation *permutation) {
    SmallVector<int64_t, 4> from = *stridesBehindPermutation(permutation),
                            to = rowMajorStrides(shapeOf(permutation->getResult(0)));
    ArrayRef<int64_t> sizes = shapeOf(permutation->getOperand(0)),
                      turned = shapeOf(permutation->getResult(0));
    SmallVector<int64_t> inverse;
    for (auto [size, stride] : llvm::zip(sizes, from)) {
      int64_t found = -1;
      for (auto [dim, other] : llvm::enumerate(to))
        if (turned[dim] == size && (size == 1 || other == stride) &&
            !llvm::is_contained(inverse, int64_t(dim))) {
          found = dim;
          break;
        }
      if (found < 0)
        return std::nullopt;
      inverse.push_back(found);
    }
    return inverse;
  }

  void share(Operation *permutation) {
    std::optional<SmallVector<int64_t>> inverse = inverseOf(permutation);
    if (!inverse)
      return;
    Value value = library->getResult(0);
    SmallVector<Operation *> others, backs;
    for (Operation *user : value.getUsers())
      if (user != permutation && !llvm::is_contained(others, user))
        others.push_back(user);
    // It is of the library call's microbatch, section and pass then, which may be before its own.
    DictionaryAttr own = permutation->getDiscardableAttrDictionary();
    permutation->setDiscardableAttrs(library->getDiscardableAttrDictionary());
    permutation->moveAfter(library);
    shared = permutation;
    for (Operation *user : others) {
      OpBuilder builder(user);
      auto back = nn::TransposeOp::create(builder, user->getLoc(), value.getType(),
                                          permutation->getResult(0), *inverse);
      back->setDiscardableAttrs(user->getDiscardableAttrDictionary());
      user->replaceUsesOfWith(value, back);
      backs.push_back(back);
    }
    // Instead of one copy there would be others.
    if (!writesPermuted(permutation) ||
        llvm::any_of(backs, [&](Operation *back) { return isCopied(back->getResult(0)); })) {
      for (Operation *back : backs) {
        back->replaceAllUsesWith(ValueRange(value));
        back->erase();
      }
      permutation->setDiscardableAttrs(own);
      return;
    }
    permutation->setAttr(kWrittenAttr, UnitAttr::get(permutation->getContext()));
  }

  bool writesPermuted(Operation *permutation) const {
    SmallVector<SmallVector<int64_t, 4>> operands;
    for (Value operand : library->getOperands()) {
      std::optional<ValueLayout> layout = layoutOf(operand);
      operands.push_back(layout ? layout->strides : denseLayout(operand).strides);
    }
    SmallVector<SmallVector<int64_t, 4>> results = {*stridesBehindPermutation(permutation)};
    for (Value dense : library->getResults().drop_front())
      results.push_back(denseLayout(dense).strides);
    return libraryLayout(target, library, operands, results).has_value();
  }

  const Target &target;
  Operation *library;
  Operation *shared = nullptr;
};

struct SettleLayouts : weft::rt::impl::RtSettleLayoutsBase<SettleLayouts> {
  void runOnOperation() override {
    const Target *target = targetOf(getOperation());
    if (!target)
      return signalPassFailure();
    for (func::FuncOp program : programsOf(getOperation()))
      program.walk([&](Block *block) { settle(*target, *block); });
  }

  static void settle(const Target &target, Block &block) {
    OtherSums others;
    for (Operation &op : llvm::make_early_inc_range(block))
      if (isSum(&op))
        joinParts(&op, others);
    for (Operation &op : llvm::make_early_inc_range(block))
      if (denseLibraryLayout(target, &op))
        SharedPermutation(target, &op).run();
  }
};

} // namespace
