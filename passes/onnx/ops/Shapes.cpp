// Values made from shapes and attributes, and the identities of inference.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"

#include "dialects/onnx/IR/TensorData.h"
#include "weft/Interfaces/TensorTypes.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

static Results shape(NodeContext &n) {
  Value x = n.in(0);
  if (!x)
    return {};
  int64_t rank = n.b.rankOf(x);
  auto clamp = [&](int64_t position) {
    return std::clamp<int64_t>(position < 0 ? position + rank : position, 0, rank);
  };
  int64_t start = clamp(n.integer("start", 0)), end = clamp(n.integer("end", rank));
  return {n.b.integers(n.b.shapeOf(x).slice(start, std::max<int64_t>(0, end - start)))};
}

static Results size(NodeContext &n) {
  Value x = n.in(0);
  return {x ? n.b.full({}, n.b.i64(), n.b.sizeOf(n.b.shapeOf(x))) : Value()};
}

static HostTensor oneDim(NodeContext &n, Type element, size_t count) {
  return HostTensor(RankedTensorType::get(static_cast<int64_t>(count), element));
}

/// A tensor in `value` has been dealt with before; here are the short forms.
static Results constant(NodeContext &n) {
  if (auto value = n.attribute("value_int"))
    return {n.b.fullInteger({}, n.b.i64(), n.integer("value_int", 0))};
  if (auto value = n.attribute("value_float"))
    return {n.b.full({}, n.b.f32(), n.real("value_float", 0))};
  if (auto values = n.integers("value_ints"))
    return {n.b.integers(*values)};
  if (auto values = n.reals("value_floats")) {
    HostTensor tensor = oneDim(n, n.b.f32(), values->size());
    tensor.reals.assign(values->begin(), values->end());
    return {n.b.constant(tensor)};
  }
  return {n.fail("only dense tensors of numbers are supported as constants")};
}

/// The one element of the tensor attribute 'value'; nothing, with the failure noted, if it is none.
static std::optional<HostTensor> element(NodeContext &n, TensorAttr tensor) {
  RankedTensorType type = tensor.getType();
  bool isOne = type.hasStaticShape() && type.getNumElements() == 1;
  if (isOne && !isComputable(type.getElementType())) {
    std::string text;
    llvm::raw_string_ostream(text) << type.getElementType();
    n.fail("'value' has element type '" + text + "', which is not supported");
    return std::nullopt;
  }
  FailureOr<SmallVector<char, 0>> bytes = failure();
  if (isOne)
    bytes = readTensor(tensor, [&] { return emitError(n.b.loc); });
  if (failed(bytes) || int64_t(bytes->size()) != elementBytes(type)) {
    n.fail("'value' must be one number");
    return std::nullopt;
  }
  return decodeHostTensor(RankedTensorType::get({}, type.getElementType()), *bytes);
}

static Results constantOfShape(NodeContext &n) {
  auto extents = n.knownIntegers(0);
  if (!extents)
    return {};
  for (int64_t extent : *extents)
    if (extent < 0)
      return {n.fail("extent " + llvm::Twine(extent) + " is negative")};
  if (TensorAttr tensor = n.tensor("value")) {
    std::optional<HostTensor> value = element(n, tensor);
    return {value ? n.b.broadcastTo(n.b.constant(*value), *extents) : Value()};
  }
  return {n.b.full(*extents, n.b.f32(), 0)};
}

/// How many numbers there are from `start` on, `delta` apart, before `limit`; none if it is not
/// above 0. That of integers is exact as far as a tensor goes.
static double countBetween(const HostTensor &start, const HostTensor &limit,
                           const HostTensor &delta) {
  if (start.isFloat()) {
    // The difference is one of their type: from 0.1 to 1.1 by 0.1 these are 10.
    double span = limit.reals[0] - start.reals[0];
    return std::ceil((start.elementType.isF64() ? span : double(float(span))) / delta.reals[0]);
  }
  // The difference of two integers of 64 bits has 65.
  auto wide = [](const HostTensor &t) {
    return t.elementType.isUnsignedInteger() ? __int128(uint64_t(t.integers[0]))
                                             : __int128(t.integers[0]);
  };
  __int128 span = wide(limit) - wide(start), step = wide(delta);
  bool isCut = span % step != 0 && (span < 0) == (step < 0);
  __int128 count = span / step + isCut;
  return static_cast<double>(count);
}

