// Operators that move elements without looking at them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

/// 0 copies the extent (unless `allowzero`), one -1 takes the rest.
static Results reshape(NodeContext &n) {
  Value x = n.in(0);
  auto wanted = n.integersOf("shape", 1);
  if (!x || !wanted)
    return {};
  bool zeroIsZero = n.integer("allowzero", 0);
  SmallVector<int64_t> shape(*wanted);
  int64_t rest = -1, product = 1;
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    if (extent == 0 && !zeroIsZero) {
      if (static_cast<int64_t>(dim) >= n.b.rankOf(x))
        return {n.fail("extent 0 at dim " + llvm::Twine(dim) + " has no dim to copy")};
      extent = n.b.shapeOf(x)[dim];
    }
    if (extent == -1 && rest < 0)
      rest = dim;
    else if (extent < 0)
      return {n.fail("the shape has two unknown extents or a negative one")};
    else
      product = boundedProduct(product, extent);
  }
  if (rest >= 0) {
    int64_t size = n.b.sizeOf(n.b.shapeOf(x));
    if (product == 0 || size % product)
      return {n.fail("cannot infer the unknown extent: " + llvm::Twine(size) + " elements over " +
                     llvm::Twine(product))};
    shape[rest] = size / product;
  }
  return {n.b.reshape(x, shape)};
}

static Results flatten(NodeContext &n) {
  Value x = n.in(0);
  auto axis = x ? n.normalize(n.integer("axis", 1), n.b.rankOf(x), /*pastEnd=*/true) : std::nullopt;
  if (!axis)
    return {};
  NnBuilder::Shape shape = n.b.shapeOf(x);
  return {
      n.b.reshape(x, {n.b.sizeOf(shape.take_front(*axis)), n.b.sizeOf(shape.drop_front(*axis))})};
}

static Results squeeze(NodeContext &n) {
  Value x = n.in(0);
  if (!x)
    return {};
  SmallVector<int64_t> dims;
  auto axes = n.integersOf("axes", 1);
  if (n.has(1) && !axes)
    return {};
  if (axes) {
    auto normal = n.normalize(*axes, n.b.rankOf(x));
    if (!normal)
      return {};
    dims = *normal;
    for (int64_t dim : dims)
      if (n.b.shapeOf(x)[dim] != 1)
        return {n.fail("dim " + llvm::Twine(dim) + " has extent " +
                       llvm::Twine(n.b.shapeOf(x)[dim]) + ", not 1")};
  } else {
    for (auto [dim, extent] : llvm::enumerate(n.b.shapeOf(x)))
      if (extent == 1)
        dims.push_back(dim);
  }
  return {n.b.squeeze(x, dims)};
}

static Results unsqueeze(NodeContext &n) {
  Value x = n.in(0);
  auto axes = n.integersOf("axes", 1);
  if (!x || !axes)
    return {n.fail("'axes' is missing")};
  int64_t rank = n.b.rankOf(x) + axes->size();
  // Before each of the axes is held against all others.
  if (rank > kMaxTensorRank)
    return {n.fail("a value has " + llvm::Twine(rank) + " dims, more than the " +
                   llvm::Twine(kMaxTensorRank) + " that are supported")};
  auto dims = n.normalize(*axes, rank);
  return {dims ? n.b.unsqueeze(x, *dims) : Value()};
}

static Results transpose(NodeContext &n) {
  Value x = n.in(0);
  if (!x)
    return {};
  SmallVector<int64_t> reversed = n.b.range(0, n.b.rankOf(x));
  std::reverse(reversed.begin(), reversed.end());
  auto permutation = n.normalize(n.integers("perm").value_or(reversed), n.b.rankOf(x));
  if (!permutation)
    return {};
  if (static_cast<int64_t>(permutation->size()) != n.b.rankOf(x))
    return {n.fail("'perm' has " + llvm::Twine(permutation->size()) + " entries for tensor rank " +
                   llvm::Twine(n.b.rankOf(x)))};
  return {n.b.transpose(x, *permutation)};
}

