// Rounding, constants and bytes of host tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Interfaces/HostTensor.h"

#include "mlir/IR/Builders.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace mlir;
using namespace weft;

namespace {

struct HostTensorTest : ::testing::Test {
  MLIRContext context;
  Builder b{&context};
};

TEST_F(HostTensorTest, FloatsRoundToNearestEven) {
  auto round = [](double value, Type type) { return roundToType({value, 0}, type).real; };
  EXPECT_EQ(round(1 + 0x1p-24, b.getF32Type()), 1);
  EXPECT_EQ(round(1 + 0x1.8p-23, b.getF32Type()), 1 + 0x1p-22);
  EXPECT_EQ(round(65520, b.getF16Type()), std::numeric_limits<double>::infinity());
  EXPECT_EQ(round(65519, b.getF16Type()), 65504);
  EXPECT_EQ(round(0x1p-25, b.getF16Type()), 0);
  EXPECT_EQ(round(1 + 0x1p-8, b.getBF16Type()), 1);
  EXPECT_EQ(round(0.1, b.getF64Type()), 0.1);
}

TEST_F(HostTensorTest, FloatsRoundAtTheEdgesOfTheirRange) {
  auto round = [&](double value) { return roundToType({value, 0}, b.getF32Type()).real; };
  double infinity = std::numeric_limits<double>::infinity();
  double largest = std::numeric_limits<float>::max(), halfway = largest + 0x1p103;
  EXPECT_EQ(round(halfway), infinity);
  EXPECT_EQ(round(-halfway), -infinity);
  EXPECT_EQ(round(std::nextafter(halfway, 0)), largest);
  EXPECT_EQ(round(infinity), infinity);
  // Half of the least subnormal is a tie to even, which is 0.
  EXPECT_EQ(round(0x1p-150), 0);
  EXPECT_EQ(round(std::nextafter(0x1p-150, 1)), 0x1p-149);
  EXPECT_TRUE(std::signbit(round(-0x1p-150)));
  EXPECT_EQ(round(1 + 0x1p-24), 1);
  EXPECT_EQ(round(1 + 0x3p-24), 1 + 0x1p-22);
  EXPECT_TRUE(std::signbit(round(-0.0)));
  EXPECT_TRUE(std::isnan(round(std::nan(""))));
}

TEST_F(HostTensorTest, EdgesOfTypesAndSplatsComeBack) {
  auto again = [&](Type type, const Scalar &value, int64_t count) {
    HostTensor tensor(RankedTensorType::get({count}, type));
    for (int64_t i = 0; i < count; ++i)
      tensor.set(i, value);
    auto attribute = toElementsAttr(tensor);
    EXPECT_TRUE(attribute.isSplat());
    return toHostTensor(attribute);
  };
  for (int64_t count : {1, 4}) {
    EXPECT_EQ(again(b.getI32Type(), {0, INT32_MIN}, count).integers,
              std::vector<int64_t>(count, INT32_MIN));
    EXPECT_EQ(again(b.getI64Type(), {0, INT64_MIN}, count).integers,
              std::vector<int64_t>(count, INT64_MIN));
    EXPECT_EQ(again(b.getF32Type(), {0x1p-149, 0}, count).reals,
              std::vector<double>(count, 0x1p-149));
    for (Type type : {Type(b.getF32Type()), Type(b.getF64Type())}) {
      EXPECT_TRUE(std::signbit(again(type, {-0.0, 0}, count).reals.back()));
      EXPECT_TRUE(std::isnan(again(type, {std::nan(""), 0}, count).reals.back()));
    }
  }
}

TEST_F(HostTensorTest, IntegersWrap) {
  auto wrap = [](int64_t value, Type type) { return roundToType({0, value}, type).integer; };
  EXPECT_EQ(wrap(200, b.getI8Type()), -56);
  EXPECT_EQ(wrap(-1, b.getIntegerType(8, false)), 255);
  EXPECT_EQ(wrap(4, b.getI1Type()), 1);
  EXPECT_EQ(wrap(-5, b.getI64Type()), -5);
}

TEST_F(HostTensorTest, ConstantsRoundTripInEveryType) {
  std::mt19937_64 random(7);
  int cases = 0;
  for (Type type :
       {Type(b.getF64Type()), Type(b.getF32Type()), Type(b.getF16Type()), Type(b.getBF16Type()),
        Type(b.getI1Type()), Type(b.getI8Type()), Type(b.getI32Type()), Type(b.getI64Type()),
        Type(b.getIntegerType(8, false)), Type(b.getIntegerType(64, false))})
    for (int64_t count : {0, 1, 5}) {
      HostTensor tensor(RankedTensorType::get({count}, type));
      for (int64_t i = 0; i < count; ++i)
        tensor.set(i, roundToType({std::uniform_real_distribution<double>(-9, 9)(random),
                                   static_cast<int64_t>(random())},
                                  type));
      HostTensor again = toHostTensor(toElementsAttr(tensor));
      EXPECT_EQ(again.reals, tensor.reals);
      EXPECT_EQ(again.integers, tensor.integers);
      EXPECT_EQ(again.elementType, type);
      ++cases;
    }
  EXPECT_EQ(cases, 30);
}

TEST_F(HostTensorTest, EqualValuesBecomeASplatButSignedZerosDoNot) {
  HostTensor tensor(RankedTensorType::get({2}, b.getF32Type()));
  EXPECT_TRUE(toElementsAttr(tensor).isSplat());
  tensor.reals[1] = -0.0;
  EXPECT_FALSE(toElementsAttr(tensor).isSplat());
}

} // namespace
