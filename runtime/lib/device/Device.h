// A rank's device: its memory, and the streams that run commands on it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whoever is not a device knows the arena by offsets alone, in bytes from its
// start: where it lies, and whether the host can touch it there, is the
// device's own business. The host's bytes come and go by upload and download; a
// device whose memory is the host's says so by `hostView`, and HostCopy.h uses
// that to copy nothing.
//
// Life of a device: made (Devices.h), `prepare` for every command of every
// program, `allocate` once, then uploads, downloads and runs. A run is `begin`,
// the commands of each stream in the order of the list, and `finish` for each
// stream; a device may do the commands of a run as it did them before, and is
// not given them then. A device that blocks may see a wait before the record that comes
// earlier in the list, as another thread issues that; any other sees all in the
// order of the list.
//
// Threads: `prepare`, `allocate` and `begin` are called by the rank's thread.
// `issue`, `record`, `wait`, `synchronize` and `finish` of one stream are called
// by one thread at a time: a thread for each stream if the device `blocks`, else
// the rank's thread for all. `abandon` is called by the rank's thread, when no
// thread issues any more. Memory is moved by any thread, also by several at the same
// time, but between runs only, or behind `synchronize` where nothing works on it; a
// collective moves its operands when its stream has come to it.
//
// A failure's message says what is wrong but not in which command, which the
// caller knows.
#ifndef WEFT_RUNTIME_LIB_DEVICE_DEVICE_H
#define WEFT_RUNTIME_LIB_DEVICE_DEVICE_H

#include "device/Resolved.h"
#include "device/Timeline.h"
#include "device/Units.h"
#include "job/Board.h"
#include "job/World.h"

#include <memory>
#include <string>
#include <vector>

namespace weft::runtime {

/// A command that a device has made ready, and that it alone can run.
class PreparedCommand {
public:
  virtual ~PreparedCommand() = default;
  /// Bytes of its stream's scratch that it uses.
  virtual uint64_t scratchBytes() const { return 0; }
  /// Time in it counts as communication.
  virtual bool communicates() const { return false; }
  /// What its last run sent to other ranks.
  virtual Volume sent() const { return {}; }
};
using PreparedCommandPtr = std::unique_ptr<PreparedCommand>;

/// Which command, for marks, traces and messages.
struct CommandPlace {
  uint32_t program, command; // numbers of the program, and among all that it issues (Issued.h)
};

/// Who is told of a command that fails after it was issued.
class FailureSink {
public:
  virtual ~FailureSink() = default;
  /// Stops the run. Called by any thread.
  virtual void commandFailed(CommandPlace place, const Status &failure) = 0;
};

/// Who has the commands of the run in work, for a device that does not block.
class CommandSource {
public:
  virtual ~CommandSource() = default;
  /// Issues all of them, in the order of the list; `finish` is not called.
  virtual Status issueAll() = 0;
};

/// A run that begins.
struct Run {
  uint32_t program;
  unsigned streams;
  /// Nothing happens between its commands: they may be done as a whole.
  bool isWhole;
};

/// What a device is made with.
struct DeviceOptions {
  World *world = nullptr;
  Clock::time_point epoch;                           // times count from here
  const weft_kernel_entry *const *kernels = nullptr; // by kernel id
  unsigned threads = 1;                              // of the host, for the work of stream 0
  bool spin = false;                                 // they may wait actively
  std::vector<int> cores;                            // for threads of the host; none: all
  int64_t rank = 0;
  int64_t numLocalRanks = 1;   // that share the machine's memory
  int64_t numProcessRanks = 1; // of these, in this process
  UnitShare unit;              // if the kind has any
  size_t traceCapacity = 0;    // trace events of a stream; 0 = none
  FailureSink *failures = nullptr;
  CommandSource *commands = nullptr;
  /// What computes sleeps so long instead, in seconds by CommandPlace; null: it computes.
  const std::vector<std::vector<double>> *pretended = nullptr;
};

/// What is known of a stream when all commands are prepared.
struct StreamPlan {
  uint64_t scratch; // its offset, behind what was planned; a multiple of 256
  StreamMark *mark; // shows where the stream is
  size_t waits;     // most in a run: commands that wait for other streams or ranks
};
struct DevicePlan {
  uint64_t bytes; // of the arena, scratch included
  uint32_t events;
  std::vector<StreamPlan> streams;
};

/// Who does collectives: ours over the transport, or NCCL.
enum class CollectivesBy { Transport, Nccl };

class CollectiveProvider;
class GroupTable;

class Device {
public:
  virtual ~Device() = default;

  /// What prepares its collectives. Without a word of the device there are the transport's alone,
  /// which moves operands through memory of the host (comm/collectives/TransportCollectives.h).
  virtual Status makeCollectives(CollectivesBy by, GroupTable &groups,
                                 std::unique_ptr<CollectiveProvider> &collectives);

  //===--- Commands -------------------------------------------------------===//

  /// Null and `status` on failure; null for events, which `record` and `wait` do.
  virtual PreparedCommandPtr prepare(const PrepareContext &context, const Command &command,
                                     Status &status) = 0;

  //===--- Memory ---------------------------------------------------------===//

  virtual Status allocate(const DevicePlan &plan) = 0;
  virtual Status upload(uint64_t to, const void *from, uint64_t bytes) = 0;
  virtual Status download(void *to, uint64_t from, uint64_t bytes) = 0;
  /// Makes every page of the arena resident, so that measured memory is whole.
  virtual Status makeResident() = 0;
  /// Whether the arena is memory that the host reads and writes in place.
  virtual bool isHostMemory() const { return false; }
  /// The arena, once it is allocated; null if it is not the host's memory.
  virtual char *hostView() const { return nullptr; }

  //===--- Runs -----------------------------------------------------------===//

  /// Whether `issue` and `wait` return when the command is done or the event
  /// has come, not before. Then every stream needs a thread that issues.
  virtual bool blocks() const = 0;
  /// Threads that the device made.
  virtual unsigned numThreads() const = 0;
  /// Begins a run: no event is recorded yet. Whether the device does its commands by itself, as it
  /// did them before: nothing is issued then, and all streams are finished. It may have them issued
  /// within the call, to learn what they are.
  virtual bool begin(const Run &run) = 0;
  /// Allocates nothing.
  virtual Status issue(unsigned stream, CommandPlace place, PreparedCommand &command) = 0;
  /// The event's `count`th record, behind all that was issued on the stream.
  virtual Status record(unsigned stream, uint32_t event, uint64_t count) = 0;
  /// What is issued on the stream later begins after that record.
  virtual Status wait(unsigned stream, CommandPlace place, uint32_t event, uint64_t count) = 0;
  /// Waits until all that was issued on the stream is done.
  virtual Status synchronize(unsigned stream) = 0;
  /// The same, at the end of the stream's part in the run.
  virtual Status finish(unsigned stream) = 0;
  /// Called instead for a run that failed, after which there is no other: waits
  /// until no stream works any more. What was not begun is not run.
  virtual void abandon() {}
  /// There will be no run any more: lets go of what holds on to other ranks.
  virtual void part() {}
  /// What the user may want to know of how the last run was done; told once, else empty.
  virtual std::string takeRemark() { return {}; }
  /// Of a finished run.
  virtual const Timeline &timeline(unsigned stream) const = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_DEVICE_DEVICE_H
