// Lists of commands that were changed: where nothing orders two that meet, the emulated GPU says
// so, in whatever order it does them; all others give the bits of one order, issued and as a graph.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomStreams.h"
#include "Restart.h"

#include <cstdlib>
#include <map>

using namespace weft::runtime;
using namespace weft::emulated;

namespace {

/// Changes one thing; the class of the change, or "" if there is nothing to change so.
std::string mutate(RandomStreams &list, std::mt19937_64 &random) {
  auto below = [&](uint64_t count) { return random() % count; };
  RandomStreams::Launch &launch = list.launches[1 + below(list.launches.size() - 1)];
  auto number = uint64_t(&launch - list.launches.data());
  switch (below(4)) {
  case 0:
    if (launch.waits.empty())
      return "";
    launch.waits.erase(launch.waits.begin() + long(below(launch.waits.size())));
    return "dropped wait";
  case 1:
    if (launch.waits.empty())
      return "";
    launch.waits[below(launch.waits.size())] = uint32_t(below(number));
    return "another event";
  case 2:
    launch.stream = (launch.stream + 1 + unsigned(below(2))) % RandomStreams::kStreams;
    return "another stream";
  default: {
    // The rest of what it writes lies in what follows.
    launch.to += 16 * int64_t(1 + below(3));
    return RandomStreams::meet(launch.to, launch.from) ||
                   RandomStreams::meet(launch.to, launch.with)
               ? "" // it would read what it writes
               : "moved range";
  }
  }
}

struct Tally {
  int wrong = 0, equal = 0;
};

/// Holds a run of the mutant to that.
void judge(const RandomStreams &list, const std::string &what, Tally &tally) {
  Harness harness;
  list.build(harness);
  restart(uint64_t(tally.wrong + tally.equal));
  ASSERT_OK(harness.open());
  harness.set("x", RandomStreams::inputs());
  weft_status status = harness.run();
  if (list.isOrdered()) {
    ++tally.equal;
    ASSERT_EQ(status.code, 0) << what << ": " << status.text;
    ASSERT_OK(harness.run());
    ASSERT_EQ(harness.get<float>("y", RandomStreams::kResults), list.expected(2)) << what;
    return;
  }
  ++tally.wrong;
  ASSERT_NE(status.code, 0) << what;
  ASSERT_NE(std::string(status.text).find("nothing orders the two"), std::string::npos)
      << what << ": " << status.text;
}

TEST(StreamMutants, AreSeenWhereNothingOrdersWhatMeets) {
  const bool full = std::getenv("WEFT_TEST_FULL") != nullptr;
  std::map<std::string, Tally> tallies;
  int wrong = 0, wanted = full ? 6000 : 600;
  for (uint64_t seed = 0; wrong < wanted; ++seed) {
    std::mt19937_64 random(seed);
    RandomStreams list(seed / 8, 12 + unsigned(seed / 8 % 20));
    ASSERT_TRUE(list.isOrdered());
    std::string kind = mutate(list, random);
    if (kind.empty())
      continue;
    Tally &tally = tallies[kind];
    int before = tally.wrong;
    judge(list, kind + " of seed " + std::to_string(seed), tally);
    wrong += tally.wrong - before;
    if (testing::Test::HasFatalFailure())
      return;
  }
  for (const auto &[kind, tally] : tallies) {
    std::printf("%-14s %4d leave two unordered: all seen; %4d do not: the bits of one order\n",
                kind.c_str(), tally.wrong, tally.equal);
    EXPECT_GE(tally.wrong, wanted / 40) << kind;
  }
}

} // namespace
