// Constants, folding and the plain layout ops of the builder.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/NnBuilder.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

/// Constants of the file are known up to more elements than those folded.
static constexpr int64_t kKnownLimit = int64_t(1) << 24;

Value NnBuilder::fail(const llvm::Twine &text) {
  if (message.empty())
    message = text.str();
  return Value();
}

int64_t NnBuilder::sizeOf(Shape shape) { return countElements(shape).value_or(kMaxElements + 1); }

RankedTensorType NnBuilder::typeFor(Shape shape, Type element) {
  if (countElements(shape))
    return RankedTensorType::get(shape, element);
  fail("a value " + describeExcess(shape));
  return RankedTensorType();
}

SmallVector<int64_t> NnBuilder::range(int64_t begin, int64_t end) {
  return llvm::to_vector(llvm::seq<int64_t>(begin, std::max(begin, end)));
}

static std::string textOf(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [i, extent] : llvm::enumerate(shape))
    text += (i ? "x" : "") + std::to_string(extent);
  return text + "]";
}

//===----------------------------------------------------------------------===//
// Making and folding
//===----------------------------------------------------------------------===//

LogicalResult NnBuilder::verifyNew(Operation *op) {
  std::string text;
  ScopedDiagnosticHandler handler(op->getContext(), [&](Diagnostic &diagnostic) {
    if (text.empty())
      text = diagnostic.str();
    return success();
  });
  if (succeeded(verify(op, /*verifyRecursively=*/false)))
    return success();
  fail(text);
  return failure();
}

static bool isSplatConstant(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  return constant && constant.getValue().isSplat();
}

/// The one value of a splat.
static Scalar splatScalar(Value value) {
  auto splat = value.getDefiningOp<nn::ConstantOp>().getValue();
  auto type = RankedTensorType::get({}, NnBuilder::elementOf(value));
  return toHostTensor(DenseElementsAttr::get(type, splat.getSplatValue<Attribute>())).at(0);
}

/// Elementwise ops on splats need one evaluation, whatever the size.
bool NnBuilder::foldSplat(Operation *op, SmallVectorImpl<Value> &results) {
  auto elementwise = dyn_cast<ElementwiseOpInterface>(op);
  if (!elementwise || op->getNumOperands() == 0 ||
      !llvm::all_of(op->getOperands(), isSplatConstant))
    return false;
  SmallVector<Scalar> scalars;
  for (Value operand : op->getOperands())
    scalars.push_back(splatScalar(operand));
  auto type = llvm::cast<RankedTensorType>(op->getResult(0).getType());
  HostTensor one(RankedTensorType::get({}, type.getElementType()));
  one.set(0, roundToType(elementwise.evaluateScalar(scalars), type.getElementType()));
  results.push_back(
      constant(DenseElementsAttr::get(type, toElementsAttr(one).getSplatValue<Attribute>())));
  return true;
}

/// A constant in another shape has the same elements in the same order.
static DenseElementsAttr reshapedConstant(Operation *op) {
  auto reshape = dyn_cast<nn::ReshapeOp>(op);
  auto constant = reshape ? reshape.getOperand().getDefiningOp<nn::ConstantOp>() : nn::ConstantOp();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return dense ? dense.reshape(reshape.getType()) : dense;
}

/// A constant, or one repeated; the dims of `value` that the constant has.
static std::optional<SmallVector<int64_t>> constantDims(Value value) {
  if (auto broadcast = value.getDefiningOp<nn::BroadcastOp>())
    return NnBuilder::isConstant(broadcast.getOperand())
               ? std::optional(SmallVector<int64_t>(broadcast.getDims()))
               : std::nullopt;
  if (!NnBuilder::isConstant(value))
    return std::nullopt;
  return isSplatConstant(value) ? SmallVector<int64_t>()
                                : NnBuilder::range(0, NnBuilder::rankOf(value));
}

/// Repeats `source`, whose dims are the dims `within` of the result.
static HostTensor repeat(const HostTensor &source, RankedTensorType type,
                         ArrayRef<int64_t> within) {
  HostTensor wide(type);
  auto sourceStrides = rowMajorStrides(source.shape);
  auto strides = rowMajorStrides(type.getShape());
  for (int64_t i = 0, e = wide.size(); i < e; ++i) {
    int64_t at = 0;
    for (auto [own, dim] : llvm::enumerate(within))
      at += i / strides[dim] % type.getDimSize(dim) * sourceStrides[own];
    wide.set(i, source.at(at));
  }
  return wide;
}

