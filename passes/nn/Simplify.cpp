// Moves data movement out of the way of arithmetic, or into it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "passes/nn/ElementwiseCone.h"
#include "passes/nn/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace weft::nn {
#define GEN_PASS_DEF_NNSIMPLIFY
#include "passes/nn/Passes.h.inc"
} // namespace weft::nn

using namespace mlir;
using namespace weft;

/// With an encoding a type says where the value is; such programs are past
/// this.
static bool isPlaced(Operation *op) {
  return llvm::any_of(llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()),
                      [](Type type) {
                        auto tensor = dyn_cast<RankedTensorType>(type);
                        return tensor && tensor.getEncoding();
                      });
}

namespace {

/// contract(transpose(x), y): the labels are permuted instead.
struct TransposeIntoContract : OpRewritePattern<nn::ContractOp> {
  using OpRewritePattern::OpRewritePattern;

  static bool absorb(Value &operand, SmallVectorImpl<int64_t> &labels) {
    auto transpose = operand.getDefiningOp<nn::TransposeOp>();
    if (!transpose)
      return false;
    SmallVector<int64_t> permuted(labels.size());
    for (auto [dim, from] : llvm::enumerate(transpose.getPermutation()))
      permuted[from] = labels[dim];
    labels = permuted;
    operand = transpose.getOperand();
    return true;
  }

  LogicalResult matchAndRewrite(nn::ContractOp op, PatternRewriter &rewriter) const override {
    if (isPlaced(op))
      return failure();
    Value lhs = op.getLhs(), rhs = op.getRhs();
    SmallVector<int64_t> lhsLabels(op.getLhsLabels()), rhsLabels(op.getRhsLabels());
    bool absorbed = absorb(lhs, lhsLabels);
    absorbed |= absorb(rhs, rhsLabels);
    if (!absorbed)
      return failure();
    rewriter.replaceOpWithNewOp<nn::ContractOp>(op, op.getType(), lhs, rhs, lhsLabels, rhsLabels,
                                                op.getResultLabels(), op.getAccumulate());
    return success();
  }
};

/// transpose(contract(x, y)) with no other reader: the result's labels are
/// permuted instead.
struct TransposeOfContract : OpRewritePattern<nn::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::TransposeOp op, PatternRewriter &rewriter) const override {
    auto contract = op.getOperand().getDefiningOp<nn::ContractOp>();
    if (!contract || !contract->hasOneUse() || isPlaced(op) || isPlaced(contract))
      return failure();
    SmallVector<int64_t> labels;
    for (int64_t from : op.getPermutation())
      labels.push_back(contract.getResultLabels()[from]);
    rewriter.replaceOpWithNewOp<nn::ContractOp>(
        op, op.getType(), contract.getLhs(), contract.getRhs(), contract.getLhsLabels(),
        contract.getRhsLabels(), labels, contract.getAccumulate());
    return success();
  }
};

/// Extents without those that are 1.
SmallVector<int64_t> withoutUnits(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> kept;
  llvm::copy_if(shape, std::back_inserter(kept), [](int64_t extent) { return extent != 1; });
  return kept;
}

bool changesUnitsOnly(nn::ReshapeOp op) {
  return withoutUnits(op.getOperand().getType().getShape()) ==
         withoutUnits(op.getType().getShape());
}

/// The op that only spreads or relabels the elements of its operand, if `value`
/// is made by one that an elementwise op may overtake.
Operation *spreader(Value value) {
  if (auto broadcast = value.getDefiningOp<nn::BroadcastOp>())
    return broadcast;
  auto reshape = value.getDefiningOp<nn::ReshapeOp>();
  return reshape && changesUnitsOnly(reshape) ? reshape.getOperation() : nullptr;
}

