// A parked thread that runs jobs, and a pool that splits a range.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_BASE_THREADS_H
#define WEFT_RUNTIME_LIB_BASE_THREADS_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace weft::runtime {

/// A thread of its own that runs one job after another, without allocating.
class Worker {
public:
  using Job = void (*)(void *argument);
  static constexpr unsigned kMostJobs = 2; // one in work and one behind it

  /// On these cores; none: on all.
  explicit Worker(const std::vector<int> &cores = {});
  ~Worker(); // waits for the job in work
  Worker(const Worker &) = delete;

  void post(Job job, void *argument); // there are fewer than kMostJobs
  void wait();
  /// Waits at most so long; false if more than `left` jobs are still to be done.
  bool waitFor(double seconds, unsigned left = 0);

private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::pair<Job, void *> jobs[kMostJobs]; // the oldest first
    unsigned numJobs = 0;
    bool stop = false;
  };
  static void loop(std::shared_ptr<Shared> shared);

  std::shared_ptr<Shared> shared;
  std::thread thread;
};

/// Splits ranges over a rank's threads, the caller being one of them. Parts are
/// cut by number and taken by who comes first, so a result does not depend on
/// threads, and a caller whose workers get no core does all parts itself
/// instead of waiting for them.
class ThreadPool {
public:
  using Body = void (*)(void *context, int64_t begin, int64_t end, unsigned part);

  /// `spin`: wait actively for a while, for machines with a core per thread.
  /// Workers stay on `cores`; none: on all.
  ThreadPool(unsigned threads, bool spin, const std::vector<int> &cores = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;

  /// As many as were asked for, unless the system gave fewer.
  unsigned size() const { return unsigned(workers.size()) + 1; }
  /// The number of parts that `run` cuts `extent` into.
  unsigned parts(int64_t extent, int64_t grain) const;
  /// Calls body on parts(extent, grain) even pieces of [0, extent).
  void run(int64_t extent, int64_t grain, Body body, void *context);

  template <typename Function> void forEach(int64_t extent, int64_t grain, Function &function) {
    run(
        extent, grain,
        [](void *context, int64_t begin, int64_t end, unsigned part) {
          (*static_cast<Function *>(context))(begin, end, part);
        },
        &function);
  }

private:
  void work();
  bool takePart(uint32_t job);

  std::vector<std::thread> workers;
  bool spin;
  std::mutex mutex;
  std::condition_variable started, finished;
  // Job number (upper half), its parts, and the next part to take (16 bits
  // each), in one word: a late worker cannot take a part of a job that is over.
  std::atomic<uint64_t> ticket{0};
  std::atomic<unsigned> unfinished{0};
  bool stop = false;
  // The job in work; written before its ticket, read by who holds a part of it.
  Body body = nullptr;
  void *context = nullptr;
  int64_t extent = 0;
  unsigned numParts = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_BASE_THREADS_H
