// Elementwise ops, reductions, products and indexing of the builder.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/NnBuilder.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

Value NnBuilder::compare(nn::CompareKind kind, Value x, Value y) {
  std::tie(x, y) = broadcastPair(x, y);
  return make<nn::CompareOp>(kind, x, y);
}

Value NnBuilder::select(Value condition, Value onTrue, Value onFalse) {
  std::tie(onTrue, onFalse) = broadcastPair(onTrue, onFalse);
  if (!condition || !onTrue)
    return Value();
  auto shape = broadcastShape(shapeOf(condition), shapeOf(onTrue));
  if (!shape)
    return Value();
  return make<nn::SelectOp>(broadcastTo(condition, *shape), broadcastTo(onTrue, *shape),
                            broadcastTo(onFalse, *shape));
}

Value NnBuilder::inFloat(Value x, llvm::function_ref<Value(Value)> compute) {
  if (!x)
    return x;
  Type element = elementOf(x);
  bool isSmall = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  return isSmall ? cast(compute(cast(x, f32())), element) : compute(x);
}

/// Whether a number is one of that type; a float is rounded to its own.
static bool isOneOf(Type element, double number) {
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return true;
  int bits = integer.getWidth() - !integer.isUnsigned();
  double end = std::ldexp(1.0, bits);
  return number == std::trunc(number) && number < end &&
         number >= (integer.isUnsigned() ? 0 : -end);
}

Value NnBuilder::withNumbers(Value x, ArrayRef<double> numbers,
                             llvm::function_ref<Value(Value)> compute) {
  if (!x)
    return x;
  Type element = elementOf(x);
  if (llvm::all_of(numbers, [&](double number) { return isOneOf(element, number); }))
    return compute(x);
  Value result = compute(cast(x, builder.getF64Type()));
  // What is below zero wraps; cut to an unsigned integer at once it would be no number at all.
  return cast(element.getIntOrFloatBitWidth() < 64 ? cast(result, i64()) : result, element);
}

Value NnBuilder::rootOfSquares(Value sum) {
  if (!sum)
    return sum;
  Value isZero = compare(nn::CompareKind::Eq, sum, 0.0);
  // The root, which has no slope there, sees no zero.
  Value root = unary<nn::SqrtOp>(select(isZero, fullLike(sum, 1), sum));
  return root ? select(isZero, fullLike(root, 0), root) : root;
}

Value NnBuilder::cast(Value x, Type element) {
  if (!x || elementOf(x) == element)
    return x;
  return make<nn::CastOp>(x, element);
}

Value NnBuilder::reduce(ReduceKind kind, Value x, Shape dims, bool keep) {
  if (!x || dims.empty())
    return x;
  SmallVector<int64_t> sorted(dims), kept(shapeOf(x));
  llvm::sort(sorted);
  for (int64_t dim : sorted)
    kept[dim] = 1;
  Value reduced = make<nn::ReduceOp>(kind, x, Shape(sorted));
  return keep ? reshape(reduced, kept) : reduced;
}

Value NnBuilder::mean(Value x, Shape dims, bool keep) {
  if (!x)
    return x;
  double count = 1;
  for (int64_t dim : dims)
    count *= shapeOf(x)[dim];
  return inFloat(x, [&](Value x) {
    Value sum = reduce(ReduceKind::Sum, x, dims, keep);
    return sum ? div(sum, fullLike(sum, count)) : sum;
  });
}

Value NnBuilder::contract(Value x, Value y, Shape xLabels, Shape yLabels, Shape resultLabels) {
  return make<nn::ContractOp>(x, y, xLabels, yLabels, resultLabels);
}

