// Reductions, arg reductions, running sums and top-k.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

namespace {
struct Dims {
  SmallVector<int64_t> dims;
  bool keep = true;
  bool identity = false;
};
} // namespace

/// Axes are an attribute, or (ReduceSum since 13, others since 18) an input;
/// none means all, unless `noop_with_empty_axes`.
static std::optional<Dims> dimsOf(NodeContext &n) {
  Value x = n.in(0);
  if (!x)
    return std::nullopt;
  Dims result;
  result.keep = n.integer("keepdims", 1);
  auto axes = n.integersOf("axes", 1);
  if (n.has(1) && !axes)
    return std::nullopt;
  if (axes && !axes->empty()) {
    auto normal = n.normalize(*axes, n.b.rankOf(x));
    if (!normal)
      return std::nullopt;
    result.dims = *normal;
    return result;
  }
  if (n.integer("noop_with_empty_axes", 0))
    result.identity = true;
  else
    result.dims = n.b.range(0, n.b.rankOf(x));
  return result;
}

template <ReduceKind kind> static Results plain(NodeContext &n) {
  auto dims = dimsOf(n);
  return {dims ? n.b.reduce(kind, n.in(0), dims->dims, dims->keep) : Value()};
}

/// Max and min of bools are or and and.
template <ReduceKind kind, ReduceKind boolKind> static Results extremum(NodeContext &n) {
  Value x = n.in(0);
  return x && n.b.isBool(x) ? plain<boolKind>(n) : plain<kind>(n);
}

static Results mean(NodeContext &n) {
  auto dims = dimsOf(n);
  return {dims ? n.b.mean(n.in(0), dims->dims, dims->keep) : Value()};
}

/// after(sum(before(x))).
template <typename Before, typename After> static Handler wrapped(Before before, After after) {
  return [=](NodeContext &n) -> Results {
    auto dims = dimsOf(n);
    if (!dims)
      return {};
    return {n.b.inFloat(n.in(0), [&](Value x) {
      return after(n.b, n.b.reduce(ReduceKind::Sum, before(n.b, x), dims->dims, dims->keep));
    })};
  };
}

/// log(sum(e^x)) by the maximum, so that nothing overflows.
static Results logSumExp(NodeContext &n) {
  auto dims = dimsOf(n);
  if (!dims)
    return {};
  Value x = n.in(0);
  if (dims->identity || dims->dims.empty())
    return {x};
  return {n.b.inFloat(x, [&](Value x) -> Value {
    Value top = n.b.reduce(ReduceKind::Max, x, dims->dims, true);
    if (!top)
      return top;
    // A row of minus infinity has no finite maximum to subtract.
    Value finite = n.b.compare(nn::CompareKind::Lt, n.b.unary<nn::AbsOp>(top), HUGE_VAL);
    top = n.b.select(finite, top, n.b.fullLike(top, 0));
    Value sum =
        n.b.reduce(ReduceKind::Sum, n.b.unary<nn::ExpOp>(n.b.sub(x, top)), dims->dims, true);
    Value result = n.b.add(n.b.unary<nn::LogOp>(sum), top);
    return dims->keep ? result : n.b.squeeze(result, dims->dims);
  })};
}

template <ReduceKind kind> static Results argReduce(NodeContext &n) {
  Value x = n.in(0);
  auto axis = x ? n.axis(0) : std::nullopt;
  if (!axis)
    return {};
  SmallVector<int64_t> shape(n.b.shapeOf(x));
  shape.erase(shape.begin() + *axis);
  Value index = n.b.make<nn::ArgReduceOp>(RankedTensorType::get(shape, n.b.i64()), kind, x, *axis,
                                          n.integer("select_last_index", 0) != 0);
  return {n.integer("keepdims", 1) ? n.b.unsqueeze(index, {*axis}) : index};
}

template <ReduceKind kind> static Results scan(NodeContext &n) {
  Value x = n.in(0);
  auto given = n.knownInteger(1, 0);
  auto axis = x && given ? n.normalize(*given, n.b.rankOf(x)) : std::nullopt;
  if (!axis)
    return {};
  return {n.b.make<nn::ScanOp>(x.getType(), kind, x, *axis, n.integer("exclusive", 0) != 0,
                               n.integer("reverse", 0) != 0)};
}

/// `sorted = 0` leaves the order open, so sorted serves as well.
static Results topK(NodeContext &n) {
  Value x = n.in(0);
  auto axis = x ? n.axis(-1) : std::nullopt;
  auto k = n.opset < 10 ? std::optional<int64_t>(n.integer("k", 0)) : n.knownInteger(1, 0);
  if (!axis || !k)
    return {};
  SmallVector<int64_t> shape(n.b.shapeOf(x));
  if (*k < 0 || *k > shape[*axis])
    return {n.fail("k = " + llvm::Twine(*k) + " of " + llvm::Twine(shape[*axis]) + " elements")};
  shape[*axis] = *k;
  return n.b.settle(n.b.makeOp<nn::TopKOp>(n.b.typeOf(x).clone(shape),
                                           RankedTensorType::get(shape, n.b.i64()), x, *axis,
                                           n.integer("largest", 1) == 0));
}

void weft::onnx::registerReductions(Registry &r) {
  auto same = [](NnBuilder &, Value x) { return x; };
  auto square = [](NnBuilder &b, Value x) { return b.mul(x, x); };
  auto magnitude = [](NnBuilder &b, Value x) { return b.unary<nn::AbsOp>(x); };
  auto root = [](NnBuilder &b, Value x) { return b.rootOfSquares(x); };
  auto logarithm = [](NnBuilder &b, Value x) { return b.unary<nn::LogOp>(x); };
  r.add("ReduceSum", plain<ReduceKind::Sum>);
  r.add("ReduceProd", plain<ReduceKind::Prod>);
  r.add("ReduceMax", extremum<ReduceKind::Max, ReduceKind::Or>);
  r.add("ReduceMin", extremum<ReduceKind::Min, ReduceKind::And>);
  r.add("ReduceMean", mean);
  r.add("ReduceL1", wrapped(magnitude, same));
  r.add("ReduceL2", wrapped(square, root));
  r.add("ReduceSumSquare", wrapped(square, same));
  r.add("ReduceLogSum", wrapped(same, logarithm));
  r.add("ReduceLogSumExp", logSumExp);
  r.add("ArgMax", argReduce<ReduceKind::Max>);
  r.add("ArgMin", argReduce<ReduceKind::Min>);
  r.add("CumSum", scan<ReduceKind::Sum>);
  r.addSince("CumProd", 26, scan<ReduceKind::Prod>);
  r.add("TopK", topK);
}
