// Commands of a pipeline sleep as a file says, and compute nothing.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/Pretend.h"
#include "Contains.h"
#include "PipelineProgram.h"

#include "weft/runtime/Runtime.h"

#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>

using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

std::atomic<int> worked{0};
void work(int64_t, int64_t, void *const *, const int64_t *) { ++worked; }
const weft_kernel_entry kKernels[] = {{"work", work}};

std::string written(const std::string &text) {
  std::string path = testing::TempDir() + "weft-costs";
  std::ofstream(path) << text;
  return path;
}

std::string faultOf(const std::string &text) {
  PretendedCosts costs;
  return PretendedCosts::read(written(text), costs).text();
}

TEST(Pretend, SecondsAreSpreadOverTheCommandsOfAnAction) {
  PipelineProgram program({{{"F0.0", 2}, {"", 1}, {"D0.0", 4}}, {{"F1.0", 1}, {"D1.0", 1}}});
  PretendedCosts costs;
  ASSERT_TRUE(PretendedCosts::read(written("# seconds\nweft costs 1\n"
                                           "all F=1 B=2 W=6 comm=9 FB=1\n"
                                           "chunk 1 B=3 # the head\nrank 0 limit=3\n"),
                                   costs)
                  .ok());
  PretendedSeconds seconds;
  ASSERT_EQ(costs.spread(program.view, 0, seconds).text(), "");
  EXPECT_EQ(seconds, (PretendedSeconds{{0.5, 0.5, 0, 2, 2, 2, 2}}));
  ASSERT_EQ(costs.spread(program.view, 1, seconds).text(), "");
  EXPECT_EQ(seconds, (PretendedSeconds{{1, 9}}));
}

TEST(Pretend, WhatAFileLacksIsTold) {
  expectPart(faultOf(""), "is empty");
  expectPart(faultOf(std::string(2 << 20, '#')), "bytes, more than costs may have (1048576)");
  expectPart(faultOf("weft costs 2\n"), "line 1: expected 'weft costs 1'");
  expectPart(faultOf("weft costs 1\nchunk x F=1\n"), "line 2: expected 'all', 'chunk N' or");
  expectPart(faultOf("weft costs 1\nall\n stage 0 F=1\n"), "line 3: expected 'all', 'chunk N'");
  for (const char *word : {"F", "F=", "F=-1", "F=1s", "X=1", "F=inf"})
    expectPart(faultOf(std::string("weft costs 1\nall ") + word),
               std::string("line 2: expected seconds such as F=0.02 (F, B or W), found '") + word);
  PretendedCosts costs;
  expectPart(PretendedCosts::read("/nowhere/costs", costs).text(),
             "'/nowhere/costs' cannot be read: No such file");
  expectPart(PretendedCosts::read("/dev/zero", costs).text(), "'/dev/zero' is not a regular file");

  PretendedSeconds seconds;
  ASSERT_TRUE(PretendedCosts::read(written("weft costs 1\nchunk 0 F=1 B=1\n"), costs).ok());
  PipelineProgram program({{{"F0.0", 1}, {"D0.0", 1}}, {{"F1.0", 1}}});
  expectPart(costs.spread(program.view, 0, seconds).text(),
             "does not say W of chunk 0; add 'chunk 0 W=SECONDS'");
  expectPart(costs.spread(program.view, 1, seconds).text(), "does not say F of chunk 1");
  PipelineProgram none({{{"", 3}}});
  expectPart(costs.spread(none.view, 0, seconds).text(), "--pretend is for pipelines");
}

TEST(Pretend, CommandsSleepAndDoNotCompute) {
  PipelineProgram program({{{"F0.0", 3}, {"D0.0", 3}}, {{"F1.0", 1}}});
  std::string path = written("weft costs 1\nall F=0.03 B=0.02 W=0.02\n");
  weft_options options;
  weft_options_init(&options);
  for (bool pretends : {false, true}) {
    options.pretend = pretends ? path.c_str() : nullptr;
    weft_session *session = nullptr;
    weft_status status{};
    ASSERT_EQ(weft_open(program.blob.data(), program.blob.size(), kKernels, 1, &options, &session,
                        &status),
              0)
        << status.text;
    worked = 0;
    auto start = std::chrono::steady_clock::now();
    for (int run = 0; run < 3; ++run)
      ASSERT_EQ(weft_run(session, "p", &status), 0) << status.text;
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(worked, pretends ? 0 : 21);
    if (pretends)
      EXPECT_GT(passed.count(), 3 * 0.07 - 0.001);
    weft_close(session);
  }
}

} // namespace