static Results concat(NodeContext &n) {
  SmallVector<Value> inputs;
  for (unsigned i = 0; i < n.numInputs(); ++i)
    inputs.push_back(n.in(i));
  if (inputs.empty() || llvm::is_contained(inputs, Value()))
    return {};
  int64_t rank = n.b.rankOf(inputs.front());
  if (llvm::any_of(inputs, [&](Value input) { return n.b.rankOf(input) != rank; }))
    return {n.fail("the inputs must have the same tensor rank")};
  auto axis = n.axis(n.opset < 4 ? 1 : 0);
  return {axis ? n.b.concat(inputs, *axis) : Value()};
}

/// Sizes from attribute or input, else parts as equal as they can be.
static Results split(NodeContext &n) {
  Value x = n.in(0);
  auto axis = x ? n.axis(0) : std::nullopt;
  if (!axis)
    return {};
  auto sizes = n.integersOf("split", 1);
  if (n.has(1) && !sizes)
    return {};
  int64_t extent = n.b.shapeOf(x)[*axis];
  if (!sizes) {
    int64_t parts = n.integer("num_outputs", n.numOutputs());
    if (parts <= 0 || parts != n.numOutputs())
      return {n.fail("'num_outputs' must be the number of outputs")};
    int64_t part = (extent + parts - 1) / parts;
    sizes.emplace();
    for (int64_t rest = extent; static_cast<int64_t>(sizes->size()) < parts; rest -= sizes->back())
      sizes->push_back(std::min(part, rest));
  }
  Results results;
  int64_t start = 0;
  for (int64_t size : *sizes) {
    if (size < 0 || size > extent - start)
      return {n.fail("parts do not add up to the extent " + llvm::Twine(extent))};
    results.push_back(n.b.sliceDim(x, *axis, start, size));
    start += size;
  }
  if (start != extent)
    return {
        n.fail("parts add up to " + llvm::Twine(start) + ", the extent is " + llvm::Twine(extent))};
  return results;
}

namespace {
/// A number of a tensor of integers: a computed one, or none, plus a known one.
struct Offset {
  Value base;
  int64_t known = 0;
};
} // namespace

/// The only element of `value`; sums are looked through so deep.
static Offset offsetOf(NodeContext &n, Value value, unsigned depth = 16) {
  if (std::optional<HostTensor> known = n.b.known(value))
    return {Value(), known->integers[0]};
  if (depth-- == 0)
    return {value, 0};
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<nn::ReshapeOp>(op))
    return offsetOf(n, op->getOperand(0), depth);
  if (isa_and_nonnull<nn::CastOp>(op) && isa<IntegerType>(n.b.elementOf(op->getOperand(0))))
    return offsetOf(n, op->getOperand(0), depth);
  if (isa_and_nonnull<nn::AddOp, nn::SubOp>(op)) {
    // Of two computed terms the distance is not known: there is but one way down.
    if (!n.b.known(op->getOperand(0)) && !n.b.known(op->getOperand(1)))
      return {value, 0};
    Offset x = offsetOf(n, op->getOperand(0), depth), y = offsetOf(n, op->getOperand(1), depth);
    if (!y.base)
      return {x.base, isa<nn::AddOp>(op) ? x.known + y.known : x.known - y.known};
    if (!x.base && isa<nn::AddOp>(op))
      return {y.base, x.known + y.known};
  }
  return {value, 0};
}

/// The elements of an input of integers, each alone.
static std::optional<SmallVector<Offset>> offsetsOf(NodeContext &n, unsigned index) {
  Value value = n.in(index);
  if (!value || n.b.isFloat(value) || n.b.rankOf(value) != 1)
    return std::nullopt;
  SmallVector<Offset> offsets;
  SmallVector<Value> parts{value};
  if (auto concat = value.getDefiningOp<nn::ConcatOp>())
    parts.assign(concat.getInputs().begin(), concat.getInputs().end());
  for (Value part : parts) {
    if (std::optional<HostTensor> known = n.b.known(part)) {
      for (int64_t element : known->integers)
        offsets.push_back({Value(), element});
      continue;
    }
    if (n.b.sizeOf(n.b.shapeOf(part)) != 1)
      return std::nullopt;
    offsets.push_back(offsetOf(n, part));
  }
  return offsets;
}

