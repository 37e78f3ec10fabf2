// Reads the board after a hang or a loss.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "job/Judge.h"

#include "program/commands/Issued.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

using namespace weft::runtime;

namespace {

/// The stream that tells most: one that computes, else the one whose wait the program has first, as
/// the others may wait for that.
const StreamMark *tellingStream(const BoardSlot &slot) {
  const StreamMark *found = nullptr;
  for (const StreamMark &mark : slot.streams) {
    Doing doing = mark.doing.load();
    if (doing == Doing::Computing)
      return &mark;
    if (doing == Doing::Waiting && (!found || mark.command.load() < found->command.load()))
      found = &mark;
  }
  return found;
}

bool isStill(const BoardSlot &slot, double timeout) {
  // A process that waits shows up many times a second. A busy machine may hold
  // it up, but not for half as long as others wait.
  double silent = double(sinceBoot() - slot.beat.load()) * 1e-9;
  return slot.beat.load() != 0 && silent > std::max(0.5, timeout / 2);
}

bool isBusy(const BoardSlot &slot) {
  if (slot.host.load() == Doing::Computing)
    return true;
  const StreamMark *mark = tellingStream(slot);
  return slot.host.load() == Doing::Nothing && mark && mark->doing.load() == Doing::Computing;
}

std::string nameOf(const Board &board, int64_t rank) {
  const BoardSlot &slot = board.slot(rank);
  std::string text = "rank " + std::to_string(rank);
  if (slot.pid.load() == 0)
    return text;
  return text + " (pid " + std::to_string(slot.pid.load()) + " on " + board.header().host + ")";
}

std::string stateOf(const BoardSlot &slot) {
  if (slot.presence.load() == Presence::Absent)
    return "has not started";
  if (slot.presence.load() == Presence::Gone)
    return "has ended";
  char state = slot.beat.load() == 0 ? char(0) : slot.processState();
  return isStopped(state) ? "is stopped" : "does not come";
}

std::string stoppedLauncher(const Board &board) {
  const BoardHeader &header = board.header();
  return header.launcherIsStopped()
             ? "the launcher (pid " + std::to_string(header.launcher.load()) + " on " +
                   header.host + ") is stopped"
             : "";
}

std::string placeOf(const ProgramView &program, const BoardSlot &slot) {
  std::string place = describePlace(program, slot);
  return place.empty() ? "" : " in " + place;
}

/// Whether the rank has a process that is to end with a word and did not yet.
bool isToSpeak(const BoardSlot &slot) {
  Presence presence = slot.presence.load();
  return slot.pid.load() != 0 && slot.code.load() == 0 &&
         (presence == Presence::Meeting || presence == Presence::Working);
}

std::vector<int64_t> lostRanks(const Board &board, int64_t witness) {
  std::vector<int64_t> lost;
  for (int64_t rank = 0; rank < board.ranks(); ++rank)
    if (rank != witness && isLost(board.slot(rank)))
      lost.push_back(rank);
  return lost;
}

/// Whether a process of this machine other than the witness's may be dying.
bool mayLoseRanks(const Board &board, int64_t witness) {
  for (int64_t rank = 0; rank < board.ranks(); ++rank)
    if (board.slot(rank).pid.load() != board.slot(witness).pid.load() &&
        isToSpeak(board.slot(rank)))
      return true;
  return false;
}

/// The ranks that are lost when a connection is. A process closes its connections before it has
/// ended, and on a busy machine it may be held up between the two.
std::vector<int64_t> awaitLostRanks(const Board &board, int64_t witness) {
  using std::chrono::milliseconds;
  constexpr milliseconds kLongestPause(128); // 255 in all
  std::vector<int64_t> lost = lostRanks(board, witness);
  for (milliseconds pause(1);
       lost.empty() && mayLoseRanks(board, witness) && pause <= kLongestPause; pause *= 2) {
    std::this_thread::sleep_for(pause);
    lost = lostRanks(board, witness);
  }
  return lost;
}

} // namespace

