// The search: never worse than what has a name, as good as all orders where these are few.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Published.h"

#include "weft/Pipeline/Check.h"
#include "weft/Pipeline/Generate.h"
#include "weft/Pipeline/Search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace weft::pipeline;

namespace {

using Random = std::mt19937_64;

double timeOf(const Timing &timing, Objective objective) {
  return objective == Objective::Span ? timing.span : timing.wall;
}

TEST(Search, IsAtMostThePublishedSearch) {
  for (const PublishedRow &row : kPublished) {
    SearchRequest request;
    request.ranks = kPublishedRanks;
    request.microbatches = row.microbatches;
    request.objective = Objective::Span;
    request.evaluations = volume(4000, -1);
    Costs costs = evenCosts(kPublishedRanks, 1, row.share());
    costs.limit.assign(kPublishedRanks, 2 * kPublishedRanks);
    std::string error;
    auto found = search(request, costs, error);
    ASSERT_TRUE(found) << error;
    EXPECT_EQ(check(found->schedule), "");
    EXPECT_EQ(checkMemory(found->schedule, costs), "");
    double rate = bubbleOf(costs, found->schedule, found->timing.span);
    std::printf("m=%d: %.4f, printed %.4f, bound %.4f\n", row.microbatches, rate, row.search,
                bubbleOf(costs, found->schedule, found->bounds.span));
    EXPECT_LE(rate, row.search + 0.00005);
  }
}

/// Uneven chunks, transfers, memory and limits.
Costs randomCosts(Random &random, int ranks, int chunks) {
  auto number = [&](double least, double most) {
    return least + (most - least) * double(random() % 1001) / 1000;
  };
  Costs costs;
  costs.chunks.resize(size_t(chunks));
  bool areEven = random() % 3 == 0;
  for (ChunkCosts &chunk : costs.chunks) {
    if (areEven && &chunk != costs.chunks.data()) {
      chunk = costs.chunks[0];
      continue;
    }
    chunk.forward = number(0.5, 2);
    chunk.backward = number(0.5, 2);
    chunk.weight = number(0, 2);
    chunk.transfer = random() % 2 ? number(0, 1) : 0;
    chunk.keptForBackward = number(0, 1);
    chunk.keptForWeight = number(0, 1);
    chunk.madeForWeight = number(0, 1);
  }
  if (random() % 2)
    costs.limit.assign(size_t(ranks), number(2, 2.0 * ranks) * chunks / ranks);
  return costs;
}

TEST(Search, IsNeverWorseThanAGenerator) {
  Random random(3);
  int compared = 0, trials = volume(60, 500), impossible = 0;
  for (int trial = 0; trial < trials; ++trial) {
    SearchRequest request;
    request.ranks = 2 + int(random() % 5);
    request.chunksPerRank = 1 + int(random() % 3);
    request.microbatches = 1 + int(random() % 12);
    request.objective = random() % 2 ? Objective::Span : Objective::Wall;
    request.evaluations = 200;
    Costs costs = randomCosts(random, request.ranks, request.ranks * request.chunksPerRank);
    std::string error;
    auto found = search(request, costs, error);
    std::vector<double> least =
        leastMemory(costs, loopPlace(request.ranks, request.chunksPerRank), size_t(request.ranks));
    for (const Generator &generator : generators()) {
      if (!fits(generator, request.ranks, request.chunksPerRank, request.microbatches, error))
        continue;
      Schedule schedule =
          generator.make(request.ranks, request.chunksPerRank, request.microbatches);
      if (!checkMemory(schedule, costs).empty())
        continue;
      ASSERT_TRUE(found);
      ++compared;
      EXPECT_LE(timeOf(found->timing, request.objective),
                timeOf(*simulate(schedule, costs), request.objective) * (1 + 1e-9))
          << generator.name << ", trial " << trial;
    }
    if (!found) {
      ++impossible;
      bool isOver = false;
      for (size_t rank = 0; rank < least.size(); ++rank)
        isOver |= least[rank] > costs.limitOf(rank);
      EXPECT_TRUE(isOver) << error;
      continue;
    }
    EXPECT_EQ(check(found->schedule), "");
    EXPECT_EQ(checkMemory(found->schedule, costs), "");
    EXPECT_LE(found->bounds.span, found->timing.span * (1 + 1e-9));
    EXPECT_LE(found->bounds.wall, found->timing.wall * (1 + 1e-9));
  }
  std::printf("%d comparisons, %d without any order\n", compared, impossible);
  EXPECT_GE(compared, trials / 2);
}

/// The best time over all orders: every rank's next action, one after the other, in all ways.
class AllOrders {
public:
  AllOrders(const Costs &costs, int microbatches, Objective objective)
      : costs(costs), microbatches(microbatches), objective(objective) {
    for (size_t rank = 0; rank < costs.chunks.size(); ++rank) {
      std::vector<Action> order;
      extend(rank, order, 0, 0, 0);
    }
  }