/// f(spread(x), spread(y), splat) = spread(f(x, y, splat)) where all are spread
/// in the same way.
struct ElementwiseBeforeSpread : OpInterfaceRewritePattern<ElementwiseOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(ElementwiseOpInterface op,
                                PatternRewriter &rewriter) const override {
    if (isPlaced(op))
      return failure();
    Operation *spread = nullptr;
    for (Value operand : op->getOperands()) {
      if (isa_and_nonnull<nn::ConstantOp>(operand.getDefiningOp()) && splatOf(operand))
        continue;
      Operation *own = spreader(operand);
      if (!own ||
          (spread && (own->getName() != spread->getName() ||
                      own->getAttrs() != spread->getAttrs() || shapeOf(own) != shapeOf(spread))))
        return failure();
      spread = own;
    }
    if (!spread)
      return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (Operation *own = spreader(operand)) {
        operands.push_back(own->getOperand(0));
        continue;
      }
      auto value = operand.getDefiningOp<nn::ConstantOp>().getValue();
      auto type = cast<RankedTensorType>(operand.getType()).clone(shapeOf(spread));
      operands.push_back(nn::ConstantOp::create(
          rewriter, op.getLoc(), DenseElementsAttr::get(type, value.getSplatValue<Attribute>())));
    }
    Type wide = op->getResult(0).getType();
    Operation *small = rewriter.clone(*op);
    small->setOperands(operands);
    small->getResult(0).setType(cast<RankedTensorType>(wide).clone(shapeOf(spread)));
    rewriter.setInsertionPointAfter(small);
    Operation *late = rewriter.clone(*spread);
    late->setLoc(op.getLoc());
    late->setOperand(0, small->getResult(0));
    late->getResult(0).setType(wide);
    rewriter.replaceOp(op, late->getResult(0));
    return success();
  }

  static ArrayRef<int64_t> shapeOf(Operation *spread) {
    return cast<RankedTensorType>(spread->getOperand(0).getType()).getShape();
  }
};

/// How many trailing dims a reshape leaves as they are.
int64_t untouchedDims(nn::ReshapeOp op) {
  ArrayRef<int64_t> from = op.getOperand().getType().getShape(), to = op.getType().getShape();
  int64_t count = 0, most = std::min(from.size(), to.size());
  while (count < most && from[from.size() - 1 - count] == to[to.size() - 1 - count])
    ++count;
  return count;
}

/// f(reshape(x), repeat(v), splat) = reshape(f(x, repeat(v), splat)) where v
/// has only dims that the reshape leaves alone: a bias under a flattened batch.
struct ElementwiseBeforeReshape : OpInterfaceRewritePattern<ElementwiseOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  /// A broadcast of dims that `reshape` leaves alone.
  static nn::BroadcastOp repeated(Value value, nn::ReshapeOp reshape) {
    auto broadcast = value.getDefiningOp<nn::BroadcastOp>();
    int64_t first = reshape.getType().getRank() - untouchedDims(reshape);
    bool apart =
        broadcast && llvm::all_of(broadcast.getDims(), [&](int64_t dim) { return dim >= first; });
    return apart ? broadcast : nn::BroadcastOp();
  }

  LogicalResult matchAndRewrite(ElementwiseOpInterface op,
                                PatternRewriter &rewriter) const override {
    if (isPlaced(op))
      return failure();
    nn::ReshapeOp reshape;
    for (Value operand : op->getOperands())
      if (auto own = operand.getDefiningOp<nn::ReshapeOp>()) {
        if (reshape &&
            own.getOperand().getType().getShape() != reshape.getOperand().getType().getShape())
          return failure();
        reshape = own;
      }
    if (!reshape)
      return failure();
    ArrayRef<int64_t> from = reshape.getOperand().getType().getShape();
    int64_t shift = static_cast<int64_t>(from.size()) - reshape.getType().getRank();
    for (Value operand : op->getOperands())
      if (!operand.getDefiningOp<nn::ReshapeOp>() && !repeated(operand, reshape) &&
          !(operand.getDefiningOp<nn::ConstantOp>() && splatOf(operand)))
        return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      auto type = cast<RankedTensorType>(operand.getType()).clone(from);
      if (auto own = operand.getDefiningOp<nn::ReshapeOp>()) {
        operands.push_back(own.getOperand());
      } else if (nn::BroadcastOp broadcast = repeated(operand, reshape)) {
        SmallVector<int64_t> dims(broadcast.getDims());
        for (int64_t &dim : dims)
          dim += shift;
        operands.push_back(nn::BroadcastOp::create(rewriter, broadcast.getLoc(), type,
                                                   broadcast.getOperand(), dims));
      } else {
        auto value = operand.getDefiningOp<nn::ConstantOp>().getValue();
        operands.push_back(
            nn::ConstantOp::create(rewriter, operand.getLoc(),
                                   DenseElementsAttr::get(type, value.getSplatValue<Attribute>())));
      }
    }
    auto wide = cast<RankedTensorType>(op->getResult(0).getType());
    Operation *early = rewriter.clone(*op);
    early->setOperands(operands);
    early->getResult(0).setType(wide.clone(from));
    rewriter.replaceOpWithNewOp<nn::ReshapeOp>(op, wide, early->getResult(0));
    return success();
  }
};

