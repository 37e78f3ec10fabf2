// Does the work of streams in drawn orders.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Gpu.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <thread>

using namespace weft::emulated;
using namespace weft::runtime::cuda;

static uint64_t numberOf(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

static double millisecondsNow() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

Gpu &Gpu::get() {
  // Never destroyed: streams of other statics may outlive it.
  static Gpu &only = *new Gpu;
  return only;
}

Gpu::Gpu() : random(numberOf("WEFT_EMULATED_SEED", 1)) {
  numGpus = int(numberOf("WEFT_EMULATED_GPUS", uint64_t(numGpus)));
  bytesOfEach = numberOf("WEFT_EMULATED_MEMORY", bytesOfEach);
  const char *failure = std::getenv("WEFT_EMULATED_FAILURE");
  char symbol[64] = "";
  unsigned long long call = 0;
  if (failure && std::sscanf(failure, "%63[^:]:%llu:%d", symbol, &call, &failCode) == 3) {
    failSymbol = symbol;
    failCall = call;
  }
  allocatedBytes.resize(size_t(numGpus));
  for (int i = 0; i < numGpus; ++i)
    engines.push_back(std::make_unique<Engine>());
}

void Gpu::restart(uint64_t seed, const std::string &symbol, uint64_t call, int code) {
  random.seed(seed);
  failed.clear();
  // What a failed run has left behind would fail again.
  for (const std::unique_ptr<StreamState> &stream : streams)
    if (stream->isFree)
      stream->work.clear();
  failSymbol = symbol;
  failCall = call;
  failCode = code;
}

Result Gpu::enter(const char *symbol) {
  if (!failed.empty())
    return LaunchFailed;
  if (failSymbol != symbol || failCall == 0 || --failCall > 0)
    return Success;
  while (failCode == -1)
    std::this_thread::sleep_for(std::chrono::hours(1));
  return Result(failCode);
}

Result Gpu::fail(const std::string &text) {
  if (failed.empty())
    failed = text;
  return LaunchFailed;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static constexpr uint64_t kPage = 4096;

static uint64_t pagesOf(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

uint64_t Gpu::allocate(int gpu, uint64_t bytes) {
  uint64_t pages = pagesOf(bytes);
  if (allocatedBytes[size_t(gpu)] + pages > bytesOfEach)
    return 0;
  // Addresses of the device, and behind them the bytes, between pages that are out of reach.
  void *room = mmap(nullptr, 2 * pages + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED)
    return 0;
  char *begin = static_cast<char *>(room), *memory = begin + pages + kPage;
  mprotect(memory, pages, PROT_READ | PROT_WRITE);
  std::memset(memory, 0xA5, pages);
  allocatedBytes[size_t(gpu)] += pages;
  allocations[uint64_t(uintptr_t(begin))] = {bytes, gpu, memory};
  return uint64_t(uintptr_t(begin));
}

bool Gpu::free(uint64_t begin) {
  auto found = allocations.find(begin);
  if (found == allocations.end())
    return false;
  uint64_t pages = pagesOf(found->second.bytes);
  allocatedBytes[size_t(found->second.gpu)] -= pages;
  munmap(reinterpret_cast<void *>(uintptr_t(begin)), 2 * pages + 2 * kPage);
  touched.forget(begin, found->second.bytes);
  allocations.erase(found);
  return true;
}

Gpu::Allocations::const_iterator Gpu::allocationAt(uint64_t address) const {
  auto after = allocations.upper_bound(address);
  return after == allocations.begin() ? allocations.end() : std::prev(after);
}

std::string Gpu::outside(const Touch &touch) const {
  auto found = allocationAt(touch.begin);
  if (found != allocations.end()) {
    uint64_t offset = touch.begin - found->first, all = found->second.bytes;
    if (offset <= all && touch.bytes <= all - offset)
      return {};
  }
  return "touches " + std::to_string(touch.bytes) + " bytes that are not all in one allocation";
}

char *Gpu::bytesAt(uint64_t address) const {
  auto found = allocationAt(address);
  if (found == allocations.end() || address - found->first > found->second.bytes)
    return nullptr;
  return found->second.memory + (address - found->first);
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

StreamState *Gpu::makeStream(int gpu) {
  if (!engines[size_t(gpu)]->isStarted) {
    engines[size_t(gpu)]->isStarted = true;
    std::thread([this, gpu] { work(gpu); }).detach();
  }
  for (const std::unique_ptr<StreamState> &stream : streams)
    if (stream->isFree && stream->gpu == gpu && stream->isDone()) {
      stream->isFree = false;
      return stream.get();
    }
  streams.push_back(std::make_unique<StreamState>());
  streams.back()->number = unsigned(streams.size()) - 1;
  streams.back()->gpu = gpu;
  return streams.back().get();
}

Result Gpu::push(StreamState &stream, Work work) {
  for (const Touch &touch : work.touches)
    if (std::string error = outside(touch); touch.bytes > 0 && !error.empty())
      return fail("'" + work.label + "' " + error);
  work.issued = host;
  stream.work.push_back(std::move(work));
  return Success;
}

bool Gpu::canGoOn(const StreamState &stream) const {
  if (stream.work.empty() || stream.isBusy)
    return false;
  const Work &next = stream.work.front();
  if (next.after && !next.after->done)
    return false;
  if (next.ready && !next.ready())
    return false;
  if (!next.word)
    return true;
  return int32_t(__atomic_load_n(next.word, __ATOMIC_ACQUIRE) - next.least) >= 0;
}

bool Gpu::step(std::unique_lock<std::mutex> &held, int gpu) {
  std::vector<StreamState *> ready;
  for (const std::unique_ptr<StreamState> &stream : streams)
    if (stream->gpu == gpu && canGoOn(*stream))
      ready.push_back(stream.get());
  if (ready.empty())
    return false;
  StreamState &stream = *ready[draw(ready.size())];
  Work work = std::move(stream.work.front());
  stream.work.pop_front();
  stream.clock.join(work.issued);
  if (work.after)
    stream.clock.join(work.after->clock);
  if (work.word)
    stream.clock.join(host);
  stream.clock.advance(stream.number);
  for (const Touch &touch : work.touches)
    if (std::string error = touched.note(touch, stream.number, stream.clock, work.label);
        !error.empty())
      fail(error);
  if (work.run && failed.empty()) {
    stream.isBusy = true;
    held.unlock();
    work.run();
    held.lock();
    stream.isBusy = false;
  }
  if (work.sets) {
    work.sets->clock = stream.clock;
    work.sets->milliseconds = millisecondsNow();
    work.sets->done = true;
  }
  return true;
}

void Gpu::work(int gpu) {
  Engine &engine = *engines[size_t(gpu)];
  auto held = lock();
  while (true) {
    engine.wake.wait(held, [&] { return engine.credits > 0 || engine.waiters > 0; });
    engine.credits -= engine.credits > 0;
    if (step(held, gpu)) {
      changed.notify_all();
      continue;
    }
    // Somebody will issue more, or write the word that a stream waits for.
    engine.credits = 0;
    held.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    held.lock();
  }
}

void Gpu::dabble(int gpu) {
  engines[size_t(gpu)]->credits += draw(64);
  engines[size_t(gpu)]->wake.notify_one();
}

Result Gpu::progress(std::unique_lock<std::mutex> &held, int gpu,
                     const std::function<bool()> &holds) {
  Engine &engine = *engines[size_t(gpu)];
  ++engine.waiters;
  engine.wake.notify_one();
  changed.wait(held, holds);
  --engine.waiters;
  return failed.empty() ? Success : LaunchFailed;
}
