// What the processes of a job tell each other between runs of training.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_TRAINING_REPORTS_H
#define WEFT_RUNTIME_LIB_TRAINING_REPORTS_H

#include "job/Processes.h"
#include "session/SentMeter.h"

namespace weft::runtime {

/// A scalar output that some stage's ranks hold, all alike.
struct ScalarOutput {
  const Port *port = nullptr;

  Status find(const ProgramView &p, const char *program, const char *name, bool isNeeded = true);
  /// If the rank has it, `holds` becomes 1 and its value is read.
  Status read(RankContext &rank, double &holds, double &value) const;
  /// The same of any rank of this process.
  Status read(weft_session &session, double &holds, double &value) const;
};

/// Of one process and run.
struct Report {
  static constexpr size_t kValues = 4;
  double has[kValues], value[kValues]; // scalar outputs
  double stop, seconds, communication, memory, counted;
  double collectives, hidden; // seconds, of a rank of the process
};
static_assert(sizeof(Report) % sizeof(double) == 0, "a table of doubles");

/// Does not allocate once it is open.
class Reports {
public:
  /// Of what ranks sent in the last run, `sent` tells.
  explicit Reports(weft_session &session);
  void open() { processes.open(session, message.size()); }

  int64_t count() const { return processes.count(); }
  /// Waits for all processes, however long they take. In a run ranks wait for each other, and for
  /// nothing else that may take long: a batch, or a file or pipe that takes the log. So all have
  /// these behind them first. Collective.
  Status meet();
  /// The first process that holds a value tells it; counts add up; of the rest the largest counts,
  /// also of what was sent. Collective.
  Status exchange(const Report &mine, Report &all);

  SentMeter sent;

private:
  weft_session &session;
  Processes processes;
  std::vector<double> message; // a Report, and of each communicator messages and bytes
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_TRAINING_REPORTS_H
