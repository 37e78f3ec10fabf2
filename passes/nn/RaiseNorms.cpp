// Recognises layer and root-mean-square normalisation over trailing dims.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/ElementwiseCone.h"
#include "passes/nn/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

namespace weft::nn {
#define GEN_PASS_DEF_NNRAISENORMS
#include "passes/nn/Passes.h.inc"
} // namespace weft::nn

using namespace mlir;
using namespace weft;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Small floats are summed in a wider type, so that element types may differ.
static bool haveSameShape(Value a, Value b) { return typeOf(a).getShape() == typeOf(b).getShape(); }

static bool isLeading(ArrayRef<int64_t> dims) {
  for (auto [i, dim] : llvm::enumerate(dims))
    if (dim != static_cast<int64_t>(i))
      return false;
  return true;
}

static bool isTrailing(ArrayRef<int64_t> dims, int64_t rank) {
  for (auto [i, dim] : llvm::enumerate(dims))
    if (dim != rank - static_cast<int64_t>(dims.size() - i))
      return false;
  return !dims.empty();
}

static void report(Operation *op, StringRef what) {
  remark::passed(op->getLoc(), remark::RemarkOpts::name("Raised").category("nn-raise-norms"))
      << what;
}

/// A value of few dims repeated along the trailing dims of another: `row` has
/// the leading dims.
static Value rowsOf(Value value) {
  auto broadcast = value.getDefiningOp<nn::BroadcastOp>();
  return broadcast && isLeading(broadcast.getDims()) ? broadcast.getOperand() : Value();
}

/// The sum over trailing dims that `row` is an elementwise function of.
static nn::ReduceOp sumBehind(Value row) {
  SmallVector<Value> values = leavesOf(row);
  values.insert(values.begin(), row);
  for (Value value : values) {
    auto sum = value.getDefiningOp<nn::ReduceOp>();
    if (sum && sum.getKind() == ReduceKind::Sum &&
        isTrailing(sum.getDims(), typeOf(sum.getOperand()).getRank()) && haveSameShape(sum, row))
      return sum;
  }
  return {};
}

static double countOf(nn::ReduceOp sum) {
  double count = 1;
  for (int64_t dim : sum.getDims())
    count *= typeOf(sum.getOperand()).getDimSize(dim);
  return count;
}

/// The epsilon for which `row` is (divides ? r : 1/r), r = sqrt(sum/count +
/// epsilon).
static std::optional<double> epsilonOf(Value row, nn::ReduceOp sum, bool divides,
                                       double tolerance) {
  std::optional<double> atZero = evaluateCone(row, sum, 0, FloatCasts::Pass);
  if (!atZero)
    return std::nullopt;
  double root = divides ? *atZero : 1 / *atZero;
  double epsilon = root * root, count = countOf(sum);
  if (!std::isfinite(epsilon))
    return std::nullopt;
  SmallVector<double> points = {1, 0.01, 37, count, 3 * count, 1e-4 * count};
  // What is added shows where the mean is as small; a bound from below does not add.
  if (epsilon > 0)
    points.append({epsilon * count, 3 * epsilon * count});
  auto function = [&](double x) {
    double value = std::sqrt(x / count + epsilon);
    return divides ? value : 1 / value;
  };
  bool fits = computes(row, sum, points, function, tolerance, FloatCasts::Pass);
  return fits ? std::optional(epsilon) : std::nullopt;
}

/// True if every element of `value` is the square of the one of `x`.
static bool isSquareOf(Value value, Value x) {
  const double points[] = {0.5, -3, 7, -0.01};
  auto square = [](double t) { return t * t; };
  return haveSameShape(value, x) &&
         computes(value, x, points, square, kLooseTolerance, FloatCasts::Pass);
}

/// If `value` is x - mean(x) over the dims that `sum` reduces: x.
static Value centredOf(Value value, nn::ReduceOp sum, double tolerance) {
  auto difference = value.getDefiningOp<nn::SubOp>();
  Value row = difference ? rowsOf(difference.getRhs()) : Value();
  nn::ReduceOp total = row ? sumBehind(row) : nn::ReduceOp();
  const double points[] = {1, -5, 0.01, 100};
  auto same = [](double x) { return x; };
  if (!total || total.getDims() != sum.getDims() ||
      !computes(total.getOperand(), difference.getLhs(), points, same, kExactTolerance,
                FloatCasts::Pass))
    return Value();
  double count = countOf(total);
  bool isMean = computes(
      row, total, points, [&](double x) { return x / count; }, tolerance, FloatCasts::Pass);
  return isMean ? difference.getLhs() : Value();
}

namespace {

/// x * f(sum(square x)) or x / f(sum(square x)).
template <typename Op, bool divides> struct RaiseNorm : OpRewritePattern<Op> {
  RaiseNorm(MLIRContext *context, bool exact) : OpRewritePattern<Op>(context), exact(exact) {}

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    return success(raise(op, op.getLhs(), op.getRhs(), rewriter) ||
                   (!divides && raise(op, op.getRhs(), op.getLhs(), rewriter)));
  }