  double best() {
    Schedule schedule;
    schedule.microbatches = microbatches;
    schedule.place = loopPlace(int(costs.chunks.size()), 1);
    schedule.ranks.resize(costs.chunks.size());
    double result = INFINITY;
    choose(schedule, 0, result);
    return result;
  }

private:
  void extend(size_t rank, std::vector<Action> &order, int f, int b, int w) {
    if (w == microbatches) {
      orders.resize(costs.chunks.size());
      orders[rank].push_back(order);
      return;
    }
    auto with = [&](Kind kind, int m, int f2, int b2, int w2) {
      order.push_back({kind, int(rank), m});
      extend(rank, order, f2, b2, w2);
      order.pop_back();
    };
    if (f < microbatches)
      with(Kind::Forward, f, f + 1, b, w);
    if (b < f)
      with(Kind::Backward, b, f, b + 1, w);
    if (w < b)
      with(Kind::Weight, w, f, b, w + 1);
    if (b < f && w == b)
      with(Kind::Both, b, f, b + 1, w + 1);
  }

  void choose(Schedule &schedule, size_t rank, double &result) {
    if (rank == orders.size()) {
      auto timing = simulate(schedule, costs);
      if (timing && checkMemory(schedule, costs).empty())
        result = std::min(result, timeOf(*timing, objective));
      return;
    }
    for (const std::vector<Action> &order : orders[rank]) {
      schedule.ranks[rank] = order;
      choose(schedule, rank + 1, result);
    }
  }

  const Costs &costs;
  int microbatches;
  Objective objective;
  std::vector<std::vector<std::vector<Action>>> orders;
};

TEST(Search, FindsTheBestOfAllOrdersWhereTheyAreFew) {
  Random random(5);
  for (int trial = 0; trial < volume(12, 60); ++trial)
    for (int p = 1; p <= 3; ++p)
      for (int m = 1; m <= (p == 3 && trial >= volume(1, 2) ? 2 : 3); ++m) {
        SearchRequest request;
        request.ranks = p;
        request.microbatches = m;
        request.objective = trial % 2 ? Objective::Span : Objective::Wall;
        Costs costs = randomCosts(random, p, p);
        std::string error;
        auto found = search(request, costs, error);
        double best = AllOrders(costs, m, request.objective).best();
        ASSERT_EQ(bool(found), std::isfinite(best));
        if (found)
          EXPECT_NEAR(timeOf(found->timing, request.objective), best, 1e-9)
              << "p=" << p << " m=" << m << " trial " << trial;
      }
}

TEST(Search, KeepsToItsEvaluations) {
  EXPECT_LE(defaultEvaluations(64, 1024) * 3 * 64 * 1024, 16000000);
  Random random(4);
  for (int chunksPerRank : {1, 2})
    for (int evaluations : {0, 1, 5, 37, 250}) {
      SearchRequest request;
      request.ranks = 4;
      request.chunksPerRank = chunksPerRank;
      request.microbatches = 9;
      request.evaluations = evaluations;
      Costs costs = randomCosts(random, 4, 4 * chunksPerRank);
      costs.limit.clear();
      std::string error;
      auto found = search(request, costs, error);
      ASSERT_TRUE(found) << error;
      EXPECT_LE(found->evaluations, evaluations);
      if (found->timing.wall > found->bounds.wall * (1 + 1e-6))
        EXPECT_EQ(found->evaluations, evaluations);
    }
}

/// The best wall over all orders of two chunks on each of two ranks with two microbatches: a
/// depth-first walk that starts any action that may start, whatever its rank.
class AllStarts {
public:
  AllStarts(const Costs &costs, std::vector<int32_t> place) : costs(costs), place(place) {}

