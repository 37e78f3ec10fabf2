// The session behind the C interface.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_SESSION_SESSION_H
#define WEFT_RUNTIME_LIB_SESSION_SESSION_H

#include "engine/RankContext.h"
#include "job/Judge.h"
#include "job/Watch.h"

#include "weft/runtime/Runtime.h"

#include <cstdio>
#include <optional>

struct weft_session {
  /// After a failure the others get this long to notice it and stop.
  static constexpr double kGraceSeconds = 0.4;

  explicit weft_session(double timeout) : world(timeout) { shared.world = &world; }

  weft::runtime::World world;
  weft::runtime::SessionShared shared;
  std::vector<std::unique_ptr<weft::runtime::RankContext>> ranks;
  int64_t firstRank = 0;
  /// Of all processes, for what they tell each other between runs; null if
  /// there is but this one.
  void *processGroup = nullptr;
  std::unique_ptr<weft::runtime::Watch> watch; // of one process among several
  bool silent = false;                         // another process tells the same failure
  bool broken = false;                         // a rank's thread did not come back
  weft_options options{};
  weft_statistics statistics{};
  // The job that all local ranks do; set before it is posted.
  uint32_t program = 0;

  const weft::runtime::ProgramView &view() const { return shared.program; }

  using RankJob = void (*)(weft_session &session, weft::runtime::RankContext &rank, void *context);
  /// Has every rank's own thread do `job`, behind another one that is still in work.
  void post(RankJob job, void *context);
  /// Waits until every rank has at most `left` jobs. Fails if a rank did.
  weft::runtime::Status await(unsigned left = 0);

  /// Runs `Function` on every rank's own thread and waits for all.
  template <void (*Function)(weft_session &, weft::runtime::RankContext &)>
  weft::runtime::Status onRanks() {
    if (world.aborted()) // perhaps by a rank whose thread still works
      return world.failure();
    post([](weft_session &session, weft::runtime::RankContext &rank,
            void *) { Function(session, rank); },
         nullptr);
    weft::runtime::Status status = await();
    for (std::unique_ptr<weft::runtime::RankContext> &rank : ranks)
      if (status.ok() && !rank->status.ok())
        return rank->status;
    return status;
  }

  /// Runs `program` on a rank; called on its own thread.
  weft::runtime::Status runOn(weft::runtime::RankContext &rank);
  /// Adds a run of the local ranks to the statistics.
  void count(const weft::runtime::RunFigures &run);

  /// How long ranks wait for each other from here on; 0 = as long as ever. All processes call it
  /// with the same number.
  void setTimeout(double seconds);

  /// Calls what waits for other processes, between runs.
  template <typename Call> weft::runtime::Status waiting(Call call) {
    using namespace weft::runtime;
    if (world.aborted())
      return world.failure();
    BoardSlot &slot = shared.board.slot(firstRank);
    slot.host.store(hostDoing(Doing::Waiting));
    Status status = commCall(call);
    if (!status.ok() && !world.aborted())
      world.abort(judge(shared.board, view(), firstRank, status, world.timeoutSeconds()));
    if (!status.ok())
      return world.failure();
    slot.host.store(hostDoing(Doing::Computing));
    return {};
  }

  /// What the board says of a process that does `own`: of a rank in work its streams tell more.
  weft::runtime::Doing hostDoing(weft::runtime::Doing own) const {
    return inWork > 0 ? weft::runtime::Doing::Nothing : own;
  }

  struct Posted {
    weft_session *session;
    weft::runtime::RankContext *rank;
    RankJob job;
    void *context;
  };
  std::vector<Posted> posted;    // of all ranks the last kMostJobs
  unsigned turn = 0, inWork = 0; // jobs that each rank was given, and has

private:
  /// Ranks that are done wait for the others no longer than ranks that are processes do; `waited`
  /// begins when the first one is seen to be.
  void abortIfLate(std::optional<weft::runtime::Waited> &waited, unsigned left);
};

namespace weft::runtime {

/// Hands a status over to the caller.
inline int32_t report(const Status &status, weft_status *result) {
  if (result) {
    result->code = int32_t(status.code());
    std::snprintf(result->text, sizeof result->text, "%s", status.text().c_str());
  }
  return int32_t(status.code());
}

/// The exit code of a process that failed with `code`, as exitCodeOf of its board.
int32_t exitCodeOf(const weft_session &session, int32_t code);

/// Bytes of all states of this process's ranks.
uint64_t stateBytes(const weft_session &session);

Status findProgram(const ProgramView &program, const char *name, uint32_t &index);

/// Gives the bytes that every process sends to all; `received[i]` has room for
/// what process i sends. Collective.
Status exchangeOnce(weft_session &session, weft_block sent,
                    const std::vector<weft_block> &received);

/// The same for the first process alone: `received` is empty on the others.
/// Collective.
Status gatherOnce(weft_session &session, weft_block sent, const std::vector<weft_block> &received);

/// Puts what other processes hold of an output into `tensor` of the first one.
/// Collective.
Status gatherOutput(weft_session &session, const Port &port, char *tensor);

/// Largest value over all processes; a barrier too.
Status reduceMax(weft_session &session, double local, double &result);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_SESSION_SESSION_H
