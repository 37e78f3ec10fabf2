// Matrix products and convolutions: checks, builders, factor and partial rules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "dialects/nn/IR/NnVerify.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace weft::nn {

using Kind = Factor::Kind;

//===----------------------------------------------------------------------===//
// contract
//===----------------------------------------------------------------------===//

/// Sums of floats of less than 32 bits run in f32.
static Type accumulatorOf(Type element) {
  bool small = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  return small ? Type(Float32Type::get(element.getContext())) : element;
}

void ContractOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs,
                       ArrayRef<int64_t> lhsLabels, ArrayRef<int64_t> rhsLabels,
                       ArrayRef<int64_t> resultLabels) {
  auto lhsType = cast<RankedTensorType>(lhs.getType());
  llvm::DenseMap<int64_t, int64_t> sizes;
  for (auto [label, size] : llvm::zip_equal(lhsLabels, lhsType.getShape()))
    sizes[label] = size;
  for (auto [label, size] : llvm::zip_equal(rhsLabels, shapeOf(rhs.getType())))
    sizes[label] = size;
  SmallVector<int64_t> shape;
  for (int64_t label : resultLabels)
    shape.push_back(sizes.lookup(label));
  Type element = lhsType.getElementType();
  build(builder, state, RankedTensorType::get(shape, element), lhs, rhs,
        builder.getDenseI64ArrayAttr(lhsLabels), builder.getDenseI64ArrayAttr(rhsLabels),
        builder.getDenseI64ArrayAttr(resultLabels), TypeAttr::get(accumulatorOf(element)));
}

LogicalResult ContractOp::verify() {
  struct Labelled {
    StringRef name;
    ArrayRef<int64_t> labels, shape;
  };
  Labelled tensors[] = {{"lhs", getLhsLabels(), getLhs().getType().getShape()},
                        {"rhs", getRhsLabels(), getRhs().getType().getShape()},
                        {"result", getResultLabels(), getType().getShape()}};
  llvm::DenseMap<int64_t, std::pair<int64_t, StringRef>> sizes;
  llvm::DenseMap<int64_t, int> uses;
  for (const Labelled &tensor : tensors) {
    if (failed(expectCount(*this, tensor.name + " labels", tensor.labels.size(),
                           tensor.shape.size(), "one for each dimension")))
      return failure();
    if (failed(expectAtLeast(*this, tensor.name.str() + " labels", tensor.labels, 0)))
      return failure();
    llvm::SmallDenseSet<int64_t> own;
    for (auto [label, size] : llvm::zip_equal(tensor.labels, tensor.shape)) {
      if (!own.insert(label).second)
        return emitOpError() << tensor.name << " labels name " << label << " twice";
      auto [known, isNew] = sizes.try_emplace(label, size, tensor.name);
      if (!isNew && known->second.first != size)
        return emitOpError() << "label " << label << " has size " << size << " in " << tensor.name
                             << ", expected " << known->second.first << " as in "
                             << known->second.second;
      ++uses[label];
    }
  }
  for (const Labelled &tensor : tensors)
    for (int64_t label : tensor.labels)
      if (uses[label] == 1)
        return emitOpError() << "label " << label << " is in " << tensor.name
                             << " only, expected in a second tensor";
  if (failed(expectElementType(*this, "rhs", getRhs().getType(), getLhs().getType(),
                               "the element type of lhs")))
    return failure();
  bool isReal = isa<FloatType>(getLhs().getType().getElementType());
  for (auto [what, type] : {std::pair<StringRef, Type>{"result", getType().getElementType()},
                            std::pair<StringRef, Type>{"accumulate", getAccumulate()}})
    if (isReal ? !isa<FloatType>(type) : !isa<IntegerType>(type))
      return emitOpError() << what << " has element type " << type << ", expected "
                           << (isReal ? "a float" : "an integer") << " as the operands";
  return success();
}

FactorRule ContractOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule;
  llvm::DenseMap<int64_t, int> factors;
  auto dimsOf = [&](ArrayRef<int64_t> labels, Type type) {
    TensorFactors dims;
    for (auto [label, size] : llvm::zip_equal(labels, shapeOf(type))) {
      auto [entry, isNew] = factors.try_emplace(label, -1);
      if (isNew)
        entry->second = rule.add(
            size, llvm::is_contained(getResultLabels(), label) ? Kind::Parallel : Kind::Reduction);
      dims.push_back({entry->second});
    }
    return dims;
  };
  rule.operands.push_back(dimsOf(getLhsLabels(), operandTypes[0]));
  rule.operands.push_back(dimsOf(getRhsLabels(), operandTypes[1]));
  rule.results.push_back(dimsOf(getResultLabels(), resultTypes[0]));
  return rule;
}

SmallVector<PartialRule> ContractOp::getPartialRules(ReduceKind kind) {
  if (kind != ReduceKind::Sum)
    return {};
  // Integers wrap, and a wider sum of narrow parts wraps elsewhere.
  Type element = getLhs().getType().getElementType();
  if (isa<IntegerType>(element) &&
      (getType().getElementType() != element || getAccumulate() != element))
    return {};
  return {{0}, {1}};
}

double ContractOp::getFlopsPerPoint() { return 2; }

ComputeClass ContractOp::getComputeClass() {
  // An outer product sums nothing: it is a product of repeated elements.
  bool sums = llvm::any_of(
      getLhsLabels(), [&](int64_t label) { return !llvm::is_contained(getResultLabels(), label); });
  return sums ? ComputeClass::Contraction : ComputeClass::Elementwise;
}

//===----------------------------------------------------------------------===//
// conv
//===----------------------------------------------------------------------===//