/// Elementwise ops on constants, some repeated: the dims along which all repeat
/// stay repeated, so that a constant grows only to what it varies in.
bool NnBuilder::foldRepeated(Operation *op, SmallVectorImpl<Value> &results) {
  auto elementwise = dyn_cast<ElementwiseOpInterface>(op);
  auto isRepeated = [](Value value) {
    return isa_and_nonnull<nn::BroadcastOp>(value.getDefiningOp());
  };
  if (!elementwise || !llvm::any_of(op->getOperands(), isRepeated))
    return false;
  Shape shape = shapeOf(op->getResult(0));
  llvm::SmallBitVector varies(shape.size());
  for (Value operand : op->getOperands()) {
    auto own = constantDims(operand);
    if (!own)
      return false;
    for (int64_t dim : *own)
      varies.set(dim);
  }
  SmallVector<int64_t> dims, small, place(shape.size(), -1);
  for (unsigned dim : varies.set_bits()) {
    place[dim] = small.size();
    dims.push_back(dim);
    small.push_back(shape[dim]);
  }
  if (sizeOf(small) > kFoldLimit || !hasRoom(sizeOf(small)) ||
      !spend(double(sizeOf(small)) * (op->getNumOperands() + 1)))
    return false;
  SmallVector<HostTensor> operands;
  for (Value operand : op->getOperands()) {
    auto broadcast = operand.getDefiningOp<nn::BroadcastOp>();
    SmallVector<int64_t> within;
    auto operandDims = *constantDims(operand);
    for (int64_t dim : operandDims)
      within.push_back(place[dim]);
    auto type = RankedTensorType::get(small, elementOf(operand));
    if (isSplatConstant(operand)) {
      HostTensor one(RankedTensorType::get({}, elementOf(operand)));
      one.set(0, splatScalar(operand));
      operands.push_back(repeat(one, type, {}));
    } else {
      operands.push_back(
          repeat(*known(broadcast ? broadcast.getOperand() : operand), type, within));
    }
  }
  HostTensor result(RankedTensorType::get(small, elementOf(op->getResult(0))));
  SmallVector<Scalar> scalars(operands.size());
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    for (auto [scalar, operand] : llvm::zip_equal(scalars, operands))
      scalar = operand.at(i);
    result.set(i, elementwise.evaluateScalar(scalars));
  }
  roundToOwnType(result);
  results.push_back(broadcastDims(constant(result), shape, dims));
  return true;
}

/// Repeating a constant is not worth more bytes than shapes and axes have.
static bool growsConstant(Operation *op) {
  static constexpr int64_t kSmall = 64;
  if (!isa<nn::BroadcastOp>(op))
    return false;
  int64_t before = NnBuilder::sizeOf(NnBuilder::shapeOf(op->getOperand(0)));
  int64_t after = NnBuilder::sizeOf(NnBuilder::shapeOf(op->getResult(0)));
  return after > kSmall && after > before;
}

/// Operations; an element that is moved takes memory, which counts as many.
static double workOf(Operation *op) {
  constexpr double kOfElement = 16;
  double work = 0;
  for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    work += kOfElement * llvm::cast<RankedTensorType>(type).getNumElements();
  if (auto shardable = dyn_cast<ShardableOpInterface>(op))
    work += shardable.getOwnFactorRule().points() * shardable.getFlopsPerPoint();
  return work;
}

bool NnBuilder::spend(double work) {
  // Shapes are computed to the end.
  constexpr double kSmall = 1 << 14;
  if (work <= kSmall)
    return true;
  if (work > kFoldWorkOfOne || work > workLeft)
    return false;
  workLeft -= work;
  return true;
}

bool NnBuilder::isEvaluable(Operation *op) {
  return isa<ReferenceOpInterface>(op) &&
         llvm::all_of(llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()),
                      [](Type type) {
                        return llvm::cast<RankedTensorType>(type).getNumElements() <= kFoldLimit;
                      });
}

bool NnBuilder::hasRoomFor(Operation *op) const {
  int64_t elements = 0;
  for (Value result : op->getResults())
    elements += sizeOf(shapeOf(result));
  return hasRoom(elements);
}

std::optional<SmallVector<HostTensor>> NnBuilder::evaluate(Operation *op) {
  if (!isEvaluable(op) || !hasRoomFor(op) || !spend(workOf(op)))
    return std::nullopt;
  SmallVector<HostTensor> operands;
  for (Value operand : op->getOperands()) {
    std::optional<HostTensor> value = known(operand);
    if (!value)
      return std::nullopt;
    operands.push_back(std::move(*value));
  }
  SmallVector<HostTensor> values = llvm::cast<ReferenceOpInterface>(op).evaluate(operands);
  for (HostTensor &value : values)
    roundToOwnType(value);
  return values;
}

