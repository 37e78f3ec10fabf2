// Why one layout is better than another.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Choosing/Reasons.h"

#include "gtest/gtest.h"

using namespace weft;
using namespace weft::choosing;
using planner::Candidate;
using planner::Role;

namespace {

Candidate candidateOf(int64_t tensor, int64_t picoseconds) {
  Candidate candidate;
  candidate.layout.size(Role::Tensor) = tensor;
  candidate.prediction.picoseconds = picoseconds;
  return candidate;
}

TEST(Reasons, ALoserLosesMostInOnePart) {
  Candidate choice = candidateOf(1, 100), loser = candidateOf(2, 150);
  EXPECT_FALSE(lossOf(loser, choice));
  choice.prediction.causes.compute[0] = 90;
  choice.prediction.causes.bubble = 10;
  loser.prediction.causes.compute[0] = 50;
  loser.prediction.causes.exposed = {30, 40};
  loser.prediction.causes.bubble = 30;
  std::optional<Loss> loss = lossOf(loser, choice);
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->part, Loss::Part::Communication);
  EXPECT_EQ(loss->picoseconds, 70);
}

TEST(Reasons, AnAxisIsGoodForWhatTheBestWithoutItLoses) {
  Choice choice;
  choice.compared = candidateOf(2, 100);
  choice.layout = choice.compared.layout;
  choice.search.kinds = {choice.compared};
  std::vector<Use> uses = usesOf(choice);
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].what, "tp");
  EXPECT_FALSE(uses[0].excess);

  choice.search.kinds.push_back(candidateOf(1, 140));
  choice.search.kinds.push_back(candidateOf(1, 125));
  uses = usesOf(choice);
  ASSERT_TRUE(uses.size() == 1 && uses[0].excess);
  EXPECT_NEAR(*uses[0].excess, 0.25, 1e-12);

  // Nothing else was looked at.
  choice.space.allowedSizes[size_t(planner::Role::Tensor)] = {2};
  uses = usesOf(choice);
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_TRUE(uses[0].isAsked && !uses[0].excess);
}

} // namespace
