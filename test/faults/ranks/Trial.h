// One job under weft-run, its processes and what it left.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_FAULTS_RANKS_TRIAL_H
#define WEFT_TEST_FAULTS_RANKS_TRIAL_H

#include <csignal>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace faults {

struct Setting {
  std::string weftRun, executable, text;
  bool full;
};

void sleepFor(double seconds);

double now(); // seconds of a clock

/// A training job in a folder of its own, which goes with it; several may be
/// under way at once, each by a thread of its own.
class Trial {
public:
  Trial(const Setting &setting, const std::string &comm, double timeout = 60);
  ~Trial();
  Trial(const Trial &) = delete;

  int64_t ranks() const { return 4; }
  /// With `more` words on its command line.
  void start(const std::vector<std::string> &more = {});
  bool runs(); // weft-run has not ended
  pid_t pid() const { return job; }
  /// Of this job's processes that run the executable: of a rank, -1 = all.
  std::vector<pid_t> rankPids(int64_t rank) const;
  /// Of mpirun, as weft-run starts it.
  std::vector<pid_t> mpirunPids() const;
  /// What the job left in shared memory: its folder, and what is in it.
  std::vector<std::string> leftovers() const;
  /// Until there is a checkpoint, or one is being written; false if the job ended before.
  bool waitForSave(bool beingWritten);
  /// Seconds until weft-run, all ranks, and mpirun between them have ended; kills
  /// them after `most`.
  double waitForAll(double most);
  int code() const { return exitCode; }
  /// Runs it to its end, from where it is.
  int finish();

  std::string log() const; // what it printed
  std::vector<std::string> errors() const;
  /// Losses, norms and rates of all steps, each once.
  std::string curve() const;
  std::string state() const; // bytes of the last checkpoint's rank files

private:
  std::vector<std::string> command() const;
  std::vector<std::string> environment() const;
  /// Processes that inherited the job's mark, but weft-run.
  std::vector<pid_t> processes() const;

  const Setting &setting;
  std::string comm, folder;
  double timeout;
  pid_t job = 0;
  int exitCode = -1;
};

} // namespace faults

#endif // WEFT_TEST_FAULTS_RANKS_TRIAL_H