bool NnBuilder::countOp() {
  if (++made <= kMostOps)
    return true;
  fail("the model makes more than " + Twine(kMostOps) + " ops once it is written out");
  return false;
}

static bool isEmpty(Value value) { return NnBuilder::sizeOf(NnBuilder::shapeOf(value)) == 0; }

SmallVector<Value> NnBuilder::settle(Operation *op) {
  SmallVector<Value> results;
  if (!op)
    return results;
  if (!countOp()) {
    op->erase();
    return results;
  }
  if (failed(verifyNew(op))) {
    op->erase();
    return results;
  }
  // What has no elements is not computed.
  if (!op->hasTrait<OpTrait::ConstantLike>() && op->getNumResults() > 0 &&
      llvm::all_of(op->getResults(), isEmpty)) {
    for (Value result : op->getResults())
      results.push_back(full(shapeOf(result), elementOf(result), 0));
    op->erase();
    return results;
  }
  if (hasRoomFor(op))
    if (DenseElementsAttr reshaped = reshapedConstant(op))
      results.push_back(foldedConstant(reshaped));
  if (!results.empty() || foldSplat(op, results) || foldRepeated(op, results)) {
    op->erase();
    return results;
  }
  if (!op->hasTrait<OpTrait::ConstantLike>() && !growsConstant(op) &&
      llvm::all_of(op->getOperands(), isConstant)) {
    if (auto values = evaluate(op)) {
      for (const HostTensor &value : *values)
        results.push_back(constant(value));
      op->erase();
      return results;
    }
  }
  llvm::append_range(results, op->getResults());
  return results;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value NnBuilder::constant(ElementsAttr elements) {
  return countOp() ? nn::ConstantOp::create(builder, loc, elements).getResult() : Value();
}

bool NnBuilder::hasRoom(int64_t elements) const {
  // Shapes are computed to the end.
  constexpr int64_t kSmall = 64;
  return elements <= kSmall || elements <= kMostFolded - folded;
}

Value NnBuilder::foldedConstant(ElementsAttr elements) {
  if (!elements.isSplat() && foldedConstants.insert(elements).second)
    folded += elements.getNumElements();
  return constant(elements);
}

Value NnBuilder::constant(const HostTensor &tensor) {
  if (!hasRoom(tensor.size()))
    return fail("it needs a constant of " + Twine(tensor.size()) + " elements where " +
                Twine(folded) + " of the " + Twine(kMostFolded) +
                " that are computed when compiling are there already; give it as an initializer");
  return foldedConstant(toElementsAttr(tensor));
}

bool NnBuilder::isFoldable(int64_t elements) {
  if (elements <= kFoldLimit)
    return true;
  fail("it needs a constant of " + Twine(elements) + " elements, more than the " +
       Twine(kFoldLimit) + " that are computed when compiling; give it as an initializer");
  return false;
}

Value NnBuilder::integers(Shape values, Type element) {
  HostTensor tensor(
      RankedTensorType::get(static_cast<int64_t>(values.size()), element ? element : i64()));
  tensor.integers.assign(values.begin(), values.end());
  return constant(tensor);
}

Scalar NnBuilder::scalarOf(double value) {
  constexpr double kBeyond = 0x1p63;
  if (value >= kBeyond)
    return {value, INT64_MAX};
  return {value, value >= -kBeyond ? static_cast<int64_t>(value) : INT64_MIN};
}

Value NnBuilder::full(Shape shape, Type element, double value) {
  return full(shape, element, scalarOf(value));
}

Value NnBuilder::fullInteger(Shape shape, Type element, int64_t value) {
  return full(shape, element, Scalar{double(value), value});
}

Value NnBuilder::full(Shape shape, Type element, Scalar value) {
  RankedTensorType type = typeFor(shape, element);
  if (!type)
    return Value();
  HostTensor one(RankedTensorType::get({}, element));
  one.set(0, roundToType(value, element));
  return constant(DenseElementsAttr::get(type, toElementsAttr(one).getSplatValue<Attribute>()));
}

Value NnBuilder::resizeSplat(Value value, Shape shape) {
  RankedTensorType type = typeFor(shape, value);
  if (!type)
    return Value();
  auto splat = value.getDefiningOp<nn::ConstantOp>().getValue();
  return constant(llvm::cast<DenseElementsAttr>(splat).resizeSplat(type));
}

Value NnBuilder::fullLike(Value like, double value) {
  return like ? full(shapeOf(like), elementOf(like), value) : like;
}

bool NnBuilder::isConstant(Value value) {
  return value.getDefiningOp() && value.getDefiningOp()->hasTrait<OpTrait::ConstantLike>();
}

/// What `known` has of a value without evaluating an op.
static bool needsEvaluation(Value value) {
  return value.getDefiningOp() && !value.getDefiningOp<nn::ConstantOp>();
}

/// What a value is computed from comes first; with a list of what to do, for
/// programs may be chains of any length.
void NnBuilder::evaluateBelow(Operation *last) {
  SmallVector<Operation *> work{last};
  while (!work.empty()) {
    Operation *op = work.back();
    size_t before = work.size();
    bool hopeless = !isEvaluable(op);
    for (Value operand : op->getOperands())
      hopeless |= unknown.contains(operand.getDefiningOp());
    bool isDone = unknown.contains(op) || knownValues.contains(op->getResult(0));
    if (!isDone && !hopeless)
      for (Value operand : op->getOperands())
        if (needsEvaluation(operand) && !knownValues.contains(operand))
          work.push_back(operand.getDefiningOp());
    if (work.size() != before)
      continue;
    work.pop_back();
    if (isDone)
      continue;
    auto values = hopeless ? std::nullopt : evaluate(op);
    if (!values) {
      unknown.insert(op);
      continue;
    }
    for (auto [result, tensor] : llvm::zip_equal(op->getResults(), *values)) {
      folded += tensor.size();
      knownValues.try_emplace(result, std::move(tensor));
    }
  }
}

std::optional<int64_t> NnBuilder::exceededLimit(Value value) const {
  int64_t limit = 0;
  if (value.getDefiningOp<nn::ConstantOp>())
    limit = kKnownLimit;
  else if (auto argument = dyn_cast<BlockArgument>(value); argument && isState && isState(argument))
    limit = kFoldLimit;
  return limit != 0 && typeOf(value).getNumElements() > limit ? std::optional(limit) : std::nullopt;
}

std::optional<HostTensor> NnBuilder::known(Value value) {
  if (!value)
    return std::nullopt;
  if (auto constant = value.getDefiningOp<nn::ConstantOp>())
    return typeOf(value).getNumElements() <= kKnownLimit
               ? std::optional(toHostTensor(constant.getValue()))
               : std::nullopt;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return readArgument ? readArgument(argument) : std::nullopt;
  if (!knownValues.contains(value))
    evaluateBelow(value.getDefiningOp());
  auto found = knownValues.find(value);
  return found == knownValues.end() ? std::nullopt : std::optional(found->second);
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

Value NnBuilder::reshape(Value x, Shape shape) {
  if (!x || shapeOf(x) == shape)
    return x;
  if (!typeFor(shape, x))
    return Value();
  if (sizeOf(shape) != sizeOf(shapeOf(x)))
    return fail("cannot reshape " + textOf(shapeOf(x)) + " to " + textOf(shape));
  if (isSplatConstant(x))
    return resizeSplat(x, shape);
  return make<nn::ReshapeOp>(typeFor(shape, x), x);
}

Value NnBuilder::broadcastDims(Value x, Shape shape, Shape dims) {
  if (!x || shapeOf(x) == shape)
    return x;
  if (isSplatConstant(x))
    return resizeSplat(x, shape);
  return make<nn::BroadcastOp>(typeFor(shape, x), x, dims);
}

Value NnBuilder::broadcastTo(Value x, Shape shape) {
  if (!x || shapeOf(x) == shape)
    return x;
  int64_t rank = rankOf(x), resultRank = shape.size();
  SmallVector<int64_t> kept, dims;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t extent = shapeOf(x)[dim], resultDim = dim + resultRank - rank;
    bool repeats = extent == 1 && (resultDim < 0 || shape[resultDim] != 1);
    if (resultDim < 0 ? extent != 1 : extent != shape[resultDim] && !repeats)
      return fail("cannot broadcast " + textOf(shapeOf(x)) + " to " + textOf(shape));
    if (repeats)
      continue;
    kept.push_back(extent);
    dims.push_back(resultDim);
  }
  return broadcastDims(reshape(x, kept), shape, dims);
}

/// What to say where an extent is too large: a model has a longest sequence, and a dim of --bind is
/// beyond it.
std::string NnBuilder::explainExcess(Shape extents, int64_t fitting) const {
  for (int64_t extent : extents)
    if (std::string source = sourceOfExtent && extent > fitting ? sourceOfExtent(extent) : "";
        !source.empty())
      return "; " + source + ", the model may be made for " + std::to_string(fitting) + " at most";
  return "";
}

std::optional<SmallVector<int64_t>> NnBuilder::broadcastShape(Shape x, Shape y) {
  SmallVector<int64_t> shape(std::max(x.size(), y.size()));
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t a = i < x.size() ? x[x.size() - 1 - i] : 1;
    int64_t b = i < y.size() ? y[y.size() - 1 - i] : 1;
    if (a != b && a != 1 && b != 1) {
      fail("shapes " + textOf(x) + " and " + textOf(y) + " do not broadcast" +
           explainExcess({std::max(a, b)}, std::min(a, b)));
      return std::nullopt;
    }
    shape[shape.size() - 1 - i] = a == 1 ? b : a;
  }
  return shape;
}

