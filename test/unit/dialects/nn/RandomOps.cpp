// Random instances of nn ops: values, and the elementwise ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomOps.h"

#include "mlir/IR/Verifier.h"

#include <cmath>
#include <cstdlib>

using namespace mlir;

namespace weft::nn::test {

int64_t volume(int64_t reduced, int64_t full) {
  const char *flag = std::getenv("WEFT_TEST_FULL");
  return flag && StringRef(flag) == "1" ? full : reduced;
}

HostTensor randomTensor(Random &random, RankedTensorType type) {
  HostTensor tensor(type);
  // Not near zero, where quotients and logarithms lose digits.
  for (double &value : tensor.reals)
    do
      value = random.real();
    while (std::abs(value) < 0.1);
  bool wide = random.chance(0.2);
  for (int64_t &value : tensor.integers) {
    value = wide ? random.integer(std::numeric_limits<int64_t>::min(),
                                  std::numeric_limits<int64_t>::max())
                 : random.integer(-4, 4);
    if (type.getElementType().isInteger(1))
      value &= 1;
  }
  roundToOwnType(tensor);
  return tensor;
}

Value OpFactory::argument(ArrayRef<int64_t> shape, Type element) {
  // Operands hang from casts, as a module's block has no arguments.
  return UnrealizedConversionCastOp::create(builder, builder.getUnknownLoc(),
                                            TypeRange(type(shape, element)), ValueRange())
      .getResult(0);
}

Value OpFactory::indices(ArrayRef<int64_t> shape, int64_t low, int64_t high) {
  Value value = argument(shape, random.chance(0.5) ? builder.getI64Type() : builder.getI32Type());
  ranges[value] = {low, high};
  return value;
}

Value OpFactory::zeros(ArrayRef<int64_t> shape, Type element) {
  auto constant = DenseElementsAttr::get(type(shape, element), builder.getZeroAttr(element));
  return make<ConstantOp>(ElementsAttr(constant))->getResult(0);
}

SmallVector<HostTensor> randomOperands(OpFactory &factory, Operation *op) {
  SmallVector<HostTensor> tensors;
  for (Value operand : op->getOperands()) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (auto constant = operand.getDefiningOp<ConstantOp>()) {
      tensors.push_back(toHostTensor(constant.getValue()));
      continue;
    }
    tensors.push_back(randomTensor(factory.random, type));
    auto range = factory.ranges.find(operand);
    if (range != factory.ranges.end())
      for (int64_t &value : tensors.back().integers)
        value = factory.random.integer(range->second.first, range->second.second);
  }
  return tensors;
}

/// Adds the attributes that the op cannot be built without, at random.
static void addAttributes(OpFactory &factory, OperationState &state) {
  if (state.name.getStringRef() == CompareOp::getOperationName())
    state.addAttribute(
        "kind", CompareKindAttr::get(factory.builder.getContext(),
                                     static_cast<CompareKind>(factory.random.integer(0, 5))));
  if (state.name.getStringRef() == GeluOp::getOperationName() && factory.random.chance(0.5))
    state.addAttribute("tanh", factory.builder.getUnitAttr());
}

static Operation *makeElementwise(OpFactory &factory, StringRef name, ArrayRef<Type> operands,
                                  Type result, ArrayRef<int64_t> shape) {
  OperationState state(factory.builder.getUnknownLoc(), name);
  for (Type element : operands)
    state.addOperands(factory.argument(shape, element));
  state.addTypes(factory.type(shape, result));
  addAttributes(factory, state);
  return factory.builder.create(state);
}

std::map<std::string, Generator> elementwiseGenerators(MLIRContext *context) {
  Builder b(context);
  SmallVector<Type> types = {b.getF64Type(),
                             b.getF32Type(),
                             b.getBF16Type(),
                             b.getI64Type(),
                             b.getI32Type(),
                             b.getI8Type(),
                             b.getI1Type(),
                             b.getIntegerType(64, false),
                             b.getIntegerType(8, false)};
  // Silences the verifier while it is asked what it admits.
  ScopedDiagnosticHandler quiet(context, [](Diagnostic &) { return success(); });
  std::map<std::string, Generator> generators;
  Random random(0);
  auto consider = [&](StringRef name, SmallVector<Type> operands, Type result) {
    OpFactory probe(context, random);
    if (failed(verify(makeElementwise(probe, name, operands, result, {2}))))
      return;
    std::string title;
    llvm::raw_string_ostream os(title);
    os << name << "(";
    llvm::interleaveComma(operands, os);
    os << ") -> " << result;
    generators[title] = [=](OpFactory &factory) {
      return makeElementwise(factory, name, operands, result, factory.random.shape(0, 3));
    };
  };
  for (RegisteredOperationName name : context->getRegisteredOperations()) {
    if (!name.hasInterface<ElementwiseOpInterface>())
      continue;
    StringRef mnemonic = name.getStringRef();
    for (Type a : types) {
      for (Type result : types) {
        consider(mnemonic, {a}, result);
        consider(mnemonic, {a, a}, result);
      }
      consider(mnemonic, {b.getI1Type(), a, a}, a);
    }
  }
  return generators;
}

::testing::AssertionResult areClose(const HostTensor &expected, const HostTensor &found,
                                    double tolerance) {
  if (expected.shape != found.shape || expected.elementType != found.elementType)
    return ::testing::AssertionFailure() << "shapes or element types differ";
  double greatest = 1e-300;
  for (double value : expected.reals)
    if (std::isfinite(value))
      greatest = std::max(greatest, std::abs(value));
  for (size_t i = 0; i < expected.reals.size(); ++i) {
    double a = expected.reals[i], b = found.reals[i];
    if (a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance * greatest)
      continue;
    return ::testing::AssertionFailure() << "element " << i << " is " << b << ", expected " << a;
  }
  for (size_t i = 0; i < expected.integers.size(); ++i)
    if (expected.integers[i] != found.integers[i])
      return ::testing::AssertionFailure() << "element " << i << " is " << found.integers[i]
                                           << ", expected " << expected.integers[i];
  return ::testing::AssertionSuccess();
}

} // namespace weft::nn::test
