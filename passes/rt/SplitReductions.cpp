// Makes two reductions of one that no threads could share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/Passes.h"
#include "weft/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/ADT/STLExtras.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTSPLITREDUCTIONS
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

int64_t product(ArrayRef<int64_t> sizes) { return llvm::product_of(sizes); }

struct SplitReduce : OpRewritePattern<nn::ReduceOp> {
  SplitReduce(MLIRContext *context, const TargetTraits &traits)
      : OpRewritePattern(context), traits(traits) {}

  LogicalResult matchAndRewrite(nn::ReduceOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getOperand().getType());
    ArrayRef<int64_t> shape = type.getShape(), dims = op.getDims();
    if (type.getNumElements() <= traits.smallElements || dims.empty() || dims.front() != 0)
      return failure();
    // The sizes as [parts.., one run that the first reduction takes].
    SmallVector<int64_t> parts;
    int64_t trailing = trailingDims(dims, type.getRank());
    if (trailing == type.getRank()) {
      parts = {partsOf(shape)};
      if (parts[0] == 1) {
        tellSerial(op, type);
        return failure();
      }
    } else if (trailing > 0) {
      llvm::append_range(parts, shape.drop_back(trailing));
    } else {
      return failure();
    }
    Location loc = op.getLoc();
    auto make = [&](Operation *made) {
      made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
      return made->getResult(0);
    };
    Type element = type.getElementType(), wide = accumulator(op.getKind(), element);
    Value value = op.getOperand();
    if (wide != element)
      value = make(nn::CastOp::create(rewriter, loc, RankedTensorType::get(shape, wide), value));
    SmallVector<int64_t> sizes(parts);
    sizes.push_back(type.getNumElements() / product(parts));
    value = make(nn::ReshapeOp::create(rewriter, loc, RankedTensorType::get(sizes, wide), value));
    auto reduce = [&](ArrayRef<int64_t> resultShape, Type encodedType, ArrayRef<int64_t> over) {
      Type resultType = encodedType ? encodedType : RankedTensorType::get(resultShape, wide);
      value = make(nn::ReduceOp::create(rewriter, loc, resultType, op.getKind(), value, over));
    };
    reduce(parts, nullptr, {int64_t(parts.size())});
    // What is left of the reduced dims.
    SmallVector<int64_t> rest(dims.drop_back(std::min<int64_t>(trailing, dims.size())));
    if (trailing == type.getRank())
      rest = {0};
    if (wide == element) {
      reduce({}, op.getType(), rest);
    } else {
      reduce(op.getType().getShape(), nullptr, rest);
      value = make(nn::CastOp::create(rewriter, loc, op.getType(), value));
    }
    rewriter.replaceOp(op, value);
    return success();
  }

private:
  const TargetTraits &traits;

  void tellSerial(nn::ReduceOp op, RankedTensorType type) const {
    const int64_t *first = llvm::find_if(type.getShape(), [](int64_t size) { return size > 1; });
    if (op.getContext()->getRemarkEngine())
      remark::missed(op.getLoc(),
                     remark::RemarkOpts::name("serial").category("rt-split-reductions"))
          << ("reduces " + Twine(type.getNumElements()) +
              " elements on one thread: its first size above 1, " + Twine(*first) +
              ", has no divisor from 2 to " + Twine(4 * traits.leastSumParts))
                 .str();
  }

  /// How many dims at the end are all reduced.
  static int64_t trailingDims(ArrayRef<int64_t> dims, int64_t rank) {
    int64_t count = 0;
    while (count < int64_t(dims.size()) && dims[dims.size() - 1 - count] == rank - 1 - count)
      ++count;
    return count;
  }

  /// A product of whole leading dims, so that its parts are parts of what makes
  /// the operand, too; of a dim with too many elements a divisor.
  int64_t partsOf(ArrayRef<int64_t> shape) const {
    int64_t parts = 1;
    for (int64_t size : shape) {
      if (parts >= traits.leastSumParts)
        break;
      int64_t divisor =
          parts * size <= traits.mostSumParts ? size : 4 * traits.leastSumParts / parts;
      while (size % divisor != 0)
        --divisor;
      parts *= divisor;
      if (divisor < size)
        break;
    }
    return parts;
  }

  /// Between the two nothing is rounded that one reduction would not round.
  static Type accumulator(ReduceKind kind, Type element) {
    bool rounds = kind == ReduceKind::Sum || kind == ReduceKind::Prod;
    return rounds && isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32
               ? Float32Type::get(element.getContext())
               : element;
  }
};

struct SplitReductions : weft::rt::impl::RtSplitReductionsBase<SplitReductions> {
  void runOnOperation() override {
    const Target *target = targetOf(getOperation());
    if (!target)
      return signalPassFailure();
    RewritePatternSet patterns(&getContext());
    patterns.add<SplitReduce>(&getContext(), target->traits());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
