// Pools over windows and over all spatial dims, and their inverse.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"
#include "passes/onnx/ops/Window.h"

#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

static std::optional<Window> poolWindow(NodeContext &n) {
  Value x = n.in(0);
  auto kernel = n.integers("kernel_shape");
  if (!x || n.b.rankOf(x) < 3 || !kernel) {
    n.fail("needs N x C x spatial and 'kernel_shape'");
    return std::nullopt;
  }
  return windowOf(n, n.b.shapeOf(x).drop_front(2), *kernel);
}

static SmallVector<int64_t> pooledShape(NodeContext &n, const Window &w, NnBuilder::Shape in) {
  SmallVector<int64_t> shape(in.take_front(in.size() - w.kernel.size()));
  for (size_t dim = 0; dim < w.kernel.size(); ++dim)
    shape.push_back(w.out(dim, in[shape.size()]));
  return shape;
}

static Value reduceWindow(NodeContext &n, ReduceKind kind, Value x, const Window &w) {
  if (!x)
    return x;
  return n.b.make<nn::ReduceWindowOp>(n.b.typeFor(pooledShape(n, w, n.b.shapeOf(x)), x), kind, x,
                                      w.kernel, w.strides, w.low, w.paddedHigh(), w.dilations);
}

static Results averagePool(NodeContext &n) {
  auto w = poolWindow(n);
  if (!w)
    return {};
  return {n.b.inFloat(n.in(0), [&](Value x) {
    Value sum = reduceWindow(n, ReduceKind::Sum, x, *w);
    if (!sum)
      return sum;
    // How many elements each window holds: pads count if asked, overhang never.
    NnBuilder::Shape spatial = n.b.shapeOf(x).drop_front(2);
    Window counting = *w;
    Value ones = n.b.full(spatial, n.b.elementOf(x), 1);
    if (n.integer("count_include_pad", 0)) {
      SmallVector<int64_t> padded(spatial);
      for (size_t dim = 0; dim < padded.size(); ++dim)
        padded[dim] += w->low[dim] + w->high[dim];
      ones = n.b.full(padded, n.b.elementOf(x), 1);
      counting.low.assign(padded.size(), 0);
      counting.high.assign(padded.size(), 0);
    }
    return n.b.div(sum, reduceWindow(n, ReduceKind::Sum, ones, counting));
  })};
}

static Results maxPool(NodeContext &n) {
  auto w = poolWindow(n);
  if (!w)
    return {};
  Value x = n.in(0);
  Results results{reduceWindow(n, ReduceKind::Max, x, *w)};
  if (!n.wants(1))
    return results;
  SmallVector<int64_t> shape = pooledShape(n, *w, n.b.shapeOf(x));
  Value index =
      n.b.make<nn::ArgWindowOp>(n.b.typeFor(shape, n.b.i64()), x, w->kernel, w->strides, w->low,
                                w->paddedHigh(), w->dilations, n.integer("storage_order", 0) != 0);
  // Indices count through the whole tensor.
  int64_t slice = n.b.sizeOf(n.b.shapeOf(x).drop_front(2));
  Value offset = n.b.mul(n.b.iota(boundedProduct(shape[0], shape[1])), double(slice));
  offset = n.b.broadcastDims(n.b.reshape(offset, {shape[0], shape[1]}), shape, {0, 1});
  results.push_back(n.b.add(index, offset));
  return results;
}

/// (sum |x|^p)^(1/p) of what `sum` adds up.
static Value lpNorm(NodeContext &n, Value x, llvm::function_ref<Value(Value)> sum) {
  // Before opset 2 it was no integer.
  double p = n.opset < 2 ? n.real("p", 2) : n.integer("p", 2);
  if (!x)
    return x;
  // Not a number is no norm's either.
  if (!(p >= 1)) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%g", p);
    return n.fail("'p' = " + text + " makes no norm; it is at least 1");
  }
  return n.b.inFloat(x, [&](Value x) -> Value {
    if (p == 2)
      return n.b.rootOfSquares(sum(n.b.mul(x, x)));
    Value magnitude = n.b.unary<nn::AbsOp>(x);
    if (p == 1)
      return sum(magnitude);
    Value total = sum(n.b.binary<nn::PowOp>(magnitude, n.b.fullLike(magnitude, p)));
    return total ? n.b.binary<nn::PowOp>(total, n.b.fullLike(total, 1 / p)) : total;
  });
}

