// The checker against plain execution: what it lets through runs, what runs it lets through.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Published.h"

#include "weft/Pipeline/Check.h"
#include "weft/Pipeline/Generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace weft::pipeline;

namespace {

using Random = std::mt19937_64;

/// Executes a schedule as ranks would, one action at a time, and keeps a book of what each has.
class Execution {
public:
  Execution(const Schedule &schedule, const Costs &costs) : schedule(schedule), costs(costs) {}

  /// Whether every part of the work is done once, on its rank, with what it reads at hand, within
  /// the limits.
  bool runs() {
    size_t total = 0, done = 0;
    for (const auto &actions : schedule.ranks)
      total += actions.size();
    std::vector<size_t> next(schedule.ranks.size());
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t rank = 0; rank < next.size(); ++rank)
        while (next[rank] < schedule.ranks[rank].size()) {
          Action action = schedule.ranks[rank][next[rank]];
          if (!mayStart(action))
            break;
          if (!perform(action, rank))
            return false;
          ++next[rank], ++done;
          moved = true;
        }
    }
    size_t parts = 3 * schedule.place.size() * size_t(schedule.microbatches);
    return done == total && made.size() == parts;
  }

private:
  bool has(char part, int chunk, int microbatch) const {
    return made.count({part, chunk, microbatch}) != 0;
  }

  bool mayStart(const Action &action) const {
    int c = action.chunk, m = action.microbatch;
    switch (action.kind) {
    case Kind::Forward:
      return c == 0 || has('F', c - 1, m);
    case Kind::Weight:
      return has('B', c, m);
    default:
      return has('F', c, m) && (c + 1 == int(schedule.place.size()) || has('B', c + 1, m));
    }
  }

  bool perform(const Action &action, size_t rank) {
    if (schedule.place[size_t(action.chunk)] != int(rank))
      return false;
    std::string parts = action.kind == Kind::Forward    ? "F"
                        : action.kind == Kind::Backward ? "B"
                        : action.kind == Kind::Weight   ? "W"
                                                        : "BW";
    for (char part : parts)
      if (!made.insert({part, action.chunk, action.microbatch}).second)
        return false;
    // Counted anew: what of the book is still needed on this rank.
    double held = 0;
    for (size_t c = 0; c < schedule.place.size(); ++c)
      for (int m = 0; m < schedule.microbatches && schedule.place[c] == int(rank); ++m) {
        const ChunkCosts &chunk = costs.chunks[c];
        bool f = has('F', int(c), m), b = has('B', int(c), m), w = has('W', int(c), m);
        held += (f && !b ? chunk.keptForBackward : 0) + (f && !w ? chunk.keptForWeight : 0) +
                (b && !w ? chunk.madeForWeight : 0);
      }
    return held <= costs.limitOf(rank) + 1e-9;
  }

  const Schedule &schedule;
  const Costs &costs;
  std::set<std::tuple<char, int, int>> made;
};

/// Executes lists of transfers with sends that wait for their receive.
bool transfersRun(const Schedule &schedule, const std::vector<std::vector<Transfer>> &lists) {
  struct At {
    size_t action = 0, transfer = 0;
  };
  std::vector<At> at(lists.size());
  std::set<std::tuple<bool, int, int>> made, arrived;
  size_t wanted = 0, exchanged = 0;
  auto act = [&](size_t rank) {
    bool moved = false;
    while (at[rank].action < schedule.ranks[rank].size()) {
      const Action &a = schedule.ranks[rank][at[rank].action];
      bool isForward = a.kind == Kind::Forward;
      int from = a.chunk + (isForward ? -1 : 1);
      bool reads = a.kind != Kind::Weight && from >= 0 && from < int(schedule.place.size());
      if (reads) {
        auto &book = schedule.place[size_t(from)] == int(rank) ? made : arrived;
        if (!book.count({isForward, from, a.microbatch}))
          break;
      }
      if (a.kind != Kind::Weight)
        made.insert({isForward, a.chunk, a.microbatch});
      int to = a.chunk + (isForward ? 1 : -1);
      wanted += a.kind != Kind::Weight && to >= 0 && to < int(schedule.place.size()) &&
                schedule.place[size_t(to)] != int(rank);
      ++at[rank].action;
      moved = true;
    }
    return moved;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t rank = 0; rank < lists.size(); ++rank) {
      moved |= act(rank);
      for (size_t other = 0; other < lists.size(); ++other) {
        if (other == rank || at[rank].transfer == lists[rank].size() ||
            at[other].transfer == lists[other].size())
          continue;
        const Transfer &t = lists[rank][at[rank].transfer];
        int to = t.chunk + (t.isForward ? 1 : -1);
        if (!(t == lists[other][at[other].transfer]) || t.from != int(rank) || t.to != int(other) ||
            t.chunk < 0 || to < 0 || to >= int(schedule.place.size()) ||
            t.chunk >= int(schedule.place.size()) || schedule.place[size_t(t.chunk)] != t.from ||
            schedule.place[size_t(to)] != t.to || !made.count({t.isForward, t.chunk, t.microbatch}))
          continue;
        if (!arrived.insert({t.isForward, t.chunk, t.microbatch}).second)
          return false;
        ++at[rank].transfer, ++at[other].transfer, ++exchanged;
        moved = true;
      }
    }
  }
  for (size_t rank = 0; rank < lists.size(); ++rank)
    if (at[rank].action < schedule.ranks[rank].size() || at[rank].transfer < lists[rank].size())
      return false;
  return exchanged == wanted;
}

