// Values of references that were worked out by hand: edges, ties and rounding.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Programs.h"

#include <cmath>

using namespace weft;
using namespace weft::nn::test;

namespace {

struct EvaluateTest : ProgramTest {
  /// An elementwise op on vectors of one type.
  HostTensor vector(const std::string &op, const std::string &values, const std::string &second,
                    const std::string &type, const std::string &result) {
    std::vector<std::string> inputs = {"dense<" + values + "> : " + type};
    std::string operands = "%a0", types = type;
    if (!second.empty()) {
      inputs.push_back("dense<" + second + "> : " + type);
      operands += ", %a1";
      types += ", " + type;
    }
    return eval(inputs, "nn." + op + " " + operands + " : (" + types + ") -> " + result, result);
  }
};

TEST_F(EvaluateTest, IntegersDivideTowardZeroAndNeverTrap) {
  const char *type = "tensor<6xi8>";
  EXPECT_EQ(vector("div", "[7, -7, 7, 5, -128, 0]", "[2, 2, -2, 0, -1, 3]", type, type).integers,
            (Integers{3, -3, -3, 0, -128, 0}));
  EXPECT_EQ(vector("rem", "[7, -7, 7, 5, -128, 0]", "[2, 2, -2, 0, -1, 3]", type, type).integers,
            (Integers{1, -1, 1, 0, 0, 0}));
}

TEST_F(EvaluateTest, PowersOfIntegersWrapAndTruncate) {
  const char *type = "tensor<7xi32>";
  EXPECT_EQ(
      vector("pow", "[2, 3, -1, -1, 2, 0, 2]", "[10, 0, 3, -3, -1, -2, 32]", type, type).integers,
      (Integers{1024, 1, -1, -1, 0, 0, 0}));
}

TEST_F(EvaluateTest, ArithmeticWrapsToTheElementWidth) {
  EXPECT_EQ(vector("add", "[250, 3]", "[10, 4]", "tensor<2xui8>", "tensor<2xui8>").integers,
            (Integers{4, 7}));
  EXPECT_EQ(vector("mul", "[100, -100]", "[3, 3]", "tensor<2xi8>", "tensor<2xi8>").integers,
            (Integers{44, -44}));
  EXPECT_EQ(vector("negate", "[-128, 5]", "", "tensor<2xi8>", "tensor<2xi8>").integers,
            (Integers{-128, -5}));
}

TEST_F(EvaluateTest, UnsignedValuesCompareWithoutSign) {
  std::string values = "[18446744073709551615, 1]", others = "[1, 18446744073709551615]";
  std::string type = "tensor<2xui64>";
  EXPECT_EQ(vector("compare gt", values, others, type, "tensor<2xi1>").integers, (Integers{1, 0}));
  EXPECT_EQ(vector("max", values, others, type, type).integers, (Integers{-1, -1}));
  EXPECT_EQ(vector("div", values, "[2, 1]", type, type).integers,
            (Integers{std::numeric_limits<int64_t>::max(), 1}));
}

TEST_F(EvaluateTest, ShiftsPastTheWidthClear) {
  EXPECT_EQ(
      vector("shift_left", "[1, 1, 3]", "[7, 8, 200]", "tensor<3xui8>", "tensor<3xui8>").integers,
      (Integers{128, 0, 0}));
  EXPECT_EQ(vector("shift_right", "[128, 128, 3]", "[7, 8, 1]", "tensor<3xui8>", "tensor<3xui8>")
                .integers,
            (Integers{1, 0, 1}));
  EXPECT_EQ(vector("shift_right", "[-128, -128, 5]", "[7, 8, 1]", "tensor<3xi8>", "tensor<3xi8>")
                .integers,
            (Integers{-1, -1, 2}));
}

TEST_F(EvaluateTest, NotIsLogicalForBoolAndBitwiseElse) {
  EXPECT_EQ(vector("not", "[true, false]", "", "tensor<2xi1>", "tensor<2xi1>").integers,
            (Integers{0, 1}));
  EXPECT_EQ(vector("not", "[0, 5]", "", "tensor<2xui8>", "tensor<2xui8>").integers,
            (Integers{255, 250}));
  EXPECT_EQ(vector("not", "[0, 5]", "", "tensor<2xi32>", "tensor<2xi32>").integers,
            (Integers{-1, -6}));
}

TEST_F(EvaluateTest, CastsRoundTruncateAndTest) {
  // 1 + 2^-8 lies between two bf16 values and ties to the even one.
  EXPECT_EQ(vector("cast", "[1.00390625, 1.01171875]", "", "tensor<2xf64>", "tensor<2xbf16>").reals,
            (Reals{1.0, 1.015625}));
  EXPECT_EQ(vector("cast", "[2.7, -2.7, 0.5]", "", "tensor<3xf64>", "tensor<3xi32>").integers,
            (Integers{2, -2, 0}));
  EXPECT_EQ(vector("cast", "[0.5, 0.0, -3.0]", "", "tensor<3xf64>", "tensor<3xi1>").integers,
            (Integers{1, 0, 1}));
  EXPECT_EQ(vector("cast", "[300, -1]", "", "tensor<2xi32>", "tensor<2xui8>").integers,
            (Integers{44, 255}));
  EXPECT_EQ(vector("cast", "[255, 1]", "", "tensor<2xui8>", "tensor<2xi8>").integers,
            (Integers{-1, 1}));
  EXPECT_EQ(vector("cast", "[18446744073709551615]", "", "tensor<1xui64>", "tensor<1xf64>").reals,
            (Reals{18446744073709551616.0}));
}

TEST_F(EvaluateTest, RoundTiesToEven) {
  EXPECT_EQ(
      vector("round", "[0.5, 1.5, 2.5, -0.5, -1.5]", "", "tensor<5xf64>", "tensor<5xf64>").reals,
      (Reals{0, 2, 2, -0.0, -2}));
}

TEST_F(EvaluateTest, MaxPropagatesNan) {
  HostTensor max = vector("max", "[1.0, 0x7FF8000000000000, 3.0]", "[2.0, 0.0, 0x7FF8000000000000]",
                          "tensor<3xf64>", "tensor<3xf64>");
  EXPECT_EQ(max.reals[0], 2);
  EXPECT_TRUE(std::isnan(max.reals[1]));
  EXPECT_TRUE(std::isnan(max.reals[2]));
}

TEST_F(EvaluateTest, GeluIsTheNormalDistributionFunction) {
  HostTensor exact = vector("gelu", "[1.0, -2.0]", "", "tensor<2xf64>", "tensor<2xf64>");
  EXPECT_NEAR(exact.reals[0], 0.8413447460685429, 1e-15);
  EXPECT_NEAR(exact.reals[1], -0.04550026389635842, 1e-15);
  HostTensor approximate = eval({"dense<1.0> : tensor<f64>"},
                                "nn.gelu %a0 {tanh} : (tensor<f64>) -> tensor<f64>", "tensor<f64>");
  EXPECT_NEAR(approximate.reals[0], 0.8411919906082768, 1e-15);
}

TEST_F(EvaluateTest, LayoutOpsMoveElements) {
  std::string six = "dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi64>";
  EXPECT_EQ(eval({six},
                 "nn.transpose %a0 permutation = [1, 0] : tensor<2x3xi64> -> "
                 "tensor<3x2xi64>",
                 "tensor<3x2xi64>")
                .integers,
            (Integers{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(eval({six}, "nn.reverse %a0 dims = [1] : tensor<2x3xi64> -> tensor<2x3xi64>",
                 "tensor<2x3xi64>")
                .integers,
            (Integers{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(eval({six},
                 "nn.slice %a0 starts = [1, 0] strides = [1, 2] : "
                 "tensor<2x3xi64> -> tensor<1x2xi64>",
                 "tensor<1x2xi64>")
                .integers,
            (Integers{3, 5}));
  EXPECT_EQ(eval({six},
                 "nn.pad %a0 low = [0, 1] high = [1, 0] value = 9 : i64 : "
                 "tensor<2x3xi64> -> tensor<3x4xi64>",
                 "tensor<3x4xi64>")
                .integers,
            (Integers{9, 0, 1, 2, 9, 3, 4, 5, 9, 9, 9, 9}));
  EXPECT_EQ(eval({"dense<[7, 8]> : tensor<2xi64>"},
                 "nn.broadcast %a0 dims = [0] : tensor<2xi64> -> tensor<2x3xi64>",
                 "tensor<2x3xi64>")
                .integers,
            (Integers{7, 7, 7, 8, 8, 8}));
  EXPECT_EQ(eval({six, "dense<[[6], [7]]> : tensor<2x1xi64>"},
                 "nn.concat %a0, %a1 dim = 1 : (tensor<2x3xi64>, "
                 "tensor<2x1xi64>) -> tensor<2x4xi64>",
                 "tensor<2x4xi64>")
                .integers,
            (Integers{0, 1, 2, 6, 3, 4, 5, 7}));
}

TEST_F(EvaluateTest, ContractSumsSharedLabels) {
  std::string a = "dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf64>";
  std::string b = "dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf64>";
  std::string types = " accumulate = f64 : (tensor<2x2xf64>, tensor<2x2xf64>) -> ";
  EXPECT_EQ(eval({a, b},
                 "nn.contract %a0, %a1 lhs = [0, 1] rhs = [1, 2] result = [0, 2]" + types +
                     "tensor<2x2xf64>",
                 "tensor<2x2xf64>")
                .reals,
            (Reals{19, 22, 43, 50}));
  // b transposed, result transposed.
  EXPECT_EQ(eval({a, b},
                 "nn.contract %a0, %a1 lhs = [0, 1] rhs = [2, 1] result = [2, 0]" + types +
                     "tensor<2x2xf64>",
                 "tensor<2x2xf64>")
                .reals,
            (Reals{17, 39, 23, 53}));
  EXPECT_EQ(
      eval({a, b},
           "nn.contract %a0, %a1 lhs = [0, 1] rhs = [0, 1] result = []" + types + "tensor<f64>",
           "tensor<f64>")
          .reals,
      (Reals{70}));
}

TEST_F(EvaluateTest, ConvolutionPadsStridesAndGroups) {
  std::string attributes = "{strides = array<i64: 2>, pad_low = array<i64: 1>, "
                           "pad_high = array<i64: 0>, "
                           "input_dilation = array<i64: 1>, filter_dilation = "
                           "array<i64: 1>, groups = ";
  EXPECT_EQ(eval({"dense<[[[1.0, 2.0, 3.0, 4.0]]]> : tensor<1x1x4xf64>",
                  "dense<[[[10.0, 1.0, 0.1]]]> : tensor<1x1x3xf64>"},
                 "nn.conv %a0, %a1 " + attributes +
                     "1 : i64} : (tensor<1x1x4xf64>, tensor<1x1x3xf64>) -> "
                     "tensor<1x1x2xf64>",
                 "tensor<1x1x2xf64>")
                .reals,
            (Reals{1.2, 23.4}));
  // Two groups: each channel meets its own filter.
  std::string pointwise = "{strides = array<i64>, pad_low = array<i64>, pad_high = array<i64>, "
                          "input_dilation = array<i64>, filter_dilation = array<i64>, groups = 2 : "
                          "i64}";
  EXPECT_EQ(
      eval({"dense<[[1.0, 2.0]]> : tensor<1x2xf64>", "dense<[[3.0], [5.0]]> : tensor<2x1xf64>"},
           "nn.conv %a0, %a1 " + pointwise +
               " : (tensor<1x2xf64>, tensor<2x1xf64>) -> tensor<1x2xf64>",
           "tensor<1x2xf64>")
          .reals,
      (Reals{3, 10}));
}

TEST_F(EvaluateTest, InputDilationIsATransposedConvolution) {
  EXPECT_EQ(eval({"dense<[[[1.0, 2.0]]]> : tensor<1x1x2xf64>",
                  "dense<[[[1.0, 10.0]]]> : tensor<1x1x2xf64>"},
                 "nn.conv %a0, %a1 {strides = array<i64: 1>, pad_low = "
                 "array<i64: 1>, pad_high = array<i64: 1>, "
                 "input_dilation = array<i64: 2>, filter_dilation = array<i64: "
                 "1>, groups = 1 : i64} : "
                 "(tensor<1x1x2xf64>, tensor<1x1x2xf64>) -> tensor<1x1x4xf64>",
                 "tensor<1x1x4xf64>")
                .reals,
            (Reals{10, 1, 20, 2}));
}

TEST_F(EvaluateTest, EmptyReductionsGiveTheNeutralElement) {
  std::string empty = "dense<> : tensor<0xi8>",
              type = " %a0 dims = [0] : tensor<0xi8> -> tensor<i8>";
  EXPECT_EQ(eval({empty}, "nn.reduce sum" + type, "tensor<i8>").integers, (Integers{0}));
  EXPECT_EQ(eval({empty}, "nn.reduce prod" + type, "tensor<i8>").integers, (Integers{1}));
  EXPECT_EQ(eval({empty}, "nn.reduce max" + type, "tensor<i8>").integers, (Integers{-128}));
  EXPECT_EQ(eval({empty}, "nn.reduce min" + type, "tensor<i8>").integers, (Integers{127}));
  EXPECT_EQ(eval({empty}, "nn.reduce and" + type, "tensor<i8>").integers, (Integers{-1}));
}

TEST_F(EvaluateTest, ArgReduceBreaksTiesAndLetsNanWin) {
  std::string ties = "dense<[2.0, 3.0, 3.0, 1.0]> : tensor<4xf64>",
              type = " : tensor<4xf64> -> tensor<i64>";
  EXPECT_EQ(eval({ties}, "nn.arg_reduce max %a0 dim = 0" + type, "tensor<i64>").integers,
            (Integers{1}));
  EXPECT_EQ(
      eval({ties}, "nn.arg_reduce max %a0 dim = 0 {select_last}" + type, "tensor<i64>").integers,
      (Integers{2}));
  EXPECT_EQ(eval({ties}, "nn.arg_reduce min %a0 dim = 0" + type, "tensor<i64>").integers,
            (Integers{3}));
  std::string nan = "dense<[2.0, 0x7FF8000000000000, 9.0, 1.0]> : tensor<4xf64>";
  EXPECT_EQ(eval({nan}, "nn.arg_reduce max %a0 dim = 0" + type, "tensor<i64>").integers,
            (Integers{1}));
  EXPECT_EQ(eval({nan}, "nn.arg_reduce min %a0 dim = 0" + type, "tensor<i64>").integers,
            (Integers{1}));
}

TEST_F(EvaluateTest, WindowsPadWithTheNeutralElement) {
  std::string attributes = "{window = array<i64: 2>, strides = array<i64: 2>, pad_low = array<i64: "
                           "1>, "
                           "pad_high = array<i64: 1>, dilations = array<i64: 1>}";
  std::string values = "dense<[-3.0, -1.0, -4.0, -2.0]> : tensor<4xf64>";
  EXPECT_EQ(eval({values},
                 "nn.reduce_window max %a0 " + attributes + " : tensor<4xf64> -> tensor<3xf64>",
                 "tensor<3xf64>")
                .reals,
            (Reals{-3, -1, -2}));
  EXPECT_EQ(eval({values},
                 "nn.reduce_window sum %a0 " + attributes + " : tensor<4xf64> -> tensor<3xf64>",
                 "tensor<3xf64>")
                .reals,
            (Reals{-3, -5, -2}));
  EXPECT_EQ(eval({values}, "nn.arg_window %a0 " + attributes + " : tensor<4xf64> -> tensor<3xi64>",
                 "tensor<3xi64>")
                .integers,
            (Integers{0, 1, 3}));
}

TEST_F(EvaluateTest, ArgWindowCountsInTheOrderAsked) {
  std::string attributes = "window = array<i64: 2, 3>, strides = array<i64: 1, 1>, pad_low = "
                           "array<i64: 0, 0>, "
                           "pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>";
  std::string values = "dense<[[0.0, 0.0, 0.0], [0.0, 5.0, 0.0]]> : tensor<2x3xf64>";
  std::string type = " : tensor<2x3xf64> -> tensor<1x1xi64>";
  EXPECT_EQ(
      eval({values}, "nn.arg_window %a0 {" + attributes + "}" + type, "tensor<1x1xi64>").integers,
      (Integers{4}));
  EXPECT_EQ(eval({values}, "nn.arg_window %a0 {column_major, " + attributes + "}" + type,
                 "tensor<1x1xi64>")
                .integers,
            (Integers{3}));
}

TEST_F(EvaluateTest, ScansRunBothWays) {
  std::string values = "dense<[1, 2, 3]> : tensor<3xi64>",
              type = " : tensor<3xi64> -> tensor<3xi64>";
  auto scan = [&](const std::string &flags) {
    return eval({values}, "nn.scan sum %a0 dim = 0" + flags + type, "tensor<3xi64>").integers;
  };
  EXPECT_EQ(scan(""), (Integers{1, 3, 6}));
  EXPECT_EQ(scan(" {exclusive}"), (Integers{0, 1, 3}));
  EXPECT_EQ(scan(" {reverse}"), (Integers{6, 5, 3}));
  EXPECT_EQ(scan(" {exclusive, reverse}"), (Integers{5, 3, 0}));
}

TEST_F(EvaluateTest, TopKIsStable) {
  std::string values = "dense<[[1.0, 3.0, 2.0, 3.0], [4.0, 4.0, 0.0, 5.0]]> : tensor<2x4xf64>";
  std::string types = "tensor<2x2xf64>, tensor<2x2xi64>";
  auto results = run({values},
                     "%v, %i = nn.top_k %a0 dim = 1 : (tensor<2x4xf64>) -> (" + types +
                         ")\n"
                         "return %v, %i : " +
                         types,
                     types);
  EXPECT_EQ(results[0].reals, (Reals{3, 3, 5, 4}));
  EXPECT_EQ(results[1].integers, (Integers{1, 3, 3, 0}));
  results = run({values},
                "%v, %i = nn.top_k %a0 dim = 1 {smallest} : (tensor<2x4xf64>) -> (" + types +
                    ")\n"
                    "return %v, %i : " +
                    types,
                types);
  EXPECT_EQ(results[0].reals, (Reals{1, 2, 0, 4}));
  EXPECT_EQ(results[1].integers, (Integers{0, 2, 2, 0}));
}

TEST_F(EvaluateTest, GatherReadsZeroOutOfRange) {
  EXPECT_EQ(eval({"dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>",
                  "dense<[[1], [-1], [2], [0]]> : tensor<4x1xi64>"},
                 "nn.gather %a0, %a1 indexed = [0] operand_batch = [] "
                 "indices_batch = [] : "
                 "(tensor<2x2xi64>, tensor<4x1xi64>) -> tensor<4x2xi64>",
                 "tensor<4x2xi64>")
                .integers,
            (Integers{3, 4, 0, 0, 0, 0, 1, 2}));
}

TEST_F(EvaluateTest, GatherRunsBatchDimsTogether) {
  EXPECT_EQ(eval({"dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>",
                  "dense<[[[2], [0]], [[1], [1]]]> : tensor<2x2x1xi64>"},
                 "nn.gather %a0, %a1 indexed = [1] operand_batch = [0] "
                 "indices_batch = [0] : "
                 "(tensor<2x3xi64>, tensor<2x2x1xi64>) -> tensor<2x2xi64>",
                 "tensor<2x2xi64>")
                .integers,
            (Integers{3, 1, 5, 5}));
}

TEST_F(EvaluateTest, ScatterAppliesUpdatesInOrderAndDropsOthers) {
  std::vector<std::string> inputs = {"dense<[10, 20, 30]> : tensor<3xi64>",
                                     "dense<[[1], [1], [3], [0]]> : tensor<4x1xi64>",
                                     "dense<[1, 2, 3, 4]> : tensor<4xi64>"};
  std::string rest = " %a0, %a1, %a2 indexed = [0] operand_batch = [] indices_batch = [] : "
                     "(tensor<3xi64>, tensor<4x1xi64>, tensor<4xi64>) -> tensor<3xi64>";
  EXPECT_EQ(eval(inputs, "nn.scatter assign" + rest, "tensor<3xi64>").integers,
            (Integers{4, 2, 30}));
  EXPECT_EQ(eval(inputs, "nn.scatter add" + rest, "tensor<3xi64>").integers,
            (Integers{14, 23, 30}));
  EXPECT_EQ(eval(inputs, "nn.scatter max" + rest, "tensor<3xi64>").integers,
            (Integers{10, 20, 30}));
}

TEST_F(EvaluateTest, RopeRotatesHalvesOrNeighbours) {
  std::vector<std::string> inputs = {"dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf64>",
                                     "dense<[0.0, 1.0]> : tensor<2xf64>",
                                     "dense<[1.0, 0.0]> : tensor<2xf64>"};
  std::string type = " : (tensor<4xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<4xf64>";
  EXPECT_EQ(eval(inputs, "nn.rope %a0, %a1, %a2" + type, "tensor<4xf64>").reals,
            (Reals{-3, 2, 1, 4}));
  EXPECT_EQ(eval(inputs, "nn.rope %a0, %a1, %a2 {interleaved}" + type, "tensor<4xf64>").reals,
            (Reals{-2, 1, 3, 4}));
}

TEST_F(EvaluateTest, AttentionRowsThatSeeNothingAreZero) {
  // Three queries, two keys: the first row would end before the first key.
  HostTensor result = eval({"dense<0.0> : tensor<1x1x3x1xf64>", "dense<0.0> : tensor<1x1x2x1xf64>",
                            "dense<[[[[2.0], [4.0]]]]> : tensor<1x1x2x1xf64>"},
                           "nn.attention %a0, %a1, %a2 scale = 1.0 {causal} : "
                           "(tensor<1x1x3x1xf64>, tensor<1x1x2x1xf64>, "
                           "tensor<1x1x2x1xf64>) -> tensor<1x1x3x1xf64>",
                           "tensor<1x1x3x1xf64>");
  EXPECT_EQ(result.reals, (Reals{0, 2, 3}));
}

TEST_F(EvaluateTest, AttentionHeadsShareKeysInGroups) {
  // Four query heads on two key heads: 0 and 1 read the first, 2 and 3 the
  // second.
  HostTensor result = eval({"dense<0.0> : tensor<1x4x1x1xf64>", "dense<0.0> : tensor<1x2x1x1xf64>",
                            "dense<[[[[2.0]], [[4.0]]]]> : tensor<1x2x1x1xf64>"},
                           "nn.attention %a0, %a1, %a2 scale = 1.0 : (tensor<1x4x1x1xf64>, "
                           "tensor<1x2x1x1xf64>, "
                           "tensor<1x2x1x1xf64>) -> tensor<1x4x1x1xf64>",
                           "tensor<1x4x1x1xf64>");
  EXPECT_EQ(result.reals, (Reals{2, 2, 4, 4}));
}

} // namespace