static Results lpPool(NodeContext &n) {
  auto w = poolWindow(n);
  if (!w)
    return {};
  return {lpNorm(n, n.in(0), [&](Value x) { return reduceWindow(n, ReduceKind::Sum, x, *w); })};
}

static SmallVector<int64_t> spatialDims(NodeContext &n, Value x) {
  return n.b.range(2, n.b.rankOf(x));
}

static Results globalAverage(NodeContext &n) {
  Value x = n.in(0);
  return {x ? n.b.mean(x, spatialDims(n, x), true) : Value()};
}

static Results globalMax(NodeContext &n) {
  Value x = n.in(0);
  return {x ? n.b.reduce(ReduceKind::Max, x, spatialDims(n, x), true) : Value()};
}

static Results globalLp(NodeContext &n) {
  Value x = n.in(0);
  if (!x)
    return {};
  return {lpNorm(n, x,
                 [&](Value y) { return n.b.reduce(ReduceKind::Sum, y, spatialDims(n, x), true); })};
}

/// Writes each element where its index points; indices count through a tensor
/// of the inferred shape, which `output_shape` may extend at the end.
static Results maxUnpool(NodeContext &n) {
  Value x = n.in(0), indices = n.in(1);
  auto kernel = n.integers("kernel_shape");
  if (!x || !indices || !kernel || n.b.rankOf(x) < 3)
    return {n.fail("needs N x C x spatial and 'kernel_shape'")};
  size_t rank = n.b.rankOf(x) - 2;
  SmallVector<int64_t> strides = n.integers("strides").value_or(SmallVector<int64_t>(rank, 1));
  SmallVector<int64_t> pads = n.integers("pads").value_or(SmallVector<int64_t>(2 * rank, 0));
  if (kernel->size() != rank || strides.size() != rank || pads.size() != 2 * rank)
    return {
        n.fail("attributes must have an entry for each of " + llvm::Twine(rank) + " spatial dims")};
  SmallVector<int64_t> shape(n.b.shapeOf(x).take_front(2)), low(rank + 2, 0), high(rank + 2, 0);
  for (size_t dim = 0; dim < rank; ++dim)
    shape.push_back(boundedProduct(n.b.shapeOf(x)[dim + 2] - 1, strides[dim]) + (*kernel)[dim] -
                    pads[dim] - pads[dim + rank]);
  int64_t size = n.b.sizeOf(n.b.shapeOf(x));
  Value target = n.b.full({n.b.sizeOf(shape)}, n.b.elementOf(x), 0);
  if (!target || !n.b.checkPlaces(indices, n.b.sizeOf(shape)))
    return {};
  Value result = n.b.make<nn::ScatterOp>(
      target.getType(), nn::ScatterKind::Assign, target, n.b.reshape(indices, {size, 1}),
      n.b.reshape(x, {size}), NnBuilder::Shape({0}), NnBuilder::Shape(), NnBuilder::Shape());
  result = n.b.reshape(result, shape);
  if (!n.has(2))
    return {result};
  auto wanted = n.knownIntegers(2);
  if (!wanted || wanted->size() != shape.size())
    return {n.fail("'output_shape' must have one entry a dim")};
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    high[dim] = (*wanted)[dim] - shape[dim];
    if (high[dim] < 0)
      return {n.fail("'output_shape' is smaller than the unpooled shape")};
  }
  return {n.b.pad(result, low, high, 0)};
}

void weft::onnx::registerPools(Registry &r) {
  r.add("AveragePool", averagePool);
  r.add("MaxPool", maxPool);
  r.add("LpPool", lpPool);
  r.add("GlobalAveragePool", globalAverage);
  r.add("GlobalMaxPool", globalMax);
  r.add("GlobalLpPool", globalLp);
  r.add("MaxUnpool", maxUnpool);
}
