// Patterns that match nothing: which names they may have meant.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/Nearest.h"

#include "gtest/gtest.h"

using namespace weft;

namespace {

const std::vector<std::string> kNames{"transformer.h.0.mlp.c_fc.weight",
                                      "transformer.h.1.mlp.c_fc.weight", "transformer.wte.weight",
                                      "/transformer/h.0/mlp/c_fc/Gemm"};

TEST(DidYouMeanByPattern, WholeNames) {
  EXPECT_EQ(didYouMeanByPattern("^transformer\\.wte\\.weigth$", kNames),
            "; did you mean 'transformer.wte.weight'?");
}

TEST(DidYouMeanByPattern, AsManyPartsAsThePatternHas) {
  EXPECT_EQ(didYouMeanByPattern("h.0.mlp.c_fc.weigth", kNames),
            "; did you mean 'h.0.mlp.c_fc.weight' or 'h.1.mlp.c_fc.weight'?");
  EXPECT_EQ(didYouMeanByPattern("c_fcc.weight", kNames), "; did you mean 'c_fc.weight'?");
  EXPECT_EQ(didYouMeanByPattern("wtee", kNames), "; did you mean 'wte'?");
  EXPECT_EQ(didYouMeanByPattern("h.9.mlp", kNames),
            "; did you mean 'h.0.mlp', 'h.1.mlp' or 'h.0/mlp'?");
  EXPECT_EQ(didYouMeanByPattern("/mlpp/c_fc", kNames), "; did you mean '/mlp/c_fc'?");
}

TEST(DidYouMeanByPattern, NothingLikeIt) {
  EXPECT_EQ(didYouMeanByPattern("qqqqq.rrrrr", kNames), "");
  EXPECT_EQ(didYouMeanByPattern(".*", kNames), "");
  EXPECT_EQ(didYouMeanByPattern("xyz", {"", ".", "a."}), "");
}

} // namespace