LogicalResult ConvOp::verify() {
  auto input = getInput().getType(), filter = getFilter().getType();
  int64_t spatial = input.getRank() - 2;
  if (spatial < 0)
    return emitOpError() << "input has tensor rank " << input.getRank() << ", expected at least 2";
  if (filter.getRank() != input.getRank())
    return emitOpError() << "filter has tensor rank " << filter.getRank() << ", expected "
                         << input.getRank() << " as the input";
  std::pair<StringRef, ArrayRef<int64_t>> lists[] = {{"strides", getStrides()},
                                                     {"pad_low", getPadLow()},
                                                     {"pad_high", getPadHigh()},
                                                     {"input_dilation", getInputDilation()},
                                                     {"filter_dilation", getFilterDilation()}};
  for (auto [name, values] : lists) {
    if (failed(expectCount(*this, name, values.size(), spatial, "one for each spatial dimension")))
      return failure();
    int64_t least = name.starts_with("pad") ? -kGreatestEntry : 1;
    if (failed(expectAtLeast(*this, name, values, least)))
      return failure();
  }
  int64_t groups = getGroups();
  if (failed(expectRange(*this, "groups", groups, 1, kGreatestEntry)))
    return failure();
  if (input.getDimSize(1) != filter.getDimSize(1) * groups)
    return emitOpError() << "input has " << input.getDimSize(1) << " channels, expected "
                         << filter.getDimSize(1) * groups << ": " << groups << " groups of "
                         << filter.getDimSize(1) << " filter channels";
  if (filter.getDimSize(0) % groups != 0)
    return emitOpError() << "filter has " << filter.getDimSize(0)
                         << " output channels, expected a multiple of " << groups << " groups";
  SmallVector<int64_t> expected = {input.getDimSize(0), filter.getDimSize(0)};
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t size = input.getDimSize(i + 2), taps = filter.getDimSize(i + 2);
    int64_t dilated = size == 0 ? 0 : (size - 1) * getInputDilation()[i] + 1;
    int64_t reach = taps == 0 ? 0 : (taps - 1) * getFilterDilation()[i] + 1;
    int64_t room = dilated + getPadLow()[i] + getPadHigh()[i] - reach;
    if (room < 0)
      return emitOpError() << "filter reaches over " << reach << " elements of spatial dimension "
                           << i << ", expected at most " << room + reach
                           << ": the input's extent with dilation and padding";
    expected.push_back(room / getStrides()[i] + 1);
  }
  if (failed(expectElementType(*this, "filter", filter, input, "the input's element type")) ||
      failed(expectElementType(*this, "result", getType(), input, "the input's element type")))
    return failure();
  return expectShape(*this, "result", getType(), expected,
                     "batch, output channels and (dilated + pads - reach) / stride + 1");
}

/// A spatial dim that the filter passes over one element at a time.
static bool isPointwise(ConvOp op, int64_t i, int64_t filterSize) {
  return filterSize == 1 && op.getStrides()[i] == 1 && op.getPadLow()[i] == 0 &&
         op.getPadHigh()[i] == 0 && op.getInputDilation()[i] == 1;
}

/// The number of groups at these types: it shrinks with the shard of a group
/// dim.
static int64_t groupsAt(ConvOp op, Type input, Type filter) {
  int64_t perGroup = shapeOf(filter)[1];
  return perGroup == 0 ? op.getGroups() : shapeOf(input)[1] / perGroup;
}

FactorRule ConvOp::getFactorRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule;
  auto input = shapeOf(operandTypes[0]), filter = shapeOf(operandTypes[1]);
  auto result = shapeOf(resultTypes[0]);
  int64_t groups = groupsAt(*this, operandTypes[0], operandTypes[1]);
  int batch = rule.add(input[0]);
  DimFactors in, out;
  if (groups != 1) {
    int group = rule.add(groups);
    in.push_back(group);
    out.push_back(group);
  }
  int channel = rule.add(filter[1], Kind::Reduction);
  in.push_back(channel);
  out.push_back(rule.add(groups ? filter[0] / groups : filter[0]));
  TensorFactors inputDims = {{batch}, in}, filterDims = {out, {channel}},
                resultDims = {{batch}, out};
  for (size_t dim = 2; dim < input.size(); ++dim) {
    filterDims.push_back({rule.add(filter[dim], Kind::Whole)});
    if (isPointwise(*this, dim - 2, filter[dim])) {
      inputDims.push_back({rule.add(input[dim])});
      resultDims.push_back(inputDims.back());
    } else {
      inputDims.push_back({rule.add(input[dim], Kind::Whole)});
      resultDims.push_back({rule.add(result[dim], Kind::Whole)});
    }
  }
  rule.operands = {inputDims, filterDims};
  rule.results = {resultDims};
  return rule;
}

SmallVector<PartialRule> ConvOp::getPartialRules(ReduceKind kind) {
  if (kind != ReduceKind::Sum)
    return {};
  return {{0}, {1}};
}

void ConvOp::localizeAttributes(TypeRange, TypeRange) {
  setGroups(groupsAt(*this, getInput().getType(), getFilter().getType()));
}

double ConvOp::getFlopsPerPoint() {
  // The rule's points count input and result positions apart from each other;
  // only their filter taps do work.
  double points = getOwnFactorRule().points(), work = 2.0 * getType().getNumElements();
  for (int64_t size : getFilter().getType().getShape().drop_front())
    work *= size;
  return points == 0 ? 0 : work / points;
}

ComputeClass ConvOp::getComputeClass() { return ComputeClass::Contraction; }

} // namespace weft::nn
