// What compiled kernels call, and the process's choice of orders.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator.h"

#include "Block.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace weft::emulator;

static constexpr int kFaultOfOurs = 70;

static void endProcess(const char *sentence) {
  std::fprintf(stderr, "weft: error: %s\n", sentence);
  std::fflush(nullptr);
  _exit(kFaultOfOurs);
}

namespace {
struct Settings {
  std::atomic<Order> order{Order::Random};
  std::atomic<uint64_t> seed{1};
  std::atomic<ErrorHandler> handler{endProcess};

  Settings();
};
} // namespace

/// Ends the process if the environment asks for what is not there.
Settings::Settings() {
  static constexpr const char *names[] = {"forward", "backward", "warps", "random", "preempted"};
  if (const char *wanted = std::getenv("WEFT_EMULATOR_ORDER")) {
    int number = 0;
    while (number < 5 && std::strcmp(wanted, names[number]) != 0)
      ++number;
    if (number == 5)
      endProcess("WEFT_EMULATOR_ORDER is not one of forward, backward, warps, random, preempted");
    order = Order(number);
  }
  if (const char *wanted = std::getenv("WEFT_EMULATOR_SEED")) {
    char *end;
    seed = std::strtoull(wanted, &end, 10);
    if (*wanted < '0' || *wanted > '9' || *end)
      endProcess("WEFT_EMULATOR_SEED is not a number");
  }
}

static Settings &settings() {
  static Settings one;
  return one;
}

void weft::emulator::setOrder(Order order, uint64_t seed) {
  settings().order = order;
  settings().seed = seed;
}

void weft::emulator::setErrorHandler(ErrorHandler handler) {
  settings().handler = handler ? handler : endProcess;
}

static Thread &of(weft_emulated_thread *thread) { return *static_cast<Thread *>(thread); }

void weft_emulator_launch(const weft_emulated_kernel *kernel, int64_t begin, int64_t end,
                          void *const *arguments) {
  Settings &chosen = settings();
  Launch launch(*kernel, arguments, chosen.order, chosen.seed);
  launch.run(begin, end);
  if (!launch.error().empty())
    chosen.handler.load()(launch.error().c_str());
}

void weft_emulator_barrier(weft_emulated_thread *thread, int32_t site) {
  of(thread).launch->barrier(of(thread), site);
}

void weft_emulator_warp_barrier(weft_emulated_thread *thread, int32_t site) {
  of(thread).launch->warpBarrier(of(thread), site);
}

int64_t weft_emulator_shuffle(weft_emulated_thread *thread, int32_t site, int32_t mode,
                              int32_t value, int32_t offset, int32_t width) {
  return of(thread).launch->shuffle(of(thread), site, {mode, value, offset, width});
}

void weft_emulator_access(weft_emulated_thread *thread, const void *address, int64_t bytes,
                          int64_t alignment, int32_t kind) {
  of(thread).launch->access(of(thread), static_cast<const char *>(address), bytes, alignment,
                            Access(kind));
}

void weft_emulator_outside(weft_emulated_thread *thread, const void *base, int64_t dim,
                           int64_t index, int64_t size) {
  of(thread).launch->outside(of(thread), static_cast<const char *>(base), dim, index, size);
}