/// contract(reshape(x), y) where the reshape only merges dims that stay apart
/// in the result: x's own dims get labels, and the result is reshaped.
struct MergeAfterContract : OpRewritePattern<nn::ContractOp> {
  using OpRewritePattern::OpRewritePattern;

  /// For each result dim of a merging reshape, how many operand dims it has.
  static std::optional<SmallVector<int64_t>> groupsOf(nn::ReshapeOp op) {
    ArrayRef<int64_t> from = op.getOperand().getType().getShape();
    SmallVector<int64_t> groups;
    size_t next = 0;
    for (int64_t extent : op.getType().getShape()) {
      int64_t product = 1, count = 0;
      while (next < from.size() && (count == 0 || product < extent)) {
        product *= from[next++];
        ++count;
      }
      if (product != extent)
        return std::nullopt;
      groups.push_back(count);
    }
    return next == from.size() ? std::optional(groups) : std::nullopt;
  }

  LogicalResult matchAndRewrite(nn::ContractOp op, PatternRewriter &rewriter) const override {
    if (isPlaced(op))
      return failure();
    for (bool first : {true, false}) {
      Value operand = first ? op.getLhs() : op.getRhs();
      auto reshape = operand.getDefiningOp<nn::ReshapeOp>();
      auto groups = reshape ? groupsOf(reshape) : std::nullopt;
      ArrayRef<int64_t> own = first ? op.getLhsLabels() : op.getRhsLabels();
      ArrayRef<int64_t> other = first ? op.getRhsLabels() : op.getLhsLabels();
      if (!groups)
        continue;
      int64_t fresh = 0;
      for (int64_t label : llvm::concat<const int64_t>(own, other))
        fresh = std::max(fresh, label + 1);
      SmallVector<int64_t> labels, result(op.getResultLabels());
      SmallVector<int64_t> shape(op.getType().getShape());
      bool merges = false, apart = true;
      for (auto [label, count] : llvm::zip_equal(own, *groups)) {
        if (count == 1) {
          labels.push_back(label);
          continue;
        }
        merges = true;
        auto *at = llvm::find(result, label);
        if (at == result.end() || llvm::is_contained(other, label)) {
          apart = false;
          break;
        }
        size_t position = at - result.begin(), from = labels.size();
        result.erase(at);
        shape.erase(shape.begin() + position);
        for (int64_t i = 0; i < count; ++i) {
          int64_t extent = reshape.getOperand().getType().getDimSize(from + i);
          labels.push_back(fresh);
          result.insert(result.begin() + position + i, fresh++);
          shape.insert(shape.begin() + position + i, extent);
        }
      }
      if (!merges || !apart)
        continue;
      auto type = cast<RankedTensorType>(op.getType());
      Value product = nn::ContractOp::create(
          rewriter, op.getLoc(), type.clone(shape), first ? reshape.getOperand() : op.getLhs(),
          first ? op.getRhs() : reshape.getOperand(),
          first ? ArrayRef<int64_t>(labels) : op.getLhsLabels(),
          first ? op.getRhsLabels() : ArrayRef<int64_t>(labels), result, op.getAccumulate());
      rewriter.replaceOpWithNewOp<nn::ReshapeOp>(op, type, product);
      return success();
    }
    return failure();
  }
};

/// x * 1, x / 1, x + 0, x - 0, where `neutral` is the splat on the right, or on
/// either side if the op commutes.
template <typename Op, int neutral, bool commutes> struct DropNeutral : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (isPlaced(op))
      return failure();
    if (splatOf(op.getRhs()) == double(neutral)) {
      rewriter.replaceOp(op, op.getLhs());
      return success();
    }
    if (commutes && splatOf(op.getLhs()) == double(neutral)) {
      rewriter.replaceOp(op, op.getRhs());
      return success();
    }
    return failure();
  }
};

struct Simplify : nn::impl::NnSimplifyBase<Simplify> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<TransposeIntoContract, TransposeOfContract, ElementwiseBeforeSpread,
                 ElementwiseBeforeReshape, MergeAfterContract, DropNeutral<nn::MulOp, 1, true>,
                 DropNeutral<nn::DivOp, 1, false>, DropNeutral<nn::AddOp, 0, true>,
                 DropNeutral<nn::SubOp, 0, false>>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      remark::missed(getOperation()->getLoc(),
                     remark::RemarkOpts::name("unfinished").category("nn-simplify"))
          << "simplification stopped before its fixed point";
  }
};
} // namespace
