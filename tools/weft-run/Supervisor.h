// Looks after the processes of a job until all of them have ended.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_RUN_SUPERVISOR_H
#define WEFT_TOOLS_WEFT_RUN_SUPERVISOR_H

#include "Exits.h"
#include "MpiFolder.h"

#include "job/Board.h"
#include "job/World.h"

#include <csignal>
#include <string>
#include <sys/types.h>
#include <vector>

namespace weft::runtime {

struct Job {
  Board board;
  MpiFolder folder; // under mpirun
  /// A process for each rank, or mpirun alone; 0 = has ended.
  std::vector<pid_t> children;
  bool underMpirun = false;
  bool inOneProcess = false;     // which has all ranks, and answers signals itself
  double timeout = kLongestWait; // of the ranks' patience at the start, in seconds
};

/// The signals that weft-run answers instead of its ranks, which are in groups
/// of their own. To be made before the ranks are.
class Signals {
public:
  Signals();
  ~Signals();
  /// In a new process that becomes a rank or mpirun, which ends with weft-run.
  void shield() const;
  /// The next one that came; 0 = none.
  int next() const;

private:
  sigset_t watched, before;
};

/// How a job ended.
struct Outcome {
  int code = 0;     // exit code
  std::string text; // of a failure that nobody has told yet
  /// A rank was lost or hung, so another attempt may succeed. Not if a user
  /// asked the job to stop, whatever ended it then, nor if it would fail again
  /// for the same reason.
  bool isAccident = false;
};

/// "weft: error: ...", if there is something to tell; the exit code.
int tell(const Outcome &outcome);

/// Ends what is left when one rank fails, and says why: the exit code is that of
/// the rank that failed first, or 128 and the signal that a user sent.
class Supervisor {
public:
  Supervisor(Job &job, const Signals &signals) : job(job), signals(signals) {}
  Outcome run();

private:
  struct Death { // of a rank, by a signal or with an exit code
    int64_t rank = -1;
    int32_t pid = 0;
    int signal = 0, code = 0;
    int64_t when = 0; // it was seen
  };

  bool reap();
  void noteDeath(size_t child, pid_t pid, int result);
  void lookAtBoard();
  void watchRanks();
  void noteLost(int64_t rank);
  void heedSignals();
  void fail();
  void endAll();
  void endIdleLauncher();
  void killChildren();
  bool isLeft() const;
  bool aRankIsLeft() const;
  bool onlyStoppedAreLeft() const;
  bool aRankCame() const;
  bool haveAllLeft() const;
  double timeout() const;
  bool launcherIsStopped() const;
  const BoardSlot *toldFailure(bool consequence, bool hang) const;
  bool wasWished() const;
  bool neverRan() const;
  Outcome verdict() const;
  Outcome verdictOnDeaths() const;
  Outcome verdictOnOne() const;
  Outcome verdictOnLauncher() const;
  std::string stoppedRanks() const;
  int causeOf(const Death &death) const;
  std::string describe(const Death &death) const;
  std::string describeAbsent(const Death &death) const;

  Job &job;
  const Signals &signals;
  std::vector<Death> deaths; // in the order they came, as far as the system tells
  int launcherResult = 0;
  int asked = 0;  // times that a user sent a signal
  int signal = 0; // the last one
  bool failing = false, ended = false;
  int64_t endedAt = 0;  // since boot
  bool isStuck = false; // that is why: ranks stay stopped, or never come
  int heeded = 0;       // the signal for which a rank ended in good order
  Clock::time_point started = Clock::now(), failedAt, looked;
  Clock::time_point aloneSince; // mpirun is, after a failure
  std::vector<Clock::time_point> stoppedSince;
  Clock::time_point launcherStopped;
  Exits exits; // of mpirun's ranks
  std::vector<bool> watched;
};

} // namespace weft::runtime

#endif // WEFT_TOOLS_WEFT_RUN_SUPERVISOR_H