Schedule randomSchedule(Random &random) {
  while (true) {
    const Generator &generator = generators()[random() % generators().size()];
    int v = std::min(generator.leastChunksPerRank + int(random() % 2), generator.mostChunksPerRank);
    int p = 2 + int(random() % 3), m = 1 + int(random() % 7);
    std::string ignored;
    if (fits(generator, p, v, m, ignored))
      return generator.make(p, v, m);
  }
}

/// Breaks something, or not: moves within a rank may be harmless.
void mutate(Schedule &schedule, Random &random) {
  size_t rank = random() % schedule.ranks.size();
  std::vector<Action> &actions = schedule.ranks[rank];
  size_t at = random() % actions.size(), other = random() % actions.size();
  switch (random() % 8) {
  case 0:
    actions.erase(actions.begin() + long(at));
    break;
  case 1:
    actions.insert(actions.begin() + long(other), actions[at]);
    break;
  case 2:
    std::swap(actions[at], actions[other]);
    break;
  case 3: { // a few places on
    size_t to = std::min(actions.size(), at + 2 + random() % 4);
    std::rotate(actions.begin() + long(at), actions.begin() + long(at) + 1,
                actions.begin() + long(to));
    break;
  }
  case 4:
    actions[at].kind = Kind(random() % kNumKinds);
    break;
  case 5:
    actions[at].microbatch = int(random() % size_t(schedule.microbatches));
    break;
  case 6:
    actions[at].chunk = int(random() % schedule.place.size());
    break;
  default: { // to another rank
    std::vector<Action> &there = schedule.ranks[random() % schedule.ranks.size()];
    Action moved = actions[at];
    actions.erase(actions.begin() + long(at));
    there.insert(there.begin() + long(random() % (there.size() + 1)), moved);
  }
  }
}

TEST(Check, MissesNoMutantAndRefusesNothingThatRuns) {
  Random random(7);
  int broken = 0, sound = 0, overLimit = 0;
  for (int trial = 0; trial < volume(3000, 30000); ++trial) {
    Schedule schedule = randomSchedule(random);
    Costs costs;
    costs.chunks.resize(schedule.place.size());
    for (ChunkCosts &chunk : costs.chunks) {
      chunk.keptForBackward = double(random() % 3);
      chunk.keptForWeight = double(random() % 3);
      chunk.madeForWeight = double(random() % 3);
    }
    // As much as the schedule needs, or hardly.
    costs.limit = simulate(schedule, costs)->peak;
    for (size_t n = 0; n < random() % 3; ++n)
      mutate(schedule, random);
    std::string wrong = check(schedule);
    bool isOver = wrong.empty() && !checkMemory(schedule, costs).empty();
    bool runs = Execution(schedule, costs).runs();
    ASSERT_EQ(wrong.empty() && !isOver, runs) << wrong << "\n" << writeSchedule(schedule);
    broken += !runs;
    sound += runs;
    overLimit += isOver;
  }
  std::printf("%d mutants refused, %d of them for memory; %d sound\n", broken, overLimit, sound);
  EXPECT_GE(broken, 1000);
  EXPECT_GE(sound, 500);
  EXPECT_GE(overLimit, 20);
}

TEST(Check, MissesNoMutantOfTransfers) {
  Random random(11);
  int broken = 0, sound = 0;
  for (int trial = 0; trial < volume(2000, 20000); ++trial) {
    Schedule schedule = randomSchedule(random);
    Costs costs = evenCosts(int64_t(schedule.ranks.size()), 1, {});
    costs.chunks.assign(schedule.place.size(), ChunkCosts());
    for (ChunkCosts &chunk : costs.chunks)
      chunk.transfer = double(random() % 3) / 2;
    auto lists = transfersOf(schedule, costs);
    size_t rank = random() % lists.size();
    if (lists[rank].empty())
      continue;
    size_t at = random() % lists[rank].size();
    switch (random() % 6) {
    case 0:
      lists[rank].erase(lists[rank].begin() + long(at));
      break;
    case 1:
      lists[rank].insert(lists[rank].begin() + long(at), lists[rank][at]);
      break;
    case 2:
      lists[rank][at].microbatch ^= 1;
      break;
    case 3:
      std::swap(lists[rank][at].from, lists[rank][at].to);
      break;
    case 4:
      std::swap(lists[rank][at], lists[rank][random() % lists[rank].size()]);
      break;
    default: { // the same change on both sides
      if (at + 1 == lists[rank].size())
        break;
      Transfer a = lists[rank][at], b = lists[rank][at + 1];
      for (auto &list : lists) {
        auto i = std::find(list.begin(), list.end(), a), j = std::find(list.begin(), list.end(), b);
        if (i != list.end() && j != list.end())
          std::iter_swap(i, j);
      }
    }
    }
    std::string wrong = checkTransfers(schedule, lists);
    ASSERT_EQ(wrong.empty(), transfersRun(schedule, lists)) << wrong << "\n"
                                                            << writeSchedule(schedule);
    broken += !wrong.empty();
    sound += wrong.empty();
  }
  std::printf("%d mutants of transfers refused, %d sound\n", broken, sound);
  EXPECT_GE(broken, 1000);
  EXPECT_GE(sound, 50);
}