/// A window whose place is computed when the program runs, and whose size is
/// known because its end is its start and a number: rows are read by index.
/// Nothing if it is not that. ONNX would cut a window that reaches beyond the
/// operand; a program has one shape, so that it must not.
static std::optional<Value> sliceAtComputedStart(NodeContext &n, Value x) {
  if (!n.has(1) || !n.has(2))
    return std::nullopt;
  auto starts = offsetsOf(n, 1), ends = offsetsOf(n, 2);
  if (!starts || !ends || starts->size() != ends->size() ||
      llvm::none_of(*starts, [](const Offset &start) { return bool(start.base); }))
    return std::nullopt;
  SmallVector<int64_t> axes = n.b.range(0, starts->size());
  for (unsigned index : {3u, 4u}) {
    std::optional<HostTensor> known = n.has(index) ? n.b.known(n.in(index)) : std::nullopt;
    if (n.has(index) && (!known || known->size() != int64_t(axes.size())))
      return std::nullopt;
    if (index == 3 && known)
      axes.assign(known->integers.begin(), known->integers.end());
    if (index == 4 && known &&
        llvm::any_of(known->integers, [](int64_t step) { return step != 1; }))
      return std::nullopt;
  }
  auto dims = n.normalize(axes, n.b.rankOf(x));
  if (!dims)
    return Value();
  for (auto [i, dim] : llvm::enumerate(*dims)) {
    const Offset &start = (*starts)[i], &end = (*ends)[i];
    int64_t extent = n.b.shapeOf(x)[dim], size = end.known - start.known;
    if (start.base != end.base)
      return std::nullopt;
    if (!start.base) {
      auto place = [&](int64_t at) {
        return std::clamp<int64_t>(at < 0 ? at + extent : at, 0, extent);
      };
      int64_t from = place(start.known), to = place(end.known);
      x = n.b.sliceDim(x, dim, from, std::max<int64_t>(0, to - from));
      continue;
    }
    if (size < 0 || size > extent)
      return n.fail("a window of " + llvm::Twine(size) + " elements of dim " + llvm::Twine(dim) +
                    ", which has " + llvm::Twine(extent));
    Value first =
        n.b.add(n.b.cast(n.b.reshape(start.base, {1}), n.b.i64()), n.b.integers({start.known}));
    emitWarning(n.b.loc) << "starts where a value says that is computed; the " << size
                         << " elements from there must be among the " << extent << " of dim " << dim
                         << ", those beyond read as zero";
    x = n.b.take(x, n.b.add(n.b.iota(size), first), dim);
  }
  return x;
}

/// Starts and ends count from the end if negative and are clamped; a negative
/// step walks backwards.
static Results slice(NodeContext &n) {
  Value x = n.in(0);
  if (std::optional<Value> computed = x ? sliceAtComputedStart(n, x) : std::nullopt)
    return {*computed};
  auto starts = n.placesOf("starts", 1), ends = n.placesOf("ends", 2);
  if (!x || !starts || !ends)
    return {};
  SmallVector<int64_t> axes = n.b.range(0, starts->size()), steps(starts->size(), 1);
  if (auto given = n.integersOf("axes", 3))
    axes = *given;
  else if (n.has(3))
    return {};
  if (n.has(4)) {
    auto given = n.placesOf("", 4);
    if (!given)
      return {};
    steps = *given;
  }
  auto dims = n.normalize(axes, n.b.rankOf(x));
  if (!dims)
    return {};
  if (ends->size() != starts->size() || dims->size() != starts->size() ||
      steps.size() != starts->size())
    return {n.fail("starts, ends, axes and steps differ in length")};
  SmallVector<int64_t> from(n.b.rankOf(x), 0), sizes(n.b.shapeOf(x)), strides(n.b.rankOf(x), 1),
      backwards;
  for (auto [i, dim] : llvm::enumerate(*dims)) {
    int64_t extent = sizes[dim], step = steps[i], start = (*starts)[i], end = (*ends)[i];
    if (step == 0)
      return {n.fail("a step is zero")};
    start = start < 0 ? start + extent : start;
    end = end < 0 ? end + extent : end;
    if (step > 0) {
      start = std::clamp<int64_t>(start, 0, extent);
      end = std::clamp<int64_t>(end, 0, extent);
      step = std::min(step, std::max<int64_t>(extent, 1));
      from[dim] = start;
      sizes[dim] = std::max<int64_t>(0, (end - start + step - 1) / step);
      strides[dim] = step;
    } else {
      // A start before the dim is its first element, as the standard and ONNX Runtime have it; to
      // numpy, and so to the standard's reference, it is one before that.
      start = std::min(std::max<int64_t>(start, 0), extent - 1);
      end = std::clamp<int64_t>(end, -1, extent - 1);
      step = std::min(-step, std::max<int64_t>(extent, 1));
      sizes[dim] = std::max<int64_t>(0, (start - end + step - 1) / step);
      from[dim] = sizes[dim] == 0 ? 0 : start - (sizes[dim] - 1) * step;
      strides[dim] = step;
      backwards.push_back(dim);
    }
  }
  llvm::sort(backwards);
  return {n.b.reverse(n.b.slice(x, from, sizes, strides), backwards)};
}