std::pair<Value, Value> NnBuilder::broadcastPair(Value x, Value y) {
  if (!x || !y)
    return {Value(), Value()};
  auto shape = broadcastShape(shapeOf(x), shapeOf(y));
  if (!shape)
    return {Value(), Value()};
  return {broadcastTo(x, *shape), broadcastTo(y, *shape)};
}

Value NnBuilder::transpose(Value x, Shape permutation) {
  if (!x || llvm::equal(permutation, range(0, permutation.size())))
    return x;
  return make<nn::TransposeOp>(x, permutation);
}

Value NnBuilder::reverse(Value x, Shape dims) {
  if (!x || dims.empty())
    return x;
  return make<nn::ReverseOp>(x.getType(), x, dims);
}

Value NnBuilder::slice(Value x, Shape starts, Shape sizes, Shape strides) {
  if (!x || shapeOf(x) == sizes)
    return x;
  return make<nn::SliceOp>(typeFor(sizes, x), x, starts, strides);
}

Value NnBuilder::sliceDim(Value x, int64_t dim, int64_t start, int64_t size, int64_t stride) {
  if (!x)
    return x;
  SmallVector<int64_t> starts(rankOf(x), 0), strides(rankOf(x), 1), sizes(shapeOf(x));
  starts[dim] = start;
  sizes[dim] = size;
  strides[dim] = stride;
  return slice(x, starts, sizes, strides);
}

