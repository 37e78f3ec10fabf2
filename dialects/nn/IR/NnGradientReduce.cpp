// Gradients of reductions, windows, scans and orders.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ties: equal greatest (least) elements of nn.reduce share the gradient evenly,
// as PyTorch's amax; of a window or a running reduction one element has it all,
// as in PyTorch's pooling (the first) and cummax (the last).
#include "dialects/nn/IR/NnGradient.h"

using namespace mlir;

namespace weft::nn {

static Term isZero(Term x) { return x.is(CompareKind::Eq, 0.0); }
/// 1 where the bool holds, in the type of `like`.
static Term count(Term condition, Term like) { return condition.choose(like.splat(1), 0.0); }
static Term nonzero(Term x) { return isZero(x).choose(x.splat(1), x); }

/// The gradient of elements picked along `dim` at `indices`, which have the
/// shape of `g`; all other dims run together.
static Term scatterAlong(Term g, Term indices, int64_t dim, RankedTensorType type) {
  SmallVector<int64_t> shape(indices.shape());
  shape.push_back(1);
  SmallVector<int64_t> batch = otherDims(g.rank(), {dim});
  return g.make<ScatterOp>(type, ScatterKind::Add, g.splat(0, type).value,
                           indices.reshape(shape).value, g.value, ArrayRef<int64_t>(dim), batch,
                           batch);
}

//===----------------------------------------------------------------------===//
// reduce, arg_reduce
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::buildGradient(OpBuilder &builder, ValueRange results, ArrayRef<bool> wanted,
                                      MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  ArrayRef<int64_t> dims = getDims();
  Term x = d.operand(0), g = d.upper();
  switch (getKind()) {
  case ReduceKind::Sum:
    d.set(0, [&] { return g.repeatLike(x, dims); });
    break;
  case ReduceKind::Prod:
    d.set(0, [&] {
      x = x.wide();
      Term zeros = count(isZero(x), x).sum(dims),
           others = nonzero(x).reduce(ReduceKind::Prod, dims);
      return g.wide().repeatLike(x, dims) *
             productOfOthers(x, zeros.repeatLike(x, dims), others.repeatLike(x, dims));
    });
    break;
  case ReduceKind::Max:
  case ReduceKind::Min:
    d.set(0, [&] {
      Term wide = x.wide(), greatest = x.is(CompareKind::Eq, d.result().repeatLike(x, dims));
      Term share = g.wide() / count(greatest, wide).sum(dims);
      return greatest.choose(share.repeatLike(wide, dims), 0.0);
    });
    break;
  case ReduceKind::And:
  case ReduceKind::Or:
    break;
  }
  return success();
}

LogicalResult ArgReduceOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>,
                                         MutableArrayRef<Value>) {
  return success();
}

//===----------------------------------------------------------------------===//
// reduce_window, arg_window
//===----------------------------------------------------------------------===//

/// Every element gets the sum of `g` over the windows that it is in: the sum
/// over a turned round window of `g`, dilated by the strides.
static Term sumOverWindows(ReduceWindowOp op, Term g, RankedTensorType type) {
  int64_t windowed = op.getWindow().size(), leading = type.getRank() - windowed;
  SmallVector<int64_t> strides(leading, 1);
  llvm::append_range(strides, op.getStrides());
  Term spread = g.dilate(strides);
  SmallVector<int64_t> low(leading, 0), high(leading, 0), ones(windowed, 1), none(windowed, 0);
  for (int64_t i = 0; i < windowed; ++i) {
    int64_t reach = (op.getWindow()[i] - 1) * op.getDilations()[i];
    low.push_back(reach - op.getPadLow()[i]);
    high.push_back(type.getDimSize(leading + i) + reach - spread.shape()[leading + i] - low.back());
  }
  Term padded = spread.padOrCut(low, high);
  return padded.make<ReduceWindowOp>(type.clone(g.element()), ReduceKind::Sum, padded.value,
                                     op.getWindow(), ones, none, none, op.getDilations());
}

/// True if some window may see padding only, in which case it is neutral.
static bool mayBeEmpty(ReduceWindowOp op) {
  int64_t windowed = op.getWindow().size(), leading = op.getType().getRank() - windowed;
  for (int64_t i = 0; i < windowed; ++i) {
    int64_t size = cast<RankedTensorType>(op.getOperand().getType()).getDimSize(leading + i);
    for (int64_t out = 0; out < op.getType().getDimSize(leading + i); ++out) {
      auto isInside = [&](int64_t tap) {
        int64_t at = out * op.getStrides()[i] + tap * op.getDilations()[i] - op.getPadLow()[i];
        return at >= 0 && at < size;
      };
      if (llvm::none_of(llvm::seq<int64_t>(0, op.getWindow()[i]), isInside))
        return true;
    }
  }
  return false;
}

