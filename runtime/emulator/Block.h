// The threads of one block, and who of them runs next.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_EMULATOR_BLOCK_H
#define WEFT_RUNTIME_EMULATOR_BLOCK_H

#include "Emulator.h"
#include "Fibers.h"
#include "Shadow.h"

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace weft::emulator {

class Launch;

/// What a lane gives to a shuffle and asks of it.
struct Exchange {
  int32_t mode, value, offset, width;
};

/// A thread as kernels see it, and as a fiber.
struct Thread : weft_emulated_thread {
  enum class State { Ready, AtBarrier, AtWarpBarrier, AtShuffle, Ended };

  Launch *launch;
  Fiber fiber;
  State state;
  /// Of the barrier or shuffle that it waits at.
  int32_t site;
  /// Barriers of its warp that it has passed.
  int32_t phase;
  Exchange exchange;
  /// Of the last shuffle: as `weft_emulator_shuffle` returns it.
  int64_t received;
};

/// A launch on one host thread, block by block. What lasts from launch to launch - stacks, cells
/// of shadows - is the host thread's.
class Launch {
public:
  Launch(const weft_emulated_kernel &kernel, void *const *arguments, Order order, uint64_t seed);

  /// Runs blocks [begin, end) until the first error.
  void run(int64_t begin, int64_t end);
  /// Empty: none.
  const std::string &error() const { return message; }

  // On a fiber:
  void barrier(Thread &thread, int32_t site);
  void warpBarrier(Thread &thread, int32_t site);
  int64_t shuffle(Thread &thread, int32_t site, const Exchange &exchange);
  void access(Thread &thread, const char *address, int64_t bytes, int64_t alignment, Access access);
  void outside(Thread &thread, const char *base, int64_t dim, int64_t index, int64_t size);

private:
  bool argumentsAreAligned();
  bool beginBlock(int64_t block);
  void runBlock();
  /// Lets those go on whom nobody has to wait for any more. False: nobody can.
  bool release();
  bool releaseWarp(int64_t first);
  void exchange(int64_t first, int64_t last);
  void wait(Thread &thread, Thread::State where, int32_t site);
  void explainStop();
  Thread &next();
  std::string judge(const Thread &thread, const char *address, int64_t bytes, int64_t alignment,
                    Access access);
  void checkGuards(int64_t block);
  /// The first error counts.
  void fail(int64_t block, const std::string &what);

  const weft_emulated_kernel &kernel;
  void *const *arguments;
  Order order;
  std::mt19937_64 random;
  Shadow &shadow;
  std::vector<Thread> &threads;
  std::vector<char> sharedMemory;
  std::vector<void *> shared;
  std::vector<int64_t> ready;
  int64_t warp = -1;
  int32_t epoch = 0;
  char poison = 0;
  std::string message;
};

} // namespace weft::emulator

#endif // WEFT_RUNTIME_EMULATOR_BLOCK_H
