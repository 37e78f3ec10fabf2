// A thread that keeps a process on the board and looks after its neighbour.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_JOB_WATCH_H
#define WEFT_RUNTIME_LIB_JOB_WATCH_H

#include "job/Board.h"
#include "job/World.h"

#include "weft/runtime/Program.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace weft::runtime {

/// Of one process among several. While it lives, the process shows that it
/// does; it hears of failures on this machine though its threads be busy; and
/// it does not outlive a failed job, whatever its other threads are stuck in.
class Watch {
public:
  Watch(const Board &board, const ProgramView &program, World &world, int64_t rank);
  ~Watch();
  Watch(const Watch &) = delete;

private:
  void run();
  /// The next rank on this machine that is on the board; -1 = none.
  int64_t neighbour() const;
  void look();
  [[noreturn]] void giveUp(const Status &status);

  const Board &board;
  const ProgramView &program;
  World &world;
  int64_t rank;
  Presence presence = Presence::Absent; // as seen last, and for how long
  Waited present;
  Clock::time_point failed, launcherStopped;
  bool failing = false, ending = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::thread thread; // last, as it uses the others
};

/// Tells a failure of `rank`: to weft-run if it started the job, else on stderr,
/// unless another rank of the machine did. A failure that is the consequence of
/// another rank's gives that one time to speak.
void tellFailure(const Board &board, int64_t rank, const Status &status, bool consequence);

/// The exit code of the process of `rank`, which failed with `code`. All ranks of the machine end
/// with that of the failure which is told: a launcher takes whoever's ends first. Where weft-run
/// tells it, that of the rank's own, as another of its threads may have been first.
int32_t exitCodeOf(const Board &board, int64_t rank, int32_t code);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_JOB_WATCH_H
