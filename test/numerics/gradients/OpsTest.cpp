// The gradient of every differentiable op and operand, along random directions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Harness.h"

#include "../../unit/dialects/nn/RandomOps.h"

#include <cmath>
#include <set>

using namespace mlir;
using namespace weft;
using namespace weft::nn::test;
using namespace weft::test;

namespace {

/// Seeds of all cases are kSeed + their number.
constexpr uint64_t kSeed = 20261121;
constexpr int kDirections = 8;
/// Below these the test has lost its subject.
constexpr size_t kMinimumOps = 56, kMinimumCases = 5000;

/// Operand values where the op is smooth; randomTensor's else.
struct Domain {
  double low, high;
};
const std::map<std::string, Domain> &domains() {
  static const std::map<std::string, Domain> domains = {
      {"nn.log", {0.2, 2}},      {"nn.sqrt", {0.2, 2}},    {"nn.rsqrt", {0.2, 2}},
      {"nn.log1p", {-0.7, 2}},   {"nn.asin", {-0.8, 0.8}}, {"nn.acos", {-0.8, 0.8}},
      {"nn.atanh", {-0.8, 0.8}}, {"nn.acosh", {1.2, 3}},   {"nn.pow", {0.2, 2}},
      {"nn.tan", {-1.2, 1.2}},   {"nn.rem", {0.5, 2}}};
  return domains;
}

/// Ops that autodiff makes only at the end of a path.
bool isRefused(Operation *op) { return isa<nn::AttentionGradOp>(op); }

/// Ops whose results carry no gradient, and those that are piecewise constant.
const std::set<std::string> &withoutGradient() {
  static const std::set<std::string> ops = {
      "nn.constant",   "nn.iota",       "nn.attention_grad", "nn.and",     "nn.or",
      "nn.xor",        "nn.not",        "nn.is_nan",         "nn.compare", "nn.arg_reduce",
      "nn.arg_window", "nn.shift_left", "nn.shift_right",    "nn.sign",    "nn.ceil",
      "nn.floor",      "nn.round"};
  return ops;
}

/// A function of the op's operands, constants among them.
func::FuncOp functionOf(OpFactory &factory, Operation *op) {
  OpBuilder &builder = factory.builder;
  auto function =
      func::FuncOp::create(builder, builder.getUnknownLoc(), "f",
                           builder.getFunctionType(op->getOperandTypes(), op->getResultTypes()));
  Block *body = function.addEntryBlock();
  OpBuilder inside = OpBuilder::atBlockEnd(body);
  Operation *clone = inside.clone(*op);
  clone->setOperands(body->getArguments());
  func::ReturnOp::create(inside, builder.getUnknownLoc(), clone->getResults());
  return function;
}

bool isFloatType(Type type) {
  return isa<FloatType>(cast<RankedTensorType>(type).getElementType());
}

HostTensor randomReals(Random &random, ArrayRef<int64_t> shape, Type element) {
  HostTensor tensor(RankedTensorType::get(shape, element));
  for (double &value : tensor.reals)
    value = random.real();
  return tensor;
}

/// Operand values, in the op's domain.
Tensors operandsOf(OpFactory &factory, Operation *op) {
  auto random = randomOperands(factory, op);
  Tensors operands(random.begin(), random.end());
  auto domain = domains().find(op->getName().getStringRef().str());
  if (domain != domains().end())
    for (HostTensor &operand : operands)
      for (double &value : operand.reals) {
        auto [low, high] = domain->second;
        value = low + (high - low) * (value + 2) / 4;
      }
  return operands;
}

struct Tally {
  int64_t cases = 0, directions = 0, rejected = 0;
  /// Float operands, and those that were seen with a gradient that is not zero.
  std::set<unsigned> asked, operands;
};

struct OpGradients : ::testing::Test {
  OpGradients() { context.loadDialect<nn::NnDialect, func::FuncDialect>(); }

  void check(const std::string &name, const Generator &generator, uint64_t seed) {
    Random random(seed);
    OpFactory factory(&context, random);
    Operation *op = generator(factory);
    if (!op || isRefused(op) || llvm::none_of(op->getResultTypes(), isFloatType))
      return;
    std::vector<unsigned> wanted;
    for (auto [index, type] : llvm::enumerate(op->getOperandTypes()))
      if (isFloatType(type))
        wanted.push_back(index);
    if (wanted.empty())
      return;
    SCOPED_TRACE(name + " seed " + std::to_string(seed));
    Differentiated program(functionOf(factory, op), wanted);
    ASSERT_TRUE(program.isValid());
    Tensors inputs = operandsOf(factory, op), weights;
    for (Type type : op->getResultTypes()) {
      auto tensor = cast<RankedTensorType>(type);
      weights.push_back(isFloatType(type)
                            ? randomReals(random, tensor.getShape(), tensor.getElementType())
                            : HostTensor(tensor));
    }
    Loss loss = weightedSum(weights);
    Tensors gradients = program.gradients(inputs, loss);
    Tally &tally = tallies[op->getName().getStringRef().str()];
    ++tally.cases;
    tally.asked.insert(wanted.begin(), wanted.end());
    for (size_t which = 0; which < wanted.size(); ++which) {
      const HostTensor &gradient = gradients[which];
      if (llvm::any_of(gradient.reals, [](double x) { return x != 0; }))
        tally.operands.insert(wanted[which]);
      for (int i = 0; i < kDirections; ++i) {
        Tensors direction(wanted.size());
        direction[which] = randomReals(random, gradient.shape, gradient.elementType);
        Comparison found = compare(program, inputs, loss, gradients, direction, 1e-6);
        ++tally.directions;
        if (found.verdict == Comparison::Rejected)
          ++tally.rejected;
        else
          EXPECT_EQ(found.verdict, Comparison::Agree)
              << "operand " << wanted[which] << ": " << found.text();
      }
    }
  }

