// Texts of schedules and costs: what is written is read, what is wrong is told by line and word.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Pipeline/Costs.h"
#include "weft/Pipeline/Generate.h"
#include "weft/Pipeline/Plot.h"
#include "weft/Pipeline/Simulate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace weft::pipeline;

namespace {

std::string errorOf(const std::string &text) {
  std::string error;
  EXPECT_FALSE(readSchedule(text, error)) << text;
  return error;
}

TEST(Text, ReadsWhatItWrites) {
  for (const Generator &generator : generators()) {
    Schedule schedule = generator.make(3, generator.leastChunksPerRank, 7);
    std::string error;
    auto read = readSchedule(writeSchedule(schedule), error);
    ASSERT_TRUE(read) << error;
    EXPECT_TRUE(*read == schedule) << generator.name;
  }
  std::string error;
  EXPECT_TRUE(readSchedule("# first\n\nweft schedule 1 # the version\r\nranks 1 chunks 1 "
                           "microbatches 1\nplace 0\n\trank 0: F0.0 D0.0",
                           error))
      << error;
}

TEST(Text, TellsLineAndWord) {
  std::string head = "weft schedule 1\nranks 2 chunks 2 microbatches 3\nplace 0 1\n";
  EXPECT_EQ(errorOf(""), "line 1, word 1: the line ends where there is 'weft schedule 1', the "
                         "first line");
  EXPECT_EQ(errorOf("weft schedule 2\n"),
            "line 1, word 3: '2' stands where there is 1, the version of the text");
  EXPECT_EQ(errorOf("weft schedule 1\nranks 0 chunks 2 microbatches 3"),
            "line 2, word 2: '0' stands where there is a whole number from 1 to 65536");
  EXPECT_EQ(errorOf("weft schedule 1\nranks 2 chunks 2 microbatches 99999999999999999999"),
            "line 2, word 6: '99999999999999999999' stands where there is a whole number from 1 "
            "to 2097152");
  EXPECT_EQ(errorOf("weft schedule 1\nranks 2 chunks 2 microbatches 3\nplace 0"),
            "line 3, word 3: the line ends where there is a whole number from 0 to 1");
  EXPECT_EQ(errorOf(head + "rank 0: F0.0 X0.1\nrank 1:\n"),
            "line 4, word 4: 'X0.1' stands where there is an action such as F0.1: F, B, W or D, "
            "a chunk and a microbatch");
  EXPECT_EQ(errorOf(head + "rank 0: F2.0\n"),
            "line 4, word 3: 'F2.0' stands where there is a chunk from 0 to 1 before the dot");
  EXPECT_EQ(errorOf(head + "rank 0: F0.3\n"), "line 4, word 3: 'F0.3' stands where there is a "
                                              "microbatch from 0 to 2 behind the dot");
  EXPECT_EQ(errorOf(head + "rank 1: F1.0\n"), "line 4, word 2: '1:' stands where there is '0:'");
  EXPECT_EQ(errorOf(head + "rank 0: F0.0\n"),
            "line 5, word 1: the line ends where there is 'rank 1:' and the actions of that rank");
  EXPECT_EQ(errorOf(head + "rank 0:\nrank 1:\nrank 2:\n"),
            "line 6, word 1: 'rank' stands where there is nothing: all ranks have their line");
}

TEST(Text, SurvivesAnyBytes) {
  std::string text = writeSchedule(findGenerator("zb-v")->make(3, 2, 5));
  std::mt19937_64 random(1);
  int refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::string changed = text, error;
    for (int n = 0; n < 3; ++n)
      changed[random() % changed.size()] =
          char(random() % 3 ? " 0123456789.FBWD:\n#"[random() % 19] : random());
    refused += !readSchedule(changed, error);
  }
  EXPECT_GT(refused, 1500);
}