  bool exact;

  bool raise(Op op, Value x, Value factor, PatternRewriter &rewriter) const {
    Value row = rowsOf(factor);
    nn::ReduceOp sum = row ? sumBehind(row) : nn::ReduceOp();
    if (!sum || !isa<FloatType>(typeOf(x).getElementType()))
      return false;
    if (!isSquareOf(sum.getOperand(), x))
      return false;
    double tolerance = idiomTolerance(x, exact);
    std::optional<double> epsilon = epsilonOf(row, sum, divides, tolerance);
    if (!epsilon)
      return false;
    int64_t dim = sum.getDims().front();
    auto type =
        RankedTensorType::get(typeOf(x).getShape().drop_front(dim), typeOf(x).getElementType());
    Value scale = nn::ConstantOp::create(
        rewriter, op.getLoc(),
        DenseElementsAttr::get(type, rewriter.getFloatAttr(type.getElementType(), 1.0)));
    Location loc = op.getLoc();
    llvm::APFloat least(*epsilon);
    Operation *made;
    if (Value source = centredOf(x, sum, tolerance)) {
      report(op, "layer normalisation");
      made =
          nn::LayerNormOp::create(rewriter, loc, op.getType(), source, scale, Value(), dim, least);
    } else {
      report(op, "root mean square normalisation");
      made = nn::RmsNormOp::create(rewriter, loc, op.getType(), x, scale, dim, least);
    }
    made->setLoc(placeOfIdiom(op));
    rewriter.replaceOp(op, made);
    return true;
  }
};

/// The operand that a broadcast repeats along all dims before `dim`.
Value trailingOf(Value value, int64_t dim) {
  auto type = typeOf(value);
  auto broadcast = value.getDefiningOp<nn::BroadcastOp>();
  if (dim == 0 || !broadcast || !isTrailing(broadcast.getDims(), type.getRank()) ||
      broadcast.getDims().front() < dim)
    return Value();
  return broadcast.getOperand();
}

/// norm(x) * scale: the scale moves into an op whose own is one.
template <typename Norm> struct AbsorbScale : OpRewritePattern<nn::MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::MulOp op, PatternRewriter &rewriter) const override {
    Value value = op.getLhs(), factor = op.getRhs();
    if (!value.getDefiningOp<Norm>())
      std::swap(value, factor);
    auto norm = value.getDefiningOp<Norm>();
    if (!norm || !norm->hasOneUse() || splatOf(norm.getScale()) != 1.0)
      return failure();
    if (norm->getNumOperands() == 3)
      return failure(); // a bias was added before
    Value scale = trailingOf(factor, norm.getDim());
    if (!scale)
      return failure();
    auto wanted = typeOf(norm.getScale());
    if (typeOf(scale) != wanted) {
      SmallVector<int64_t> dims = llvm::to_vector(
          llvm::seq<int64_t>(wanted.getRank() - typeOf(scale).getRank(), wanted.getRank()));
      scale = nn::BroadcastOp::create(rewriter, op.getLoc(), wanted, scale, dims);
    }
    // The new op stands where the product is: its scale is known there.
    auto made = cast<Norm>(rewriter.clone(*norm));
    made.getScaleMutable().assign(scale);
    made->setLoc(rewriter.getFusedLoc({norm.getLoc(), placeOfIdiom(op)}));
    rewriter.replaceOp(op, made.getResult());
    return success();
  }
};

/// layer_norm(x) + bias.
struct AbsorbBias : OpRewritePattern<nn::AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::AddOp op, PatternRewriter &rewriter) const override {
    Value value = op.getLhs(), term = op.getRhs();
    if (!value.getDefiningOp<nn::LayerNormOp>())
      std::swap(value, term);
    auto norm = value.getDefiningOp<nn::LayerNormOp>();
    if (!norm || !norm->hasOneUse() || norm.getBias())
      return failure();
    Value bias = trailingOf(term, norm.getDim());
    if (!bias || typeOf(bias) != typeOf(norm.getScale()))
      return failure();
    auto made = nn::LayerNormOp::create(rewriter, op.getLoc(), op.getType(), norm.getOperand(),
                                        norm.getScale(), bias, norm.getDim(), norm.getEpsilon());
    made->setLoc(placeOfIdiom(op));
    rewriter.replaceOp(op, made.getResult());
    return success();
  }
};

struct RaiseNorms : nn::impl::NnRaiseNormsBase<RaiseNorms> {
  using NnRaiseNormsBase::NnRaiseNormsBase;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<RaiseNorm<nn::MulOp, false>, RaiseNorm<nn::DivOp, true>>(&getContext(),
                                                                          bool(exact));
    patterns.add<AbsorbScale<nn::LayerNormOp>, AbsorbScale<nn::RmsNormOp>, AbsorbBias>(
        &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
