// Constants, folding and the plain layout ops of the builder.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/NnBuilder.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

/// Constants of more elements than this are not made by folding, and values
/// whose computation passes through larger ones are not known.
static constexpr int64_t kFoldLimit = int64_t(1) << 22;

Value NnBuilder::fail(const llvm::Twine &text) {
  if (message.empty())
    message = text.str();
  return Value();
}

int64_t NnBuilder::sizeOf(Shape shape) {
  int64_t size = 1;
  for (int64_t extent : shape)
    size *= extent;
  return size;
}

SmallVector<int64_t> NnBuilder::range(int64_t begin, int64_t end) {
  return llvm::to_vector(llvm::seq<int64_t>(begin, std::max(begin, end)));
}

static std::string print(llvm::ArrayRef<int64_t> shape) {
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
  ScopedDiagnosticHandler handler(op->getContext(),
                                  [&](Diagnostic &diagnostic) {
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

/// Elementwise ops on splats need one evaluation, whatever the size.
bool NnBuilder::foldSplat(Operation *op, SmallVectorImpl<Value> &results) {
  auto elementwise = dyn_cast<ElementwiseOpInterface>(op);
  if (!elementwise || op->getNumOperands() == 0 ||
      !llvm::all_of(op->getOperands(), isSplatConstant))
    return false;
  SmallVector<Scalar> scalars;
  for (Value operand : op->getOperands()) {
    auto value = operand.getDefiningOp<nn::ConstantOp>().getValue();
    Attribute splat = value.getSplatValue<Attribute>();
    auto one = DenseElementsAttr::get(
        RankedTensorType::get({}, elementOf(operand)), splat);
    scalars.push_back(toHostTensor(one).at(0));
  }
  auto type = llvm::cast<RankedTensorType>(op->getResult(0).getType());
  HostTensor one(RankedTensorType::get({}, type.getElementType()));
  one.set(0, roundToType(elementwise.evaluateScalar(scalars),
                         type.getElementType()));
  results.push_back(constant(DenseElementsAttr::get(
      type, toElementsAttr(one).getSplatValue<Attribute>())));
  return true;
}

std::optional<SmallVector<HostTensor>> NnBuilder::evaluate(Operation *op) {
  auto reference = dyn_cast<ReferenceOpInterface>(op);
  if (!reference)
    return std::nullopt;
  for (Type type :
       llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    if (llvm::cast<RankedTensorType>(type).getNumElements() > kFoldLimit)
      return std::nullopt;
  SmallVector<HostTensor> operands;
  for (Value operand : op->getOperands()) {
    std::optional<HostTensor> value = known(operand);
    if (!value)
      return std::nullopt;
    operands.push_back(std::move(*value));
  }
  SmallVector<HostTensor> values = reference.evaluate(operands);
  for (HostTensor &value : values)
    roundToOwnType(value);
  return values;
}

/// True of an op (a broadcast, say) that would make a big constant of a smaller
/// one: a mask for each head is better computed where it is used, on the device
/// that needs it.
static bool grows(Operation *op) {
  constexpr int64_t small = 4096;
  auto elements = [](TypeRange types) {
    int64_t total = 0;
    for (Type type : types)
      total += llvm::cast<RankedTensorType>(type).getNumElements();
    return total;
  };
  int64_t made = elements(op->getResultTypes());
  return made > small && made > elements(op->getOperandTypes());
}

SmallVector<Value> NnBuilder::settle(Operation *op) {
  SmallVector<Value> results;
  if (!op)
    return results;
  if (failed(verifyNew(op))) {
    op->erase();
    return results;
  }
  if (foldSplat(op, results)) {
    op->erase();
    return results;
  }
  if (!op->hasTrait<OpTrait::ConstantLike>() && !grows(op) &&
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
  return nn::ConstantOp::create(builder, loc, elements).getResult();
}

Value NnBuilder::constant(const HostTensor &tensor) {
  return constant(toElementsAttr(tensor));
}

Value NnBuilder::integers(Shape values, Type element) {
  HostTensor tensor(RankedTensorType::get(static_cast<int64_t>(values.size()),
                                          element ? element : i64()));
  tensor.integers.assign(values.begin(), values.end());
  return constant(tensor);
}

Value NnBuilder::full(Shape shape, Type element, double value) {
  HostTensor one(RankedTensorType::get({}, element));
  Scalar scalar;
  scalar.real = value;
  if (!one.isFloat())
    scalar.integer = static_cast<int64_t>(value);
  one.set(0, roundToType(scalar, element));
  return constant(
      DenseElementsAttr::get(RankedTensorType::get(shape, element),
                             toElementsAttr(one).getSplatValue<Attribute>()));
}

Value NnBuilder::fullLike(Value like, double value) {
  return like ? full(shapeOf(like), elementOf(like), value) : like;
}

bool NnBuilder::isConstant(Value value) {
  return value.getDefiningOp() &&
         value.getDefiningOp()->hasTrait<OpTrait::ConstantLike>();
}

std::optional<HostTensor> NnBuilder::known(Value value) {
  if (!value)
    return std::nullopt;
  if (auto constant = value.getDefiningOp<nn::ConstantOp>())
    return toHostTensor(constant.getValue());
  if (auto found = knownValues.find(value); found != knownValues.end())
    return found->second;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return readArgument ? readArgument(argument) : std::nullopt;
  Operation *op = value.getDefiningOp();
  std::optional<SmallVector<HostTensor>> values = evaluate(op);
  if (!values)
    return std::nullopt;
  for (auto [result, tensor] : llvm::zip_equal(op->getResults(), *values))
    knownValues.try_emplace(result, tensor);
  return knownValues.at(value);
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

Value NnBuilder::reshape(Value x, Shape shape) {
  if (!x || shapeOf(x) == shape)
    return x;
  if (sizeOf(shape) != sizeOf(shapeOf(x)))
    return fail("cannot reshape " + print(shapeOf(x)) + " to " + print(shape));
  if (isSplatConstant(x)) {
    auto value = x.getDefiningOp<nn::ConstantOp>().getValue();
    return constant(llvm::cast<DenseElementsAttr>(value).resizeSplat(
        typeOf(x).clone(shape)));
  }
  return make<nn::ReshapeOp>(typeOf(x).clone(shape), x);
}

Value NnBuilder::broadcastDims(Value x, Shape shape, Shape dims) {
  if (!x || shapeOf(x) == shape)
    return x;
  if (isSplatConstant(x)) {
    auto value = x.getDefiningOp<nn::ConstantOp>().getValue();
    return constant(llvm::cast<DenseElementsAttr>(value).resizeSplat(
        typeOf(x).clone(shape)));
  }
  return make<nn::BroadcastOp>(typeOf(x).clone(shape), x, dims);
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
      return fail("cannot broadcast " + print(shapeOf(x)) + " to " +
                  print(shape));
    if (repeats)
      continue;
    kept.push_back(extent);
    dims.push_back(resultDim);
  }
  return broadcastDims(reshape(x, kept), shape, dims);
}

std::optional<SmallVector<int64_t>> NnBuilder::broadcastShape(Shape x,
                                                              Shape y) {
  SmallVector<int64_t> shape(std::max(x.size(), y.size()));
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t a = i < x.size() ? x[x.size() - 1 - i] : 1;
    int64_t b = i < y.size() ? y[y.size() - 1 - i] : 1;
    if (a != b && a != 1 && b != 1) {
      fail("shapes " + print(x) + " and " + print(y) + " do not broadcast");
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
  return make<nn::SliceOp>(typeOf(x).clone(sizes), x, starts, strides);
}

Value NnBuilder::sliceDim(Value x, int64_t dim, int64_t start, int64_t size,
                          int64_t stride) {
  if (!x)
    return x;
  SmallVector<int64_t> starts(rankOf(x), 0), strides(rankOf(x), 1),
      sizes(shapeOf(x));
  starts[dim] = start;
  sizes[dim] = size;
  strides[dim] = stride;
  return slice(x, starts, sizes, strides);
}

Value NnBuilder::concat(llvm::ArrayRef<Value> inputs, int64_t dim) {
  if (inputs.size() == 1)
    return inputs.front();
  return make<nn::ConcatOp>(inputs, dim);
}

Value NnBuilder::pad(Value x, Shape low, Shape high, double value) {
  if (!x || (llvm::all_of(low, [](int64_t n) { return n == 0; }) &&
             llvm::all_of(high, [](int64_t n) { return n == 0; })))
    return x;
  SmallVector<int64_t> shape(shapeOf(x));
  for (auto [extent, before, after] : llvm::zip_equal(shape, low, high))
    extent += before + after;
  Attribute padding;
  if (isFloat(x))
    padding = builder.getFloatAttr(elementOf(x), value);
  else
    padding = builder.getIntegerAttr(elementOf(x), static_cast<int64_t>(value));
  return make<nn::PadOp>(typeOf(x).clone(shape), x, low, high,
                         llvm::cast<TypedAttr>(padding));
}

Value NnBuilder::unsqueeze(Value x, Shape dims) {
  if (!x)
    return x;
  SmallVector<int64_t> sorted(dims), shape(shapeOf(x));
  llvm::sort(sorted);
  for (int64_t dim : sorted)
    shape.insert(shape.begin() + dim, 1);
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
  return make<nn::IotaOp>(
      RankedTensorType::get({size}, element ? element : i64()));
}

Value NnBuilder::iotaAlong(Shape shape, int64_t dim, Type element) {
  return broadcastDims(iota(shape[dim], element), shape, {dim});
}