Value NnBuilder::matmul(Value x, Value y) {
  if (!x || !y)
    return Value();
  bool xVector = rankOf(x) == 1, yVector = rankOf(y) == 1;
  if (xVector)
    x = unsqueeze(x, {0});
  if (yVector)
    y = unsqueeze(y, {1});
  if (!x || !y || rankOf(x) < 2 || rankOf(y) < 2)
    return fail("a matrix product of a scalar");
  if (shapeOf(x).back() != shapeOf(y)[rankOf(y) - 2])
    return fail("inner dims differ: " + llvm::Twine(shapeOf(x).back()) + " and " +
                llvm::Twine(shapeOf(y)[rankOf(y) - 2]));
  auto batch = broadcastShape(shapeOf(x).drop_back(2), shapeOf(y).drop_back(2));
  if (!batch)
    return Value();
  // A batch dim that one side lacks, or has with size 1, is a free dim of the
  // other side; so nothing is repeated.
  int64_t batchRank = batch->size(), m = batchRank, n = batchRank + 1, k = batchRank + 2;
  auto labelled = [&](Value &value, SmallVector<int64_t> &labels) {
    SmallVector<int64_t> unit;
    int64_t own = rankOf(value) - 2;
    for (int64_t dim = 0; dim < own; ++dim) {
      int64_t label = dim + batchRank - own;
      if (shapeOf(value)[dim] != (*batch)[label])
        unit.push_back(dim);
      else
        labels.push_back(label);
    }
    value = squeeze(value, unit);
  };
  SmallVector<int64_t> xLabels, yLabels, labels = range(0, batchRank), shape = *batch;
  int64_t rows = shapeOf(x)[rankOf(x) - 2], columns = shapeOf(y).back();
  labelled(x, xLabels);
  labelled(y, yLabels);
  xLabels.append({m, k});
  yLabels.append({k, n});
  labels.append({m, n});
  // Size-1 dims of both sides are batch labels of both; fine as they are.
  Value product = contract(x, y, xLabels, yLabels, labels);
  if (!xVector)
    shape.push_back(rows);
  if (!yVector)
    shape.push_back(columns);
  return reshape(product, shape);
}

Value NnBuilder::take(Value x, Value indices, int64_t dim) {
  if (!x || !indices)
    return Value();
  int64_t indexRank = rankOf(indices);
  Value gathered =
      make<nn::GatherOp>(x, unsqueeze(indices, {indexRank}), Shape({dim}), Shape(), Shape());
  if (!gathered)
    return gathered;
  // The result has the index dims first; they belong where `dim` was.
  SmallVector<int64_t> permutation = range(indexRank, indexRank + dim);
  llvm::append_range(permutation, range(0, indexRank));
  llvm::append_range(permutation, range(indexRank + dim, rankOf(gathered)));
  return transpose(gathered, permutation);
}

Value NnBuilder::softmax(Value x, int64_t dim, bool log) {
  return make<nn::SoftmaxOp>(x, dim, log);
}

Value NnBuilder::layerNorm(Value x, Value scale, Value bias, int64_t dim, double epsilon) {
  if (!x || !scale)
    return Value();
  auto made = settle(nn::LayerNormOp::create(builder, loc, x.getType(), x, scale, bias, dim,
                                             llvm::APFloat(epsilon)));
  return made.empty() ? Value() : made.front();
}

Value NnBuilder::rmsNorm(Value x, Value scale, int64_t dim, double epsilon) {
  if (!x || !scale)
    return Value();
  // Of two types the result has the scale's, which is the wider one.
  if (Type element = elementOf(scale); element != elementOf(x))
    return cast(rmsNorm(cast(x, f32()), cast(scale, f32()), dim, epsilon), element);
  return make<nn::RmsNormOp>(x.getType(), x, scale, dim, llvm::APFloat(epsilon));
}

std::optional<HostTensor> NnBuilder::constantIndices(Value indices) {
  return indices && isConstant(indices) ? known(indices) : std::nullopt;
}

void NnBuilder::failOutside(Value indices, int64_t index, int64_t size) {
  fail("index " + llvm::Twine(index) + " is out of range for extent " + llvm::Twine(size) +
       explainExcess(shapeOf(indices), size));
}

bool NnBuilder::checkPlaces(Value indices, int64_t size) {
  std::optional<HostTensor> values = constantIndices(indices);
  if (!values)
    return true;
  for (int64_t index : values->integers)
    if (index < 0 || index >= size) {
      failOutside(indices, index, size);
      return false;
    }
  return true;
}

NnBuilder::Indices NnBuilder::checkIndices(Value indices, Shape sizes) {
  std::optional<HostTensor> values = constantIndices(indices);
  if (!values || sizes.empty())
    return Indices::Unknown;
  bool positive = true;
  for (auto [i, index] : llvm::enumerate(values->integers)) {
    int64_t size = sizes[i % sizes.size()];
    if (index < -size || index >= size) {
      failOutside(indices, index, size);
      return Indices::Outside;
    }
    positive &= index >= 0;
  }
  return positive ? Indices::Positive : Indices::Unknown;
}

Value NnBuilder::wrapIndices(Value indices, int64_t size) {
  Value wrapped = countFromEnd(indices, size);
  if (wrapped)
    lookups.push_back({indices, wrapped, size});
  return wrapped;
}

Value NnBuilder::countFromEnd(Value indices, int64_t size) {
  if (!indices || isUnsigned(indices))
    return indices;
  switch (checkIndices(indices, {size})) {
  case Indices::Positive:
    return indices;
  case Indices::Outside:
    return Value();
  case Indices::Unknown:
    break;
  }
  return select(compare(nn::CompareKind::Lt, indices, 0.0), add(indices, double(size)), indices);
}