/// The index of the operand's element for each padded position along one dim.
static std::optional<SmallVector<int64_t>> padSource(NodeContext &n, llvm::StringRef mode,
                                                     int64_t extent, int64_t low, int64_t high) {
  SmallVector<int64_t> source;
  if (!n.b.isFoldable(low + extent + high))
    return std::nullopt;
  for (int64_t i = -low; i < extent + high; ++i) {
    int64_t at = i;
    if (mode == "edge") {
      at = std::clamp<int64_t>(i, 0, extent - 1);
    } else if (mode == "wrap") {
      at = ((i % extent) + extent) % extent;
    } else {
      int64_t period = std::max<int64_t>(1, 2 * (extent - 1));
      at = ((i % period) + period) % period;
      at = std::min(at, period - at);
      at = extent == 1 ? 0 : at;
    }
    source.push_back(at);
  }
  return source;
}

static Results pad(NodeContext &n) {
  Value x = n.in(0);
  auto pads = n.integersOf("pads", 1);
  auto mode = n.word("mode", "constant", {"constant", "reflect", "edge", "wrap"});
  if (!x || !pads || !mode)
    return {};
  int64_t rank = n.b.rankOf(x);
  SmallVector<int64_t> axes = n.b.range(0, rank);
  if (n.has(3)) {
    auto given = n.knownIntegers(3);
    auto normal = given ? n.normalize(*given, rank) : std::nullopt;
    if (!normal)
      return {};
    axes = *normal;
  }
  if (pads->size() != 2 * axes.size())
    return {n.fail("'pads' has " + llvm::Twine(pads->size()) + " entries for " +
                   llvm::Twine(axes.size()) + " axes")};
  // Negative pads cut first.
  SmallVector<int64_t> low(rank, 0), high(rank, 0), starts(rank, 0), strides(rank, 1),
      sizes(n.b.shapeOf(x));
  for (auto [i, dim] : llvm::enumerate(axes)) {
    low[dim] = std::max<int64_t>(0, (*pads)[i]);
    high[dim] = std::max<int64_t>(0, (*pads)[i + axes.size()]);
    starts[dim] = std::max<int64_t>(0, -(*pads)[i]);
    sizes[dim] -= starts[dim] + std::max<int64_t>(0, -(*pads)[i + axes.size()]);
    if (sizes[dim] < 0)
      return {n.fail("negative pads cut more than dim " + llvm::Twine(dim) + " has")};
  }
  x = n.b.slice(x, starts, sizes, strides);
  if (*mode == "constant") {
    auto value =
        n.opset < 11 ? std::optional<Scalar>({n.real("value", 0), 0}) : n.knownElement(2, Scalar());
    return {value ? n.b.pad(x, low, high, *value) : Value()};
  }
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (low[dim] == 0 && high[dim] == 0)
      continue;
    if (sizes[dim] == 0)
      return {n.fail("mode '" + *mode + "' pads an empty dim")};
    auto source = padSource(n, *mode, sizes[dim], low[dim], high[dim]);
    if (!source)
      return {};
    x = n.b.take(x, n.b.integers(*source), dim);
  }
  return {x};
}

