// Resize and Upsample: a linear map along each dim, known at compile time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

namespace {
/// What the attributes say, for all dims.
struct Mode {
  llvm::StringRef mode, coordinates, nearest;
  double cubic, extrapolation;
  bool excludeOutside, antialias;
};

/// One dim: extents, the scale, and the region of interest.
struct Axis {
  int64_t in, out;
  double scale, roiStart = 0, roiEnd = 1;
};
} // namespace

static double sourceOf(const Mode &m, const Axis &a, int64_t position) {
  double o = position;
  // The standard aligns the corners of the unrounded extent.
  double out = a.in * a.scale;
  if (m.coordinates == "align_corners")
    return a.out == 1 ? 0 : o * (a.in - 1) / (out - 1);
  if (m.coordinates == "asymmetric")
    return o / a.scale;
  if (m.coordinates == "tf_half_pixel_for_nn")
    return (o + 0.5) / a.scale;
  if (m.coordinates == "pytorch_half_pixel")
    return a.out > 1 ? (o + 0.5) / a.scale - 0.5 : 0;
  if (m.coordinates == "tf_crop_and_resize")
    return a.out > 1
               ? a.roiStart * (a.in - 1) + o * (a.roiEnd - a.roiStart) * (a.in - 1) / (a.out - 1)
               : 0.5 * (a.roiStart + a.roiEnd) * (a.in - 1);
  if (m.coordinates == "half_pixel_symmetric") {
    double adjustment = a.out / (a.scale * a.in), centre = a.in / 2.0;
    return centre * (1 - adjustment) + (o + 0.5) / a.scale - 0.5;
  }
  return (o + 0.5) / a.scale - 0.5; // half_pixel
}

static int64_t nearestOf(const Mode &m, double source) {
  if (m.nearest == "floor")
    return std::floor(source);
  if (m.nearest == "ceil")
    return std::ceil(source);
  if (m.nearest == "round_prefer_ceil")
    return std::floor(source + 0.5);
  return std::ceil(source - 0.5); // round_prefer_floor
}

/// Weight of an element at `distance` (in elements of the operand).
static double weightAt(const Mode &m, double distance) {
  double d = std::fabs(distance);
  if (m.mode == "linear")
    return std::max(0.0, 1 - d);
  double A = m.cubic;
  if (d <= 1)
    return ((A + 2) * d - (A + 3)) * d * d + 1;
  return d < 2 ? ((A * d - 5 * A) * d + 8 * A) * d - 4 * A : 0;
}

/// Row of the map for one result position: weights of all operand elements. The nearest one needs
/// no map.
static std::vector<double> rowOf(const Mode &m, const Axis &a, int64_t position) {
  std::vector<double> row(a.in, 0.0);
  // A region of interest may lie anywhere; far outside is as good as near.
  double source = std::clamp(sourceOf(m, a, position), -2.0 * a.in - 4, 3.0 * a.in + 4);
  // When shrinking with antialiasing the kernel is as wide as the step.
  double squeeze = m.antialias && a.scale < 1 ? a.scale : 1;
  double support = (m.mode == "linear" ? 1 : 2) / squeeze;
  double sum = 0;
  for (int64_t k = std::ceil(source - support); k <= std::floor(source + support); ++k) {
    double weight = weightAt(m, (k - source) * squeeze);
    bool outside = k < 0 || k >= a.in;
    if (outside && m.excludeOutside)
      continue;
    sum += weight;
    row[std::clamp<int64_t>(k, 0, a.in - 1)] += weight;
  }
  if ((m.excludeOutside || squeeze != 1) && sum != 0)
    for (double &weight : row)
      weight /= sum;
  return row;
}

static Value resizeDim(NodeContext &n, Value x, int64_t dim, const Mode &m, const Axis &a) {
  if (!x)
    return x;
  if (m.mode == "nearest") {
    SmallVector<int64_t> source;
    for (int64_t o = 0; o < a.out; ++o)
      source.push_back(std::clamp<int64_t>(nearestOf(m, sourceOf(m, a, o)), 0, a.in - 1));
    x = n.b.take(x, n.b.integers(source), dim);
  } else {
    if (!n.b.isFoldable(boundedProduct(a.out, a.in)))
      return Value();
    HostTensor map(RankedTensorType::get({a.out, a.in}, n.b.elementOf(x)));
    for (int64_t o = 0; o < a.out; ++o) {
      std::vector<double> row = rowOf(m, a, o);
      std::copy(row.begin(), row.end(), map.reals.begin() + o * a.in);
    }
    roundToOwnType(map);
    SmallVector<int64_t> labels = n.b.range(0, n.b.rankOf(x)), result = labels;
    int64_t fresh = labels.size();
    result[dim] = fresh;
    x = n.b.contract(x, n.b.constant(map), labels, {fresh, dim}, result);
  }
  if (!x || m.coordinates != "tf_crop_and_resize")
    return x;
  HostTensor outside(RankedTensorType::get({a.out}, n.b.i1()));
  for (int64_t o = 0; o < a.out; ++o) {
    double source = sourceOf(m, a, o);
    outside.integers[o] = source < 0 || source > a.in - 1;
  }
  Value mask = n.b.broadcastDims(n.b.constant(outside), n.b.shapeOf(x), {dim});
  return n.b.select(mask, n.b.fullLike(x, m.extrapolation), x);
}

