// Pictures read at computed places, and the places that an affine map gives.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"

#include "weft/Interfaces/TensorSize.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::onnx;
using nn::CompareKind;

namespace {

/// One node "GridSample": N x C x D..., read at N x O... places.
class Sampler {
public:
  explicit Sampler(NodeContext &n) : n(n), b(n.b) {}

  Results convert();

private:
  enum class Padding { Zeros, Border, Reflection };
  /// Neighbours of a place along one dim: which they are and how they count.
  struct Taps {
    SmallVector<Value> indices, weights;
  };

  bool readMode();
  Value coordinate(int64_t dim);
  Value reflect(Value x, int64_t extent);
  Value index(Value place, int64_t extent);
  Taps taps(int64_t dim);
  Value sample(ArrayRef<Taps> all, int64_t combination);

  NodeContext &n;
  NnBuilder &b;
  Value x, grid;
  SmallVector<int64_t> places; // N x O...
  int64_t rank = 0;            // of the picture
  int64_t reach = 0;           // taps a dim: 1 nearest, 2 linear, 4 cubic
  Padding padding = Padding::Zeros;
  bool aligned = false;
};

} // namespace

bool Sampler::readMode() {
  auto mode = n.word("mode", "linear", {"nearest", "linear", "bilinear", "cubic", "bicubic"});
  auto outside = n.word("padding_mode", "zeros", {"zeros", "border", "reflection"});
  aligned = n.integer("align_corners", 0) != 0;
  if (!mode || !outside)
    return false;
  reach = *mode == "nearest" ? 1 : mode->ends_with("linear") ? 2 : 4;
  padding = *outside == "zeros"    ? Padding::Zeros
            : *outside == "border" ? Padding::Border
                                   : Padding::Reflection;
  return true;
}

/// Mirrored at the first and last place, as often as it takes.
Value Sampler::reflect(Value value, int64_t extent) {
  double least = aligned ? 0 : -0.5, span = aligned ? extent - 1 : extent;
  if (span == 0)
    return b.fullLike(value, least);
  Value distance = b.unary<nn::AbsOp>(b.add(value, -least));
  Value folded = b.binary<nn::RemOp>(distance, b.fullLike(distance, 2 * span));
  folded = b.min(folded, b.add(b.mul(folded, -1.0), 2 * span));
  return b.add(folded, least);
}

/// Where the places lie along a dim, in elements.
Value Sampler::coordinate(int64_t dim) {
  int64_t extent = b.shapeOf(x)[dim + 2], last = b.rankOf(grid) - 1;
  // The innermost dim's coordinate comes first.
  Value at = b.reshape(b.sliceDim(grid, last, rank - 1 - dim, 1), places);
  at = aligned ? b.mul(b.add(at, 1.0), (extent - 1) / 2.0)
               : b.mul(b.add(b.mul(b.add(at, 1.0), double(extent)), -1.0), 0.5);
  if (reach == 1)
    at = b.unary<nn::RoundOp>(at);
  // Beyond these all neighbours are outside, and indices stay small.
  auto withNeighbours = [&] { return b.min(b.max(at, -4.0), extent + 3.0); };
  switch (padding) {
  case Padding::Zeros:
    return withNeighbours();
  case Padding::Border: {
    // As PyTorch and ONNX Runtime do: each of four neighbours is the nearest that is there.
    if (reach == 4)
      return withNeighbours();
    double least = aligned ? 0 : -0.5;
    Value outside = b.binary<nn::OrOp>(b.compare(CompareKind::Lt, at, least),
                                       b.compare(CompareKind::Gt, at, extent - 1 - least));
    return b.select(outside, b.min(b.max(at, 0.0), extent - 1.0), at);
  }
  case Padding::Reflection:
    return reflect(at, extent);
  }
  llvm_unreachable("padding of a sampler");
}

Value Sampler::index(Value place, int64_t extent) {
  if (padding == Padding::Border)
    place = b.min(b.max(place, 0.0), extent - 1.0);
  else if (padding == Padding::Reflection)
    place = reflect(place, extent);
  SmallVector<int64_t> shape(places);
  shape.push_back(1);
  return b.reshape(b.cast(place, b.i64()), shape);
}

Sampler::Taps Sampler::taps(int64_t dim) {
  int64_t extent = b.shapeOf(x)[dim + 2];
  Value at = coordinate(dim);
  if (reach == 1)
    return {{index(at, extent)}, {Value()}};
  Value base = b.unary<nn::FloorOp>(at), t = b.sub(at, base);
  Value rest = b.add(b.mul(t, -1.0), 1.0);
  Taps result;
  const int64_t first = 1 - reach / 2;
  for (int64_t i = 0; i < reach; ++i)
    result.indices.push_back(index(b.add(base, double(first + i)), extent));
  if (reach == 2) {
    result.weights = {rest, t};
    return result;
  }
  // Keys, 1981, with a = -0.75: polynomials of the distance d.
  constexpr double a = -0.75;
  auto polynomial = [&](Value d, double c3, double c2, double c1, double c0) {
    Value sum = b.add(b.mul(d, c3), c2);
    return b.add(b.mul(b.add(b.mul(sum, d), c1), d), c0);
  };
  auto inner = [&](Value d) { return polynomial(d, a + 2, -(a + 3), 0, 1); };
  auto outer = [&](Value d) { return polynomial(b.add(d, 1.0), a, -5 * a, 8 * a, -4 * a); };
  result.weights = {outer(t), inner(t), inner(rest), outer(rest)};
  return result;
}