  /// Infinite if none is below `below`.
  double best(double below) {
    cut = below;
    State state;
    for (size_t c = 0; c < place.size(); ++c)
      state.left[place[c]] += 2 * costs.chunks[c].work();
    visit(state);
    return result;
  }

private:
  struct State {
    double free[2] = {}, held[2] = {}, left[2] = {}; // left: work
    double forward[4][2] = {}, backward[4][2] = {};  // ends; 0: not begun
    bool weight[4][2] = {};
    int begun = 0;
    double latest = 0; // start
  };

  void visit(const State &state) {
    if (std::max(state.free[0] + state.left[0], state.free[1] + state.left[1]) >= cut)
      return;
    if (state.begun == 24) {
      cut = result = std::max(state.free[0], state.free[1]);
      return;
    }
    for (int c = 0; c < 4; ++c)
      for (int m = 0; m < 2; ++m) {
        if (!state.forward[c][m] && (c == 0 || state.forward[c - 1][m]))
          start(state, Kind::Forward, c, m, c ? state.forward[c - 1][m] : 0, c - 1);
        bool isReady = c == 3 ? state.forward[3][m] : state.backward[c + 1][m];
        if (!state.backward[c][m] && state.forward[c][m] && isReady) {
          double read = c == 3 ? state.forward[3][m] : state.backward[c + 1][m];
          start(state, Kind::Backward, c, m, read, c);
          start(state, Kind::Both, c, m, read, c);
        }
        if (state.backward[c][m] && !state.weight[c][m])
          start(state, Kind::Weight, c, m, 0, -1);
      }
  }

  /// `link`: what is read comes over the transfer from this chunk to the next or back.
  void start(State state, Kind kind, int c, int m, double read, int link) {
    int rank = place[size_t(c)];
    // Orders that only swap neighbours of other ranks are one: ranks start in the order of time.
    bool moves = link >= 0 && link < 3 && place[size_t(link)] != place[size_t(link) + 1];
    double begin =
        std::max(state.free[rank], read + (moves ? costs.chunks[size_t(link)].transfer : 0));
    double end = begin + costs.chunks[size_t(c)].time(kind);
    state.held[rank] += costs.chunks[size_t(c)].memoryChange(kind);
    if (begin < state.latest || state.held[rank] > costs.roomOf(size_t(rank)))
      return;
    state.latest = begin;
    state.free[rank] = end;
    state.left[rank] -= costs.chunks[size_t(c)].time(kind);
    if (kind == Kind::Forward)
      state.forward[c][m] = end;
    else if (kind != Kind::Weight)
      state.backward[c][m] = end;
    state.weight[c][m] |= kind == Kind::Weight || kind == Kind::Both;
    state.begun += kind == Kind::Both ? 2 : 1;
    visit(state);
  }

