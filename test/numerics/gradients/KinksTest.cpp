// Gradients worked out by hand: kinks, ties, zeros, duplicates, what is empty.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Harness.h"

#include "../../unit/dialects/nn/Programs.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::nn::test;
using namespace weft::test;

namespace {

struct Kinks : ProgramTest {
  /// The gradients of `%r = BODY` with respect to the inputs `wanted`, for a
  /// result gradient of 1, 2, 3, ... Inputs are %a0, %a1, ...
  Tensors gradients(ArrayRef<std::string> inputs, const std::string &body,
                    const std::string &resultType, std::vector<unsigned> wanted = {0}) {
    std::string text = "func.func @f(";
    Tensors tensors;
    for (auto [index, input] : llvm::enumerate(inputs)) {
      auto attribute = cast<ElementsAttr>(parseAttribute(input, &context));
      tensors.push_back(toHostTensor(attribute));
      std::string type;
      llvm::raw_string_ostream(type) << attribute.getShapedType();
      text += (index ? ", %a" : "%a") + std::to_string(index) + ": " + type;
    }
    text += ") -> " + resultType + " {\n" + body + "\nreturn %r : " + resultType + "\n}";
    SCOPED_TRACE(text);
    func::FuncOp function = parse(text);
    Differentiated program(function, wanted);
    EXPECT_TRUE(program.isValid());
    auto type = cast<RankedTensorType>(function.getResultTypes()[0]);
    HostTensor upper(type);
    for (auto [index, value] : llvm::enumerate(upper.reals))
      value = index + 1;
    Tensors arguments = tensors;
    arguments.push_back(upper);
    auto results = interpret(program.backward, arguments);
    EXPECT_TRUE(succeeded(results));
    return Tensors(results->begin(), results->end());
  }
  Reals gradient(ArrayRef<std::string> inputs, const std::string &body,
                 const std::string &resultType) {
    return gradients(inputs, body, resultType)[0].reals;
  }
};

TEST_F(Kinks, ReluIsFlatAtZero) {
  const char *relu =
      R"(%z = nn.constant dense<0.0> : tensor<3xf64> : tensor<3xf64>
    %r = nn.max %a0, %z : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>)";
  EXPECT_EQ(gradient({"dense<[-1.0, 0.0, 1.0]> : tensor<3xf64>"}, relu, "tensor<3xf64>"),
            (Reals{0, 0, 3}));
}

TEST_F(Kinks, EqualOperandsOfMaxAndMinShare) {
  for (const char *op : {"max", "min"}) {
    auto found =
        gradients({"dense<[1.0, 2.0]> : tensor<2xf64>", "dense<[1.0, 2.0]> : tensor<2xf64>"},
                  std::string("%r = nn.") + op +
                      " %a0, %a1 : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>",
                  "tensor<2xf64>", {0, 1});
    EXPECT_EQ(found[0].reals, (Reals{0.5, 1}));
    EXPECT_EQ(found[1].reals, (Reals{0.5, 1}));
  }
}

TEST_F(Kinks, AbsIsFlatAtZero) {
  EXPECT_EQ(gradient({"dense<[-2.0, 0.0, 2.0]> : tensor<3xf64>"},
                     "%r = nn.abs %a0 : (tensor<3xf64>) -> tensor<3xf64>", "tensor<3xf64>"),
            (Reals{-1, 0, 3}));
}

TEST_F(Kinks, PiecewiseConstantOpsHaveGradientZero) {
  for (const char *op : {"sign", "ceil", "floor", "round"})
    EXPECT_EQ(gradient({"dense<[-2.5, 0.0, 1.0]> : tensor<3xf64>"},
                       std::string("%r = nn.") + op + " %a0 : (tensor<3xf64>) -> tensor<3xf64>",
                       "tensor<3xf64>"),
              (Reals{0, 0, 0}));
}

