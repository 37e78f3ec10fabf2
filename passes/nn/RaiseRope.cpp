// Recognises rotary position embedding.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/ElementwiseCone.h"
#include "passes/nn/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace weft::nn {
#define GEN_PASS_DEF_NNRAISEROPE
#include "passes/nn/Passes.h.inc"
} // namespace weft::nn

using namespace mlir;
using namespace weft;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static bool isUnitReshape(nn::ReshapeOp op) {
  auto dropUnits = [](ArrayRef<int64_t> shape) {
    return llvm::to_vector(llvm::make_filter_range(shape, [](int64_t n) { return n != 1; }));
  };
  return dropUnits(typeOf(op.getOperand()).getShape()) == dropUnits(op.getType().getShape());
}

/// The part of the last dim that `value` is a slice of: all other dims whole.
struct Part {
  Value source;
  int64_t start, stride, size;
};

static std::optional<Part> partOf(Value value) {
  auto slice = value.getDefiningOp<nn::SliceOp>();
  if (!slice)
    return std::nullopt;
  auto from = typeOf(slice.getOperand()), to = slice.getType();
  if (from.getShape().drop_back() != to.getShape().drop_back())
    return std::nullopt;
  return Part{slice.getOperand(), slice.getStarts().back(), slice.getStrides().back(),
              to.getShape().back()};
}

/// If every element of `value` is minus the one of a slice: that slice.
static std::optional<Part> negatedPartOf(Value value) {
  const double points[] = {1.5, -2, 0.25};
  for (Value leaf : leavesOf(value))
    if (std::optional<Part> part = partOf(leaf))
      if (computes(value, leaf, points, [](double x) { return -x; }))
        return part;
  return std::nullopt;
}

static Value throughUnitReshape(Value value) {
  auto reshape = value.getDefiningOp<nn::ReshapeOp>();
  return reshape && isUnitReshape(reshape) ? reshape.getOperand() : value;
}

/// If `value` is the turned form of some x (see the pass): x.
static Value turnedOf(Value value, bool &interleaved) {
  int64_t depth = typeOf(value).getShape().back(), last = typeOf(value).getRank() - 1;
  auto reshape = value.getDefiningOp<nn::ReshapeOp>();
  interleaved = reshape != nullptr;
  auto concat = (reshape ? reshape.getOperand() : value).getDefiningOp<nn::ConcatOp>();
  if (!concat || concat.getInputs().size() != 2 || depth % 2)
    return Value();
  Value first = concat.getInputs()[0], second = concat.getInputs()[1];
  if (interleaved) {
    // [..., D/2, 2] is read as [..., D].
    if (static_cast<int64_t>(concat.getDim()) != last + 1 ||
        typeOf(concat).getShape().back() != 2 ||
        typeOf(concat).getShape().drop_back(2) != typeOf(value).getShape().drop_back())
      return Value();
    first = throughUnitReshape(first);
    second = throughUnitReshape(second);
  } else if (static_cast<int64_t>(concat.getDim()) != last) {
    return Value();
  }
  std::optional<Part> turned = negatedPartOf(first), kept = partOf(second);
  if (!turned || !kept || turned->source != kept->source || typeOf(kept->source) != typeOf(value))
    return Value();
  int64_t size = depth / 2, start = interleaved ? 1 : size, stride = interleaved ? 2 : 1;
  if (turned->size != size || kept->size != size || turned->start != start || kept->start != 0 ||
      turned->stride != stride || kept->stride != stride)
    return Value();
  return kept->source;
}

namespace {

/// Halves of constants, by whether pairs are interleaved; null where there is none. Every layer has
/// the same tables.
using KnownHalves = llvm::DenseMap<std::pair<Attribute, unsigned>, DenseElementsAttr>;

/// Builds the table of pairs from a table of elements, if both elements of each
/// pair provably have the same entry. Ops made on the way to a failure are
/// dead.
class Halver {
public:
  Halver(PatternRewriter &rewriter, Location loc, bool interleaved, KnownHalves &known)
      : b(rewriter), loc(loc), interleaved(interleaved), known(known) {}

