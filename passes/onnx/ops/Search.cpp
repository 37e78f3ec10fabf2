// Operators whose result's shape depends on values: known values only.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

/// Indices of all elements that are not zero, one column each.
static Results nonZero(NodeContext &n) {
  auto x = n.known(0);
  if (!x)
    return {};
  SmallVector<int64_t> found;
  for (int64_t i = 0, e = x->size(); i < e; ++i)
    if (x->isFloat() ? x->reals[i] != 0 : x->integers[i] != 0)
      found.push_back(i);
  int64_t rank = x->shape.size(), count = found.size();
  if (!n.b.isFoldable(rank * count))
    return {};
  HostTensor indices(RankedTensorType::get({rank, count}, n.b.i64()));
  auto strides = rowMajorStrides(x->shape);
  for (int64_t column = 0; column < count; ++column)
    for (int64_t dim = 0; dim < rank; ++dim)
      indices.integers[dim * count + column] = found[column] / strides[dim] % x->shape[dim];
  return {n.b.constant(indices)};
}

/// The slices (elements, without an axis) whose condition is true.
static Results compress(NodeContext &n) {
  Value x = n.in(0);
  auto condition = n.known(1);
  if (!x || !condition)
    return {};
  std::optional<int64_t> axis = 0;
  if (n.attribute("axis"))
    axis = n.axis(0);
  else
    x = n.b.reshape(x, {n.b.sizeOf(n.b.shapeOf(x))});
  if (!axis || !x)
    return {};
  SmallVector<int64_t> kept;
  for (auto [i, flag] : llvm::enumerate(condition->integers))
    if (flag && static_cast<int64_t>(i) < n.b.shapeOf(x)[*axis])
      kept.push_back(i);
  return {n.b.take(x, n.b.integers(kept), *axis)};
}

/// Distinct slices along an axis (elements without one), the first place of
/// each, where each slice went, and how often each occurs.
static Results unique(NodeContext &n) {
  auto x = n.known(0);
  if (!x)
    return {};
  bool flat = !n.attribute("axis");
  int64_t rank = flat ? 1 : x->shape.size();
  SmallVector<int64_t, 4> shape = x->shape;
  if (flat)
    shape.assign(1, x->size());
  auto axis = n.normalize(n.integer("axis", 0), rank);
  if (!axis)
    return {};
  int64_t inner = 1, outer = 1, extent = shape[*axis];
  for (int64_t dim = 0; dim < rank; ++dim)
    (dim < *axis ? outer : inner) *= dim == *axis ? 1 : shape[dim];
  auto linear = [&](int64_t slice, int64_t k) {
    return (k / inner * extent + slice) * inner + k % inner;
  };
  auto compare = [&](int64_t a, int64_t b) {
    for (int64_t k = 0; k < outer * inner; ++k) {
      int64_t i = linear(a, k), j = linear(b, k);
      if (x->isFloat() ? x->reals[i] != x->reals[j] : x->integers[i] != x->integers[j])
        return (x->isFloat() ? x->reals[i] < x->reals[j] : x->integers[i] < x->integers[j]) ? -1
                                                                                            : 1;
    }
    return 0;
  };
  SmallVector<int64_t> order = n.b.range(0, extent);
  llvm::sort(order, [&](int64_t a, int64_t b) {
    int way = compare(a, b);
    return way != 0 ? way < 0 : a < b;
  });
  SmallVector<int64_t> first, counts, group(extent);
  for (auto [position, slice] : llvm::enumerate(order)) {
    if (position == 0 || compare(order[position - 1], slice) != 0) {
      first.push_back(slice);
      counts.push_back(0);
    }
    ++counts.back();
    group[slice] = first.size() - 1;
  }
  // Unsorted: groups in the order of their first places.
  SmallVector<int64_t> rankOfGroup = n.b.range(0, first.size()), groups = rankOfGroup;
  if (!n.integer("sorted", 1))
    llvm::sort(groups, [&](int64_t a, int64_t b) { return first[a] < first[b]; });
  for (auto [place, g] : llvm::enumerate(groups))
    rankOfGroup[g] = place;
  SmallVector<int64_t> places, times, inverse;
  for (int64_t g : groups) {
    places.push_back(first[g]);
    times.push_back(counts[g]);
  }
  for (int64_t g : group)
    inverse.push_back(rankOfGroup[g]);
  Value whole = flat ? n.b.reshape(n.in(0), {x->size()}) : n.in(0);
  return {n.b.take(whole, n.b.integers(places), *axis), n.b.integers(places), n.b.integers(inverse),
          n.b.integers(times)};
}

void weft::onnx::registerSearch(Registry &r) {
  r.add("NonZero", nonZero);
  r.add("Compress", compress);
  r.add("Unique", unique);
}
