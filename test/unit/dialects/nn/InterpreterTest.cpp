// The interpreter: rounding policy, liveness, hooks and complaints.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Programs.h"
#include "weft/Testing/Interpreter/StatefulRun.h"

using namespace mlir;
using namespace weft;
using namespace weft::nn::test;

namespace {

struct InterpreterTest : ProgramTest {
  HostTensor scalar(double value, Type type) {
    HostTensor tensor(RankedTensorType::get({}, type));
    tensor.set(0, {value, static_cast<int64_t>(value)});
    return tensor;
  }
  Type f32() { return Float32Type::get(&context); }

  /// The text of the one error that interpreting raises.
  std::string errorOf(func::FuncOp function, std::vector<HostTensor> inputs) {
    std::string message;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      message += diagnostic.str();
      return success();
    });
    EXPECT_TRUE(failed(interpret(function, std::move(inputs))));
    return message;
  }
};

TEST_F(InterpreterTest, OnlyCastsRoundUnlessAsked) {
  auto function = parse("func.func @f(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, "
                        "tensor<f32>) {\n"
                        "  %0 = nn.div %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"
                        "  %1 = nn.cast %0 : (tensor<f32>) -> tensor<f32>\n"
                        "  return %0, %1 : tensor<f32>, tensor<f32>\n}");
  std::vector<HostTensor> inputs = {scalar(1, f32()), scalar(3, f32())};
  auto exact = interpret(function, inputs);
  ASSERT_TRUE(succeeded(exact));
  EXPECT_EQ((*exact)[0].reals[0], 1.0 / 3);
  EXPECT_EQ((*exact)[1].reals[0], static_cast<double>(1.0f / 3));
  InterpreterOptions options;
  options.rounding = InterpreterOptions::Rounding::EveryResult;
  auto rounded = interpret(function, inputs, options);
  ASSERT_TRUE(succeeded(rounded));
  EXPECT_EQ((*rounded)[0].reals[0], static_cast<double>(1.0f / 3));
}

TEST_F(InterpreterTest, StatesHaveTheirBytesAndInputsAreGiven) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message += diagnostic.str();
    return success();
  });
  auto said = [&](const std::string &attributes, bool starts) {
    auto function =
        parse("func.func @f(%a: tensor<2xf32> {nn.name = \"a\"" + attributes + "}) { return }");
    message.clear();
    StatefulRun run;
    EXPECT_EQ(succeeded(run.start(function, "")), starts);
    if (starts)
      EXPECT_TRUE(failed(run.run(function, {})));
    return message;
  };
  EXPECT_EQ(said("", true), "input 'a' is not given");
  EXPECT_EQ(said(", nn.source = #nn.source<file = \"\", offset = 0, length = 8>", false),
            "state 'a' has no bytes; the model was made without weights");
  EXPECT_EQ(said(", nn.source = #nn.source<file = \"w\", offset = 0, length = 4>", false),
            "state 'a' holds 4 bytes, its type 'tensor<2xf32>' needs 8");
}

TEST_F(InterpreterTest, ABodyIsOneBlock) {
  auto function = parse("func.func private @f(tensor<f32>)");
  EXPECT_EQ(errorOf(function, {}), "has no body of one block to interpret");
}

TEST_F(InterpreterTest, ValuesMayBeUsedTwiceAndReturnedTwice) {
  auto function = parse("func.func @f(%a: tensor<f32>) -> (tensor<f32>, tensor<f32>, "
                        "tensor<f32>) {\n"
                        "  %0 = nn.mul %a, %a : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"
                        "  %1 = nn.add %0, %a : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"
                        "  return %1, %1, %a : tensor<f32>, tensor<f32>, tensor<f32>\n}");
  auto results = interpret(function, {scalar(3, f32())});
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ((*results)[0].reals, Reals{12});
  EXPECT_EQ((*results)[1].reals, Reals{12});
  EXPECT_EQ((*results)[2].reals, Reals{3});
}

TEST_F(InterpreterTest, HooksSeeEveryOpInOrder) {
  auto function = parse("func.func @f(%a: tensor<f32>) -> tensor<f32> {\n"
                        "  %0 = nn.negate %a : (tensor<f32>) -> tensor<f32>\n"
                        "  %1 = nn.abs %0 : (tensor<f32>) -> tensor<f32>\n"
                        "  return %1 : tensor<f32>\n}");
  std::vector<std::pair<std::string, double>> seen;
  InterpreterOptions options;
  options.afterOp = [&](Operation *op, ArrayRef<HostTensor> results) {
    seen.emplace_back(op->getName().getStringRef().str(), results[0].reals[0]);
  };
  ASSERT_TRUE(succeeded(interpret(function, {scalar(2, f32())}, options)));
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, double>>{{"nn.negate", -2}, {"nn.abs", 2}}));
}

TEST_F(InterpreterTest, InputsThatDoNotFitAreNamed) {
  auto function = parse("func.func @f(%a: tensor<f32>) -> tensor<f32> { return "
                        "%a : tensor<f32> }");
  EXPECT_EQ(errorOf(function, {}), "has 1 arguments, but 0 inputs were given");
  EXPECT_EQ(errorOf(function, {scalar(1, IntegerType::get(&context, 64))}),
            "argument 0 has type 'tensor<f32>', but its input has type tensor<i64>");
}

TEST_F(InterpreterTest, OpsWithoutReferenceAreNamed) {
  auto function = parse("func.func @f(%a: tensor<f32>) -> tensor<f32> {\n"
                        "  %0 = builtin.unrealized_conversion_cast %a : "
                        "tensor<f32> to tensor<f32>\n"
                        "  return %0 : tensor<f32>\n}");
  EXPECT_EQ(errorOf(function, {scalar(1, f32())}),
            "'builtin.unrealized_conversion_cast' op has no reference "
            "evaluation, so the program "
            "cannot be interpreted");
}

} // namespace