  MLIRContext context;
  std::map<std::string, Tally> tallies;
};

TEST_F(OpGradients, EqualDifferences) {
  std::map<std::string, Generator> generators = structuredGenerators();
  for (auto &[name, generator] : elementwiseGenerators(&context)) {
    // Rounding to smaller types is no smooth function.
    bool isWide = llvm::StringRef(name).ends_with("f64") &&
                  !llvm::StringRef(name).contains("f32") && !llvm::StringRef(name).contains("bf16");
    if (isWide)
      generators[name] = generator;
  }
  int64_t elementwise = volume(50, 500), structured = volume(250, 2500);
  for (auto &[name, generator] : generators) {
    bool isElementwise = llvm::StringRef(name).contains('(');
    for (int64_t i = 0, e = isElementwise ? elementwise : structured; i < e; ++i)
      check(name, generator, kSeed + i);
    if (HasFatalFailure())
      return;
  }

  int64_t cases = 0, directions = 0, rejected = 0;
  for (RegisteredOperationName op : context.getRegisteredOperations()) {
    std::string name = op.getStringRef().str();
    if (!op.hasInterface<DifferentiableOpInterface>() || withoutGradient().count(name))
      continue;
    auto found = tallies.find(name);
    if (found == tallies.end()) {
      ADD_FAILURE() << name << " has no case";
      continue;
    }
    const Tally &tally = found->second;
    // A kink near by is bad luck that must not become the rule.
    EXPECT_LE(tally.rejected, 0.05 * tally.directions) << name;
    EXPECT_GE(tally.cases, 5) << name;
    EXPECT_EQ(tally.operands, tally.asked) << name << " has an operand without gradient";
    cases += tally.cases;
    directions += tally.directions;
    rejected += tally.rejected;
  }
  for (const std::string &name : withoutGradient())
    EXPECT_TRUE(!tallies.count(name) || tallies[name].operands.empty())
        << name << " has a gradient";
  std::printf("%zu ops, %lld cases, %lld directions, %lld rejected, seed %llu\n", tallies.size(),
              (long long)cases, (long long)directions, (long long)rejected,
              (unsigned long long)kSeed);
  EXPECT_GE(tallies.size(), kMinimumOps);
  EXPECT_GE(static_cast<size_t>(cases), kMinimumCases);
}

/// Every result rounded to its type, a gradient in bf16 is that in fp64 but for
/// the rounding of the op's result, which formulas may use up to three times,
/// and of its own.
TEST_F(OpGradients, InSmallTypesAreRoundedOnce) {
  constexpr double kLimit = 1.0 / 64;
  InterpreterOptions options;
  options.rounding = InterpreterOptions::Rounding::EveryResult;
  auto generators = elementwiseGenerators(&context);
  int64_t cases = 0;
  for (auto &[name, small] : generators) {
    std::string wideName = name;
    if (!llvm::StringRef(name).ends_with("-> bf16") || llvm::StringRef(name).starts_with("nn.cast"))
      continue;
    for (size_t at; (at = wideName.find("bf16")) != std::string::npos;)
      wideName.replace(at, 4, "f64");
    auto wide = generators.find(wideName);
    ASSERT_TRUE(wide != generators.end()) << wideName;
    SCOPED_TRACE(name);
    Tensors found[2], inputs, upper;
    for (bool isWide : {false, true}) {
      // The same seed gives the same shapes.
      Random random(kSeed);
      OpFactory factory(&context, random);
      Operation *op = (isWide ? wide->second : small)(factory);
      std::vector<unsigned> wanted;
      for (auto [index, type] : llvm::enumerate(op->getOperandTypes()))
        if (isFloatType(type))
          wanted.push_back(index);
      Differentiated program(functionOf(factory, op), wanted);
      ASSERT_TRUE(program.isValid());
      if (!isWide) {
        inputs = operandsOf(factory, op);
        inputs.push_back(randomTensor(random, cast<RankedTensorType>(op->getResult(0).getType())));
      }
      Tensors arguments = inputs;
      for (auto [argument, tensor] :
           llvm::zip_equal(program.backward.getArgumentTypes(), arguments)) {
        roundToOwnType(tensor);
        tensor.elementType = cast<RankedTensorType>(argument).getElementType();
      }
      auto results = interpret(program.backward, arguments, options);
      ASSERT_TRUE(succeeded(results));
      found[isWide].assign(results->begin(), results->end());
    }
    for (auto [small, exact] : llvm::zip_equal(found[0], found[1])) {
      double greatest = 1e-3;
      for (double value : exact.reals)
        greatest = std::max(greatest, std::abs(value));
      for (size_t i = 0; i < exact.reals.size(); ++i)
        EXPECT_LE(std::abs(small.reals[i] - exact.reals[i]), kLimit * greatest)
            << "element " << i << " is " << small.reals[i] << ", expected " << exact.reals[i];
      ++cases;
    }
  }
  EXPECT_GE(cases, 40);
}

} // namespace
