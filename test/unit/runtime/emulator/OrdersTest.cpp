// Right kernels compute the same in every order; what orders there are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernels.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

using namespace weft::emulator;
using namespace weft::emulator::test;

/// Each block turns its part of the buffer round, through shared memory.
static void reverse(weft_emulated_thread *t, void *const *arguments, void *const *shared) {
  int64_t at = t->block * 64 + t->thread;
  store(t, shared[0], t->thread, load(t, arguments[0], at));
  weft_emulator_barrier(t, 0);
  store(t, arguments[0], at, load(t, shared[0], 63 - t->thread));
}

TEST(Orders, SharedMemoryAndBarriers) {
  for (Order order : kOrders)
    for (uint64_t seed : {1, 2, 3}) {
      std::vector<int32_t> data(128);
      for (int i = 0; i < 128; ++i)
        data[i] = i;
      ASSERT_EQ(Launcher().run(reverse, data, order, seed), "");
      for (int i = 0; i < 128; ++i)
        EXPECT_EQ(data[i], i / 64 * 64 + 63 - i % 64);
    }
}

/// Each warp turns its part of the buffer round, in place.
static void reverseWarps(weft_emulated_thread *t, void *const *arguments, void *const *) {
  int64_t first = t->block * 64 + t->thread / 32 * 32, lane = t->thread % 32;
  int32_t other = load(t, arguments[0], first + 31 - lane);
  weft_emulator_warp_barrier(t, 0);
  store(t, arguments[0], first + lane, other);
}

TEST(Orders, BarriersOfWarps) {
  for (Order order : kOrders) {
    std::vector<int32_t> data(128);
    for (int i = 0; i < 128; ++i)
      data[i] = i;
    ASSERT_EQ(Launcher().run(reverseWarps, data, order), "");
    for (int i = 0; i < 128; ++i)
      EXPECT_EQ(data[i], i / 32 * 32 + 31 - i % 32);
  }
}

/// The sum of a warp's lanes in all of them, and of a block's warps in its first element.
static void sums(weft_emulated_thread *t, void *const *arguments, void *const *shared) {
  int32_t value = load(t, arguments[0], t->block * 64 + t->thread);
  for (int32_t distance = 16; distance > 0; distance /= 2)
    value += int32_t(weft_emulator_shuffle(t, distance, WEFT_SHUFFLE_XOR, value, distance, 32));
  if (t->thread % 32 == 0)
    store(t, shared[0], t->thread / 32, value);
  weft_emulator_barrier(t, 0);
  if (t->thread == 0)
    store(t, arguments[0], t->block * 64, load(t, shared[0], 0) + load(t, shared[0], 1));
}

TEST(Orders, ShufflesAndBarriers) {
  for (Order order : kOrders) {
    std::vector<int32_t> data(128, 3);
    ASSERT_EQ(Launcher().run(sums, data, order), "");
    EXPECT_EQ(data[0], 192);
    EXPECT_EQ(data[64], 192);
    EXPECT_EQ(data[1], 3);
  }
}

static void shuffleModes(weft_emulated_thread *t, void *const *arguments, void *const *) {
  int32_t row = 0;
  for (int32_t width : {32, 8})
    for (auto [mode, offset] : {std::pair(WEFT_SHUFFLE_XOR, 9), std::pair(WEFT_SHUFFLE_UP, 3),
                                std::pair(WEFT_SHUFFLE_DOWN, 3), std::pair(WEFT_SHUFFLE_IDX, 15)}) {
      int64_t got = weft_emulator_shuffle(t, row, mode, int32_t(t->thread), offset, width);
      store(t, arguments[0], row * 32 + t->thread, int32_t(got) + (got >> 32 & 1 ? 1000 : 0));
      ++row;
    }
}

