// Runs steps of training, one ahead where nothing forbids it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_TRAINING_STEPRUNNER_H
#define WEFT_RUNTIME_LIB_TRAINING_STEPRUNNER_H

#include "training/BatchFeed.h"
#include "training/Reports.h"
#include "training/StepLimit.h"

namespace weft::runtime {

/// A step is begun, and later ended; what it makes known is known then. Ranks of a pipeline do not
/// end a step together: by the schedule one may be done while others still have much to do. If
/// they do not meet in it (ranksMeet) a step may be begun before the one before it is ended, and a
/// rank that is done goes on with it at once. Such a step then takes the time of one rank, from its
/// first action to its last, and not that from the first action of all to the last.
class StepRunner {
public:
  StepRunner(weft_session &session, BatchFeed &feed, Reports &reports)
      : session(session), feed(feed), reports(reports) {}
  /// Ranks use it.
  ~StepRunner() { (void)rest(); }
  StepRunner(const StepRunner &) = delete;

  /// The feed is finished. `mayRunAhead`: whether a step may be begun before another one ends.
  Status open(bool mayRunAhead);
  bool runsAhead() const { return ahead; }

  /// Step `step` will be begun first, with the batch that begins at sample `from`; `steps` are to
  /// be done in all.
  void start(int64_t step, int64_t from, int64_t steps);
  int64_t nextBegun() const { return begun; }
  /// Begins a step when its batch is there and all processes are about to. Collective.
  Status begin();
  /// Waits for a step; `mine` is then what this process has of it.
  Status end(Report &mine);
  /// What the first local rank's device remarks on it.
  const std::string &remark() const { return lanes[0].done[(ended - 1 - first) % 2].remark; }
  /// What all processes have of the step that was ended last.
  void told(const Report &all);
  /// Waits for steps in work, of which nobody will hear.
  Status rest() { return session.inWork > 0 ? session.await() : Status(); }

private:
  /// What a rank has of a step, until the next but one.
  struct Done {
    double has[Report::kValues] = {}, value[Report::kValues] = {};
    RunFigures run;
    std::vector<Volume> sent; // by communicator
    std::string remark;       // of its device
  };
  /// Of a local rank; its own thread has `steps`, and the one of `steps` % 2 of `done`.
  struct Lane {
    int64_t steps = 0; // done since `start`
    Done done[2];
  };

  Status runStep(RankContext &rank, size_t index);
  void readAhead();

  weft_session &session;
  BatchFeed &feed;
  Reports &reports;
  ScalarOutput outputs[Report::kValues]; // loss, grad_norm, lr, loss_scale
  std::vector<Lane> lanes;
  StepLimit limit; // where no --timeout was given
  bool ahead = false, isReading = false;
  bool haveMet = false; // all processes, since the last step was told
  uint32_t program = 0;
  int64_t first = 0, begun = 0, ended = 0, last = 0; // steps
  int64_t position = 0;                              // in samples, of the first step's batch
  Clock::time_point since; // the last step ended, or the first one of those in work was begun
};

/// Whether ranks of all stages wait for each other in a program: for a norm of all gradients that
/// clips them, or to skip a step. So they do if there are no stages.
bool ranksMeet(const ProgramView &p, const Program &program);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_TRAINING_STEPRUNNER_H