TEST(Costs, AreReadByChunkAndRank) {
  std::string error;
  auto costs = readCosts("weft costs 1\nall F=1 B=2 W=0.5 comm=0.1 FB=3\nchunk 1 F=7 # head\n"
                         "rank 0 limit=12\n",
                         2, 2, error);
  ASSERT_TRUE(costs) << error;
  EXPECT_EQ(costs->chunks[0].forward, 1);
  EXPECT_EQ(costs->chunks[1].forward, 7);
  EXPECT_EQ(costs->chunks[1].backward, 2);
  EXPECT_EQ(costs->chunks[1].transfer, 0.1);
  EXPECT_EQ(costs->chunks[1].keptForBackward, 3);
  EXPECT_EQ(costs->limitOf(0), 12);
  EXPECT_TRUE(std::isinf(costs->limitOf(1)));

  auto wrong = [&](const std::string &lines) {
    EXPECT_FALSE(readCosts("weft costs 1\n" + lines, 2, 2, error)) << lines;
    return error;
  };
  EXPECT_EQ(wrong("chunk 2 F=1"),
            "line 2, word 2: '2' stands where there is a whole number from 0 to 1");
  EXPECT_EQ(wrong("all F=-1"),
            "line 2, word 2: 'F=-1' stands where there is F= and a number from 0 to 1e15");
  EXPECT_EQ(wrong("all F=nan"),
            "line 2, word 2: 'F=nan' stands where there is F= and a number from 0 to 1e15");
  EXPECT_EQ(wrong("all G=1"), "line 2, word 2: 'G=1' stands where there is one of F=X, B=X, W=X, "
                              "comm=X, FB=X, FW=X, BW=X");
  EXPECT_EQ(wrong("all F=0x10"),
            "line 2, word 2: 'F=0x10' stands where there is F= and a number from 0 to 1e15");
  EXPECT_EQ(wrong("all F=1 B=2 F=3"), "line 2, word 4: 'F=3' stands where there is a name that the "
                                      "line has not given before");
  EXPECT_EQ(wrong("chunk 1"), "line 2, word 3: the line ends where there is one of F=X, B=X, W=X, "
                              "comm=X, FB=X, FW=X, BW=X");
  for (const char *before : {"chunk 1 F=7", "all F=7"})
    EXPECT_EQ(wrong(before + std::string("\nall B=2")),
              "line 3, word 1: 'all' stands where there is 'chunk' or 'rank': 'all' comes once, "
              "before any chunk");
  EXPECT_EQ(wrong("rank 0"), "line 2, word 3: the line ends where there is limit=X");
}

TEST(Costs, OfChunksThatRanksShareUnevenlyAreOfTheWholeModel) {
  ChunkCosts chunk = evenChunk({}, 1.5);
  EXPECT_DOUBLE_EQ(3 * chunk.work(), 2 * ChunkCosts().work());
}

/// All numbers behind `name="` in a text.
std::vector<double> numbersOf(const std::string &text, const std::string &name) {
  std::vector<double> result;
  for (size_t at = text.find(name + "=\""); at != std::string::npos;
       at = text.find(name + "=\"", at + 1))
    result.push_back(std::strtod(text.c_str() + at + name.size() + 2, nullptr));
  return result;
}

TEST(Plot, HasEveryActionInsideThePicture) {
  Schedule schedule = findGenerator("zb-v")->make(3, 2, 5);
  Costs costs = evenCosts(3, 2, {});
  costs.limit.assign(3, 4);
  Timing timing = *simulate(schedule, costs);
  std::string svg = plotSchedule(schedule, timing, costs, "a <b> & c");
  EXPECT_NE(svg.find("a &lt;b&gt; &amp; c"), std::string::npos);
  size_t titles = 0, curves = 0;
  for (size_t at = svg.find("<title>"); at != std::string::npos; at = svg.find("<title>", at + 1))
    ++titles;
  for (size_t at = svg.find("class=\"memory\""); at != std::string::npos;
       at = svg.find("class=\"memory\"", at + 1))
    ++curves;
  EXPECT_EQ(titles, 3u * 5 * 6);
  EXPECT_EQ(curves, 3u);
  double height = numbersOf(svg, "height")[0], width = numbersOf(svg, "width")[0];
  for (double y : numbersOf(svg, " y"))
    EXPECT_TRUE(y >= 0 && y <= height) << y;
  for (double x : numbersOf(svg, " x"))
    EXPECT_TRUE(x >= 0 && x <= width) << x;

  EXPECT_EQ(drawSchedule(findGenerator("1f1b")->make(2, 1, 2),
                         *simulate(findGenerator("1f1b")->make(2, 1, 2), evenCosts(2, 1, {})), 80),
            "rank 0  F0F1....D0--..D1--\n"
            "rank 1  ..F0D0--F1D1--....\n");
  EXPECT_EQ(drawSchedule(schedule, timing, 20), "");
}

TEST(Plot, EndsWithTheLeastOfTimes) {
  Schedule schedule = findGenerator("1f1b")->make(2, 1, 2);
  for (double time : {5e-324, 1e-323, 2e-322, 1e-300}) {
    Costs costs = evenCosts(2, 1, {});
    for (ChunkCosts &chunk : costs.chunks)
      chunk.forward = chunk.backward = chunk.weight = time;
    std::string svg = plotSchedule(schedule, *simulate(schedule, costs), costs, "");
    EXPECT_LT(svg.size(), 20000u) << time;
    EXPECT_EQ(svg.find("nan"), std::string::npos) << time;
  }
}

TEST(Plot, TakesATitleOfAnyBytes) {
  Schedule schedule = findGenerator("1f1b")->make(1, 1, 1);
  Costs costs = evenCosts(1, 1, {});
  std::string svg = plotSchedule(schedule, *simulate(schedule, costs), costs,
                                 "a\x1b\n\x7f b\xff\xc3 c\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80 "
                                 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xe2\x82");
  EXPECT_NE(
      svg.find(">a\?\?\? b\?\? c\?\?\?\?\?\?\?\?\? \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\?\?<"),
      std::string::npos)
      << svg.substr(0, 500);
}

} // namespace
