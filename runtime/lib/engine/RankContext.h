// Everything that hangs from one rank: device, programs, threads that issue.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_ENGINE_RANKCONTEXT_H
#define WEFT_RUNTIME_LIB_ENGINE_RANKCONTEXT_H

#include "base/Threads.h"
#include "comm/Groups.h"
#include "comm/collectives/CollectiveProvider.h"
#include "device/HostCopy.h"
#include "engine/Executor.h"
#include "engine/Overlap.h"
#include "engine/Pretend.h"
#include "session/StateLoader.h"

#include <map>

namespace weft::runtime {

/// What the ranks of a process share, read-only after open.
struct SessionShared {
  ProgramView program;
  std::vector<const weft_kernel_entry *> kernels; // by kernel id
  std::string modelDirectory;
  unsigned threadsPerRank = 1;
  bool spin = false;
  size_t traceCapacity = 0;
  bool checksNumbers = false;
  int64_t numLocalRanks = 1, numProcessRanks = 1;
  Clock::time_point epoch = Clock::now();
  World *world = nullptr;
  Board board; // of this process's ranks at least
  CommBackend comm;
  CollectivesBy collectivesBy = CollectivesBy::Transport;
  std::unique_ptr<PretendedCosts> pretended; // null: commands compute
  FileCache files;
  /// Of states, by weft_load_state and from checkpoints, while they are loaded.
  std::atomic<uint64_t> loadedBytes{0};
};

/// How long a run took on one rank.
struct RunFigures {
  double seconds = 0, communication = 0; // of these: stream 0 waited or communicated
  Overlap overlap;

  /// Of several ranks: the seconds of the slowest one, and all overlaps together.
  void add(const RunFigures &rank) {
    overlap += rank.overlap;
    if (rank.seconds <= seconds)
      return;
    seconds = rank.seconds;
    communication = rank.communication;
  }
};

class RankContext : private FailureSink, private CommandSource {
public:
  /// Has `unit` of its machine. Its threads stay on `cores`; none: on all.
  RankContext(SessionShared &shared, int64_t rank, const UnitShare &unit,
              const std::vector<int> &cores);
  /// Makes the device of that kind (Devices.h).
  Status open(const std::string &kind);
  RankContext(const RankContext &) = delete;

  /// Makes groups, prepares all programs, allocates the arena. `open` was called. Collective, and
  /// called on the rank's own thread.
  Status prepare();
  /// The end of what `prepare` agreed on with other ranks, on the rank's own thread. Collective.
  Status part() {
    ownDevice->part();
    return collectives->disconnect();
  }
  Status loadState();
  /// For tests of corruption: another bit in the first state, the first time that it is called.
  void flipOnce();
  Status runProgram(uint32_t program, const Injection &injection);

  int64_t rank() const { return processRank; }
  unsigned stage() const { return stageIndex; }
  const std::vector<int64_t> &coordinates() const { return position; }
  /// Of a Port or State: whether the rank's stage has it.
  template <typename Tensor> bool holds(const Tensor &tensor) const {
    return shared.program.homeOf(tensor, stageIndex) != nullptr;
  }
  /// Whether this rank gives its elements to files (Placement.h).
  template <typename Tensor> bool writes(const Tensor &tensor) {
    return givesToFiles(shared.program, tensor, map(tensor.placement), stageIndex);
  }
  Device &device() const { return *ownDevice; }
  /// Where in the arena the rank has a Port or State that it holds.
  template <typename Tensor> const Buffer &buffer(const Tensor &tensor) const {
    return shared.program.Buffers()[shared.program.homeOf(tensor, stageIndex)->buffer];
  }
  /// The rank's shard of a Port or State, for the host to work on.
  template <typename Tensor> HostCopy shard(const Tensor &tensor) {
    uint64_t elements = uint64_t(map(tensor.placement).numLocal());
    return {*ownDevice, buffer(tensor).offset, elements * dtypeBytes(tensor.dtype)};
  }
  const ShardMap &map(Id placement);

  uint64_t arenaBytes() const { return totalBytes; }
  uint64_t scratchBytes() const { return totalBytes - planBytes; }
  unsigned numThreads() const;
  /// Commands that were made ready for all programs together.
  size_t numPrepared() const { return lists->numPrepared(); }
  const RunFigures &lastRun() const { return figures; }
  /// Null unless the session looks at numbers.
  NumberCheck *numberCheck() const { return numbers.get(); }
  /// "rank 1: command 3 (launch of node '/Log') of 'step' made 4 of 32 numbers NaN".
  std::string describe(const NumberCheck::Found &found, const char *what) const;
  /// In all runs, over one of the Communicators.
  Traffic trafficOver(Id communicator) const { return collectives->trafficOver(communicator); }
  /// See CollectiveProvider.
  std::string remark() const { return collectives->remark(); }
  unsigned numStreams() const { return unsigned(marks.size()); }
  /// What it shows on the board.
  BoardSlot &slot() const { return shared.board.slot(processRank); }
  /// A failure as all ranks see it, not only this one (Judge.h).
  Status judged(const Status &failure) const;
  Worker &thread() { return worker; }

  /// Result of the last job posted to the rank's thread.
  Status status;

private:
  /// A thread that issues commands, of one stream or of all.
  struct Issuer {
    RankContext *self;
    unsigned stream;
    std::vector<uint64_t> records; // of each event
    Status status;
  };
  void issue(Issuer &issuer);
  Status issue(unsigned stream, std::vector<uint64_t> &records);
  Status issueAll() override { return issue(Walker::kEveryStream, issuers[0].records); }
  void commandFailed(CommandPlace place, const Status &failure) override;
  void fail(const Status &failure);
  /// Where the scratch of each stream lies, and what else is known of it.
  DevicePlan planDevice();
  void makeIssuers(uint32_t events);

  SessionShared &shared;
  int64_t processRank;
  UnitShare unit;
  std::vector<int> cores;
  std::vector<int64_t> position;
  unsigned stageIndex = 0;
  GroupTable groups;
  std::unique_ptr<Device> ownDevice;
  std::unique_ptr<CollectiveProvider> collectives;
  std::unique_ptr<ListMaker> lists;
  std::unique_ptr<NumberCheck> numbers;
  std::vector<PreparedBody> bodies; // by program
  std::map<Id, ShardMap> maps;
  uint64_t totalBytes = 0, planBytes = 0;
  std::vector<StreamMark *> marks;                    // by stream
  std::vector<StreamMark> farMarks;                   // of streams that the board has no room for
  std::vector<Issuer> issuers;                        // the first one is the rank's thread
  std::vector<std::unique_ptr<Worker>> issuerThreads; // of issuers 1, 2, ...
  // The run in work.
  std::atomic<uint32_t> current{kNone};
  Injection injection;
  bool isRepeated = false; // the device does the commands by itself
  bool hasFlipped = false;
  RunFigures figures;
  PretendedSeconds pretended;
  Worker worker; // the rank's thread; last, so that it ends first
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_ENGINE_RANKCONTEXT_H