TEST_F(Kinks, CastsToFloatsPassAndToIntegersStop) {
  EXPECT_EQ(gradient({"dense<[1.5, 2.5]> : tensor<2xf64>"},
                     "%r = nn.cast %a0 : (tensor<2xf64>) -> tensor<2xf32>", "tensor<2xf32>"),
            (Reals{1, 2}));
  EXPECT_EQ(gradient({"dense<[1.5, 2.5]> : tensor<2xf64>"},
                     "%i = nn.cast %a0 : (tensor<2xf64>) -> tensor<2xi64>\n"
                     "%r = nn.cast %i : (tensor<2xi64>) -> tensor<2xf64>",
                     "tensor<2xf64>"),
            (Reals{0, 0}));
}

TEST_F(Kinks, PowersOfZero) {
  // x^2 by its constant power, x^0 and 0^y by the general rule.
  auto pow = [&](const char *base, const char *power) {
    return gradients({base, power},
                     "%r = nn.pow %a0, %a1 : (tensor<2xf64>, tensor<2xf64>) -> "
                     "tensor<2xf64>",
                     "tensor<2xf64>", {0, 1});
  };
  auto found = pow("dense<[0.0, 3.0]> : tensor<2xf64>", "dense<[2.0, 0.0]> : tensor<2xf64>");
  EXPECT_EQ(found[0].reals, (Reals{0, 0}));
  EXPECT_EQ(found[1].reals, (Reals{0, 2 * std::log(3.0)}));
  found = pow("dense<0.0> : tensor<2xf64>", "dense<[0.0, 1.0]> : tensor<2xf64>");
  EXPECT_EQ(found[0].reals, (Reals{0, 2}));
  EXPECT_EQ(found[1].reals, (Reals{0, 0}));
  EXPECT_EQ(gradient({"dense<[-3.0, 0.0]> : tensor<2xf64>"},
                     "%c = nn.constant dense<2.0> : tensor<2xf64> : tensor<2xf64>\n"
                     "%r = nn.pow %a0, %c : (tensor<2xf64>, tensor<2xf64>) -> "
                     "tensor<2xf64>",
                     "tensor<2xf64>"),
            (Reals{-6, 0}));
}

TEST_F(Kinks, EqualElementsOfAReductionShare) {
  const char *x = "dense<[[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]> : tensor<2x3xf64>";
  EXPECT_EQ(gradient({x},
                     "%r = nn.reduce max %a0 dims = [1] : tensor<2x3xf64> -> "
                     "tensor<2xf64>",
                     "tensor<2xf64>"),
            (Reals{0, 0.5, 0.5, 2 / 3.0, 2 / 3.0, 2 / 3.0}));
  EXPECT_EQ(gradient({x},
                     "%r = nn.reduce min %a0 dims = [0, 1] : tensor<2x3xf64> "
                     "-> tensor<f64>",
                     "tensor<f64>"),
            (Reals{1, 0, 0, 0, 0, 0}));
}

TEST_F(Kinks, ProductsWithZeros) {
  // No zero, one, two.
  const char *x = "dense<[[2.0, 3.0, 4.0], [2.0, 0.0, 4.0], [0.0, 3.0, 0.0]]> "
                  ": tensor<3x3xf64>";
  EXPECT_EQ(gradient({x},
                     "%r = nn.reduce prod %a0 dims = [1] : tensor<3x3xf64> -> "
                     "tensor<3xf64>",
                     "tensor<3xf64>"),
            (Reals{12, 8, 6, 0, 16, 0, 0, 0, 0}));
  EXPECT_EQ(gradient({"dense<[2.0, 0.0, 4.0]> : tensor<3xf64>"},
                     "%r = nn.scan prod %a0 dim = 0 : tensor<3xf64> -> tensor<3xf64>",
                     "tensor<3xf64>"),
            (Reals{1, 4 + 24, 0}));
  EXPECT_EQ(gradient({"dense<[2.0, 0.0, 4.0]> : tensor<3xf64>"},
                     "%r = nn.reduce_window prod %a0 {window = array<i64: 2>, "
                     "strides = array<i64: 1>, pad_low = "
                     "array<i64: 0>, pad_high = array<i64: 0>, dilations = "
                     "array<i64: 1>} : tensor<3xf64> -> "
                     "tensor<2xf64>",
                     "tensor<2xf64>"),
            (Reals{0, 2 + 8, 0}));
}