  Value operator()(Value table) {
    if (auto constant = table.getDefiningOp<nn::ConstantOp>())
      return halveConstant(constant);
    if (auto concat = table.getDefiningOp<nn::ConcatOp>())
      return halveConcat(concat);
    if (auto broadcast = table.getDefiningOp<nn::BroadcastOp>())
      return halveBroadcast(broadcast);
    if (auto reshape = table.getDefiningOp<nn::ReshapeOp>())
      return halveReshape(reshape);
    if (auto transpose = table.getDefiningOp<nn::TransposeOp>()) {
      if (transpose.getPermutation().back() != typeOf(table).getRank() - 1)
        return Value();
      Value half = (*this)(transpose.getOperand());
      return half ? nn::TransposeOp::create(b, loc, half, transpose.getPermutation()).getResult()
                  : Value();
    }
    if (auto op = table.getDefiningOp<ElementwiseOpInterface>()) {
      SmallVector<Value> halves;
      for (Value operand : op->getOperands()) {
        halves.push_back((*this)(operand));
        if (!halves.back())
          return Value();
      }
      return cloneOn(op, halves);
    }
    // Rows looked up whole.
    if (auto gather = table.getDefiningOp<nn::GatherOp>()) {
      int64_t last = typeOf(gather.getOperand()).getRank() - 1;
      if (llvm::is_contained(gather.getIndexed(), last) ||
          llvm::is_contained(gather.getOperandBatch(), last))
        return Value();
      Value half = (*this)(gather.getOperand());
      return half ? cloneOn(gather, {half, gather.getIndices()}) : Value();
    }
    return Value();
  }

private:
  RankedTensorType halfType(Value table) {
    SmallVector<int64_t> shape(typeOf(table).getShape());
    shape.back() /= 2;
    return RankedTensorType::get(shape, typeOf(table).getElementType());
  }

  Value cloneOn(Operation *op, ArrayRef<Value> operands) {
    Operation *made = b.clone(*op);
    made->setOperands(operands);
    made->getResult(0).setType(halfType(op->getResult(0)));
    return made->getResult(0);
  }

  Value halveConstant(nn::ConstantOp constant) {
    auto [found, isNew] = known.try_emplace({constant.getValue(), unsigned(interleaved)});
    if (isNew)
      found->second = halfOf(constant);
    return found->second ? nn::ConstantOp::create(b, loc, found->second).getResult() : Value();
  }

  DenseElementsAttr halfOf(nn::ConstantOp constant) {
    HostTensor whole = toHostTensor(constant.getValue());
    HostTensor half(halfType(constant));
    int64_t depth = whole.shape.back() / 2;
    for (int64_t i = 0, e = half.size(); i < e; ++i) {
      int64_t row = i / depth * 2 * depth, j = i % depth;
      int64_t first = row + (interleaved ? 2 * j : j);
      int64_t second = row + (interleaved ? 2 * j + 1 : j + depth);
      Scalar x = whole.at(first), y = whole.at(second);
      if (x.real != y.real || x.integer != y.integer)
        return {};
      half.set(i, x);
    }
    return toElementsAttr(half);
  }

  Value halveConcat(nn::ConcatOp concat) {
    bool twice = !interleaved && concat.getInputs().size() == 2 &&
                 concat.getInputs()[0] == concat.getInputs()[1] &&
                 static_cast<int64_t>(concat.getDim()) == typeOf(concat).getRank() - 1;
    return twice ? concat.getInputs()[0] : Value();
  }

  Value halveBroadcast(nn::BroadcastOp broadcast) {
    auto type = halfType(broadcast);
    bool kept = !broadcast.getDims().empty() && broadcast.getDims().back() == type.getRank() - 1;
    Value source = kept ? (*this)(broadcast.getOperand()) : Value(broadcast.getOperand());
    return source ? nn::BroadcastOp::create(b, loc, type, source, broadcast.getDims()).getResult()
                  : Value();
  }

