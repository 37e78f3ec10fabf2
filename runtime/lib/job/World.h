// What the ranks of one process share: failure, progress, waiting.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_JOB_WORLD_H
#define WEFT_RUNTIME_LIB_JOB_WORLD_H

#include "weft/runtime/Status.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace weft::runtime {

using Clock = std::chrono::steady_clock;

inline double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Seconds that a rank waits for others where nobody says it.
constexpr double kLongestWait = 600;

/// How long a thread has waited. It looks many times a second; in a longer pause between two looks
/// it was itself stopped (by a user, a debugger, or with the machine), which is nobody's delay: of
/// that a second counts.
class Waited {
public:
  double seconds() {
    constexpr double kMostPause = 1;
    Clock::time_point now = Clock::now();
    double pause = std::chrono::duration<double>(now - last).count();
    total += pause < kMostPause ? pause : kMostPause;
    last = now;
    return total;
  }

private:
  Clock::time_point last = Clock::now();
  double total = 0;
};

class World {
public:
  explicit World(double timeoutSeconds) : most(timeoutSeconds), timeout(timeoutSeconds) {}

  /// Waiting threads may keep their cores busy for a while: there is one for
  /// each. Set before any rank runs.
  void setSpin(bool value) { spinning = value; }
  bool spins() const { return spinning; }

  /// Of a wait for other ranks; and the most that it ever is, for what may take long.
  double timeoutSeconds() const {
    bool isPatient = patient.load(std::memory_order_relaxed) == std::this_thread::get_id();
    return isPatient ? most : timeout.load(std::memory_order_relaxed);
  }
  double mostSeconds() const { return most; }
  void setTimeout(double seconds) { timeout.store(seconds, std::memory_order_relaxed); }
  /// While it lives, the calling thread waits for what may take long, whatever others wait for.
  class Patience {
  public:
    explicit Patience(World &world) : world(world) {
      world.patient.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }
    ~Patience() { world.patient.store({}, std::memory_order_relaxed); }
    Patience(const Patience &) = delete;

  private:
    World &world;
  };
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
  const double most;
  std::atomic<double> timeout;
  std::atomic<std::thread::id> patient{};
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
  Waited waited;
  while (true) {
    if (condition.wait_for(lock, std::chrono::milliseconds(20), ready))
      return Wait::Done;
    if (world.aborted())
      return Wait::Aborted;
    if (waited.seconds() > world.timeoutSeconds() + more)
      return Wait::TimedOut;
  }
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_JOB_WORLD_H
