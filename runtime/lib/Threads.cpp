// Worker and pool threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Threads.h"

#include "World.h"

#include <algorithm>
#include <chrono>

using namespace weft::runtime;

Worker::Worker() : shared(std::make_shared<Shared>()) {
  thread = std::thread(loop, shared);
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
    shared->job = job;
    shared->argument = argument;
  }
  shared->changed.notify_all();
}

void Worker::wait() {
  std::unique_lock<std::mutex> lock(shared->mutex);
  shared->changed.wait(lock, [&] { return !shared->job; });
}

bool Worker::waitFor(double seconds) {
  std::unique_lock<std::mutex> lock(shared->mutex);
  return shared->changed.wait_for(lock, std::chrono::duration<double>(seconds),
                                  [&] { return !shared->job; });
}

void Worker::loop(std::shared_ptr<Shared> shared) {
  std::unique_lock<std::mutex> lock(shared->mutex);
  while (true) {
    shared->changed.wait(lock, [&] { return shared->job || shared->stop; });
    if (!shared->job)
      return;
    Job job = shared->job;
    void *argument = shared->argument;
    lock.unlock();
    job(argument);
    lock.lock();
    shared->job = nullptr;
    shared->changed.notify_all();
  }
}

ThreadPool::ThreadPool(unsigned threads, bool spin) : spin(spin) {
  for (unsigned i = 1; i < threads; ++i)
    workers.emplace_back([this, i] { work(i); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stop = true;
    generation.fetch_add(1, std::memory_order_release);
  }
  started.notify_all();
  for (std::thread &thread : workers)
    thread.join();
}

unsigned ThreadPool::parts(int64_t extent, int64_t grain) const {
  int64_t most = (extent + grain - 1) / grain;
  return unsigned(std::max<int64_t>(1, std::min<int64_t>(size(), most)));
}

void ThreadPool::runPart(unsigned index) {
  int64_t begin = int64_t(__int128(extent) * index / numParts);
  int64_t end = int64_t(__int128(extent) * (index + 1) / numParts);
  body(context, begin, end, index);
}

void ThreadPool::run(int64_t count, int64_t grain, Body function,
                     void *argument) {
  if (count <= 0)
    return;
  unsigned cut = parts(count, grain);
  if (cut == 1) {
    function(argument, 0, count, 0);
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    body = function;
    context = argument;
    extent = count;
    numParts = cut;
    pending.store(unsigned(workers.size()), std::memory_order_relaxed);
    generation.fetch_add(1, std::memory_order_release);
  }
  started.notify_all();
  runPart(0);
  auto done = [&] { return pending.load(std::memory_order_acquire) == 0; };
  if (spinUntil(spin, done))
    return;
  std::unique_lock<std::mutex> lock(mutex);
  finished.wait(lock, done);
}

void ThreadPool::work(unsigned index) {
  uint64_t seen = 0;
  while (true) {
    auto posted = [&] {
      return generation.load(std::memory_order_acquire) != seen;
    };
    spinUntil(spin, posted);
    {
      std::unique_lock<std::mutex> lock(mutex);
      started.wait(lock, posted);
      if (stop)
        return;
      seen = generation.load(std::memory_order_relaxed);
    }
    if (index < numParts)
      runPart(index);
    if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      std::lock_guard<std::mutex> lock(mutex);
      finished.notify_all();
    }
  }
}
