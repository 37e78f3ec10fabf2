// Runs the fibers of a block, and tells when they cannot go on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Block.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

using namespace weft::emulator;

/// Bytes around each shared buffer that nothing may change.
static constexpr int64_t kGuardBytes = 64;
static constexpr char kGuard = char(0x5C);

namespace {
struct HostThread {
  Stacks stacks;
  Shadow shadow;
  std::vector<Thread> threads;
};
} // namespace

static HostThread &hostThread() {
  static thread_local HostThread state;
  return state;
}

Launch::Launch(const weft_emulated_kernel &kernel, void *const *arguments, Order order,
               uint64_t seed)
    : kernel(kernel), arguments(arguments), order(order), random(seed), shadow(hostThread().shadow),
      threads(hostThread().threads) {
  poison = random() % 2 ? char(0xFF) : char(0xA5);
  int64_t total = kGuardBytes;
  const weft_emulated_buffer *sharedBuffers = kernel.buffers + kernel.num_arguments;
  auto room = [](int64_t bytes) { return (bytes + kGuardBytes - 1) / kGuardBytes * kGuardBytes; };
  for (int64_t i = 0; i < kernel.num_shared; ++i)
    total += room(sharedBuffers[i].bytes) + kGuardBytes;
  // Buffers start on multiples of 64 bytes, as accesses of 16 bytes ask for.
  sharedMemory.resize(size_t(total + kGuardBytes));
  auto address = reinterpret_cast<uintptr_t>(sharedMemory.data());
  char *at =
      sharedMemory.data() + (kGuardBytes - address % kGuardBytes) % kGuardBytes + kGuardBytes;
  std::vector<Region> regions;
  for (int64_t i = 0; i < kernel.num_arguments; ++i)
    regions.push_back({static_cast<const char *>(arguments[i]), kernel.buffers[i].bytes,
                       kernel.buffers[i].granule, "argument " + std::to_string(i), false});
  for (int64_t i = 0; i < kernel.num_shared; ++i) {
    shared.push_back(at);
    regions.push_back({at, sharedBuffers[i].bytes, sharedBuffers[i].granule,
                       "shared buffer " + std::to_string(i), true});
    at += room(sharedBuffers[i].bytes) + kGuardBytes;
  }
  shadow.begin(std::move(regions));
  threads.resize(std::max(threads.size(), size_t(kernel.threads)));
}

void Launch::fail(int64_t block, const std::string &what) {
  if (message.empty())
    message =
        "kernel '" + std::string(kernel.name) + "', block " + std::to_string(block) + ": " + what;
}

static bool isMultiple(const void *address, int64_t alignment) {
  return reinterpret_cast<uintptr_t>(address) % uintptr_t(alignment) == 0;
}

bool Launch::argumentsAreAligned() {
  for (int64_t i = 0; i < kernel.num_arguments; ++i)
    if (int64_t promised = kernel.buffers[i].alignment; !isMultiple(arguments[i], promised)) {
      fail(0, "argument " + std::to_string(i) + " starts at an address that is no multiple of " +
                  std::to_string(promised));
      return false;
    }
  return true;
}

void Launch::run(int64_t begin, int64_t end) {
  end = std::min(end, kernel.blocks);
  if (!argumentsAreAligned())
    return;
  std::vector<int64_t> blocks(size_t(std::max<int64_t>(0, end - begin)));
  std::iota(blocks.begin(), blocks.end(), begin);
  if (order == Order::Backward)
    std::reverse(blocks.begin(), blocks.end());
  else if (order != Order::Forward)
    std::shuffle(blocks.begin(), blocks.end(), random);
  for (int64_t block : blocks) {
    if (message.empty() && beginBlock(block)) {
      runBlock();
      checkGuards(block);
    }
  }
}

bool Launch::beginBlock(int64_t block) {
  std::fill(sharedMemory.begin(), sharedMemory.end(), kGuard);
  for (int64_t i = 0; i < kernel.num_shared; ++i)
    std::memset(shared[i], poison, size_t(kernel.buffers[kernel.num_arguments + i].bytes));
  shadow.beginBlock();
  epoch = 0;
  auto body = [](void *data) {
    auto &thread = *static_cast<Thread *>(data);
    Launch &launch = *thread.launch;
    launch.kernel.code(&thread, launch.arguments, launch.shared.data());
  };
  for (int64_t i = 0; i < kernel.threads; ++i) {
    Thread &thread = threads[i];
    thread.thread = i;
    thread.block = block;
    thread.launch = this;
    thread.state = Thread::State::Ready;
    thread.phase = 0;
    char *stack = hostThread().stacks.end(size_t(i), threads.size());
    if (!stack) {
      fail(block, "no memory for the stacks of " + std::to_string(kernel.threads) + " threads");
      return false;
    }
    thread.fiber.start(stack, body, &thread);
  }
  return true;
}

