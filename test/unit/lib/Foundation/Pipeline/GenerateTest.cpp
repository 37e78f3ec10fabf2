// The named schedules: published rates, formulas for every size, orders that run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Published.h"

#include "weft/Pipeline/Check.h"
#include "weft/Pipeline/Generate.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace weft::pipeline;

namespace {

struct Made {
  Schedule schedule;
  Costs costs;
  Timing timing;
  double work; // of a rank

  double spanBubble() const { return timing.span - work; }
  double wallBubble() const { return timing.wall - work; }
};

Made make(const char *kind, int ranks, int chunksPerRank, int microbatches,
          const ChunkCosts &share) {
  Made made;
  made.schedule = findGenerator(kind)->make(ranks, chunksPerRank, microbatches);
  made.costs = evenCosts(ranks, chunksPerRank, share);
  EXPECT_EQ(check(made.schedule), "") << kind << " " << ranks << " " << microbatches;
  made.timing = *simulate(made.schedule, made.costs);
  made.work = microbatches * share.work();
  return made;
}

ChunkCosts share(double forward, double backward, double weight, double transfer = 0) {
  ChunkCosts costs;
  costs.forward = forward;
  costs.backward = backward;
  costs.weight = weight;
  costs.transfer = transfer;
  // M_B = 5 and M_W = 4 of a rank's share.
  costs.keptForBackward = 2;
  costs.keptForWeight = 3;
  costs.madeForWeight = 1;
  return costs;
}
constexpr double kMB = 5, kMW = 4;

TEST(Published, RatesToFourDigits) {
  for (const PublishedRow &row : kPublished) {
    const std::pair<const char *, double> columns[] = {{"1f1b", row.oneForwardOneBackward},
                                                       {"zb-h1", row.zeroBubble1},
                                                       {"zb-h2", row.zeroBubble2}};
    for (auto [kind, rate] : columns) {
      Made made = make(kind, kPublishedRanks, 1, row.microbatches, row.share());
      EXPECT_NEAR(bubbleOf(made.costs, made.schedule, made.timing.span), rate, 0.00005)
          << kind << " m=" << row.microbatches;
    }
    // That column is a formula; the simulated order has p more transfers on its way.
    EXPECT_NEAR(interleavedBubble(kPublishedRanks, row.chunksPerRank, row.microbatches,
                                  row.share().work(), row.transfer),
                row.interleaved, 0.00005);
    Made made =
        make("interleaved", kPublishedRanks, row.chunksPerRank, row.microbatches, row.share());
    int v = row.chunksPerRank, p = kPublishedRanks;
    EXPECT_NEAR(made.spanBubble(),
                (p - 1.0) / v * row.share().work() + (2 * v * p - 2) * row.transfer, 1e-6);
  }
}

TEST(Formula, EqualStages) {
  for (int p = 2; p <= 16; ++p)
    for (int m : {1, p - 1, p, 2 * p - 1, 2 * p, 3 * p + 1}) {
      SCOPED_TRACE("p=" + std::to_string(p) + " m=" + std::to_string(m));
      for (const char *kind : {"gpipe", "1f1b"}) {
        Made made = make(kind, p, 1, m, share(3, 5, 2));
        EXPECT_NEAR(made.spanBubble(), (p - 1) * 10, 1e-9) << kind;
        EXPECT_NEAR(made.wallBubble(), (p - 1) * 10, 1e-9) << kind;
        for (int i = 0; i < p; ++i)
          EXPECT_NEAR(made.timing.peak[size_t(i)], kMB * (kind[0] == 'g' ? m : std::min(m, p - i)),
                      1e-9)
              << kind;
        std::vector<ChunkPeak> chunks = chunkPeaks(made.schedule, made.costs);
        for (int i = 0; i < p; ++i) {
          EXPECT_EQ(chunks[size_t(i)].inFlight, kind[0] == 'g' ? m : std::min(m, p - i)) << kind;
          EXPECT_NEAR(chunks[size_t(i)].kept, made.timing.peak[size_t(i)], 1e-9) << kind;
        }
      }
      if (m >= p) {
        Made made = make("zb-h1", p, 1, m, share(3, 3.2, 2.9));
        EXPECT_NEAR(made.spanBubble(), (p - 1) * (3 + 3.2 - 2.9), 1e-9);
        EXPECT_NEAR(made.wallBubble(), (p - 1) * (3 + 3.2 - 2.9), 1e-9);
        for (int i = 0; i < p; ++i)
          EXPECT_NEAR(made.timing.peak[size_t(i)], (p - i) * kMB + i * kMW, 1e-9);
        // What waits for W alone is in flight no more.
        for (int i = 0; i < p; ++i)
          EXPECT_EQ(chunkPeaks(made.schedule, made.costs)[size_t(i)].inFlight, p - i);
      }
      if (m >= 2 * p - 1) {
        Made made = make("zb-h2", p, 1, m, share(3, 3, 3, 0.5));
        EXPECT_NEAR(make("zb-h2", p, 1, m, share(3, 3, 2)).spanBubble(), (p - 1) * 2, 1e-9);
        EXPECT_NEAR(made.wallBubble(), (p - 1) * 3.5, 1e-9);
        for (int i = 0; i < p; ++i)
          EXPECT_NEAR(made.timing.peak[size_t(i)], (2 * (p - i) - 1) * kMB + 2 * i * kMW, 1e-9);
        made = make("zb-v", p, 2, m, share(3, 3, 3));
        EXPECT_NEAR(made.spanBubble(), 0, 1e-9);
        EXPECT_NEAR(made.wallBubble(), (p - 1) * 1.5, 1e-9);
        for (double peak : made.timing.peak)
          EXPECT_NEAR(peak, p * kMB, 1e-9);
        // Chunks on one rank are counted apart: the last one waits for nobody.
        std::vector<ChunkPeak> chunks = chunkPeaks(made.schedule, made.costs);
        EXPECT_LE(chunks.front().kept, p * kMB + 1e-9);
        EXPECT_GE(chunks.front().kept + chunks.back().kept, p * kMB - 1e-9);
        EXPECT_EQ(chunks.back().inFlight, 1);
      }
      if (m >= 2 * p) {
        Made made = make("dualpipev", p, 2, m, share(3, 3, 3));
        EXPECT_NEAR(made.spanBubble(), (p - 1) * 1.5, 1e-9);
        EXPECT_NEAR(made.wallBubble(), (p - 1) * 1.5, 1e-9);
        EXPECT_NEAR(*std::max_element(made.timing.peak.begin(), made.timing.peak.end()),
                    (2 * p + 1) * kMB / 2, 1e-9);
      }
    }
}

TEST(Formula, Interleaved) {
  for (int p = 2; p <= 16; ++p)
    for (int v = 1; v <= 4; ++v)
      for (int m = 1; m <= 4 * p; m += p > 8 ? 5 : 1) {
        SCOPED_TRACE("p=" + std::to_string(p) + " v=" + std::to_string(v) +
                     " m=" + std::to_string(m));
        Made made = make("interleaved", p, v, m, share(3, 5, 4));
        if (m >= p)
          EXPECT_NEAR(made.spanBubble(), (p - 1) * 12.0 / v, 1e-9);
        int groups = std::max(1, m / p), first = (m + groups - 1) / groups;
        EXPECT_NEAR(made.timing.peak[0], kMB / v * std::min(m * v, (v - 1) * first + 2 * p - 1),
                    1e-9);
      }
}

TEST(Generate, EverySizeRunsAndItsTransfersDo) {
  int count = 0;
  for (const Generator &generator : generators())
    for (int p = 1; p <= 6; ++p)
      for (int v = generator.leastChunksPerRank; v <= std::min(3, generator.mostChunksPerRank); ++v)
        for (int m = 1; m <= 3 * p + 1; ++m) {
          std::string refusal;
          if (!fits(generator, p, v, m, refusal))
            continue;
          Made made = make(generator.name, p, v, m, share(1, 2, 1.5, 0.25));
          EXPECT_EQ(remarks(made.schedule).size(), 0u) << generator.name;
          EXPECT_EQ(checkTransfers(made.schedule, transfersOf(made.schedule, made.costs)), "");
          Bounds bounds = lowerBounds(made.costs, made.schedule.place, m);
          EXPECT_LE(bounds.span, made.timing.span * (1 + 1e-12));
          EXPECT_LE(bounds.wall, made.timing.wall * (1 + 1e-12));
          ++count;
        }
  EXPECT_GT(count, 500);
}

TEST(Generate, TellsWhetherWeightsHaveActionsOfTheirOwn) {
  for (const Generator &generator : generators()) {
    Schedule schedule = generator.make(4, generator.leastChunksPerRank, 12);
    int count = 0;
    for (const std::vector<Action> &actions : schedule.ranks)
      for (const Action &action : actions)
        count += action.kind == Kind::Weight;
    EXPECT_EQ(count > 0, generator.splitsWeights) << generator.name;
  }
}

TEST(Generate, ManyRanksTakeTimeAndMemoryForTheirActionsOnly) {
  for (const Generator &generator : generators()) {
    std::string refusal;
    int v = generator.leastChunksPerRank;
    int p = 20000, m = 2;
    if (!fits(generator, p, v, m, refusal))
      continue;
    Schedule schedule = generator.make(p, v, m);
    EXPECT_EQ(check(schedule), "") << generator.name;
    EXPECT_TRUE(simulate(schedule, evenCosts(p, v, {}))) << generator.name;
  }
}

TEST(Generate, RefusesWithTheNearestSize) {
  std::string error;
  EXPECT_FALSE(fits(*findGenerator("dualpipev"), 4, 2, 7, error));
  EXPECT_EQ(error, "dualpipev wants at least 8 microbatches on 4 ranks, not 7");
  EXPECT_FALSE(fits(*findGenerator("zb-v"), 4, 3, 8, error));
  EXPECT_EQ(error, "zb-v has 2 chunks a rank, not 3");
  EXPECT_FALSE(fits(*findGenerator("gpipe"), 0, 1, 8, error));
  EXPECT_EQ(error, "a pipeline has from 1 to 65536 ranks, not 0");
  EXPECT_FALSE(fits(*findGenerator("gpipe"), 4, 1, 0, error));
  EXPECT_EQ(error, "a pipeline has at least 1 microbatch, not 0");
  EXPECT_FALSE(fits(*findGenerator("gpipe"), 1024, 1, 1 << 20, error));
  EXPECT_EQ(error, "chunks times microbatches are at most 4194304; 1024 chunks may have 4096 "
                   "microbatches");
}

} // namespace
