// A GPU that is not there: memory that the host cannot touch, and streams whose work is done later,
// in one of the orders that events allow.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing that is put on a stream is done before the host waits or asks. Then work is drawn from
// all streams that can go on, and done by a thread of the GPU's own. Two pieces of work that touch
// the same bytes, one writing, without an order between them are an error in every order that is
// drawn. The host's threads count as one: what any of them has waited for comes before what any of
// them issues later.
//
// From the environment: WEFT_EMULATED_SEED (of the orders), WEFT_EMULATED_GPUS (8),
// WEFT_EMULATED_FIRST_GPU (which of the machine's the process sees first: 0),
// WEFT_EMULATED_MEMORY (bytes of each, 1 GiB), WEFT_EMULATED_VERSION (13000), WEFT_EMULATED_FAILURE
// (SYMBOL:CALL:CODE, of any of the emulated libraries: which call fails, from 1, and how; the code
// -1: it never returns).
#ifndef WEFT_TEST_EMULATION_CUDA_GPU_H
#define WEFT_TEST_EMULATION_CUDA_GPU_H

#include "Ordering.h"

#include "device/cuda/DriverApi.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>

namespace weft::emulated {

using runtime::cuda::Result;

/// One record of an event, done when its stream has come to it.
struct Recording {
  bool done = false;
  int gpu = 0;
  Clock clock;
  double milliseconds = 0;
};

struct Capture;

struct EventState {
  std::shared_ptr<Recording> latest = std::make_shared<Recording>(Recording{true, 0, {}, 0});
  // Of a record that was captured: behind which nodes.
  std::shared_ptr<Capture> capture;
  std::vector<size_t> nodes;
};

/// A piece of work on a stream: it waits for something, does something, or both.
struct Work {
  std::string label;
  std::vector<Touch> touches;
  std::function<void()> run;              // may be empty
  std::shared_ptr<Recording> after, sets; // may be null
  const uint32_t *word = nullptr;         // of the host: waits until it is `least` or more
  uint32_t least = 0;
  std::function<bool()> ready; // may be empty; else waits until it holds, which takes no lock
  Clock issued;                // what the host knew
};

struct StreamState {
  unsigned number;
  int gpu;
  bool isFree = false, isBusy = false;
  Clock clock;
  std::deque<Work> work;
  // While it is captured: the nodes that come next before.
  std::shared_ptr<Capture> capture;
  std::vector<size_t> last;

  bool isDone() const { return work.empty() && !isBusy; }
};

/// What a call puts on a stream, whichever that is.
using Put = std::function<Result(StreamState &)>;

class Gpu {
public:
  static Gpu &get();

  /// All that follow are called with it held; `progress` lets go of it while it waits.
  std::unique_lock<std::mutex> lock() { return std::unique_lock<std::mutex>(mutex); }

  /// Success, or what an injected failure or an error before says for this call.
  Result enter(const char *symbol);
  /// From now on every call fails, with this text.
  Result fail(const std::string &text);
  const std::string &failure() const { return failed; }
  /// Orders of another seed from here on, errors forgotten, and `call` of `symbol` to fail with
  /// `code`: 1 is the next one, 0 none.
  void restart(uint64_t seed, const std::string &symbol, uint64_t call, int code);

  int count() const { return numGpus; }
  uint64_t memory() const { return bytesOfEach; }
  uint64_t allocated(int gpu) const { return allocatedBytes[size_t(gpu)]; }
  /// 0 if it does not fit. New memory holds 0xA5.
  uint64_t allocate(int gpu, uint64_t bytes);
  bool free(uint64_t begin);
  /// Where the bytes at an address of the device are in truth: nothing is at the address itself, so
  /// that the host faults there. Null outside of allocations, which `push` refuses.
  char *bytesAt(uint64_t address) const;
  /// The error of touching those bytes, or "".
  std::string outside(const Touch &touch) const;

  StreamState *makeStream(int gpu);
  /// Its number, and with it how far it has come, is the next one's.
  void destroyStream(StreamState *stream) { stream->isFree = true; }
  /// Puts it on the stream, or captures it (Capture.h).
  Result put(StreamState &stream, Put put);
  Result put(StreamState &stream, Work work);
  Result push(StreamState &stream, Work work);
  /// Lets the GPU do some work, perhaps none.
  void dabble(int gpu);
  /// Lets it work until it holds.
  Result progress(std::unique_lock<std::mutex> &held, int gpu, const std::function<bool()> &holds);
  /// The host has waited for it.
  void learn(const Clock &clock) { host.join(clock); }
  uint64_t draw(uint64_t below) { return random() % below; }

private:
  Gpu();
  bool canGoOn(const StreamState &stream) const;
  /// The first work of a drawn stream; false if none can go on. Lets go of the lock meanwhile.
  bool step(std::unique_lock<std::mutex> &held, int gpu);
  void work(int gpu);

  /// What lets a GPU's thread work: so many pieces, or as long as somebody waits.
  struct Engine {
    uint64_t credits = 0, waiters = 0;
    bool isStarted = false;
    std::condition_variable wake;
  };
  struct Allocation {
    uint64_t bytes;
    int gpu;
    char *memory;
  };
  using Allocations = std::map<uint64_t, Allocation>;
  /// The last one that begins there or before; end() if there is none.
  Allocations::const_iterator allocationAt(uint64_t address) const;

  std::mutex mutex;
  std::mt19937_64 random;
  int numGpus = 8;
  uint64_t bytesOfEach = uint64_t(1) << 30;
  std::string failSymbol, failed;
  uint64_t failCall = 0;
  int failCode = 0;
  Allocations allocations;
  std::vector<uint64_t> allocatedBytes;
  std::vector<std::unique_ptr<StreamState>> streams;
  std::vector<std::unique_ptr<Engine>> engines;
  std::condition_variable changed;
  Touched touched;
  Clock host;
};

} // namespace weft::emulated

#endif // WEFT_TEST_EMULATION_CUDA_GPU_H
