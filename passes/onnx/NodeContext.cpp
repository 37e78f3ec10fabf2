// Attribute and operand look-ups of the node at hand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/NodeContext.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

static std::string describe(NodeOp node, unsigned index) {
  std::string text = "input " + std::to_string(index);
  if (index >= node.getInputs().size())
    return text;
  Value value = node.getInputs()[index];
  if (auto producer = value.getDefiningOp<NodeOp>())
    return text + " ('" + producer.getOutputName(cast<OpResult>(value).getResultNumber()).str() +
           "')";
  if (auto initializer = value.getDefiningOp<InitializerOp>()) {
    if (StringAttr name = initializer.getValue().getName())
      return text + " ('" + name.str() + "')";
  }
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto graph = dyn_cast<GraphOp>(argument.getOwner()->getParentOp()))
      if (auto info = dyn_cast<ValueInfoAttr>(graph.getInfo().getInputs()[argument.getArgNumber()]))
        if (info.getName())
          return text + " ('" + info.getName().str() + "')";
  return text;
}

Value NodeContext::in(unsigned index) {
  return has(index) ? inputs[index] : fail("input " + llvm::Twine(index) + " is missing");
}

Value NodeContext::setting(unsigned index) {
  Value value = in(index);
  auto argument = dyn_cast_or_null<BlockArgument>(value);
  if (argument && isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    b.statistics.push_back(argument);
  return value;
}

bool NodeContext::wants(unsigned index) {
  return index < node.getNumResults() && !node.getResult(index).use_empty();
}

AttributeAttr weft::onnx::resolve(AttributeAttr attribute, const AttributeScope *scope) {
  if (!attribute || !attribute.getRef())
    return attribute;
  if (!scope)
    return AttributeAttr();
  auto found = scope->find(attribute.getRef().getValue());
  return found == scope->end() ? AttributeAttr() : found->second;
}

AttributeAttr NodeContext::attribute(llvm::StringRef name) {
  read.insert(name);
  return resolve(node.getAttribute(name), scope);
}

AttributeAttr NodeContext::attribute(llvm::StringRef name, AttributeKind kind) {
  AttributeAttr found = attribute(name);
  if (!found || found.getKind() == kind)
    return found;
  fail("attribute '" + name + "' is of kind " + stringify(found.getKind()) + ", expected " +
       stringify(kind));
  return AttributeAttr();
}

int64_t NodeContext::integer(llvm::StringRef name, int64_t otherwise) {
  AttributeAttr found = attribute(name, AttributeKind::Int);
  if (!found)
    return otherwise;
  auto value = dyn_cast_or_null<IntegerAttr>(found.getValue());
  return value ? value.getInt() : 0;
}

double NodeContext::real(llvm::StringRef name, double otherwise) {
  AttributeAttr found = attribute(name, AttributeKind::Float);
  if (!found)
    return otherwise;
  auto value = dyn_cast_or_null<FloatAttr>(found.getValue());
  return value ? value.getValueAsDouble() : 0.0;
}

llvm::StringRef NodeContext::text(llvm::StringRef name, llvm::StringRef otherwise) {
  AttributeAttr found = attribute(name, AttributeKind::String);
  if (!found)
    return otherwise;
  auto value = dyn_cast_or_null<StringAttr>(found.getValue());
  return value ? value.getValue() : "";
}

std::optional<llvm::StringRef> NodeContext::word(llvm::StringRef name, llvm::StringRef otherwise,
                                                 llvm::ArrayRef<llvm::StringRef> known) {
  llvm::StringRef found = text(name, otherwise);
  if (found.empty())
    found = otherwise;
  if (llvm::is_contained(known, found))
    return found;
  fail("'" + name + "' = '" + found + "' is not known; known are " + llvm::join(known, ", "));
  return std::nullopt;
}

std::optional<SmallVector<int64_t>> NodeContext::integers(llvm::StringRef name) {
  AttributeAttr found = attribute(name);
  if (!found || found.getKind() != AttributeKind::Ints)
    return std::nullopt;
  auto value = dyn_cast_or_null<DenseI64ArrayAttr>(found.getValue());
  return value ? llvm::to_vector(value.asArrayRef()) : SmallVector<int64_t>();
}

std::optional<SmallVector<double>> NodeContext::reals(llvm::StringRef name) {
  AttributeAttr found = attribute(name);
  if (!found || found.getKind() != AttributeKind::Floats)
    return std::nullopt;
  SmallVector<double> values;
  if (auto value = dyn_cast_or_null<DenseF32ArrayAttr>(found.getValue()))
    values.append(value.asArrayRef().begin(), value.asArrayRef().end());
  return values;
}

std::optional<SmallVector<llvm::StringRef>> NodeContext::texts(llvm::StringRef name) {
  AttributeAttr found = attribute(name);
  if (!found || found.getKind() != AttributeKind::Strings)
    return std::nullopt;
  SmallVector<llvm::StringRef> values;
  if (auto list = dyn_cast_or_null<ArrayAttr>(found.getValue()))
    for (auto text : list.getAsRange<StringAttr>())
      values.push_back(text.getValue());
  return values;
}

TensorAttr NodeContext::tensor(llvm::StringRef name) {
  AttributeAttr found = attribute(name);
  return found ? dyn_cast_or_null<TensorAttr>(found.getValue()) : TensorAttr();
}

std::optional<HostTensor> NodeContext::known(unsigned index) {
  Value value = in(index);
  if (!value)
    return std::nullopt;
  std::optional<HostTensor> tensor = b.known(value);
  if (!tensor && b.exceededLimit(value))
    fail(describe(node, index) + " is known, but its " +
         llvm::Twine(NnBuilder::typeOf(value).getNumElements()) + " elements are more than the " +
         llvm::Twine(*b.exceededLimit(value)) + " that are looked at when compiling");
  if (!tensor)
    fail(describe(node, index) + " must be known at compile time; give it with "
                                 "--bind INPUT=@FILE.npy, or bind the "
                                 "graph inputs that it is computed from");
  return tensor;
}

std::optional<SmallVector<int64_t>> NodeContext::rawIntegers(unsigned index) {
  std::optional<HostTensor> tensor = known(index);
  if (!tensor)
    return std::nullopt;
  if (tensor->isFloat()) {
    fail(describe(node, index) + " must hold integers");
    return std::nullopt;
  }
  return SmallVector<int64_t>(tensor->integers.begin(), tensor->integers.end());
}

std::optional<SmallVector<int64_t>> NodeContext::knownIntegers(unsigned index) {
  auto numbers = rawIntegers(index);
  if (!numbers)
    return std::nullopt;
  for (int64_t number : *numbers)
    if (!isShapeNumber(number)) {
      fail(describe(node, index) + " holds " + llvm::Twine(number) +
           ", which is beyond any shape; the largest is 2^40");
      return std::nullopt;
    }
  return numbers;
}

std::optional<SmallVector<int64_t>> NodeContext::placesOf(llvm::StringRef name, unsigned index) {
  auto numbers = integers(name);
  if (!numbers && has(index))
    numbers = rawIntegers(index);
  if (numbers)
    for (int64_t &number : *numbers)
      number = std::clamp(number, -2 * kMaxElements, 2 * kMaxElements);
  return numbers;
}

std::optional<SmallVector<int64_t>> NodeContext::integersOf(llvm::StringRef name, unsigned index) {
  if (auto values = integers(name))
    return values;
  return has(index) ? knownIntegers(index) : std::nullopt;
}

std::optional<Scalar> NodeContext::knownElement(unsigned index, Scalar otherwise) {
  if (!has(index))
    return otherwise;
  std::optional<HostTensor> tensor = known(index);
  if (!tensor)
    return std::nullopt;
  if (tensor->size() != 1) {
    fail(describe(node, index) + " must have one element");
    return std::nullopt;
  }
  Scalar element = tensor->at(0);
  return tensor->isFloat() ? NnBuilder::scalarOf(element.real)
                           : Scalar{static_cast<double>(element.integer), element.integer};
}

std::optional<double> NodeContext::knownScalar(unsigned index, double otherwise) {
  std::optional<Scalar> element = knownElement(index, {otherwise, 0});
  return element ? std::optional(element->real) : std::nullopt;
}

std::optional<int64_t> NodeContext::knownInteger(unsigned index, int64_t otherwise) {
  std::optional<double> number = knownScalar(index, otherwise);
  if (!number)
    return std::nullopt;
  // Not a number is no shape's number either.
  if (!(std::abs(*number) <= double(kMaxElements))) {
    fail(describe(node, index) + " is " + std::to_string(*number) +
         ", which is beyond any shape; the largest is 2^40");
    return std::nullopt;
  }
  return static_cast<int64_t>(*number);
}

std::optional<int64_t> NodeContext::normalize(int64_t axis, int64_t rank, bool pastEnd) {
  if (axis >= -rank && axis < rank + pastEnd)
    return axis < 0 ? axis + rank : axis;
  fail("axis " + llvm::Twine(axis) + " is out of range for tensor rank " + llvm::Twine(rank));
  return std::nullopt;
}

std::optional<SmallVector<int64_t>> NodeContext::normalize(llvm::ArrayRef<int64_t> axes,
                                                           int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes) {
    std::optional<int64_t> normal = normalize(axis, rank);
    if (!normal)
      return std::nullopt;
    if (llvm::is_contained(result, *normal)) {
      fail("axis " + llvm::Twine(axis) + " is listed twice");
      return std::nullopt;
    }
    result.push_back(*normal);
  }
  return result;
}

bool weft::onnx::isComputable(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
  return element.isF64() || element.isF32() || element.isF16() || element.isBF16();
}

Type weft::onnx::elementTypeOf(MLIRContext *context, int64_t dataType) {
  Builder b(context);
  switch (dataType) {
  case 1:
    return b.getF32Type();
  case 2:
    return b.getIntegerType(8, /*isSigned=*/false);
  case 3:
    return b.getI8Type();
  case 4:
    return b.getIntegerType(16, false);
  case 5:
    return b.getI16Type();
  case 6:
    return b.getI32Type();
  case 7:
    return b.getI64Type();
  case 9:
    return b.getI1Type();
  case 10:
    return b.getF16Type();
  case 11:
    return b.getF64Type();
  case 12:
    return b.getIntegerType(32, false);
  case 13:
    return b.getIntegerType(64, false);
  case 16:
    return b.getBF16Type();
  default:
    return Type();
  }
}