TEST(Orders, ModesOfShuffles) {
  std::vector<int32_t> data;
  ASSERT_EQ((Launcher{1, 32, 256, 0}.run(shuffleModes, data)), "");
  for (int lane = 0; lane < 32; ++lane) {
    // Who asks beyond its segment has its own value, and is told so.
    EXPECT_EQ(data[lane], 1000 + (lane ^ 9));
    EXPECT_EQ(data[32 + lane], lane >= 3 ? 1000 + lane - 3 : lane);
    EXPECT_EQ(data[64 + lane], lane < 29 ? 1000 + lane + 3 : lane);
    EXPECT_EQ(data[96 + lane], 1015);
    // In segments of eight, an xor reaches segments before its own.
    EXPECT_EQ(data[128 + lane], lane / 8 % 2 ? 1000 + (lane ^ 9) : lane);
    EXPECT_EQ(data[160 + lane], lane % 8 >= 3 ? 1000 + lane - 3 : lane);
    EXPECT_EQ(data[192 + lane], lane % 8 < 5 ? 1000 + lane + 3 : lane);
    EXPECT_EQ(data[224 + lane], 1000 + lane / 8 * 8 + 7);
  }
}

static void takeNumber(weft_emulated_thread *t, void *const *arguments, void *const *) {
  add(t, arguments[0], 0, 1);
  static_cast<int32_t *>(arguments[0])[1 + t->thread] = static_cast<int32_t *>(arguments[0])[0];
}

/// When each thread of a block came.
static std::vector<int32_t> arrivals(Order order, uint64_t seed) {
  std::vector<int32_t> data;
  EXPECT_EQ((Launcher{1, 64, 128, 0}.run(takeNumber, data, order, seed)), "");
  return data;
}

TEST(Orders, AreThoseAskedFor) {
  EXPECT_EQ(arrivals(Order::Forward, 1)[1], 1);
  EXPECT_EQ(arrivals(Order::Forward, 1)[64], 64);
  EXPECT_EQ(arrivals(Order::Backward, 1)[1], 64);
  std::set<int32_t> firstOfWarps;
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    firstOfWarps.insert(arrivals(Order::Warps, seed)[1]);
    EXPECT_EQ(arrivals(Order::Random, seed), arrivals(Order::Random, seed));
  }
  EXPECT_EQ(firstOfWarps, (std::set<int32_t>{1, 33}));
  EXPECT_NE(arrivals(Order::Random, 1), arrivals(Order::Random, 2));
  EXPECT_NE(arrivals(Order::Preempted, 1), arrivals(Order::Random, 1));
}

static void readPoison(weft_emulated_thread *t, void *const *arguments, void *const *shared) {
  static_cast<int32_t *>(arguments[0])[t->block] = *static_cast<int32_t *>(shared[0]);
  *static_cast<int32_t *>(shared[0]) = 1;
}

TEST(Orders, SharedMemoryStartsPoisonedInEachBlock) {
  std::set<int32_t> seen;
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    std::vector<int32_t> data;
    ASSERT_EQ((Launcher{2, 1, 128, 4}.run(readPoison, data, Order::Forward, seed)), "");
    EXPECT_EQ(data[0], data[1]);
    seen.insert(data[0]);
  }
  EXPECT_EQ(seen, (std::set<int32_t>{-1, int32_t(0xA5A5A5A5)}));
}

TEST(Orders, OfTheEnvironment) {
  auto launch = [] {
    weft_emulated_buffer buffers[] = {{16, 4, 4}};
    weft_emulated_kernel kernel{"k", [](auto *, auto, auto) {}, 1, 1, 1, 0, buffers};
    int32_t data[4];
    void *arguments[] = {data};
    weft_emulator_launch(&kernel, 0, 1, arguments);
    std::exit(3);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT((setenv("WEFT_EMULATOR_ORDER", "backward", 1), setenv("WEFT_EMULATOR_SEED", "7", 1),
               launch()),
              testing::ExitedWithCode(3), "");
  EXPECT_EXIT((setenv("WEFT_EMULATOR_ORDER", "sideways", 1), launch()), testing::ExitedWithCode(70),
              "WEFT_EMULATOR_ORDER is not one of forward, backward, warps, random, preempted");
  EXPECT_EXIT((setenv("WEFT_EMULATOR_SEED", "7x", 1), launch()), testing::ExitedWithCode(70),
              "WEFT_EMULATOR_SEED is not a number");
}
