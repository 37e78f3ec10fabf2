// Plans as text: there and back, by hand, and what is wrong with one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Planner/Plan.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::planner;

namespace {

Plan example() {
  Layout layout;
  layout.sizes = {2, 4, 1};
  layout.microbatches = 8;
  layout.schedule = "zb-h1";
  layout.zero = 1;
  layout.recompute = Recompute::Full;
  Plan plan = planOf(layout, /*trains=*/true);
  plan.model = "a \"b\".onnx";
  plan.stages = "blocks:3,5";
  plan.cluster = "h100";
  plan.stepSeconds = 0.1;
  plan.memoryBytes = 123456789012345;
  return plan;
}

TEST(Plans, AreTheSameThereAndBack) {
  std::string text = writePlan(example()), error;
  EXPECT_EQ(text, "# A plan for weft-compile --plan; docs/plan.md says what each field is.\n"
                  "model: \"a \\\"b\\\".onnx\"\n"
                  "cluster: \"h100\"\n"
                  "devices: 8\n"
                  "mesh: \"pp=2,dp=4\"\n"
                  "microbatches: 8\n"
                  "schedule: \"zb-h1\"\n"
                  "stages: \"blocks:3,5\"\n"
                  "zero: \"1\"\n"
                  "recompute: \"full\"\n"
                  "sequence_parallel: false\n"
                  "predicted {\n"
                  "  step_seconds: 0.1\n"
                  "  memory_bytes: 123456789012345\n"
                  "}\n");
  std::optional<Plan> read = readPlan(text, error);
  ASSERT_TRUE(read) << error;
  EXPECT_EQ(writePlan(*read), text);
  EXPECT_TRUE(differences(example(), *read).empty());
}

TEST(Plans, SayOnlyWhatIsThere) {
  std::string error;
  std::optional<Plan> plan = readPlan("mesh: \"dp=2\" place: \"a=dim0:dp\" place: \"b=-\"", error);
  ASSERT_TRUE(plan) << error;
  std::vector<std::pair<std::string, std::string>> flags{
      {"--mesh", "dp=2"}, {"--place", "a=dim0:dp"}, {"--place", "b=-"}};
  EXPECT_EQ(plan->flags(), flags);
}

TEST(Plans, NameTheLineThatIsWrong) {
  for (auto [text, expected] : std::vector<std::pair<const char *, const char *>>{
           {"mesh: \"dp=2\"\nmicrobatches: 0\n",
            "line 2: 'microbatches' must be a whole number from 1 to 1099511627776"},
           {"mesh: \"dp=2\"\nmicrobatch: 4\n", "line 2"},
           {"zero: 3\n", "line 1"}}) {
    std::string error;
    EXPECT_FALSE(readPlan(text, error));
    EXPECT_EQ(error.substr(0, std::string(expected).size()), expected) << error;
  }
}

TEST(Plans, AreCompared) {
  Plan other = example();
  other.microbatches = 16;
  other.schedule.reset();
  other.stepSeconds = 0.2;
  std::vector<std::string> expected{"microbatches: 8 -> 16", "schedule: \"zb-h1\" -> not said",
                                    "predicted step_seconds: 0.1 -> 0.2"};
  EXPECT_EQ(differences(example(), other), expected);
}

} // namespace