void Launch::runBlock() {
  ready.resize(size_t(kernel.threads));
  std::iota(ready.begin(), ready.end(), 0);
  do {
    while (!ready.empty()) {
      Thread &thread = next();
      thread.fiber.resume();
      if (!message.empty())
        return;
      if (thread.fiber.hasEnded())
        thread.state = Thread::State::Ended;
      if (thread.state != Thread::State::Ready)
        ready.erase(std::find(ready.begin(), ready.end(), thread.thread));
    }
  } while (release() && message.empty());
  explainStop();
}

Thread &Launch::next() {
  switch (order) {
  case Order::Forward:
    return threads[ready.front()];
  case Order::Backward:
    return threads[ready.back()];
  case Order::Warps: {
    // Lanes ascend or descend; the warp is that of a drawn thread as long as it has ready ones.
    if (std::none_of(ready.begin(), ready.end(), [&](int64_t i) { return i / kWarp == warp; }))
      warp = ready[random() % ready.size()] / kWarp;
    return threads[*std::find_if(ready.begin(), ready.end(),
                                 [&](int64_t i) { return i / kWarp == warp; })];
  }
  case Order::Random:
  case Order::Preempted:
    break;
  }
  return threads[ready[random() % ready.size()]];
}

bool Launch::release() {
  bool any = false;
  for (int64_t first = 0; first < kernel.threads; first += kWarp)
    any |= releaseWarp(first);
  if (any)
    return true;
  int32_t site = threads[0].site;
  for (int64_t i = 0; i < kernel.threads; ++i)
    if (threads[i].state != Thread::State::AtBarrier || threads[i].site != site)
      return false;
  ++epoch;
  for (int64_t i = 0; i < kernel.threads; ++i) {
    threads[i].state = Thread::State::Ready;
    ready.push_back(i);
  }
  return true;
}

bool Launch::releaseWarp(int64_t first) {
  int64_t last = std::min(first + kWarp, kernel.threads);
  int32_t site = threads[first].site;
  Thread::State where = threads[first].state;
  if (where != Thread::State::AtShuffle && where != Thread::State::AtWarpBarrier)
    return false;
  for (int64_t i = first; i < last; ++i)
    if (threads[i].state != where || threads[i].site != site)
      return false;
  if (where == Thread::State::AtShuffle)
    exchange(first, last);
  for (int64_t i = first; i < last; ++i) {
    threads[i].phase += where == Thread::State::AtWarpBarrier;
    threads[i].state = Thread::State::Ready;
    ready.push_back(i);
  }
  return true;
}

/// The lane that a lane asks, as PTX's shfl defines it; none: its segment does not have it.
static std::optional<int64_t> partner(int64_t lane, const Exchange &exchange) {
  int64_t first = lane & -int64_t(exchange.width), last = first + exchange.width - 1;
  int64_t offset = exchange.offset & (kWarp - 1);
  int64_t from = lane;
  switch (exchange.mode) {
  case WEFT_SHUFFLE_XOR:
    from = lane ^ offset;
    break;
  case WEFT_SHUFFLE_UP:
    from = lane - offset;
    return from >= first ? std::optional(from) : std::nullopt;
  case WEFT_SHUFFLE_DOWN:
    from = lane + offset;
    break;
  default:
    from = first | (offset & (exchange.width - 1));
  }
  return from <= last ? std::optional(from) : std::nullopt;
}

