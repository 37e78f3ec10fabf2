// The watching thread, and who tells a failure.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "job/Watch.h"

#include "job/Judge.h"
#include "terminal/Printer.h"

#include "weft/runtime/LostFiles.h"
#include "weft/runtime/Terminal.h"

#include <cstdio>
#include <poll.h>
#include <unistd.h>

using namespace weft::runtime;

namespace {

constexpr std::chrono::milliseconds kPeriod{50};
/// After a failure a process has so long to end by itself.
constexpr double kGraceSeconds = 0.5;
/// Beyond the world's patience, as waits that know more come first.
constexpr double kMeetingSlack = 0.15;

} // namespace

Watch::Watch(const Board &board, const ProgramView &program, World &world, int64_t rank)
    : board(board), program(program), world(world), rank(rank), thread([this] { run(); }) {}

Watch::~Watch() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ending = true;
  }
  changed.notify_all();
  thread.join();
}

void Watch::run() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!changed.wait_for(lock, kPeriod, [this] { return ending; }))
    look();
}

int64_t Watch::neighbour() const {
  for (int64_t i = 1; i < board.ranks(); ++i) {
    int64_t other = (rank + i) % board.ranks();
    if (board.slot(other).pid.load() != 0)
      return other;
  }
  return -1;
}

void Watch::look() {
  BoardSlot &mine = board.slot(rank);
  mine.beat.store(sinceBoot());
  if (Status file = lostFile(); !file.ok())
    giveUp(file);
  Presence now = mine.presence.load();
  if (now != presence) {
    presence = now;
    present = Waited();
  }
  // Libraries meet and leave in calls of their own, under no clock but this.
  double seconds = present.seconds();
  if (presence != Presence::Working && seconds > world.mostSeconds() + kMeetingSlack)
    giveUp(
        judge(board, program, rank,
              {StatusCode::Hang, presence == Presence::Meeting ? "the ranks did not meet in time"
                                                               : "the ranks did not part in time"},
              world.mostSeconds()));
  int64_t other = neighbour();
  if (other >= 0 && !world.aborted() && isLost(board.slot(other)))
    world.abort(judge(board, program, rank, World::stopped(), world.timeoutSeconds()));
  const BoardHeader &header = board.header();
  if (!header.launcherIsStopped())
    launcherStopped = {};
  else if (launcherStopped == Clock::time_point{})
    launcherStopped = Clock::now();
  else if (!world.aborted() && secondsSince(launcherStopped) > world.timeoutSeconds())
    world.abort(judge(board, program, rank, {StatusCode::Hang, "the launcher is stopped"},
                      world.timeoutSeconds()));
  if (header.supervisor != 0 && processState(header.supervisor, header.supervisorStarted) == 0)
    _exit(int(StatusCode::RankFailed)); // nobody is left to tell
  if (board.header().failed.load() != 0 && !world.aborted())
    world.abort(World::stopped());
  if (!world.aborted())
    return;
  if (!failing) {
    failing = true;
    failed = Clock::now();
  }
  if (presence != Presence::Working || secondsSince(failed) > kGraceSeconds)
    giveUp(world.failure());
}

void Watch::giveUp(const Status &status) {
  tellFailure(board, rank, status, status.code() == StatusCode::RankFailed);
  _exit(exitCodeOf(board, rank, int32_t(status.code())));
}

void weft::runtime::tellFailure(const Board &board, int64_t rank, const Status &status,
                                bool consequence) {
  BoardHeader &header = board.header();
  // Another thread of this process may be first, and the one to tell it.
  bool isFirst = board.put(rank, int32_t(status.code()), status.text(), consequence);
  isEmitted(kReaderSeconds);
  // Whoever tells it does so before the others end: a launcher may then end
  // the one that speaks.
  constexpr double kPatience = 0.3, kSpeech = 1.0;
  Clock::time_point start = Clock::now();
  auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  while (board.slot(rank).code.load() == 0 && secondsSince(start) < kPatience)
    pause();
  if (header.supervisor != 0)
    return;
  while (isFirst && consequence && header.teller.load() == 0 && secondsSince(start) < kPatience)
    pause();
  int32_t nobody = 0;
  if (isFirst && header.teller.compare_exchange_strong(nobody, int32_t(rank) + 1)) {
    // Who should read it may be what hangs.
    pollfd out{STDERR_FILENO, POLLOUT, 0};
    constexpr int kReaderMs = 500;
    if (!status.text().empty() && poll(&out, 1, kReaderMs) > 0)
      tellError("weft", status.text());
    std::fflush(stderr);
    header.told.store(1);
  }
  while (header.told.load() == 0 && secondsSince(start) < kSpeech)
    pause();
}

int32_t weft::runtime::exitCodeOf(const Board &board, int64_t rank, int32_t code) {
  int32_t teller = board.header().teller.load();
  int32_t told = board.slot(teller != 0 ? teller - 1 : rank).code.load();
  return told != 0 ? told : code;
}
