// Begins steps on all ranks and collects what they made.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training/StepRunner.h"

#include "program/commands/Issued.h"

#include <algorithm>

using namespace weft::runtime;

bool weft::runtime::ranksMeet(const ProgramView &p, const Program &program) {
  if (p.Stages().size() <= 1)
    return true;
  Table<uint32_t> stageAxes = p.axes(p.info().stageAxes);
  auto isOverStages = [&](const Command &command) {
    if (command.opcode != Opcode::Collective)
      return false;
    const Collective &collective = p.record<Collective>(command);
    if (collective.kind == CollectiveKind::Send || collective.kind == CollectiveKind::Recv)
      return false;
    Table<uint32_t> axes = p.axes(p.Communicators()[collective.communicator].axes);
    return std::any_of(axes.begin(), axes.end(), [&](uint32_t axis) {
      return std::find(stageAxes.begin(), stageAxes.end(), axis) != stageAxes.end();
    });
  };
  for (const Body &body : p.Bodies().slice(program.bodies)) {
    IssuedCommands issued(p, body);
    for (uint64_t i = 0; i < issued.size(); ++i)
      if (isOverStages(*issued[i].command))
        return true;
  }
  return false;
}

Status StepRunner::open(bool mayRunAhead) {
  const ProgramView &p = session.view();
  WEFT_TRY(findProgram(p, "step", program));
  const char *names[Report::kValues] = {"loss", "grad_norm", "lr", "loss_scale"};
  for (size_t i = 0; i < Report::kValues; ++i)
    WEFT_TRY(outputs[i].find(p, "step", names[i], /*isNeeded=*/i < 3));
  ahead = mayRunAhead && !ranksMeet(p, p.Programs()[program]);
  if (ahead)
    feed.keep(2);
  lanes.resize(session.ranks.size());
  for (Lane &lane : lanes)
    for (Done &done : lane.done)
      done.sent.resize(reports.sent.sent.size());
  return {};
}

void StepRunner::start(int64_t step, int64_t from, int64_t steps) {
  first = begun = ended = step;
  position = from;
  last = steps;
  readAhead();
}

/// Reads the batch of the next step if there is room for it: one that ranks may still take is kept.
void StepRunner::readAhead() {
  if (isReading || begun == last || (ahead && begun - ended > 1))
    return;
  feed.start(position + (begun - first) * feed.batch());
  isReading = true;
}

Status StepRunner::begin() {
  if (begun == ended)
    since = Clock::now();
  WEFT_TRY(feed.take());
  isReading = false;
  WEFT_TRY(reports.meet());
  haveMet = true;
  if (session.options.timeout_seconds == 0)
    session.setTimeout(limit.seconds());
  // Ranks that run ahead have the batch before in their inputs.
  if (!ahead)
    WEFT_TRY(feed.putAll());
  if (session.inWork == 0) // else ranks read it: that of the step before
    session.program = program;
  ++begun;
  session.post(
      [](weft_session &session, RankContext &rank, void *self) {
        if (session.world.aborted()) // who began the step may be gone
          return;
        size_t index = size_t(rank.rank() - session.firstRank);
        Status status = static_cast<StepRunner *>(self)->runStep(rank, index);
        if (!status.ok() && !session.world.aborted())
          session.world.abort(rank.judged(status));
      },
      this);
  readAhead();
  return {};
}

Status StepRunner::runStep(RankContext &rank, size_t index) {
  Lane &lane = lanes[index];
  Done &done = lane.done[lane.steps % 2];
  rank.slot().steps.store(first + lane.steps + 1);
  if (ahead)
    WEFT_TRY(feed.put(rank, lane.steps));
  reports.sent.start(index);
  const World &world = session.world;
  WEFT_TRY(session.runOn(rank));
  if (world.aborted())
    return World::stopped();
  reports.sent.stop(index, done.sent);
  done.run = rank.lastRun();
  done.remark = rank.device().takeRemark();
  for (size_t i = 0; i < Report::kValues; ++i) {
    done.has[i] = 0;
    WEFT_TRY(outputs[i].read(rank, done.has[i], done.value[i]));
  }
  ++lane.steps;
  return {};
}

Status StepRunner::end(Report &mine) {
  // Of the last steps one may have been begun before others told the one before it.
  if (!haveMet)
    WEFT_TRY(reports.meet());
  WEFT_TRY(session.await(unsigned(begun - ended - 1)));
  mine.seconds = secondsSince(since);
  since = Clock::now();
  RunFigures run;
  reports.sent.clear();
  for (const Lane &lane : lanes) {
    const Done &done = lane.done[(ended - first) % 2];
    run.add(done.run);
    reports.sent.add(done.sent);
    for (size_t i = 0; i < Report::kValues; ++i)
      if (done.has[i] != 0 && mine.has[i] == 0) {
        mine.has[i] = 1;
        mine.value[i] = done.value[i];
      }
  }
  session.count(run);
  ++ended;
  readAhead();
  mine.communication = run.communication / std::max(1e-12, run.seconds);
  mine.collectives = run.overlap.communication / double(session.ranks.size());
  mine.hidden = run.overlap.hidden / double(session.ranks.size());
  return {};
}

void StepRunner::told(const Report &all) {
  limit.took(all.seconds);
  haveMet = false;
  if (begun == ended)
    session.setTimeout(0);
}
