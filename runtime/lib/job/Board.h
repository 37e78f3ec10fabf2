// What the processes of a job on one machine show each other: where they are,
// that they live, why they failed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_JOB_BOARD_H
#define WEFT_RUNTIME_LIB_JOB_BOARD_H

#include "weft/runtime/Status.h"

#include <atomic>
#include <cstdint>
#include <string>

namespace weft::runtime {

/// What a thread does just now.
enum class Doing : uint32_t { Nothing, Computing, Waiting };

/// Where a stream of a rank is.
struct StreamMark {
  std::atomic<Doing> doing;
  std::atomic<uint32_t> command; // its number among all that the program issues
};

/// How far a rank has come.
enum class Presence : uint32_t { Absent, Meeting, Working, Leaving, Gone };

/// One rank's part of the board: only its own process writes it, and it
/// outlives the process. All zeros at the start.
struct BoardSlot {
  static constexpr unsigned kStreams = 8;
  static constexpr size_t kText = 1800;

  std::atomic<int32_t> pid;      // written after `started`
  std::atomic<uint64_t> started; // see processStart
  std::atomic<Presence> presence;
  std::atomic<int64_t> beat;     // last sign of life, by sinceBoot(); 0 = none
  std::atomic<int64_t> steps;    // of training: begun so far
  std::atomic<int32_t> heeds;    // not 0: it ends in good order when `stop` asks for it
  std::atomic<uint32_t> program; // number + 1 of the one in work
  std::atomic<uint32_t> stage;
  std::atomic<Doing> host; // between runs; a run is `Nothing`
  StreamMark streams[kStreams];

  // A failure: the first thread that has one claims it; the code is written
  // last, and says that the rest is there.
  std::atomic<int32_t> claimed;
  std::atomic<int32_t> code;
  int32_t consequence; // of another rank's failure, which matters more
  int64_t when;
  char text[kText];

  /// Of the calling process, which is the rank's.
  void enter();
  /// As processState; 0 also before there is a process.
  char processState() const;
};

struct BoardHeader {
  uint64_t magic;
  int64_t ranks;
  int32_t supervisor;                  // process id of weft-run, 0 = none: it tells failures
  uint64_t supervisorStarted;          // see processStart
  std::atomic<int32_t> launcher;       // of MPI ranks, without which they cannot end; 0 = none
  uint64_t launcherStarted;            // see processStart; written before `launcher`
  std::atomic<int32_t> launcherSignal; // that ended it; 0 = none
  char host[64];                       // name of the machine
  std::atomic<int32_t> stop;           // signal that asks the job to end; 0 = none
  std::atomic<int32_t> failed;         // some rank has, so nobody need go on
  std::atomic<int32_t> teller;         // rank + 1 of who tells the failure
  std::atomic<int32_t> told;           // it did
  std::atomic<double> timeout;         // of waits in steps, in seconds; 0 = as at the start

  void setLauncher(int32_t pid);
  /// By a signal or a debugger.
  bool launcherIsStopped() const;
};

/// Nanoseconds of a clock that all processes of a machine share.
int64_t sinceBoot();

/// When a process was started, in ticks of the system's clock; 0 = not known.
uint64_t processStart(int32_t pid);

/// 'R', 'S', 'T' (stopped) ... as /proc says; '?' = it cannot be asked, so the
/// process counts as alive; 0 = there is no such process, or
/// it is dead and only waited for. A process that was started at another time
/// than `started` is not the one that is meant: the system gave its number away
/// again.
char processState(int32_t pid, uint64_t started);

/// By a signal or a debugger, of a state as processState tells it.
inline bool isStopped(char state) { return state == 'T' || state == 't'; }

/// Memory without a name in any file system: it goes with the last process that
/// uses it. Others open it by its maker's descriptor.
class Board {
public:
  Board() = default;
  ~Board();
  Board(const Board &) = delete;
  Board(Board &&other) noexcept { *this = static_cast<Board &&>(other); }
  Board &operator=(Board &&other) noexcept;

  static Status make(int64_t ranks, Board &result);
  /// `address` is that of another process's board. Fails quietly where it
  /// cannot be reached, as from another machine.
  static bool open(const std::string &address, int64_t ranks, Board &result);

  explicit operator bool() const { return memory != nullptr; }
  /// For `open`, as long as this process lives.
  std::string address() const;
  BoardHeader &header() const { return *static_cast<BoardHeader *>(memory); }
  int64_t ranks() const { return header().ranks; }
  BoardSlot &slot(int64_t rank) const {
    return reinterpret_cast<BoardSlot *>(static_cast<char *>(memory) + kSlots)[rank];
  }

  /// Leaves a rank's failure for others to read; false if another thread of the
  /// rank has left one, or is about to.
  bool put(int64_t rank, int32_t code, const std::string &text, bool consequence) const;

private:
  static constexpr size_t kSlots = 256;
  static size_t bytesFor(int64_t ranks) { return kSlots + size_t(ranks) * sizeof(BoardSlot); }

  void *memory = nullptr;
  size_t bytes = 0;
  int descriptor = -1;
};

/// The variable by which weft-run tells ranks of its board.
constexpr const char *kBoardVariable = "WEFT_BOARD";

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_JOB_BOARD_H
