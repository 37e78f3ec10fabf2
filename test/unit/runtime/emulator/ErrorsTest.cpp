// Each kind of planted error is found in every order, and told with kernel, block and threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernels.h"

#include <gtest/gtest.h>

#include <regex>

using namespace weft::emulator;
using namespace weft::emulator::test;

using Pointers = void *const *;

static void expectError(weft_emulated_code code, const char *pattern, Launcher launcher = {}) {
  for (Order order : kOrders) {
    std::vector<int32_t> data;
    std::string error = launcher.run(code, data, order, 5);
    EXPECT_TRUE(std::regex_match(error, std::regex(pattern)))
        << "order " << int(order) << ": '" << error << "'";
  }
}

static void expectNone(weft_emulated_code code, Launcher launcher = {}) {
  for (Order order : kOrders) {
    std::vector<int32_t> data;
    EXPECT_EQ(launcher.run(code, data, order, 5), "") << "order " << int(order);
  }
}

TEST(Errors, ReadsWithoutABarrier) {
  expectError(
      [](weft_emulated_thread *t, Pointers arguments, Pointers shared) {
        store(t, shared[0], t->thread, 1);
        if (t->thread == 9)
          weft_emulator_access(t, static_cast<int32_t *>(shared[0]) + 4, 4, 4, WEFT_ACCESS_READ);
      },
      "kernel 'k', block [01]: thread (9 reads byte 16 of shared buffer 0, which thread 4 writes "
      "without a barrier between them|4 writes byte 16 of shared buffer 0, which thread 9 reads "
      "without a barrier between them)");
}

TEST(Errors, WritesWithoutABarrier) {
  expectError([](weft_emulated_thread *t, Pointers arguments,
                 Pointers) { store(t, arguments[0], t->block * 64 + t->thread / 2, 1); },
              "kernel 'k', block ([01]): thread ([0-9]+) writes byte [0-9]+ of argument 0, which "
              "thread [0-9]+ writes without a barrier between them");
}

TEST(Errors, AWriteMeetsTheFirstOfSeveralReaders) {
  // Thread 0 reads and writes, thread 1 only reads: whoever reads last is not all that counts.
  expectError(
      [](weft_emulated_thread *t, Pointers arguments, Pointers) {
        if (t->thread < 2)
          load(t, arguments[0], t->block);
        if (t->thread == 0)
          store(t, arguments[0], t->block, 1);
      },
      "kernel 'k', block [01]: thread .*without a barrier between them");
}

TEST(Errors, BlocksHaveNoBarrierBetweenThem) {
  expectError(
      [](weft_emulated_thread *t, Pointers arguments, Pointers) {
        weft_emulator_barrier(t, 0);
        store(t, arguments[0], t->thread, 1);
      },
      "kernel 'k', block [01]: thread ([0-9]+) writes byte [0-9]+ of argument 0, which thread \\1 "
      "of block [01] writes; blocks run in any order");
  expectError(
      [](weft_emulated_thread *t, Pointers arguments, Pointers) {
        if (t->thread == 0 && t->block < 2)
          load(t, arguments[0], 5);
        if (t->thread == 0 && t->block == 2)
          store(t, arguments[0], 5, 1);
      },
      "kernel 'k', block [012]: thread 0 .* thread 0 of block [012] (reads|writes); blocks run in "
      "any order",
      {3, 64, 128, 0});
}

TEST(Errors, BarriersShufflesAndAtomicsOrderWhatTheyOrder) {
  // A barrier does.
  expectNone([](weft_emulated_thread *t, Pointers, Pointers shared) {
    for (int i = 0; i < 3; ++i) {
      store(t, shared[0], (t->thread + i) % 64, i);
      weft_emulator_barrier(t, 0);
      load(t, shared[0], (t->thread + 5) % 64);
      weft_emulator_barrier(t, 1);
    }
  });
  // A shuffle does not.
  expectError(
      [](weft_emulated_thread *t, Pointers, Pointers shared) {
        store(t, shared[0], t->thread, 1);
        weft_emulator_shuffle(t, 0, WEFT_SHUFFLE_XOR, 0, 1, 32);
        load(t, shared[0], t->thread ^ 1);
      },
      ".*shared buffer 0.*without a barrier between them");
  // Atomic updates may meet each other, in all blocks, but nothing else.
  expectNone([](weft_emulated_thread *t, Pointers arguments, Pointers) {
    add(t, arguments[0], t->thread / 8, 1);
  });
  expectError(
      [](weft_emulated_thread *t, Pointers arguments, Pointers) {
        add(t, arguments[0], t->block, 1);
        if (t->thread == 0)
          load(t, arguments[0], t->block);
      },
      ".*thread .* (reads|updates|writes) .*without a barrier between them");
  expectError(
      [](weft_emulated_thread *t, Pointers arguments, Pointers) {
        add(t, arguments[0], 0, 1);
        weft_emulator_barrier(t, 0);
        if (t->block == 1 && t->thread == 0)
          load(t, arguments[0], 0);
      },
      ".*argument 0, which (thread [0-9]+ of block [01]|a thread of another block) "
      "(reads|updates); blocks run in any order");
}

