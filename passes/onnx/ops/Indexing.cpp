// Gather and scatter in all their forms, and one-hot.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

static Results gather(NodeContext &n) {
  Value x = n.in(0), indices = n.in(1);
  auto axis = x ? n.axis(0) : std::nullopt;
  if (!axis)
    return {};
  return {n.b.take(x, n.b.wrapIndices(indices, n.b.shapeOf(x)[*axis]), *axis)};
}

/// Dims other than `axis`.
static SmallVector<int64_t> others(NodeContext &n, Value x, int64_t axis) {
  SmallVector<int64_t> dims = n.b.range(0, n.b.rankOf(x));
  dims.erase(dims.begin() + axis);
  return dims;
}

/// result[i, j] = x[indices[i, j], j]: all dims but one run together.
static Results gatherElements(NodeContext &n) {
  Value x = n.in(0), indices = n.in(1);
  auto axis = x && indices ? n.axis(0) : std::nullopt;
  if (!axis || n.b.rankOf(x) != n.b.rankOf(indices))
    return {n.fail("data and indices must have the same tensor rank")};
  SmallVector<int64_t> dims = others(n, x, *axis), sizes(n.b.shapeOf(indices));
  SmallVector<int64_t> zeros(sizes.size(), 0), ones(sizes.size(), 1);
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (static_cast<int64_t>(dim) != *axis && size > n.b.shapeOf(x)[dim])
      return {n.fail("indices reach beyond dim " + llvm::Twine(dim))};
  indices = n.b.wrapIndices(indices, n.b.shapeOf(x)[*axis]);
  sizes[*axis] = n.b.shapeOf(x)[*axis];
  x = n.b.slice(x, zeros, sizes, ones);
  Value vectors = n.b.unsqueeze(indices, {int64_t(sizes.size())});
  return {n.b.make<nn::GatherOp>(x, vectors, NnBuilder::Shape({*axis}), dims, dims)};
}

/// Index vectors with negative components wrapped, each by its own dim.
static Value wrapVectors(NodeContext &n, Value vectors, NnBuilder::Shape sizes) {
  if (!vectors)
    return vectors;
  Value size = n.b.integers(sizes, n.b.elementOf(vectors));
  switch (n.b.checkIndices(vectors, sizes)) {
  case NnBuilder::Indices::Positive:
    return vectors;
  case NnBuilder::Indices::Outside:
    return Value();
  case NnBuilder::Indices::Unknown:
    break;
  }
  return n.b.select(n.b.compare(nn::CompareKind::Lt, vectors, 0.0), n.b.add(vectors, size),
                    vectors);
}

static Results gatherND(NodeContext &n) {
  Value x = n.in(0), indices = n.in(1);
  if (!x || !indices || n.b.rankOf(indices) < 1)
    return {n.fail("indices must have at least one dim")};
  int64_t batch = n.integer("batch_dims", 0), count = n.b.shapeOf(indices).back();
  if (batch < 0 || batch >= n.b.rankOf(indices) || batch + count > n.b.rankOf(x))
    return {n.fail("index vectors of " + llvm::Twine(count) + " components after " +
                   llvm::Twine(batch) + " batch dims do not fit tensor rank " +
                   llvm::Twine(n.b.rankOf(x)))};
  SmallVector<int64_t> batchDims = n.b.range(0, batch), indexed = n.b.range(batch, batch + count);
  Value vectors = wrapVectors(n, indices, n.b.shapeOf(x).slice(batch, count));
  return {n.b.make<nn::GatherOp>(x, vectors, indexed, batchDims, batchDims)};
}

static std::optional<nn::ScatterKind> reductionOf(NodeContext &n) {
  auto name = n.word("reduction", "none", {"none", "add", "mul", "max", "min"});
  if (!name)
    return std::nullopt;
  return *name == "none"  ? nn::ScatterKind::Assign
         : *name == "add" ? nn::ScatterKind::Add
         : *name == "mul" ? nn::ScatterKind::Mul
         : *name == "max" ? nn::ScatterKind::Max
                          : nn::ScatterKind::Min;
}