void Launch::exchange(int64_t first, int64_t last) {
  for (int64_t i = first; i < last; ++i) {
    Thread &thread = threads[i];
    int32_t width = thread.exchange.width;
    if (width < 1 || width > kWarp || (width & (width - 1)))
      return fail(thread.block, "thread " + std::to_string(i) + " shuffles in segments of " +
                                    std::to_string(width) +
                                    " lanes, which is no power of two up to 32");
    std::optional<int64_t> from = partner(i - first, thread.exchange);
    if (from && first + *from >= last)
      return fail(thread.block, "thread " + std::to_string(i) + " shuffles with lane " +
                                    std::to_string(*from) + ", which a block of " +
                                    std::to_string(kernel.threads) + " threads does not have");
    int32_t value = threads[from ? first + *from : i].exchange.value;
    thread.received = int64_t(uint32_t(value)) | int64_t(from.has_value()) << 32;
  }
}

static std::string describe(const Thread &thread) {
  std::string who = std::to_string(thread.thread);
  switch (thread.state) {
  case Thread::State::AtBarrier:
    return who + " waits at barrier " + std::to_string(thread.site);
  case Thread::State::AtWarpBarrier:
    return who + " waits at the warp's barrier " + std::to_string(thread.site);
  case Thread::State::AtShuffle:
    return who + " waits at shuffle " + std::to_string(thread.site);
  default:
    return who + " ended";
  }
}

/// Two threads that wait for each other, of one warp if there are such. None, if all have ended.
void Launch::explainStop() {
  auto differ = [](const Thread &a, const Thread &b) {
    return a.state != b.state || (a.state != Thread::State::Ended && a.site != b.site);
  };
  for (int64_t distance : {int64_t(kWarp), kernel.threads})
    for (int64_t i = 0; i + 1 < kernel.threads; ++i)
      if (int64_t j = i + 1; j / distance == i / distance && differ(threads[i], threads[j]))
        return fail(threads[i].block,
                    "thread " + describe(threads[i]) + ", " + describe(threads[j]));
}

void Launch::checkGuards(int64_t block) {
  const char *end = sharedMemory.data();
  for (int64_t i = 0; i < kernel.num_shared; ++i) {
    auto *at = static_cast<const char *>(shared[i]);
    if (std::any_of(end, at, [](char byte) { return byte != kGuard; }))
      fail(block, "bytes before shared buffer " + std::to_string(i) + " were written");
    end = at + kernel.buffers[kernel.num_arguments + i].bytes;
  }
  if (std::any_of(end, static_cast<const char *>(sharedMemory.data() + sharedMemory.size()),
                  [](char byte) { return byte != kGuard; }))
    fail(block, "bytes behind the shared buffers were written");
}

void Launch::wait(Thread &thread, Thread::State where, int32_t site) {
  thread.state = where;
  thread.site = site;
  thread.fiber.pause();
}

void Launch::barrier(Thread &thread, int32_t site) { wait(thread, Thread::State::AtBarrier, site); }

void Launch::warpBarrier(Thread &thread, int32_t site) {
  wait(thread, Thread::State::AtWarpBarrier, site);
}

int64_t Launch::shuffle(Thread &thread, int32_t site, const Exchange &exchange) {
  thread.exchange = exchange;
  wait(thread, Thread::State::AtShuffle, site);
  return thread.received;
}

/// Of an access; empty: it may be done.
std::string Launch::judge(const Thread &thread, const char *address, int64_t bytes,
                          int64_t alignment, Access access) {
  std::string error = shadow.note(
      {int32_t(thread.block), int32_t(thread.thread), epoch, thread.phase}, address, bytes, access);
  if (error.empty() && !isMultiple(address, alignment))
    error = "thread " + std::to_string(thread.thread) + " accesses " + std::to_string(bytes) +
            " bytes of " + shadow.nameOf(address) + " at an address that is no multiple of " +
            std::to_string(alignment);
  return error;
}

void Launch::access(Thread &thread, const char *address, int64_t bytes, int64_t alignment,
                    Access access) {
  if (order == Order::Preempted && random() % 8 == 0)
    thread.fiber.pause();
  if (std::string error = judge(thread, address, bytes, alignment, access); !error.empty())
    fail(thread.block, error);
  // With nothing to destroy, as a fiber that failed is left here for good.
  if (!message.empty())
    thread.fiber.pause();
}

void Launch::outside(Thread &thread, const char *base, int64_t dim, int64_t index, int64_t size) {
  fail(thread.block, "thread " + std::to_string(thread.thread) + " indexes dim " +
                         std::to_string(dim) + " of " + shadow.nameOf(base) + ", of size " +
                         std::to_string(size) + ", with " + std::to_string(index));
  thread.fiber.pause();
}