TEST(Check, RemarksOnTheFirstFew) {
  Schedule schedule;
  schedule.microbatches = 9;
  schedule.place = {0};
  schedule.ranks.resize(1);
  for (int m = 0; m < 9; ++m)
    schedule.ranks[0].push_back({Kind::Forward, 0, m});
  for (int m = 9; m-- > 0;)
    schedule.ranks[0].push_back({Kind::Both, 0, m});
  ASSERT_EQ(check(schedule), "");
  std::vector<std::string> all = remarks(schedule);
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all[4],
            "rank 0, action 15, D0.3: comes after microbatch 8; sums go in order, so gradients of "
            "later ones are kept till then");
  EXPECT_EQ(all[5], "and 3 more like these");
}

TEST(Check, ReadsWhatIsRight) {
  std::string error, text = "weft schedule 1\nranks 1 chunks 1 microbatches 1\nplace 0\nrank 0: ";
  EXPECT_TRUE(readChecked(text + "F0.0 D0.0\n", error)) << error;
  EXPECT_FALSE(readChecked(text + "F0.0\n", error));
  EXPECT_EQ(error, "rank 0: B0.0 is missing");
  EXPECT_FALSE(readChecked(text + "F0.0 D\n", error));
  EXPECT_NE(error.find("line 4"), std::string::npos) << error;
}

TEST(Check, NamesWhatWaitsForWhat) {
  std::string error;
  auto wrongOf = [&](const std::string &rank0, const std::string &rank1) {
    auto schedule = readSchedule("weft schedule 1\nranks 2 chunks 2 microbatches 2\nplace 0 1\n"
                                 "rank 0: " +
                                     rank0 + "\nrank 1: " + rank1 + "\n",
                                 error);
    EXPECT_TRUE(schedule) << error;
    return check(*schedule);
  };
  std::string right = "F1.0 D1.0 F1.1 D1.1";
  EXPECT_EQ(wrongOf("F0.0 F0.1 D0.0 D0.1", right), "");
  EXPECT_EQ(wrongOf("F0.0 D0.0 F0.1 D0.1", "F1.1 D1.1 F1.0 D1.0"),
            "rank 0, action 2, D0.0, waits for B1.0 of rank 1; rank 1, action 1, F1.1, waits for "
            "F0.1 of rank 0: a deadlock");
  EXPECT_EQ(wrongOf("F0.0 F0.1 D0.0", right), "rank 0: B0.1 is missing");
  EXPECT_EQ(wrongOf("F0.0 F0.1 B0.0 D0.1", right), "rank 0: W0.0 is missing");
  EXPECT_EQ(wrongOf("F0.0 F0.1 B0.0 D0.0 D0.1", right),
            "rank 0, action 4, D0.0: does B0.0 a second time");
  EXPECT_EQ(wrongOf("F0.0 F0.1 W0.0 B0.0 D0.1", right),
            "rank 0, action 3, W0.0: waits for B0.0, which this rank has not done before");
  EXPECT_EQ(wrongOf("F0.0 F1.1 D0.0 D0.1", right), "rank 0, action 2, F1.1: chunk 1 is on rank 1");
  auto schedule = readSchedule("weft schedule 1\nranks 1 chunks 1 microbatches 2\nplace 0\n"
                               "rank 0: F0.0 F0.1 D0.1 D0.0\n",
                               error);
  Costs costs = evenCosts(1, 1, {});
  costs.limit = {1};
  EXPECT_EQ(checkMemory(*schedule, costs),
            "rank 0, action 2, F0.1: the rank holds 2 then, of at most 1");
  ASSERT_EQ(remarks(*schedule).size(), 1u);
  EXPECT_EQ(remarks(*schedule)[0], "rank 0, action 4, D0.0: comes after microbatch 1; sums go in "
                                   "order, so gradients of later ones are kept till then");
}

} // namespace
