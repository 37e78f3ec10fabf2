// Makes two reductions of one that no threads could share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/Passes.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Interfaces/TensorTypes.h"
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
    // The sizes as [parts.., one run that the first reduction takes, dims that stay..].
    SmallVector<int64_t> parts;
    int64_t trailing = trailingDims(dims, type.getRank()), leading = leadingDims(dims);
    if (trailing == type.getRank()) {
      parts = {partsOf(shape)};
      if (parts[0] == 1) {
        tellSerial(op, type);
        return failure();
      }
    } else if (trailing > 0) {
      llvm::append_range(parts, shape.drop_back(trailing));
      leading = type.getRank();
    } else if (leading == int64_t(dims.size())) {
      parts =
          isMadeBesides(op.getOperand()) ? groupsOnChip(op, leading) : groupsInMemory(op, leading);
    }
    if (parts.empty())
      return failure();
    Location loc = op.getLoc();
    auto make = [&](Operation *made) {
      made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
      return made->getResult(0);
    };
    Type element = type.getElementType(), wide = accumulator(op.getKind(), element);
    Value value = op.getOperand();
    if (wide != element)
      value = make(nn::CastOp::create(rewriter, loc, RankedTensorType::get(shape, wide), value));
    ArrayRef<int64_t> kept = shape.drop_front(leading);
    SmallVector<int64_t> sizes(parts);
    sizes.push_back(type.getNumElements() / product(parts) / product(kept));
    llvm::append_range(sizes, kept);
    value = make(nn::ReshapeOp::create(rewriter, loc, RankedTensorType::get(sizes, wide), value));
    auto reduce = [&](ArrayRef<int64_t> resultShape, Type encodedType, ArrayRef<int64_t> over) {
      Type resultType = encodedType ? encodedType : RankedTensorType::get(resultShape, wide);
      value = make(nn::ReduceOp::create(rewriter, loc, resultType, op.getKind(), value, over));
    };
    sizes.erase(sizes.begin() + parts.size());
    reduce(sizes, nullptr, {int64_t(parts.size())});
    // What is left of the reduced dims.
    SmallVector<int64_t> rest = llvm::to_vector(llvm::seq<int64_t>(0, parts.size()));
    if (leading == type.getRank() && trailing < leading)
      rest.assign(dims.begin(), dims.end() - trailing);
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
  /// Rows of a group at least.
  static constexpr int64_t kLeastRows = 8;

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

  /// How many dims at the start are all reduced.
  static int64_t leadingDims(ArrayRef<int64_t> dims) {
    int64_t count = 0;
    while (count < int64_t(dims.size()) && dims[count] == count)
      ++count;
    return count;
  }

  /// Whether a kernel that makes the value, element by element, makes something else of it or on
  /// the way, so that it has what is summed up on the chip. What a library makes is in memory.
  static bool isMadeBesides(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !isa<ElementwiseOpInterface>(op))
      return false;
    return !value.hasOneUse() || llvm::any_of(op->getOperands(), isMadeBesides);
  }

  /// Groups of rows that stay on the chip beside what they are made of; their sums, which are
  /// written and read, are much less. Nothing: they would not be, or groups would be too few.
  SmallVector<int64_t> groupsOnChip(nn::ReduceOp op, int64_t leading) const {
    auto type = cast<RankedTensorType>(op.getOperand().getType());
    ArrayRef<int64_t> shape = type.getShape();
    Type wide = accumulator(op.getKind(), type.getElementType());
    int64_t columns = product(shape.drop_front(leading)), all = product(shape.take_front(leading));
    int64_t rowBytes = columns * elementBytes(wide);
    if (kLeastRows * rowBytes > traits.onChipBytes / 2)
      return {};
    int64_t rows = std::max(kLeastRows, traits.rowGroupBytes / rowBytes);
    return rowGroupsOf(shape.take_front(leading), std::min(rows, all / traits.leastSumParts));
  }

  /// Groups of rows that lie in memory, of which the columns are too few for all of a device:
  /// several for each of its parts. Nothing if a launch takes longer than what that gains.
  SmallVector<int64_t> groupsInMemory(nn::ReduceOp op, int64_t leading) const {
    constexpr int64_t kGroupsOfAPart = 4;
    auto type = cast<RankedTensorType>(op.getOperand().getType());
    ArrayRef<int64_t> shape = type.getShape();
    int64_t columns = product(shape.drop_front(leading)), all = product(shape.take_front(leading));
    int64_t atATime = std::min(traits.columnsAtATime, columns);
    if (atATime == 0 ||
        all * atATime * elementBytes(type.getElementType()) < traits.leastBytesOfAPart)
      return {};
    return rowGroupsOf(shape.take_front(leading),
                       all * columns / (kGroupsOfAPart * traits.leastSumParts * atATime));
  }

  /// How rows, of which `shape` has the leading dims, are cut into groups of `most`: whole dims and
  /// a divisor of the one behind them. Nothing: groups would be too small.
  static SmallVector<int64_t> rowGroupsOf(ArrayRef<int64_t> shape, int64_t most) {
    if (most < kLeastRows)
      return {};
    SmallVector<int64_t> parts(shape);
    int64_t rows = 1;
    while (parts.size() > 1 && rows * parts.back() <= most)
      rows *= parts.pop_back_val();
    int64_t each = std::min(most / rows, parts.back());
    while (parts.back() % each != 0)
      --each;
    parts.back() /= each;
    return rows * each >= kLeastRows ? parts : SmallVector<int64_t>();
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