Value NnBuilder::concat(llvm::ArrayRef<Value> inputs, int64_t dim) {
  if (inputs.size() == 1)
    return inputs.front();
  for (Value input : inputs)
    if (input && rankOf(input) <= dim)
      return fail("a value of tensor rank " + Twine(rankOf(input)) +
                  " cannot be joined along dim " + Twine(dim));
  // Verified with all of them, made without those that add nothing.
  Value joined = make<nn::ConcatOp>(inputs, dim);
  if (!joined || isEmpty(joined) || !llvm::any_of(inputs, isEmpty))
    return joined;
  return concat(
      llvm::to_vector(llvm::make_filter_range(inputs, [](Value input) { return !isEmpty(input); })),
      dim);
}

Value NnBuilder::pad(Value x, Shape low, Shape high, Scalar value) {
  if (!x || (llvm::all_of(low, [](int64_t n) { return n == 0; }) &&
             llvm::all_of(high, [](int64_t n) { return n == 0; })))
    return x;
  SmallVector<int64_t> shape(shapeOf(x));
  for (auto [extent, before, after] : llvm::zip_equal(shape, low, high))
    extent += before + after;
  Attribute padding;
  if (isFloat(x))
    padding = builder.getFloatAttr(elementOf(x), value.real);
  else
    padding = builder.getIntegerAttr(elementOf(x), value.integer);
  return make<nn::PadOp>(typeFor(shape, x), x, low, high, llvm::cast<TypedAttr>(padding));
}

Value NnBuilder::unsqueeze(Value x, Shape dims) {
  if (!x)
    return x;
  SmallVector<int64_t> sorted(dims), shape(shapeOf(x));
  llvm::sort(sorted);
  for (int64_t dim : sorted) {
    if (dim > static_cast<int64_t>(shape.size()))
      return fail("a value of tensor rank " + Twine(rankOf(x)) + " has no place for a dim " +
                  Twine(dim));
    shape.insert(shape.begin() + dim, 1);
  }
  return reshape(x, shape);
}

Value NnBuilder::squeeze(Value x, Shape dims) {
  if (!x)
    return x;
  SmallVector<int64_t> shape;
  for (auto [dim, extent] : llvm::enumerate(shapeOf(x)))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      shape.push_back(extent);
  return reshape(x, shape);
}

Value NnBuilder::iota(int64_t size, Type element) {
  return make<nn::IotaOp>(typeFor({size}, element ? element : i64()));
}

Value NnBuilder::iotaAlong(Shape shape, int64_t dim, Type element) {
  return broadcastDims(iota(shape[dim], element), shape, {dim});
}
