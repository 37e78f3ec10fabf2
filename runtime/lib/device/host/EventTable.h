// Events among the streams of a rank that are threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_HOST_EVENTTABLE_H
#define WEFT_RUNTIME_LIB_DEVICE_HOST_EVENTTABLE_H

#include "job/World.h"

#include <vector>

namespace weft::runtime {

/// Counts of records per event, shared by a rank's streams.
class EventTable {
public:
  void resize(size_t events) { counts = std::vector<std::atomic<uint64_t>>(events); }
  void clear() {
    for (std::atomic<uint64_t> &count : counts)
      count.store(0, std::memory_order_relaxed);
  }
  void record(uint32_t event, uint64_t count) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      counts[event].store(count, std::memory_order_release);
    }
    changed.notify_all();
  }
  Wait wait(World &world, uint32_t event, uint64_t count) {
    auto recorded = [&] { return counts[event].load(std::memory_order_acquire) >= count; };
    if (spinUntil(world.spins(), recorded))
      return Wait::Done;
    std::unique_lock<std::mutex> lock(mutex);
    // The stream waited for knows who is missing, so it may speak first.
    return waitFor(world, lock, changed, recorded, 3.0);
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::atomic<uint64_t>> counts;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_DEVICE_HOST_EVENTTABLE_H
