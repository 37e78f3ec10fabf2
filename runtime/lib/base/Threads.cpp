// Worker and pool threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/Threads.h"

#include "base/Cores.h"
#include "job/World.h"

#include <algorithm>
#include <chrono>

using namespace weft::runtime;

Worker::Worker(const std::vector<int> &cores) : shared(std::make_shared<Shared>()) {
  thread = std::thread([shared = shared, cores] {
    keepOn(cores);
    loop(shared);
  });
}

Worker::~Worker() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(shared->mutex);
    shared->stop = true;
  }
  shared->changed.notify_all();
  thread.join();
}

void Worker::post(Job job, void *argument) {
  {
    std::lock_guard<std::mutex> lock(shared->mutex);
    shared->jobs[shared->numJobs++] = {job, argument};
  }
  shared->changed.notify_all();
}

void Worker::wait() {
  std::unique_lock<std::mutex> lock(shared->mutex);
  shared->changed.wait(lock, [&] { return shared->numJobs == 0; });
}

bool Worker::waitFor(double seconds, unsigned left) {
  std::unique_lock<std::mutex> lock(shared->mutex);
  return shared->changed.wait_for(lock, std::chrono::duration<double>(seconds),
                                  [&] { return shared->numJobs <= left; });
}

void Worker::loop(std::shared_ptr<Shared> shared) {
  std::unique_lock<std::mutex> lock(shared->mutex);
  while (true) {
    shared->changed.wait(lock, [&] { return shared->numJobs > 0 || shared->stop; });
    if (shared->numJobs == 0)
      return;
    auto [job, argument] = shared->jobs[0];
    lock.unlock();
    job(argument);
    lock.lock();
    std::copy(shared->jobs + 1, shared->jobs + shared->numJobs, shared->jobs);
    --shared->numJobs;
    shared->changed.notify_all();
  }
}

namespace {
uint64_t makeTicket(uint32_t job, unsigned parts) {
  return uint64_t(job) << 32 | uint64_t(parts) << 16;
}
uint32_t jobOf(uint64_t ticket) { return uint32_t(ticket >> 32); }
unsigned partsOf(uint64_t ticket) { return unsigned(ticket >> 16) & 0xffff; }
unsigned nextOf(uint64_t ticket) { return unsigned(ticket) & 0xffff; }
} // namespace

ThreadPool::ThreadPool(unsigned threads, bool spin, const std::vector<int> &cores) : spin(spin) {
  for (unsigned i = 1; i < threads; ++i) {
    try {
      workers.emplace_back([this, cores] {
        keepOn(cores);
        work();
      });
    } catch (const std::system_error &) {
      break; // `size` tells
    }
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stop = true;
    uint32_t job = jobOf(ticket.load(std::memory_order_relaxed)) + 1;
    ticket.store(makeTicket(job, 0), std::memory_order_release);
  }
  started.notify_all();
  for (std::thread &thread : workers)
    thread.join();
}

unsigned ThreadPool::parts(int64_t extent, int64_t grain) const {
  int64_t most = (extent + grain - 1) / grain;
  return unsigned(std::max<int64_t>(1, std::min<int64_t>(size(), most)));
}

/// Does one part of `job`; false if none is left.
bool ThreadPool::takePart(uint32_t job) {
  uint64_t seen = ticket.load(std::memory_order_acquire);
  do {
    if (jobOf(seen) != job || nextOf(seen) >= partsOf(seen))
      return false;
  } while (!ticket.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel,
                                         std::memory_order_acquire));
  unsigned part = nextOf(seen);
  int64_t begin = int64_t(__int128(extent) * part / numParts);
  int64_t end = int64_t(__int128(extent) * (part + 1) / numParts);
  body(context, begin, end, part);
  if (unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    std::lock_guard<std::mutex> lock(mutex);
    finished.notify_all();
  }
  return true;
}

void ThreadPool::run(int64_t count, int64_t grain, Body function, void *argument) {
  if (count <= 0)
    return;
  unsigned cut = parts(count, grain);
  if (cut == 1) {
    function(argument, 0, count, 0);
    return;
  }
  uint32_t job;
  {
    std::lock_guard<std::mutex> lock(mutex);
    body = function;
    context = argument;
    extent = count;
    numParts = cut;
    unfinished.store(cut, std::memory_order_relaxed);
    job = jobOf(ticket.load(std::memory_order_relaxed)) + 1;
    ticket.store(makeTicket(job, cut), std::memory_order_release);
  }
  started.notify_all();
  while (takePart(job)) {
  }
  auto done = [&] { return unfinished.load(std::memory_order_acquire) == 0; };
  if (spinUntil(spin, done))
    return;
  std::unique_lock<std::mutex> lock(mutex);
  finished.wait(lock, done);
}

void ThreadPool::work() {
  uint32_t last = 0;
  while (true) {
    auto posted = [&] { return jobOf(ticket.load(std::memory_order_acquire)) != last; };
    spinUntil(spin, posted);
    {
      std::unique_lock<std::mutex> lock(mutex);
      started.wait(lock, posted);
      if (stop)
        return;
      last = jobOf(ticket.load(std::memory_order_relaxed));
    }
    while (takePart(last)) {
    }
  }
}