bool weft::runtime::isLost(const BoardSlot &slot) {
  return isToSpeak(slot) && slot.processState() == 0;
}

std::string weft::runtime::describePlace(const ProgramView &p, const BoardSlot &slot) {
  std::string text;
  if (int64_t steps = slot.steps.load())
    text = "step " + std::to_string(steps - 1);
  else if (slot.presence.load() == Presence::Meeting)
    return "the meeting of the ranks";
  uint32_t program = slot.program.load(), stage = slot.stage.load();
  const StreamMark *mark = tellingStream(slot);
  // Another process wrote it: nothing is taken for granted.
  if (program == 0 || program > p.Programs().size() || !mark || stage >= p.Stages().size() ||
      slot.host.load() != Doing::Nothing)
    return text;
  const Program &entry = p.Programs()[program - 1];
  IssuedCommands commands(p, p.Bodies()[entry.bodies.begin + stage]);
  uint32_t command = mark->command.load();
  if (command >= commands.size())
    return text;
  return text + (text.empty() ? "" : ", ") + commands[command].describe(p) + " of program '" +
         std::string(p.string(entry.name)) + "'";
}

Status weft::runtime::judge(const Board &board, const ProgramView &program, int64_t witness,
                            const Status &failure, double timeout) {
  bool hang = failure.code() == StatusCode::Hang;
  if (!board || (!hang && failure.code() != StatusCode::RankFailed))
    return failure;
  // Who met without being on the board is on another machine.
  bool meeting = board.slot(witness).presence.load() == Presence::Meeting;
  const std::vector<int64_t> dead =
      hang ? lostRanks(board, witness) : awaitLostRanks(board, witness);
  std::vector<int64_t> still, busy, gone;
  for (int64_t rank = 0; rank < board.ranks() && dead.empty(); ++rank) {
    const BoardSlot &slot = board.slot(rank);
    if (rank == witness || slot.code.load() != 0)
      continue;
    if (slot.presence.load() == Presence::Gone)
      gone.push_back(rank);
    else if (slot.presence.load() == Presence::Absent ? meeting : isStill(slot, timeout))
      still.push_back(rank);
    else if (slot.presence.load() == Presence::Working && isBusy(slot))
      busy.push_back(rank);
  }
  const std::vector<int64_t> &guilty = !dead.empty()    ? dead
                                       : !hang          ? dead
                                       : !still.empty() ? still
                                       : !busy.empty()  ? busy
                                                        : gone;
  // Of its own streams one may wait for another that does not come.
  std::vector<int64_t> own;
  if (hang && guilty.empty() && isBusy(board.slot(witness)))
    own.push_back(witness);
  const std::vector<int64_t> &told = own.empty() ? guilty : own;
  // It takes what ranks print and answers them when they meet and part; a rank may wait for that.
  std::string launcher = hang && dead.empty() ? stoppedLauncher(board) : "";
  if (told.empty() && launcher.empty())
    return failure;
  constexpr size_t kMost = 4; // in words
  std::string text = launcher;
  for (size_t i = 0; i < std::min(told.size(), kMost); ++i) {
    const BoardSlot &slot = board.slot(told[i]);
    text += (text.empty() ? "" : "; ") + nameOf(board, told[i]) + " " +
            (dead.empty() ? stateOf(slot) : "ended without a word") + placeOf(program, slot);
  }
  if (told.size() > kMost)
    text += "; and " + std::to_string(told.size() - kMost) + " more";
  char patience[48] = "";
  if (dead.empty())
    std::snprintf(patience, sizeof patience, "no progress for %g s: ", timeout);
  if (!own.empty())
    return {StatusCode::Hang, patience + text};
  return {dead.empty() ? StatusCode::Hang : StatusCode::RankFailed,
          patience + text + "; rank " + std::to_string(witness) + " noticed it" +
              placeOf(program, board.slot(witness))};
}