/// Extents and scales of the axes, from scales or sizes; empty if not sound.
static SmallVector<Axis> axesOf(NodeContext &n, Value x, llvm::ArrayRef<int64_t> dims,
                                unsigned scalesInput, unsigned sizesInput) {
  SmallVector<Axis> axes;
  std::optional<SmallVector<double>> scales = n.reals("scales");
  std::optional<SmallVector<int64_t>> sizes;
  if (n.has(scalesInput) && n.b.sizeOf(n.b.shapeOf(n.in(scalesInput))) > 0) {
    auto given = n.known(scalesInput);
    if (!given)
      return axes;
    scales.emplace(given->reals.begin(), given->reals.end());
  } else if (n.has(sizesInput)) {
    sizes = n.knownIntegers(sizesInput);
    if (!sizes)
      return axes;
  }
  size_t count = scales ? scales->size() : sizes ? sizes->size() : 0;
  if (count != dims.size() || count == 0) {
    n.fail("scales or sizes must have one entry for each of " + llvm::Twine(dims.size()) + " axes");
    return axes;
  }
  NnBuilder::Shape shape = n.b.shapeOf(x);
  double common = 0;
  auto policy =
      n.word("keep_aspect_ratio_policy", "stretch", {"stretch", "not_larger", "not_smaller"});
  if (!policy)
    return axes;
  if (sizes && *policy != "stretch")
    for (auto [dim, size] : llvm::zip_equal(dims, *sizes)) {
      double scale = double(size) / shape[dim];
      bool better = *policy == "not_larger" ? scale < common : scale > common;
      common = common == 0 || better ? scale : common;
    }
  for (auto [i, dim] : llvm::enumerate(dims)) {
    Axis axis{shape[dim], 0, 0};
    axis.scale = scales ? (*scales)[i] : common != 0 ? common : double((*sizes)[i]) / axis.in;
    // As the standard infers it, in the scales' type: 10 x 0.7 is 7.
    double out = scales        ? std::floor(float(axis.in) * float(axis.scale))
                 : common != 0 ? std::round(axis.in * common)
                               : double((*sizes)[i]);
    // Not a number is no extent either.
    if (!(out >= 1 && out <= double(NnBuilder::kFoldLimit)) || axis.in <= 0) {
      n.fail("dim " + llvm::Twine(dim) + " of extent " + llvm::Twine(axis.in) +
             " would get extent " + std::to_string(out));
      return {};
    }
    axis.out = static_cast<int64_t>(out);
    axes.push_back(axis);
  }
  return axes;
}

static Results apply(NodeContext &n, Value x, llvm::ArrayRef<int64_t> dims,
                     llvm::ArrayRef<Axis> axes, const Mode &m) {
  if (m.mode != "nearest" && !n.b.isFloat(x))
    return {n.fail("mode '" + m.mode + "' of integers is not supported")};
  for (auto [dim, axis] : llvm::zip_equal(dims, axes))
    if (axis.in != axis.out || axis.scale != 1 || m.coordinates == "tf_crop_and_resize")
      x = resizeDim(n, x, dim, m, axis);
  return {x};
}

static Results resize(NodeContext &n) {
  Value x = n.in(0);
  if (!x)
    return {};
  auto mode = n.word("mode", "nearest", {"nearest", "linear", "cubic"});
  auto coordinates =
      n.word("coordinate_transformation_mode", n.opset < 11 ? "asymmetric" : "half_pixel",
             {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
              "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"});
  auto nearest = n.word("nearest_mode", n.opset < 11 ? "floor" : "round_prefer_floor",
                        {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  if (!mode || !coordinates || !nearest)
    return {};
  Mode m{*mode,
         *coordinates,
         *nearest,
         n.real("cubic_coeff_a", -0.75),
         n.real("extrapolation_value", 0.0),
         n.integer("exclude_outside", 0) != 0,
         n.integer("antialias", 0) != 0};
  auto dims = n.normalize(n.integers("axes").value_or(n.b.range(0, n.b.rankOf(x))), n.b.rankOf(x));
  if (!dims)
    return {};
  SmallVector<Axis> axes = axesOf(n, x, *dims, n.opset < 11 ? 1 : 2, 3);
  if (axes.empty())
    return {};
  if (m.coordinates == "tf_crop_and_resize") {
    auto roi = n.known(1);
    if (!roi || roi->reals.size() != 2 * axes.size())
      return {n.fail("'roi' must have two entries an axis")};
    for (auto [i, axis] : llvm::enumerate(axes)) {
      axis.roiStart = roi->reals[i];
      axis.roiEnd = roi->reals[i + axes.size()];
    }
  }
  return apply(n, x, *dims, axes, m);
}

static Results upsample(NodeContext &n) {
  Value x = n.in(0);
  if (!x)
    return {};
  auto mode = n.word("mode", "nearest", {"nearest", "linear", "bilinear", "cubic"});
  if (!mode)
    return {};
  Mode m{*mode == "bilinear" ? "linear" : *mode, "asymmetric", "floor", -0.75, 0.0, false, false};
  SmallVector<int64_t> dims = n.b.range(0, n.b.rankOf(x));
  SmallVector<Axis> axes = axesOf(n, x, dims, 1, ~0u);
  return axes.empty() ? Results() : apply(n, x, dims, axes, m);
}

void weft::onnx::registerResize(Registry &r) {
  r.addSince("Resize", 10, resize);
  r.add("Upsample", 7, 9, upsample);
}