TEST(Errors, AWarpsBarrierOrdersItsThreadsAlone) {
  expectNone([](weft_emulated_thread *t, Pointers, Pointers shared) {
    for (int i = 0; i < 3; ++i) {
      store(t, shared[0], t->thread ^ i, i);
      weft_emulator_warp_barrier(t, 0);
      load(t, shared[0], t->thread ^ 5);
      weft_emulator_warp_barrier(t, 1);
    }
  });
  // All of a warp read what one of them writes next, or the one that reads last.
  expectNone([](weft_emulated_thread *t, Pointers, Pointers shared) {
    load(t, shared[0], t->thread / 32);
    weft_emulator_warp_barrier(t, 0);
    if (t->thread % 32 == 7)
      store(t, shared[0], t->thread / 32, 1);
  });
  const char *race = ".*shared buffer 0.*without a barrier between them";
  // Of the block's other warp no barrier of this one knows: whoever comes first or last.
  expectError(
      [](weft_emulated_thread *t, Pointers, Pointers shared) {
        store(t, shared[0], t->thread, 1);
        weft_emulator_warp_barrier(t, 0);
        load(t, shared[0], (t->thread + 32) % 64);
      },
      race);
  expectError(
      [](weft_emulated_thread *t, Pointers, Pointers shared) {
        load(t, shared[0], 0);
        weft_emulator_warp_barrier(t, 0);
        if (t->thread == 40)
          store(t, shared[0], 0, 1);
      },
      race);
  // Behind it a thread reads what another one writes.
  expectError(
      [](weft_emulated_thread *t, Pointers, Pointers shared) {
        weft_emulator_warp_barrier(t, 0);
        load(t, shared[0], t->thread / 32);
        if (t->thread % 32 == 7)
          store(t, shared[0], t->thread / 32, 1);
      },
      race);
}

TEST(Errors, OutsideOfBuffers) {
  expectError([](weft_emulated_thread *t, Pointers arguments,
                 Pointers) { store(t, arguments[0], 128 + t->thread, 1); },
              "kernel 'k', block [01]: thread [0-9]+ writes 4 bytes outside of all its buffers");
  expectError(
      [](weft_emulated_thread *t, Pointers arguments, Pointers) {
        weft_emulator_access(t, static_cast<int32_t *>(arguments[0]) + 127, 16, 4,
                             WEFT_ACCESS_READ);
      },
      "kernel 'k', block [01]: thread [0-9]+ reads 16 bytes at byte 508 of argument 0, which has "
      "512");
  expectError(
      [](weft_emulated_thread *t, Pointers arguments, Pointers) {
        if (t->thread == 3)
          weft_emulator_outside(t, arguments[0], 1, 17, 16);
      },
      "kernel 'k', block [01]: thread 3 indexes dim 1 of argument 0, of size 16, with 17");
  // Not told before: the guards around shared memory.
  expectError(
      [](weft_emulated_thread *t, Pointers, Pointers shared) {
        if (t->thread == 0)
          static_cast<int32_t *>(shared[0])[64] = 1;
      },
      "kernel 'k', block [01]: bytes behind the shared buffers were written");
  expectError(
      [](weft_emulated_thread *t, Pointers, Pointers shared) {
        if (t->thread == 0)
          static_cast<int32_t *>(shared[0])[-1] = 1;
      },
      "kernel 'k', block [01]: bytes before shared buffer 0 were written");
}

TEST(Errors, AddressesThatAreNoMultiples) {
  expectError(
      [](weft_emulated_thread *t, Pointers, Pointers shared) {
        weft_emulator_access(t, static_cast<int32_t *>(shared[0]) + 4 * t->thread % 60 + 1, 8, 8,
                             WEFT_ACCESS_WRITE);
      },
      "kernel 'k', block [01]: thread [0-9]+ accesses 8 bytes of shared buffer 0 at an address "
      "that is no multiple of 8");
  static std::string error;
  error.clear();
  setErrorHandler([](const char *sentence) { error = sentence; });
  alignas(16) int32_t data[8] = {};
  weft_emulated_buffer buffers[] = {{16, 4, 16}};
  weft_emulated_kernel kernel{"k", [](auto *, auto, auto) {}, 1, 1, 1, 0, buffers};
  void *arguments[] = {data + 1};
  weft_emulator_launch(&kernel, 0, 1, arguments);
  setErrorHandler(nullptr);
  EXPECT_EQ(error,
            "kernel 'k', block 0: argument 0 starts at an address that is no multiple of 16");
}

