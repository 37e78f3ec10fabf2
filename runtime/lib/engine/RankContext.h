// Everything that hangs from one rank: arena, threads, streams, scalars.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_RANKCONTEXT_H
#define WEFT_RUNTIME_LIB_RANKCONTEXT_H

#include "comm/Groups.h"
#include "engine/Executor.h"
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
  int64_t numLocalRanks = 1;
  Clock::time_point epoch = Clock::now();
  World *world = nullptr;
  Board board; // of this process's ranks at least
  Libraries *libraries = nullptr;
  CommBackend comm;
  FileCache files;
  /// Of states, by weft_load_state and from checkpoints, while they are loaded.
  std::atomic<uint64_t> loadedBytes{0};
};

class RankContext {
public:
  /// Its threads stay on `cores`; none: on all.
  RankContext(SessionShared &shared, int64_t rank, const std::vector<int> &cores);
  ~RankContext();
  RankContext(const RankContext &) = delete;

  /// Makes groups, prepares all programs, allocates the arena. Collective, and
  /// called on the rank's own thread.
  Status prepare();
  Status loadState();
  Status runProgram(uint32_t program, const PreparedBody::Injection &injection);

  int64_t rank() const { return processRank; }
  unsigned stage() const { return stageIndex; }
  const std::vector<int64_t> &coordinates() const { return position; }
  bool holds(uint32_t stage) const { return stage == kNone || stage == stageIndex; }
  char *buffer(Id id) const { return arena + shared.program.Buffers()[id].offset; }
  const ShardMap &map(Id placement);
  std::vector<uint64_t> &scalars() { return values; }

  /// Makes every page of the arena resident, so that measured memory is whole.
  void touchArena();

  uint64_t arenaBytes() const { return totalBytes; }
  uint64_t scratchBytes() const { return totalBytes - planBytes; }
  unsigned numThreads() const;
  double lastSeconds() const { return seconds; }
  double lastCommunicationSeconds() const { return streams[0].communicationSeconds; }
  Overlap lastOverlap() const { return overlap; }
  const std::vector<StreamContext> &streamContexts() const { return streams; }
  /// What it shows on the board.
  BoardSlot &slot() const { return shared.board.slot(processRank); }
  /// A failure as all ranks see it, not only this one (Judge.h).
  Status judged(const Status &failure) const;
  Worker &thread() { return worker; }

  /// Result of the last job posted to the rank's thread.
  Status status;

private:
  struct StreamJob {
    RankContext *self;
    unsigned stream;
  };
  void runStream(unsigned stream);
  Status allocate(uint64_t bytes);

  SessionShared &shared;
  int64_t processRank;
  std::vector<int> cores;
  std::vector<int64_t> position;
  unsigned stageIndex = 0;
  GroupTable groups;
  std::vector<PreparedBody> bodies; // by program
  std::map<Id, ShardMap> maps;
  char *arena = nullptr;
  uint64_t totalBytes = 0, planBytes = 0;
  std::vector<uint64_t> values; // scalars
  ThreadPool pool, serial;
  EventTable events;
  std::vector<StreamContext> streams;
  std::vector<StreamMark> farMarks;                   // of streams that the board has no room for
  std::vector<std::unique_ptr<Worker>> streamWorkers; // of streams 1, 2, ...
  std::vector<StreamJob> jobs;
  // The run in work.
  std::atomic<uint32_t> current{kNone};
  PreparedBody::Injection injection;
  double seconds = 0;
  Overlap overlap;
  Worker worker; // stream 0; last, so that it ends first
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_RANKCONTEXT_H