TEST_F(Kinks, TheFirstOfEqualElementsOfAWindowHasItAll) {
  const char *attributes =
      " {window = array<i64: 2>, strides = array<i64: 2>, pad_low = array<i64: "
      "0>, pad_high = array<i64: 0>, "
      "dilations = array<i64: 1>} : tensor<4xf64> -> tensor<2xf64>";
  EXPECT_EQ(gradient({"dense<[5.0, 5.0, 1.0, 2.0]> : tensor<4xf64>"},
                     std::string("%r = nn.reduce_window max %a0") + attributes, "tensor<2xf64>"),
            (Reals{1, 0, 0, 2}));
  EXPECT_EQ(gradient({"dense<[5.0, 5.0, 1.0, 2.0]> : tensor<4xf64>"},
                     std::string("%r = nn.reduce_window min %a0") + attributes, "tensor<2xf64>"),
            (Reals{1, 0, 2, 0}));
}

TEST_F(Kinks, AWindowOfPaddingGivesNothing) {
  EXPECT_EQ(gradient({"dense<[1.0, 2.0]> : tensor<2xf64>"},
                     "%r = nn.reduce_window max %a0 {window = array<i64: 1>, "
                     "strides = array<i64: 1>, pad_low = "
                     "array<i64: 1>, pad_high = array<i64: 1>, dilations = "
                     "array<i64: 1>} : tensor<2xf64> -> "
                     "tensor<4xf64>",
                     "tensor<4xf64>"),
            (Reals{2, 3}));
}

// The only window lies before all elements, and what was cut of them is more than there is.
TEST_F(Kinks, AWindowBeforeAllElementsGivesNothing) {
  EXPECT_EQ(gradient({"dense<[1.0, 2.0]> : tensor<2xf64>"},
                     "%r = nn.reduce_window sum %a0 {window = array<i64: 1>, "
                     "strides = array<i64: 10>, pad_low = "
                     "array<i64: 3>, pad_high = array<i64: 3>, dilations = "
                     "array<i64: 1>} : tensor<2xf64> -> "
                     "tensor<1xf64>",
                     "tensor<1xf64>"),
            (Reals{0, 0}));
}

TEST_F(Kinks, TheLastOfEqualElementsOfAScanHasTheRest) {
  const char *x = "dense<[3.0, 1.0, 3.0, 2.0]> : tensor<4xf64>";
  auto scan = [&](const char *kind, const char *flags) {
    return gradient({x},
                    std::string("%r = nn.scan ") + kind + " %a0 dim = 0 " + flags +
                        " : tensor<4xf64> -> tensor<4xf64>",
                    "tensor<4xf64>");
  };
  EXPECT_EQ(scan("max", ""), (Reals{1 + 2, 0, 3 + 4, 0}));
  EXPECT_EQ(scan("max", "{exclusive}"), (Reals{2 + 3, 0, 4, 0}));
  EXPECT_EQ(scan("max", "{reverse}"), (Reals{1, 0, 2 + 3, 4}));
  EXPECT_EQ(scan("max", "{exclusive, reverse}"), (Reals{0, 0, 1 + 2, 3}));
  EXPECT_EQ(scan("min", ""), (Reals{1, 2 + 3 + 4, 0, 0}));
}

