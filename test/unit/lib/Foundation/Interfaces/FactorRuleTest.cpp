// Factorisation of reshapes, and what a rule rejects and prints.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Interfaces/FactorRule.h"

#include "mlir/IR/Builders.h"

#include <gtest/gtest.h>

#include <iostream>
#include <random>

using namespace mlir;
using namespace weft;

namespace {

using Shape = SmallVector<int64_t>;

struct FactorRuleTest : ::testing::Test {
  FactorRule refine(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
    FactorRule rule;
    rule.operands.emplace_back();
    rule.results.emplace_back();
    refineShapes(from, to, rule, rule.operands[0], rule.results[0]);
    std::string why;
    EXPECT_TRUE(rule.verify(type(from), type(to), &why)) << why << " in " << text(rule);
    return rule;
  }
  Type type(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, Builder(&context).getF32Type());
  }
  static std::string text(const FactorRule &rule) {
    std::string result;
    llvm::raw_string_ostream os(result);
    rule.print(os);
    return result;
  }
  MLIRContext context;
};

TEST_F(FactorRuleTest, HeadsAreSplitOffTheMinorDim) {
  EXPECT_EQ(text(refine({2, 3, 32}, {2, 3, 4, 8})),
            "(a)(b)(c d) -> (a)(b)(c)(d) {a=2, b=3, c=4, d=8}");
  EXPECT_EQ(text(refine({2, 3, 4, 8}, {2, 3, 32})),
            "(a)(b)(c)(d) -> (a)(b)(c d) {a=2, b=3, c=4, d=8}");
}

TEST_F(FactorRuleTest, MergedBatchAndSequenceKeepBothFactors) {
  EXPECT_EQ(text(refine({2, 3, 8}, {6, 8})), "(a)(b)(c) -> (a b)(c) {a=2, b=3, c=8}");
}

TEST_F(FactorRuleTest, CommonRefinementOfUnlikeShapes) {
  EXPECT_EQ(text(refine({8, 6}, {4, 2, 6})), "(a b)(c) -> (a)(b)(c) {a=4, b=2, c=6}");
  EXPECT_EQ(text(refine({4, 8}, {8, 4})), "(a)(b c) -> (a b)(c) {a=4, b=2, c=4}");
}

TEST_F(FactorRuleTest, DimsOfSizeOneHaveNoFactor) {
  EXPECT_EQ(text(refine({1, 4, 1}, {4, 1, 1, 1})), "()(a)() -> (a)()()() {a=4}");
  EXPECT_EQ(text(refine({}, {1, 1})), "() -> ()() {}");
  EXPECT_EQ(text(refine({2, 1, 3}, {1, 6})), "(a)()(b) -> ()(a b) {a=2, b=3}");
}

TEST_F(FactorRuleTest, InterleavingSizesStayWhole) {
  EXPECT_EQ(text(refine({2, 3}, {3, 2})),
            "(a)(b) -> (c)(d) {a=2:whole, b=3:whole, c=3:whole, d=2:whole}");
  // Common divisors at either end are shared.
  EXPECT_EQ(text(refine({12, 10}, {8, 15})),
            "(a b)(c f) -> (a d)(e f) {a=4, b=3:whole, c=2:whole, d=2:whole, "
            "e=3:whole, f=5}");
  // Around them all is as before.
  EXPECT_EQ(text(refine({5, 2, 3, 7}, {5, 3, 2, 7})),
            "(a)(b)(c)(f) -> (a)(d)(e)(f) {a=5, b=2:whole, c=3:whole, "
            "d=3:whole, e=2:whole, f=7}");
}

TEST_F(FactorRuleTest, ZeroSizesVerify) {
  refine({0, 3}, {3, 0});
  refine({2, 0}, {0});
  refine({0}, {0, 5, 7});
  refine({4, 0, 6}, {3, 0, 0, 2});
}

/// A parallel factor must mean the same elements on both sides: peeling it off
/// either shape gives one order of elements.
TEST_F(FactorRuleTest, SharedFactorsAddressTheSameElements) {
  std::mt19937_64 random(11);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  int shared = 0;
  for (int i = 0; i < 20000; ++i) {
    Shape from = {1}, to = {1};
    for (int64_t atom = 0, e = below(6); atom < e; ++atom) {
      int64_t size = 1 + below(6);
      for (Shape *side : {&from, &to}) {
        if (below(2))
          side->push_back(1);
        side->back() *= size;
      }
    }
    if (below(4) == 0) // Another order of dims: sizes that interleave.
      std::shuffle(to.begin(), to.end(), random);
    FactorRule rule = refine(from, to);
    // The weight of a factor in elements, minor to major, must agree.
    auto weightsOf = [&](const TensorFactors &dims) {
      llvm::DenseMap<int, int64_t> weights;
      int64_t weight = 1;
      for (const DimFactors &dim : llvm::reverse(dims))
        for (int f : llvm::reverse(dim)) {
          weights[f] = weight;
          weight *= rule.factors[f].size;
        }
      return weights;
    };
    auto left = weightsOf(rule.operands[0]), right = weightsOf(rule.results[0]);
    for (auto [f, factor] : llvm::enumerate(rule.factors)) {
      if (factor.kind != Factor::Kind::Parallel)
        continue;
      ASSERT_TRUE(left.count(f) && right.count(f)) << text(rule);
      ASSERT_EQ(left[f], right[f]) << text(rule);
      ++shared;
    }
  }
  std::cout << "seed 11, shared factors " << shared << "\n";
  EXPECT_GE(shared, 20000);
}

TEST_F(FactorRuleTest, RulesThatDoNotFitSayWhy) {
  FactorRule rule;
  int a = rule.add(4);
  rule.operands = {{{a}}};
  rule.results = {{{a}}};
  std::string why;
  EXPECT_TRUE(rule.verify(type({4}), type({4}), &why));
  EXPECT_FALSE(rule.verify(type({4}), type({5}), &why));
  EXPECT_EQ(why, "result 0 dim 0: factors multiply to 4, size is 5");
  EXPECT_FALSE(rule.verify(type({4, 1}), type({4}), &why));
  EXPECT_EQ(why, "operand 0: 1 dims in the rule, tensor rank 2");
  EXPECT_FALSE(rule.verify(TypeRange(), type({4}), &why));
  EXPECT_EQ(why, "operands: 1 in the rule, 0 in the op");
}

} // namespace