static Results range(NodeContext &n) {
  auto start = n.known(0), limit = n.known(1), delta = n.known(2);
  if (!start || !limit || !delta || start->size() != 1 || limit->size() != 1 || delta->size() != 1)
    return {n.fail("start, limit and delta must be single numbers")};
  Type type = start->elementType;
  if (limit->elementType != type || delta->elementType != type)
    return {n.fail("start, limit and delta must have one type")};
  if (type.isIntOrIndex() ? delta->integers[0] == 0 : delta->reals[0] == 0)
    return {n.fail("the step is zero")};
  double count = countBetween(*start, *limit, *delta);
  // Not a number is no count either.
  if (!(count <= double(kMaxElements)))
    return {n.fail("it has " + llvm::Twine(std::to_string(count)) + " elements")};
  count = std::max(0.0, count);
  if (!n.b.isFoldable(static_cast<int64_t>(count)))
    return {};
  HostTensor values(RankedTensorType::get(static_cast<int64_t>(count), type));
  for (int64_t i = 0, e = values.size(); i < e; ++i) {
    if (values.isFloat())
      values.reals[i] = start->reals[0] + i * delta->reals[0];
    else
      values.integers[i] =
          static_cast<int64_t>(uint64_t(start->integers[0]) + uint64_t(i) * delta->integers[0]);
  }
  roundToOwnType(values);
  return {n.b.constant(values)};
}

static Results eyeLike(NodeContext &n) {
  Value x = n.in(0);
  if (!x || n.b.rankOf(x) != 2)
    return {n.fail("a matrix is needed")};
  Type type = n.b.elementOf(x);
  if (int64_t dataType = n.integer("dtype", 0)) {
    type = elementTypeOf(n.node.getContext(), dataType);
    if (!type)
      return {n.fail("'dtype' " + llvm::Twine(dataType) + " is not supported")};
  }
  NnBuilder::Shape shape = n.b.shapeOf(x);
  Value row = n.b.add(n.b.iotaAlong(shape, 0), double(n.integer("k", 0)));
  return {n.b.cast(n.b.compare(nn::CompareKind::Eq, row, n.b.iotaAlong(shape, 1)), type)};
}

static Results identity(NodeContext &n) { return {n.in(0)}; }

/// Functions of a window's length, known at compile time.
template <int kind> static Results window(NodeContext &n) {
  auto length = n.knownInteger(0, 0);
  if (!length)
    return {};
  int64_t dataType = n.integer("output_datatype", 1), count = *length;
  Type type = elementTypeOf(n.node.getContext(), dataType);
  if (!type || !isa<FloatType>(type) || count < 0)
    return {n.fail("'output_datatype' " + llvm::Twine(dataType) + " is not supported")};
  if (!n.b.isFoldable(count))
    return {};
  HostTensor values = oneDim(n, type, count);
  double period = n.integer("periodic", 1) ? count : count - 1;
  for (int64_t i = 0; i < count; ++i) {
    double angle = 2 * M_PI * i / period;
    if (kind == 0)
      values.reals[i] = 0.5 - 0.5 * std::cos(angle);
    else if (kind == 1)
      values.reals[i] = 25.0 / 46 - 21.0 / 46 * std::cos(angle);
    else
      values.reals[i] = 0.42 - 0.5 * std::cos(angle) + 0.08 * std::cos(2 * angle);
  }
  roundToOwnType(values);
  return {n.b.constant(values)};
}

void weft::onnx::registerShapes(Registry &r) {
  r.add("Shape", shape);
  r.add("Size", size);
  r.add("Constant", constant);
  r.add("ConstantOfShape", constantOfShape);
  r.add("Range", range);
  r.add("EyeLike", eyeLike);
  r.add("Identity", identity);
  r.add("HannWindow", window<0>);
  r.add("HammingWindow", window<1>);
  r.add("BlackmanWindow", window<2>);
}