/// The first greatest (least) element of a window has its gradient.
static Term pickedByWindow(ReduceWindowOp op, Term x, Term y, Term g) {
  bool isMax = op.getKind() == ReduceKind::Max;
  int64_t windowed = op.getWindow().size(), leading = x.rank() - windowed;
  if (mayBeEmpty(op)) {
    double infinity = std::numeric_limits<double>::infinity();
    g = y.is(CompareKind::Ne, isMax ? -infinity : infinity).choose(g, 0.0);
  }
  Term ordered = isMax ? x : -x;
  Term first = ordered.make<ArgWindowOp>(y.type().clone(g.builder->getI64Type()), ordered.value,
                                         op.getWindow(), op.getStrides(), op.getPadLow(),
                                         op.getPadHigh(), op.getDilations(),
                                         /*column_major=*/false);
  // The windowed dims as one, which the flat index counts over.
  auto flat = [&](ArrayRef<int64_t> shape) {
    SmallVector<int64_t> result(shape.take_front(leading));
    result.push_back(ShapedType::getNumElements(shape.drop_front(leading)));
    return result;
  };
  return scatterAlong(g.reshape(flat(g.shape())), first.reshape(flat(first.shape())), leading,
                      g.type().clone(flat(x.shape())))
      .reshape(x.shape());
}

LogicalResult ReduceWindowOp::buildGradient(OpBuilder &builder, ValueRange results,
                                            ArrayRef<bool> wanted,
                                            MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  Term x = d.operand(0), g = d.upper();
  switch (getKind()) {
  case ReduceKind::Sum:
    d.set(0, [&] { return sumOverWindows(*this, g, x.type()); });
    break;
  case ReduceKind::Prod:
    d.set(0, [&] {
      // As productOfOthers, with the windows of an element summed up before the
      // element itself, which is the same in all of them, is divided by.
      x = x.wide();
      g = g.wide();
      auto window = [&](ReduceKind kind, Term of) {
        return of.make<ReduceWindowOp>(getType().clone(of.element()), kind, of.value, getWindow(),
                                       getStrides(), getPadLow(), getPadHigh(), getDilations());
      };
      Term zeros = window(ReduceKind::Sum, count(isZero(x), x)),
           others = window(ReduceKind::Prod, nonzero(x));
      auto spread = [&](double zeroCount) {
        return sumOverWindows(*this, zeros.is(CompareKind::Eq, zeroCount).choose(g * others, 0.0),
                              x.type());
      };
      return isZero(x).choose(spread(1), spread(0) / nonzero(x));
    });
    break;
  case ReduceKind::Max:
  case ReduceKind::Min:
    d.set(0, [&] { return pickedByWindow(*this, x, d.result(), g); });
    break;
  case ReduceKind::And:
  case ReduceKind::Or:
    break;
  }
  return success();
}

LogicalResult ArgWindowOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>,
                                         MutableArrayRef<Value>) {
  return success();
}

//===----------------------------------------------------------------------===//
// scan, top_k
//===----------------------------------------------------------------------===//

static Term scan(ReduceKind kind, Term x, int64_t dim, bool exclusive, bool reverse) {
  return x.make<ScanOp>(x.type(), kind, x.value, dim, exclusive, reverse);
}

/// The last element that attained the running maximum has the gradient.
static Term pickedByScan(ScanOp op, Term x, Term g) {
  int64_t dim = op.getDim(), last = x.shape()[dim] - 1;
  Term running = scan(op.getKind(), x, dim, /*exclusive=*/false, op.getReverse());
  // Counted in the direction of the scan, so that the last is the greatest.
  auto turned = [&](Term i) { return op.getReverse() ? i.splat(last) - i : i; };
  Term attained = x.is(CompareKind::Eq, running).choose(turned(x.iotaAlong(dim)), -1);
  Term at = scan(ReduceKind::Max, attained, dim, op.getExclusive(), op.getReverse());
  // The first of an exclusive scan has seen nothing: its index is out of range
  // in both directions, and dropped.
  return scatterAlong(g, turned(at), dim, g.type());
}

LogicalResult ScanOp::buildGradient(OpBuilder &builder, ValueRange results, ArrayRef<bool> wanted,
                                    MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  Term x = d.operand(0), g = d.upper();
  int64_t dim = getDim();
  bool exclusive = getExclusive(), reverse = getReverse();
  auto back = [&](Term of) { return scan(ReduceKind::Sum, of, dim, exclusive, !reverse); };
  switch (getKind()) {
  case ReduceKind::Sum:
    d.set(0, [&] { return back(g); });
    break;
  case ReduceKind::Prod:
    d.set(0, [&] {
      x = x.wide();
      g = g.wide();
      Term zeros = scan(ReduceKind::Sum, count(isZero(x), x), dim, exclusive, reverse);
      Term others = scan(ReduceKind::Prod, nonzero(x), dim, exclusive, reverse);
      auto among = [&](double zeroCount) {
        return back(zeros.is(CompareKind::Eq, zeroCount).choose(g * others, 0.0));
      };
      return isZero(x).choose(among(1), among(0) / nonzero(x));
    });
    break;
  case ReduceKind::Max:
  case ReduceKind::Min:
    d.set(0, [&] { return pickedByScan(*this, x, g); });
    break;
  case ReduceKind::And:
  case ReduceKind::Or:
    break;
  }
  return success();
}

LogicalResult TopKOp::buildGradient(OpBuilder &builder, ValueRange results, ArrayRef<bool> wanted,
                                    MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  if (results[0])
    d.set(0, [&] {
      return scatterAlong(d.upper(), d.term(getIndices()), getDim(), d.operand(0).type());
    });
  return success();
}

} // namespace weft::nn