static Results scatterElements(NodeContext &n) {
  Value x = n.in(0), indices = n.in(1), updates = n.in(2);
  auto axis = x && indices && updates ? n.axis(0) : std::nullopt;
  auto kind = reductionOf(n);
  if (!axis || !kind || n.b.rankOf(x) != n.b.rankOf(indices) ||
      n.b.shapeOf(indices) != n.b.shapeOf(updates))
    return {n.fail("data, indices and updates must have the same tensor rank, "
                   "the last two the same shape")};
  indices = n.b.wrapIndices(indices, n.b.shapeOf(x)[*axis]);
  if (!indices)
    return {};
  SmallVector<int64_t> dims = others(n, x, *axis);
  int64_t rank = n.b.rankOf(x);
  bool whole = llvm::all_of(
      dims, [&](int64_t dim) { return n.b.shapeOf(x)[dim] == n.b.shapeOf(indices)[dim]; });
  if (whole)
    return {n.b.make<nn::ScatterOp>(x.getType(), *kind, x, n.b.unsqueeze(indices, {rank}), updates,
                                    NnBuilder::Shape({*axis}), dims, dims)};
  // Fewer indices than elements: spell out all components of each index.
  SmallVector<Value> components;
  for (int64_t dim = 0; dim < rank; ++dim) {
    Value component =
        dim == *axis ? indices : n.b.iotaAlong(n.b.shapeOf(indices), dim, n.b.elementOf(indices));
    components.push_back(n.b.unsqueeze(component, {rank}));
  }
  return {n.b.make<nn::ScatterOp>(x.getType(), *kind, x, n.b.concat(components, rank), updates,
                                  n.b.range(0, rank), NnBuilder::Shape(), NnBuilder::Shape())};
}

static Results scatterND(NodeContext &n) {
  Value x = n.in(0), indices = n.in(1), updates = n.in(2);
  auto kind = reductionOf(n);
  if (!x || !indices || !updates || !kind || n.b.rankOf(indices) < 1)
    return {n.fail("indices must have at least one dim")};
  int64_t count = n.b.shapeOf(indices).back();
  if (count > n.b.rankOf(x))
    return {n.fail("index vectors are longer than the tensor rank")};
  Value vectors = wrapVectors(n, indices, n.b.shapeOf(x).take_front(count));
  return {n.b.make<nn::ScatterOp>(x.getType(), *kind, x, vectors, updates, n.b.range(0, count),
                                  NnBuilder::Shape(), NnBuilder::Shape())};
}

static Results oneHot(NodeContext &n) {
  Value indices = n.in(0), values = n.setting(2);
  auto depth = n.knownInteger(1, 0);
  if (!indices || !depth || !values || n.b.shapeOf(values) != NnBuilder::Shape({2}))
    return {n.fail("'values' must have two elements")};
  auto axis = n.normalize(n.integer("axis", -1), n.b.rankOf(indices) + 1);
  if (!axis)
    return {};
  if (*depth < 0)
    return {n.fail("the depth " + llvm::Twine(*depth) + " is negative")};
  int64_t count = *depth;
  Value place = n.b.cast(indices, n.b.i64());
  // An index beyond the depth is valid and makes a row of the off value.
  place = n.b.select(n.b.compare(nn::CompareKind::Lt, place, 0.0), n.b.add(place, double(count)),
                     place);
  Value index = n.b.unsqueeze(place, {*axis});
  SmallVector<int64_t> shape(n.b.shapeOf(indices));
  shape.insert(shape.begin() + *axis, count);
  Value hot = n.b.compare(nn::CompareKind::Eq, n.b.iotaAlong(shape, *axis), index);
  Value off = n.b.broadcastTo(n.b.sliceDim(values, 0, 0, 1), shape);
  return {n.b.select(hot, n.b.broadcastTo(n.b.sliceDim(values, 0, 1, 1), shape), off)};
}

void weft::onnx::registerIndexing(Registry &r) {
  r.add("Gather", gather);
  r.add("GatherElements", gatherElements);
  r.add("GatherND", gatherND);
  r.add("Scatter", scatterElements);
  r.add("ScatterElements", scatterElements);
  r.add("ScatterND", scatterND);
  r.add("OneHot", oneHot);
}
