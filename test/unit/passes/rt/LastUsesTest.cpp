// Accesses that nothing orders, against each pair of commands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/verify/LastUses.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace weft::rt;

namespace {

struct Access {
  std::pair<int64_t, int64_t> bytes;
  bool writes;
};

struct Command : StreamCommand {
  std::vector<Access> accesses;
};

/// Random commands on streams, some of which wait for what another stream has done so far.
std::vector<Command> randomCommands(std::mt19937 &random, unsigned streams) {
  auto below = [&](int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random); };
  std::array<Clock, 8> now{};
  std::vector<Command> commands;
  int64_t bytes = 1 + below(12), waits = 1 + below(4);
  for (int64_t i = 0, count = 2 + below(24); i < count; ++i) {
    unsigned stream = below(streams);
    if (below(waits) == 0)
      now[stream] = join(now[stream], now[below(streams)]);
    Command command{{stream, now[stream][stream], now[stream]}, {}};
    for (int64_t n = below(4); n > 0; --n) {
      int64_t begin = below(bytes), end = begin + below(bytes - begin + 1);
      command.accesses.push_back({{begin, end}, below(3) == 0});
    }
    now[stream][stream]++;
    commands.push_back(command);
  }
  return commands;
}

bool conflict(const Command &a, const Command &b) {
  for (const Access &x : a.accesses)
    for (const Access &y : b.accesses)
      if ((x.writes || y.writes) && x.bytes.first < y.bytes.second &&
          y.bytes.first < x.bytes.second && x.bytes.first < x.bytes.second &&
          y.bytes.first < y.bytes.second)
        return true;
  return false;
}

/// The commands before `commands[i]` that may run beside it and use the same bytes.
std::vector<std::pair<unsigned, int64_t>> besideOf(const std::vector<Command> &commands, size_t i) {
  std::vector<std::pair<unsigned, int64_t>> result;
  for (size_t j = 0; j < i; ++j)
    if (const Command &other = commands[j]; other.stream != commands[i].stream &&
                                            commands[i].before[other.stream] <= other.index &&
                                            conflict(commands[i], other))
      result.push_back({other.stream, other.index});
  return result;
}

TEST(LastUses, FindWhatAllPairsShow) {
  std::mt19937 random(1);
  int ordered = 0, unordered = 0;
  for (int seed = 0; seed < 20000; ++seed) {
    std::vector<Command> commands = randomCommands(random, 1 + seed % 8);
    LastUses uses;
    bool found = false;
    for (size_t i = 0; i < commands.size() && !found; ++i) {
      auto beside = besideOf(commands, i);
      for (const Access &access : commands[i].accesses)
        uses.use(access.bytes, access.writes, commands[i], [&](unsigned stream, int64_t index) {
          found = true;
          EXPECT_NE(std::find(beside.begin(), beside.end(), std::pair(stream, index)), beside.end())
              << "seed " << seed << ", command " << i << " with command " << index << " of stream "
              << stream;
        });
      ASSERT_EQ(found, !beside.empty()) << "seed " << seed << ", command " << i;
    }
    (found ? unordered : ordered)++;
  }
  EXPECT_GT(ordered, 2000);
  EXPECT_GT(unordered, 2000);
}

} // namespace
