// What the ranks of one process share: failure, progress, waiting.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_JOB_WORLD_H
#define WEFT_RUNTIME_LIB_JOB_WORLD_H

#include "weft/runtime/Status.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace weft::runtime {

using Clock = std::chrono::steady_clock;

inline double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class World {
public:
  explicit World(double timeoutSeconds) : timeout(timeoutSeconds) {}

  /// Waiting threads may keep their cores busy for a while: there is one for
  /// each. Set before any rank runs.
  void setSpin(bool value) { spinning = value; }
  bool spins() const { return spinning; }

  double timeoutSeconds() const { return timeout; }
  bool aborted() const { return failed.load(std::memory_order_acquire); }

  /// The first failure counts; the ranks that it stops report RankFailed.
  void abort(const Status &status) {
    std::lock_guard<std::mutex> lock(mutex);
    if (!failed.load(std::memory_order_relaxed)) {
      first = status;
      failed.store(true, std::memory_order_release);
    }
  }
  Status failure() const {
    std::lock_guard<std::mutex> lock(mutex);
    return first;
  }
  /// What a rank returns that stopped because another one failed.
  static Status stopped() {
    return {StatusCode::RankFailed, "stopped because another rank failed"};
  }

private:
  double timeout;
  bool spinning = false;
  std::atomic<bool> failed{false};
  mutable std::mutex mutex;
  Status first;
};

/// How often to poll before a thread sleeps: about 20 microseconds, as a pause
/// takes some 140 cycles; longer than most waits of threads that run in step.
constexpr int kSpins = 300;

inline void pauseCore() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Polls `ready()`, once only if waiting threads share cores; false if it did
/// not come true.
template <typename Ready> bool spinUntil(bool spins, Ready ready) {
  for (int i = 0; spins && i < kSpins; ++i) {
    if (ready())
      return true;
    pauseCore();
  }
  return ready();
}

enum class Wait { Done, Aborted, TimedOut };

/// Waits for `ready()` under `lock`, with the world's patience and `more`
/// seconds. Aborts are polled, so that no one must know all the places where
/// ranks wait.
template <typename Ready>
Wait waitFor(World &world, std::unique_lock<std::mutex> &lock, std::condition_variable &condition,
             Ready ready, double more = 0) {
  if (ready())
    return Wait::Done;
  Clock::time_point start = Clock::now();
  while (true) {
    if (condition.wait_for(lock, std::chrono::milliseconds(20), ready))
      return Wait::Done;
    if (world.aborted())
      return Wait::Aborted;
    if (secondsSince(start) > world.timeoutSeconds() + more)
      return Wait::TimedOut;
  }
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_JOB_WORLD_H