static Results tile(NodeContext &n) {
  Value x = n.in(0);
  auto repeats = n.knownIntegers(1);
  if (!x || !repeats)
    return {};
  if (static_cast<int64_t>(repeats->size()) != n.b.rankOf(x))
    return {n.fail("'repeats' must have one entry a dim")};
  SmallVector<int64_t> wide, dims, shape;
  for (auto [dim, count] : llvm::enumerate(*repeats)) {
    int64_t extent = n.b.shapeOf(x)[dim];
    if (count < 0)
      return {n.fail("a repeat is negative")};
    if (count != 1)
      wide.push_back(count);
    dims.push_back(wide.size());
    wide.push_back(extent);
    shape.push_back(boundedProduct(count, extent));
  }
  return {n.b.reshape(n.b.broadcastDims(x, wide, dims), shape)};
}

static Results expand(NodeContext &n) {
  Value x = n.in(0);
  auto wanted = n.knownIntegers(1);
  if (!x || !wanted)
    return {};
  auto shape = n.b.broadcastShape(n.b.shapeOf(x), *wanted);
  return {shape ? n.b.broadcastTo(x, *shape) : Value()};
}

/// Whether blocks count before channels (DCR) or after them (CRD).
static std::optional<bool> isDepthFirst(NodeContext &n) {
  auto mode = n.word("mode", "DCR", {"DCR", "CRD"});
  return mode ? std::optional(*mode == "DCR") : std::nullopt;
}

static Results depthToSpace(NodeContext &n) {
  Value x = n.in(0);
  int64_t block = n.integer("blocksize", 0);
  int64_t square = boundedProduct(block, block);
  if (!x || n.b.rankOf(x) != 4 || block <= 0 || n.b.shapeOf(x)[1] % square)
    return {n.fail("needs N x C x H x W with C a multiple of blocksize squared")};
  NnBuilder::Shape s = n.b.shapeOf(x);
  int64_t depth = s[1] / square;
  std::optional<bool> depthFirst = isDepthFirst(n);
  if (!depthFirst)
    return {};
  Value split, moved;
  if (*depthFirst) {
    split = n.b.reshape(x, {s[0], block, block, depth, s[2], s[3]});
    moved = n.b.transpose(split, {0, 3, 4, 1, 5, 2});
  } else {
    split = n.b.reshape(x, {s[0], depth, block, block, s[2], s[3]});
    moved = n.b.transpose(split, {0, 1, 4, 2, 5, 3});
  }
  return {
      n.b.reshape(moved, {s[0], depth, boundedProduct(s[2], block), boundedProduct(s[3], block)})};
}

static Results spaceToDepth(NodeContext &n) {
  Value x = n.in(0);
  int64_t block = n.integer("blocksize", 0);
  if (!x || n.b.rankOf(x) != 4 || block <= 0 || n.b.shapeOf(x)[2] % block ||
      n.b.shapeOf(x)[3] % block)
    return {n.fail("needs N x C x H x W with H and W multiples of blocksize")};
  std::optional<bool> depthFirst = isDepthFirst(n);
  if (!depthFirst)
    return {};
  NnBuilder::Shape s = n.b.shapeOf(x);
  Value split = n.b.reshape(x, {s[0], s[1], s[2] / block, block, s[3] / block, block});
  Value moved = *depthFirst ? n.b.transpose(split, {0, 3, 5, 1, 2, 4})
                            : n.b.transpose(split, {0, 1, 3, 5, 2, 4});
  int64_t depth = boundedProduct(s[1], boundedProduct(block, block));
  return {n.b.reshape(moved, {s[0], depth, s[2] / block, s[3] / block})};
}