TEST(Errors, DivergentBarriers) {
  expectError(
      [](weft_emulated_thread *t, Pointers, Pointers) {
        if (t->thread != 3)
          weft_emulator_barrier(t, 0);
      },
      "kernel 'k', block [01]: thread 2 waits at barrier 0, 3 ended");
  expectError(
      [](weft_emulated_thread *t, Pointers, Pointers) { weft_emulator_barrier(t, t->thread < 40); },
      "kernel 'k', block [01]: thread 39 waits at barrier 1, 40 waits at barrier 0");
  expectError(
      [](weft_emulated_thread *t, Pointers, Pointers) {
        if (t->thread < 32)
          weft_emulator_barrier(t, 0);
      },
      "kernel 'k', block [01]: thread 31 waits at barrier 0, 32 ended");
  expectError(
      [](weft_emulated_thread *t, Pointers, Pointers) {
        if (t->thread != 3)
          weft_emulator_warp_barrier(t, 0);
      },
      "kernel 'k', block [01]: thread 2 waits at the warp's barrier 0, 3 ended");
  expectError(
      [](weft_emulated_thread *t, Pointers, Pointers) {
        if (t->thread < 40)
          weft_emulator_warp_barrier(t, 2);
        else
          weft_emulator_shuffle(t, 2, WEFT_SHUFFLE_XOR, 0, 1, 32);
      },
      "kernel 'k', block [01]: thread 39 waits at the warp's barrier 2, 40 waits at shuffle 2");
}

TEST(Errors, InactiveLanesOfShuffles) {
  expectError(
      [](weft_emulated_thread *t, Pointers, Pointers) {
        if (t->thread != 35)
          weft_emulator_shuffle(t, 0, WEFT_SHUFFLE_XOR, 0, 1, 32);
      },
      "kernel 'k', block [01]: thread 34 waits at shuffle 0, 35 ended");
  expectError(
      [](weft_emulated_thread *t, Pointers, Pointers) {
        if (t->thread == 0)
          weft_emulator_barrier(t, 4);
        else
          weft_emulator_shuffle(t, 2, WEFT_SHUFFLE_XOR, 0, 1, 32);
      },
      "kernel 'k', block [01]: thread 0 waits at barrier 4, 1 waits at shuffle 2");
  expectError(
      [](weft_emulated_thread *t, Pointers, Pointers) {
        weft_emulator_shuffle(t, 0, WEFT_SHUFFLE_XOR, 0, 16, 32);
      },
      "kernel 'k', block [01]: thread 32 shuffles with lane 16, which a block of 40 threads does "
      "not have",
      {2, 40, 128, 0});
  expectError(
      [](weft_emulated_thread *t, Pointers, Pointers) {
        weft_emulator_shuffle(t, 0, WEFT_SHUFFLE_XOR, 0, 1, 33);
      },
      "kernel 'k', block [01]: thread (0|32) shuffles in segments of 33 lanes, which is no power "
      "of two up to 32");
}

TEST(Errors, AnInPlaceResultIsItsOperand) {
  // Two arguments at one place are one buffer.
  static std::string error;
  error.clear();
  setErrorHandler([](const char *sentence) { error = sentence; });
  int32_t data[64] = {};
  weft_emulated_buffer buffers[] = {{256, 4, 4}, {256, 4, 4}};
  auto shift = [](weft_emulated_thread *t, Pointers arguments, Pointers) {
    store(t, arguments[1], t->thread, load(t, arguments[0], (t->thread + 1) % 64));
  };
  weft_emulated_kernel kernel{"k", shift, 1, 64, 2, 0, buffers};
  void *arguments[] = {data, data};
  weft_emulator_launch(&kernel, 0, 1, arguments);
  EXPECT_NE(error.find("without a barrier between them"), std::string::npos) << error;
  setErrorHandler(nullptr);
}

TEST(Errors, ALaunchAfterAnErrorIsAsTheFirst) {
  std::vector<int32_t> data;
  auto stuck = [](weft_emulated_thread *t, Pointers, Pointers) {
    if (t->thread)
      weft_emulator_barrier(t, 0);
  };
  auto fill = [](weft_emulated_thread *t, Pointers arguments, Pointers) {
    store(t, arguments[0], t->block * 64 + t->thread, 7);
  };
  EXPECT_NE(Launcher().run(stuck, data), "");
  EXPECT_EQ(Launcher().run(fill, data), "");
  EXPECT_EQ(data, std::vector<int32_t>(128, 7));
}

TEST(ErrorsDeathTest, EndTheProcessWithAFaultOfOurs) {
  auto outside = [] {
    weft_emulated_buffer buffers[] = {{4, 4, 4}};
    auto code = [](weft_emulated_thread *t, Pointers arguments, Pointers) {
      store(t, arguments[0], 1, 1);
    };
    weft_emulated_kernel kernel{"k", code, 1, 1, 1, 0, buffers};
    int32_t data = 0;
    void *arguments[] = {&data};
    weft_emulator_launch(&kernel, 0, 1, arguments);
  };
  setErrorHandler(nullptr);
  EXPECT_EXIT(outside(), testing::ExitedWithCode(70),
              "weft: error: kernel 'k', block 0: thread 0 writes 4 bytes outside of all its "
              "buffers");
}