  Value halveReshape(nn::ReshapeOp reshape) {
    auto from = typeOf(reshape.getOperand()), to = reshape.getType();
    int64_t depth = to.getShape().back();
    auto repeat = reshape.getOperand().getDefiningOp<nn::BroadcastOp>();
    // [..., D/2] repeated to [..., D/2, 2], or to [..., 2, D/2], read as [...,
    // D].
    if (repeat && from.getRank() >= 2 &&
        from.getShape().take_back(2) ==
            (interleaved ? ArrayRef<int64_t>({depth / 2, 2}) : ArrayRef<int64_t>({2, depth / 2})) &&
        !llvm::is_contained(repeat.getDims(), from.getRank() - (interleaved ? 1 : 2))) {
      SmallVector<int64_t> shape(from.getShape()), dims(repeat.getDims());
      shape.erase(shape.end() - (interleaved ? 1 : 2));
      if (!interleaved && !dims.empty())
        dims.back() -= dims.back() == from.getRank() - 1;
      Value half = nn::BroadcastOp::create(
          b, loc, RankedTensorType::get(shape, to.getElementType()), repeat.getOperand(), dims);
      return nn::ReshapeOp::create(b, loc, halfType(reshape), half);
    }
    if (!isUnitReshape(reshape) || from.getRank() == 0 || from.getShape().back() != depth)
      return Value();
    Value half = (*this)(reshape.getOperand());
    return half ? nn::ReshapeOp::create(b, loc, halfType(reshape), half).getResult() : Value();
  }

  PatternRewriter &b;
  Location loc;
  bool interleaved;
  KnownHalves &known;
};

struct RaiseRopePattern : OpRewritePattern<nn::AddOp> {
  RaiseRopePattern(MLIRContext *context, KnownHalves &known)
      : OpRewritePattern(context), known(known) {}

  /// Splits a product into `x` and the other factor.
  static Value factorBeside(Value product, Value x) {
    auto mul = product.getDefiningOp<nn::MulOp>();
    if (!mul)
      return Value();
    return mul.getLhs() == x ? mul.getRhs() : mul.getRhs() == x ? mul.getLhs() : Value();
  }

  LogicalResult matchAndRewrite(nn::AddOp op, PatternRewriter &rewriter) const override {
    if (typeOf(op).getRank() == 0 || !isa<FloatType>(typeOf(op).getElementType()))
      return failure();
    for (auto [straight, turned] :
         {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto product = turned.getDefiningOp<nn::MulOp>();
      if (!product)
        continue;
      for (auto [candidate, sine] : {std::pair(product.getLhs(), product.getRhs()),
                                     std::pair(product.getRhs(), product.getLhs())}) {
        bool interleaved = false;
        Value x = turnedOf(candidate, interleaved);
        Value cosine = x ? factorBeside(straight, x) : Value();
        if (!cosine)
          continue;
        Halver halve(rewriter, op.getLoc(), interleaved, known);
        Value halfCosine = halve(cosine), halfSine = halve(sine);
        if (!halfCosine || !halfSine)
          continue;
        remark::passed(op.getLoc(), remark::RemarkOpts::name("Raised").category("nn-raise-rope"))
            << (interleaved ? "interleaved rotary embedding" : "rotary embedding");
        auto made = nn::RopeOp::create(rewriter, op.getLoc(), x, halfCosine, halfSine, interleaved);
        // Tables are values of their own, of half the size now.
        made->setLoc(placeOfIdiom(op, {cosine, sine}));
        rewriter.replaceOp(op, made.getResult());
        return success();
      }
    }
    return failure();
  }

private:
  KnownHalves &known;
};

struct RaiseRope : nn::impl::NnRaiseRopeBase<RaiseRope> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    KnownHalves known;
    patterns.add<RaiseRopePattern>(&getContext(), known);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
