// Actions among the commands of a trace, and when a schedule has them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/TraceActions.h"
#include "Contains.h"
#include "PipelineProgram.h"
#include "program/Action.h"

#include "gtest/gtest.h"

using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

/// "rank program/run action begin-end".
std::string told(const std::vector<ActionSlice> &slices) {
  std::string text;
  for (const ActionSlice &slice : slices) {
    char line[128];
    std::snprintf(line, sizeof line, "%lld %u/%u %s %g-%g; ", static_cast<long long>(slice.rank),
                  slice.program, slice.run, slice.action.c_str(), slice.begin, slice.end);
    text += line;
  }
  return text;
}

TEST(TraceActions, NamesOfActionsAreRead) {
  Action action;
  ASSERT_TRUE(parse("W12.345", action));
  EXPECT_EQ(action.kind, 'W');
  EXPECT_EQ(action.chunk, 12u);
  EXPECT_EQ(action.microbatch, 345u);
  for (const char *text :
       {"", "F", "F0", "F0.", "F.1", "0.1", "G0.1", "F0.1 ", "F-1.0", "F0.1.2", "F0.99999999999"})
    EXPECT_FALSE(parse(text, action)) << text;
  expectPart(PipelineProgram({{{"F0", 1}}}).fault, "is of action 'F0', which is none such as");
}

// What is of no action parts none; a run ends where commands begin again.
TEST(TraceActions, StretchesOfATraceAreFound) {
  PipelineProgram program({{{"F0.0", 2}, {"", 1}, {"F0.0", 1}, {"D0.0", 1}, {"F0.1", 1}}});
  std::vector<IssuedCommands> issued;
  issued.emplace_back(program.view, program.view.Bodies()[0]);
  std::vector<TraceInterval> trace;
  for (int run = 0; run < 2; ++run)
    for (uint32_t command = 0; command < 6; ++command) {
      double begin = 10 * run + command;
      trace.push_back({0, command, begin, begin + 0.5, 0, {}});
    }
  std::vector<ActionSlice> slices = actionSlices(program.view, issued, 7, trace, 100);
  EXPECT_EQ(told(slices), "7 0/0 F0.0 100-103.5; 7 0/0 D0.0 104-104.5; 7 0/0 F0.1 105-105.5; "
                          "7 0/1 F0.0 110-113.5; 7 0/1 D0.0 114-114.5; 7 0/1 F0.1 115-115.5; ");
  std::vector<ActionSlice> read;
  readSlices(textOf(slices), read);
  EXPECT_EQ(told(read), told(slices));
}

// 1F1B on two stages: F 1 and 2 long, D 3 and 2, B and W apart where a list has them. What a stage
// begins with early, here a part of D1.1, is not before what it does.
TEST(TraceActions, TheScheduleIsSimulated) {
  PipelineProgram program({{{"F0.0", 1}, {"F0.1", 1}, {"D0.0", 1}, {"D0.1", 1}},
                           {{"D1.1", 1}, {"F1.0", 1}, {"D1.0", 1}, {"F1.1", 1}, {"D1.1", 1}}});
  std::vector<ActionSlice> slices = {{0, 0, 3, "F0.0", 50, 50.5}, {0, 0, 3, "F0.1", 51, 52.5},
                                     {0, 0, 3, "D0.0", 55, 58},   {1, 0, 3, "F1.0", 55, 57},
                                     {1, 0, 3, "D1.0", 58, 60},   {1, 0, 2, "F1.0", 9, 11}};
  EXPECT_EQ(told(predictedSlices(program.view, slices)),
            "0 0/2 F0.0 9-10; 0 0/2 F0.1 10-11; 1 0/2 F1.0 10-12; 1 0/2 D1.0 12-14; "
            "1 0/2 F1.1 14-16; 1 0/2 D1.1 16-18; 0 0/2 D0.0 14-17; 0 0/2 D0.1 18-21; "
            "0 0/3 F0.0 50-51; 0 0/3 F0.1 51-52; 1 0/3 F1.0 51-53; 1 0/3 D1.0 53-55; "
            "1 0/3 F1.1 55-57; 1 0/3 D1.1 57-59; 0 0/3 D0.0 55-58; 0 0/3 D0.1 59-62; ");
  EXPECT_EQ(told(predictedSlices(program.view, {})), "");

  PipelineProgram apart(
      {{{"F0.0", 1}, {"B0.0", 1}, {"W0.0", 1}}, {{"F1.0", 1}, {"B1.0", 1}, {"W1.0", 1}}});
  std::vector<ActionSlice> ones;
  for (const char *action : {"F0.0", "B0.0", "W0.0", "F1.0", "B1.0", "W1.0"})
    ones.push_back({0, 0, 0, action, 0, 1});
  EXPECT_EQ(told(predictedSlices(apart.view, ones)),
            "0 0/0 F0.0 0-1; 1 0/0 F1.0 1-2; 1 0/0 B1.0 2-3; 1 0/0 W1.0 3-4; 0 0/0 B0.0 3-4; "
            "0 0/0 W0.0 4-5; ");
}

} // namespace