/// N x O... x C: one neighbour in each dim, weighted.
Value Sampler::sample(ArrayRef<Taps> all, int64_t combination) {
  SmallVector<Value> indices;
  Value weight;
  for (const Taps &taps : all) {
    int64_t tap = combination % reach;
    combination /= reach;
    indices.push_back(taps.indices[tap]);
    if (Value own = taps.weights[tap])
      weight = weight ? b.mul(weight, own) : own;
  }
  // What is outside reads zero.
  Value read = b.make<nn::GatherOp>(x, b.concat(indices, b.rankOf(grid) - 1),
                                    NnBuilder::Shape(b.range(2, rank + 2)), NnBuilder::Shape({0}),
                                    NnBuilder::Shape({0}));
  if (!weight || !read)
    return read;
  return b.mul(read, b.unsqueeze(b.cast(weight, b.elementOf(x)), {int64_t(places.size())}));
}

Results Sampler::convert() {
  x = n.in(0);
  grid = n.in(1);
  if (!x || !grid || !readMode())
    return {};
  rank = b.rankOf(x) - 2;
  if (rank < 1 || b.rankOf(grid) != rank + 2 || b.shapeOf(grid).back() != rank ||
      b.shapeOf(grid)[0] != b.shapeOf(x)[0] || llvm::is_contained(b.shapeOf(x), 0))
    return {n.fail("needs N x C x D... and a grid N x O... x dims of places")};
  // Small floats do not tell neighbours in large pictures apart.
  if (b.elementOf(grid).getIntOrFloatBitWidth() < 32)
    grid = b.cast(grid, b.f32());
  places.assign(b.shapeOf(grid).drop_back().begin(), b.shapeOf(grid).drop_back().end());
  SmallVector<Taps> all;
  int64_t combinations = 1;
  for (int64_t dim = 0; dim < rank; ++dim) {
    all.push_back(taps(dim));
    combinations = boundedProduct(combinations, reach);
  }
  Value sum;
  for (int64_t i = 0; i < combinations && !b.hasFailed(); ++i) {
    Value part = sample(all, i);
    sum = sum ? b.add(sum, part) : part;
  }
  SmallVector<int64_t> permutation = b.range(1, places.size());
  permutation.insert(permutation.begin(), {0, int64_t(places.size())});
  return {b.transpose(sum, permutation)};
}

static Results gridSample(NodeContext &n) { return Sampler(n).convert(); }

/// Each place of a picture of the given size, through the entry's map.
static Results affineGrid(NodeContext &n) {
  Value theta = n.in(0);
  auto size = n.knownIntegers(1);
  if (!theta || !size)
    return {};
  int64_t rank = static_cast<int64_t>(size->size()) - 2;
  if (rank < 1 || n.b.rankOf(theta) != 3 || n.b.shapeOf(theta)[1] != rank ||
      n.b.shapeOf(theta)[2] != rank + 1 || n.b.shapeOf(theta)[0] != size->front())
    return {n.fail("needs maps N x dims x (dims + 1) and a size N, C, D...")};
  bool aligned = n.integer("align_corners", 0) != 0;
  SmallVector<int64_t> shape(size->begin() + 2, size->end());
  if (llvm::any_of(shape, [](int64_t extent) { return extent < 1; }))
    return {n.fail("the size has an extent below 1")};
  return {n.b.inFloat(theta, [&](Value theta) {
    Type element = n.b.elementOf(theta);
    SmallVector<Value> parts;
    SmallVector<int64_t> unit(shape);
    unit.push_back(1);
    for (int64_t dim = rank - 1; dim >= 0; --dim) {
      int64_t extent = shape[dim];
      Value place = n.b.iotaAlong(shape, dim, element);
      place = !aligned      ? n.b.add(n.b.mul(place, 2.0 / extent), 1.0 / extent - 1)
              : extent == 1 ? n.b.fullLike(place, 0)
                            : n.b.add(n.b.mul(place, 2.0 / (extent - 1)), -1.0);
      parts.push_back(n.b.reshape(place, unit));
    }
    parts.push_back(n.b.full(unit, element, 1));
    Value grid = n.b.concat(parts, rank);
    // Labels: the picture's dims, then batch, result and summed dim.
    SmallVector<int64_t> gridLabels = n.b.range(0, rank), result = gridLabels;
    gridLabels.push_back(rank + 2);
    result.insert(result.begin(), rank);
    result.push_back(rank + 1);
    return n.b.contract(grid, theta, gridLabels, {rank, rank + 1, rank + 2}, result);
  })};
}

void weft::onnx::registerGridSample(Registry &r) {
  r.addSince("GridSample", 16, gridSample);
  r.addSince("AffineGrid", 20, affineGrid);
}