/// Keeps the elements on and above (below) the k-th diagonal.
static Results trilu(NodeContext &n) {
  Value x = n.in(0);
  auto k = n.has(1) ? n.placesOf("", 1) : std::optional(SmallVector<int64_t>{0});
  if (!x || !k || n.b.rankOf(x) < 2)
    return {n.fail("a matrix is needed")};
  if (k->size() != 1)
    return {n.fail("'k' must be one number")};
  NnBuilder::Shape matrix = n.b.shapeOf(x).take_back(2);
  Value row = n.b.add(n.b.iotaAlong(matrix, 0), double(k->front())),
        column = n.b.iotaAlong(matrix, 1);
  auto kind = n.integer("upper", 1) ? nn::CompareKind::Ge : nn::CompareKind::Le;
  return {n.b.select(n.b.compare(kind, column, row), x, n.b.fullLike(x, 0))};
}

/// Reverses the first `lengths[b]` elements of each batch entry.
static Results reverseSequence(NodeContext &n) {
  Value x = n.in(0), lengths = n.in(1);
  if (!x || !lengths || n.b.rankOf(x) < 2)
    return {n.fail("tensor rank must be at least 2")};
  auto time = n.normalize(n.integer("time_axis", 0), n.b.rankOf(x));
  auto batch = n.normalize(n.integer("batch_axis", 1), n.b.rankOf(x));
  if (!time || !batch)
    return {};
  // Index t of entry b reads element length - 1 - t while t < length.
  SmallVector<int64_t> plane{n.b.shapeOf(x)[*batch], n.b.shapeOf(x)[*time]};
  Value t = n.b.iotaAlong(plane, 1);
  Value length = n.b.broadcastDims(n.b.cast(lengths, n.b.i64()), plane, {0});
  Value source =
      n.b.select(n.b.compare(nn::CompareKind::Lt, t, length), n.b.add(n.b.sub(length, t), -1.0), t);
  if (!n.b.checkPlaces(source, plane[1]))
    return {};
  Value rows = n.b.make<nn::GatherOp>(x, n.b.unsqueeze(source, {2}), NnBuilder::Shape({*time}),
                                      NnBuilder::Shape({*batch}), NnBuilder::Shape({0}));
  // The result has dims batch, time, then the others in order.
  SmallVector<int64_t> permutation;
  int64_t other = 2;
  for (int64_t dim = 0; dim < n.b.rankOf(x); ++dim)
    permutation.push_back(dim == *batch ? 0 : dim == *time ? 1 : other++);
  return {n.b.transpose(rows, permutation)};
}

static Results centerCropPad(NodeContext &n) {
  Value x = n.in(0);
  auto wanted = n.knownIntegers(1);
  if (!x || !wanted)
    return {};
  auto axes = n.normalize(n.integers("axes").value_or(n.b.range(0, n.b.rankOf(x))), n.b.rankOf(x));
  if (!axes || axes->size() != wanted->size())
    return {n.fail("'axes' and the shape differ in length")};
  int64_t rank = n.b.rankOf(x);
  SmallVector<int64_t> low(rank, 0), high(rank, 0), starts(rank, 0), strides(rank, 1),
      sizes(n.b.shapeOf(x));
  for (auto [dim, size] : llvm::zip_equal(*axes, *wanted)) {
    int64_t difference = size - sizes[dim];
    if (difference > 0) {
      low[dim] = difference / 2;
      high[dim] = difference - low[dim];
    } else {
      starts[dim] = -difference / 2;
      sizes[dim] = size;
    }
  }
  return {n.b.pad(n.b.slice(x, starts, sizes, strides), low, high, 0)};
}

void weft::onnx::registerLayout(Registry &r) {
  r.add("Reshape", reshape);
  r.add("Flatten", flatten);
  r.add("Squeeze", squeeze);
  r.add("Unsqueeze", unsqueeze);
  r.add("Transpose", transpose);
  r.add("Concat", concat);
  r.add("Split", split);
  r.add("Slice", slice);
  r.add("Pad", pad);
  r.add("Tile", tile);
  r.add("Expand", expand);
  r.add("DepthToSpace", depthToSpace);
  r.add("SpaceToDepth", spaceToDepth);
  r.add("Trilu", trilu);
  r.add("ReverseSequence", reverseSequence);
  r.addSince("CenterCropPad", 18, centerCropPad);
}
