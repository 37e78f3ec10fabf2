// A rank's prepared commands and the streams that run them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_EXECUTOR_H
#define WEFT_RUNTIME_LIB_EXECUTOR_H

#include "base/Threads.h"
#include "engine/Overlap.h"
#include "job/Board.h"
#include "job/World.h"

#include "weft/runtime/Placement.h"

#include <memory>
#include <vector>

namespace weft::runtime {

class GroupTable;
class Libraries;
struct StreamContext;

/// What commands are prepared with, at load.
struct PrepareContext {
  const ProgramView &program;
  const std::vector<int64_t> &coordinates;
  const weft_kernel_entry *const *kernels; // by kernel id
  Libraries &libraries;
  GroupTable &groups;
  unsigned stream;  // of the command
  unsigned threads; // of that stream's pool
};

/// addend + scale * (one runtime scalar, or nothing): a ScalarValue for a rank.
struct ResolvedValue {
  Id scalar = kNone;
  int64_t scale = 0, addend = 0;

  ResolvedValue() = default;
  ResolvedValue(const PrepareContext &context, const ScalarValue &value);
  int64_t get(const uint64_t *scalars) const {
    return scalar == kNone ? addend : addend + scale * int64_t(scalars[scalar]);
  }
};

/// A view whose static parts are added up.
struct ResolvedView {
  int64_t offset = 0; // first element, bytes from the arena's start
  DType dtype = DType::F32;
  unsigned rank = 0;
  int64_t sizes[kMaxTensorRank];
  int64_t strides[kMaxTensorRank];

  /// Adds up constant and coordinate terms; fails if the view then leaves its
  /// buffer. `contiguous` >= 0: it stands for that many consecutive elements.
  static Status make(const PrepareContext &context, const View &view, ResolvedView &result,
                     int64_t contiguous = -1);

  int64_t numElements() const {
    int64_t count = 1;
    for (unsigned d = 0; d < rank; ++d)
      count *= sizes[d];
    return count;
  }
  bool isRowMajor() const;

  /// The first element's address now; null if scalars push the view out of its
  /// buffer (`leaves` says so in words).
  char *address(const StreamContext &stream) const;
  Status leaves(const StreamContext &stream) const;

private:
  int64_t firstByte(const uint64_t *scalars) const;

  int64_t low = 0, high = 0; // bytes that it reaches around the first element
  int64_t bufferBegin = 0, bufferEnd = 0;
  std::vector<ResolvedValue> dynamic; // in bytes
};

/// A prepared command. `run` must not allocate.
class Step {
public:
  virtual ~Step() = default;
  virtual Status run(StreamContext &stream) = 0;
  /// Bytes of StreamContext::scratch that `run` uses.
  virtual uint64_t scratchBytes() const { return 0; }
  /// Time in it counts as communication.
  virtual bool communicates() const { return false; }
};

using StepPtr = std::unique_ptr<Step>;
/// Factories, one per opcode that does work; null and `status` on failure.
StepPtr makeLaunch(const PrepareContext &, const Command &, Status &);
StepPtr makeGemm(const PrepareContext &, const Command &, Status &);
StepPtr makeConvolution(const PrepareContext &, const Command &, Status &);
StepPtr makeAttention(const PrepareContext &, const Command &, Status &);
StepPtr makeAttentionGradient(const PrepareContext &, const Command &, Status &);
StepPtr makeCopy(const PrepareContext &, const Command &, Status &);
StepPtr makeFill(const PrepareContext &, const Command &, Status &);
StepPtr makeSlice(const PrepareContext &, const Command &, Status &);
StepPtr makeCollective(const PrepareContext &, const Command &, Status &);

/// Marks of which commands ran when, for one stream.
struct TraceEvent {
  uint32_t program, command;
  double begin, end; // seconds since the session opened
  double cpu;        // seconds that the stream's thread had a core
};

/// A stream of a rank while it runs.
struct StreamContext {
  char *arena = nullptr;
  char *scratch = nullptr; // 64-byte aligned
  ThreadPool *pool = nullptr;
  uint64_t *scalars = nullptr;
  World *world = nullptr;
  std::vector<uint64_t> scalarStorage;
  std::vector<uint64_t> recordsSeen; // by event, in program order
  double communicationSeconds = 0;   // waits for events included
  SpanList communication;            // commands that communicate
  SpanList idle;                     // stream 0: what is not computation
  Span ran{0, 0};
  std::vector<TraceEvent> trace;
  size_t traceCapacity = 0;
  StreamMark *mark = nullptr; // where it is, for reports
  Status status;
};

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

/// "command 7 (gemm of node 'x')", for messages.
std::string describeCommand(const ProgramView &program, const Command &command, uint64_t index);

/// One body, prepared for one rank.
class PreparedBody {
public:
  static Status make(const ProgramView &program, uint32_t programIndex, const Body &body,
                     const PrepareContext &context, PreparedBody &result);

  uint32_t numStreams() const { return streams; }
  uint32_t numEvents() const { return events; }
  uint64_t scratchBytes(unsigned stream) const { return scratch[stream]; }
  size_t numCommands() const { return items.size(); }

  struct Injection {
    int64_t command = -1;
    bool stall = false;
  };
  /// Runs the commands of one stream; all streams run at the same time.
  Status run(unsigned stream, StreamContext &context, EventTable &events, Clock::time_point epoch,
             const Injection &injection) const;

  /// "command 7 (gemm of node 'x')", for messages.
  std::string describe(uint64_t command) const;

private:
  struct Item {
    const Command *command;
    StepPtr step;        // null for control commands
    ResolvedValue count; // RepeatBegin
    uint32_t match = 0;  // RepeatBegin: its end; RepeatEnd: its begin
  };
  bool holds(const Command &command, const uint64_t *scalars) const;
  void update(const ScalarUpdate &update, uint64_t *scalars) const;

  const ProgramView *program = nullptr;
  uint32_t programIndex = 0;
  uint32_t streams = 1, events = 0;
  std::vector<Item> items;
  std::vector<uint64_t> scratch; // by stream
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_EXECUTOR_H