  const Costs &costs;
  std::vector<int32_t> place;
  double cut = INFINITY, result = INFINITY;
};

TEST(Search, FindsTheBestOfAllOrdersOfTwoChunksARank) {
  Random random(6);
  for (int trial = 0; trial < volume(20, 40); ++trial) {
    SearchRequest request;
    request.ranks = request.chunksPerRank = request.microbatches = 2;
    request.evaluations = 2000;
    Costs costs = randomCosts(random, 2, 4);
    std::string error;
    auto found = search(request, costs, error);
    // Just above what was found: that order is one of all.
    double below = found ? found->timing.wall * (1 + 1e-9) : INFINITY;
    double best = std::min(AllStarts(costs, loopPlace(2, 2)).best(below),
                           AllStarts(costs, foldedPlace(2, 2)).best(below));
    ASSERT_EQ(bool(found), std::isfinite(best));
    if (!found)
      continue;
    EXPECT_LE(found->timing.wall, best * (1 + 1e-9)) << trial;
    EXPECT_LE(found->bounds.wall, found->timing.wall * (1 + 1e-9)) << trial;
  }
}

TEST(Search, DoesNotDependOnThreads) {
  Random random(9);
  for (int chunksPerRank : {1, 2}) {
    SearchRequest request;
    request.ranks = 4;
    request.chunksPerRank = chunksPerRank;
    request.microbatches = 10;
    request.evaluations = 300;
    Costs costs = randomCosts(random, 4, 4 * chunksPerRank);
    // Enough for some microbatches, so that many of what is tried do not fit.
    costs.limit = leastMemory(costs, loopPlace(4, chunksPerRank), 4);
    for (double &limit : costs.limit)
      limit *= 2.5;
    std::string error, text;
    for (unsigned threads : {1, 2, 5}) {
      request.threads = threads;
      auto found = search(request, costs, error);
      ASSERT_TRUE(found) << error;
      std::string now = writeSchedule(found->schedule);
      EXPECT_TRUE(text.empty() || text == now) << threads;
      text = now;
    }
  }
}

TEST(Search, SaysTheLeastLimit) {
  Costs costs = evenCosts(4, 1, {});
  costs.limit.assign(4, 0.5);
  SearchRequest request;
  request.ranks = 4;
  request.microbatches = 4;
  std::string error;
  EXPECT_FALSE(search(request, costs, error));
  EXPECT_EQ(error,
            "no order fits: one microbatch alone needs 1 on rank 0 of at most 0.5, 1 on rank "
            "1 of at most 0.5, 1 on rank 2 of at most 0.5, 1 on rank 3 of at most 0.5; limits "
            "of 1 are enough");
  costs.limit.assign(4, 1);
  auto found = search(request, costs, error);
  ASSERT_TRUE(found);
  EXPECT_EQ(checkMemory(found->schedule, costs), "");
}

TEST(Search, SaysTheLeastLimitOfThePlacementThatComesNearest) {
  // Round and round the ranks need 1 + 3 and 1 + 3, there and back 1 + 1 and 3 + 3.
  Costs costs = evenCosts(2, 2, {});
  for (size_t c : {1, 2})
    costs.chunks[c].keptForBackward = 3;
  for (size_t c : {0, 3})
    costs.chunks[c].keptForBackward = 1;
  costs.limit = {2, 5};
  SearchRequest request;
  request.ranks = request.chunksPerRank = request.microbatches = 2;
  std::string error;
  EXPECT_FALSE(search(request, costs, error));
  EXPECT_EQ(error,
            "no order fits: one microbatch alone needs 6 on rank 1 of at most 5; limits of 6 "
            "are enough");
}

TEST(Search, BoundsHoldWithLimitsJustBelowAMultiple) {
  SearchRequest request;
  request.ranks = 3;
  for (int chunksPerRank : {1, 2}) {
    request.chunksPerRank = chunksPerRank;
    request.microbatches = 8;
    request.evaluations = 500;
    Costs costs = evenCosts(3, chunksPerRank, {});
    costs.limit.assign(3, 3 * (1 - 0.5e-9));
    std::string error;
    auto found = search(request, costs, error);
    ASSERT_TRUE(found) << error;
    EXPECT_LE(found->bounds.wall, found->timing.wall * (1 + 1e-12));
    EXPECT_LE(found->bounds.span, found->timing.span * (1 + 1e-12));
  }
}

TEST(Search, TakesDWhereBFindsNoMemory) {
  // B makes more than it frees: within the limit of rank 0 only D ends a microbatch. The kinds that
  // part B and W on rank 1, which hastens rank 0, do so on both.
  Costs costs = evenCosts(2, 1, {});
  for (ChunkCosts &chunk : costs.chunks)
    chunk.madeForWeight = 3;
  costs.limit = {1, 3};
  SearchRequest request;
  request.ranks = request.microbatches = 2;
  std::string error;
  auto found = search(request, costs, error);
  ASSERT_TRUE(found) << error;
  EXPECT_NEAR(found->timing.wall, AllOrders(costs, 2, Objective::Wall).best(), 1e-9);
  EXPECT_NEAR(found->timing.wall, 10, 1e-9);
}

} // namespace