TEST_F(Kinks, OfUpdatesToOnePlaceTheLastHasTheGradient) {
  // Places 1, 1, 0 and one that is dropped.
  auto scatter = [&](const char *kind, const char *old, const char *updates) {
    return gradients({old, "dense<[[1], [1], [0], [7]]> : tensor<4x1xi64>", updates},
                     std::string("%r = nn.scatter ") + kind +
                         " %a0, %a1, %a2 indexed = [0] operand_batch = [] indices_batch = "
                         "[] : "
                         "(tensor<3xf64>, tensor<4x1xi64>, tensor<4xf64>) -> tensor<3xf64>",
                     "tensor<3xf64>", {0, 2});
  };
  auto assign = scatter("assign", "dense<0.0> : tensor<3xf64>", "dense<5.0> : tensor<4xf64>");
  EXPECT_EQ(assign[0].reals, (Reals{0, 0, 3}));
  EXPECT_EQ(assign[1].reals, (Reals{0, 2, 1, 0}));
  auto add = scatter("add", "dense<0.0> : tensor<3xf64>", "dense<5.0> : tensor<4xf64>");
  EXPECT_EQ(add[0].reals, (Reals{1, 2, 3}));
  EXPECT_EQ(add[1].reals, (Reals{2, 2, 1, 0}));
  auto mul = scatter("mul", "dense<[2.0, 3.0, 0.0]> : tensor<3xf64>",
                     "dense<[4.0, 0.0, 0.0, 9.0]> : tensor<4xf64>");
  EXPECT_EQ(mul[0].reals, (Reals{0, 0, 3}));
  EXPECT_EQ(mul[1].reals, (Reals{0, 2 * 12, 2, 0}));
  auto max = scatter("max", "dense<[1.0, 4.0, 2.0]> : tensor<3xf64>",
                     "dense<[4.0, 4.0, 0.0, 9.0]> : tensor<4xf64>");
  EXPECT_EQ(max[0].reals, (Reals{1, 2 / 3.0, 3}));
  EXPECT_EQ(max[1].reals, (Reals{2 / 3.0, 2 / 3.0, 0, 0}));
}

TEST_F(Kinks, WhatIsReadTwiceAddsUp) {
  EXPECT_EQ(gradient({"dense<[1.0, 2.0, 3.0]> : tensor<3xf64>",
                      "dense<[[2], [0], [2], [-1]]> : tensor<4x1xi64>"},
                     "%r = nn.gather %a0, %a1 indexed = [0] operand_batch = [] "
                     "indices_batch = [] : (tensor<3xf64>, "
                     "tensor<4x1xi64>) -> tensor<4xf64>",
                     "tensor<4xf64>"),
            (Reals{2, 0, 1 + 3}));
}

TEST_F(Kinks, AQueryThatSeesNothingHasNoGradient) {
  // Three queries over one key: causally, only the last one sees it.
  auto found = gradients({"dense<[[[[1.0], [2.0], [3.0]]]]> : tensor<1x1x3x1xf64>",
                          "dense<0.5> : tensor<1x1x1x1xf64>", "dense<0.25> : tensor<1x1x1x1xf64>"},
                         "%r = nn.attention %a0, %a1, %a2 scale = 1.0 {causal} : "
                         "(tensor<1x1x3x1xf64>, "
                         "tensor<1x1x1x1xf64>, tensor<1x1x1x1xf64>) -> tensor<1x1x3x1xf64>",
                         "tensor<1x1x3x1xf64>", {0, 1, 2});
  EXPECT_EQ(found[0].reals, (Reals{0, 0, 0}));
  EXPECT_EQ(found[1].reals, (Reals{0}));
  EXPECT_EQ(found[2].reals, (Reals{3}));
}

TEST_F(Kinks, FanOutAndUntouchedInputs) {
  auto found = gradients({"dense<2.0> : tensor<f64>", "dense<5.0> : tensor<f64>"},
                         "%s = nn.mul %a0, %a0 : (tensor<f64>, tensor<f64>) -> tensor<f64>\n"
                         "%r = nn.mul %s, %a0 : (tensor<f64>, tensor<f64>) -> tensor<f64>",
                         "tensor<f64>", {0, 1});
  EXPECT_EQ(found[0].reals, (Reals{12}));
  EXPECT_EQ(found[1].reals, (Reals{0}));
}

} // namespace
