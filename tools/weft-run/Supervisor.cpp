// Waits, notices, ends, and says why.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Supervisor.h"

#include "weft/runtime/Terminal.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace weft::runtime;

namespace {

/// After the first failure those that run get this long to end and to say what they saw; and
/// mpirun, once it is alone, to clean up.
constexpr double kGraceSeconds = 0.3, kLauncherSeconds = 0.5;
constexpr useconds_t kPeriod = 10 * 1000;
constexpr double kLookSeconds = 0.03;

std::string signalText(int signal) {
  return "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
}

} // namespace

Signals::Signals() {
  sigemptyset(&watched);
  for (int signal : {SIGINT, SIGTERM})
    sigaddset(&watched, signal);
  struct sigaction action{};
  bool ignored = sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
  if (!ignored) // as nohup wants it
    sigaddset(&watched, SIGHUP);
  sigprocmask(SIG_BLOCK, &watched, &before);
}

Signals::~Signals() { sigprocmask(SIG_SETMASK, &before, nullptr); }

void Signals::shield() const {
  pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(127); // it is too late for that
  // What a terminal sends to its foreground goes to weft-run alone, and a
  // process in the background must not read from it.
  setpgid(0, 0);
  int null = ::open("/dev/null", O_RDONLY);
  if (null >= 0)
    dup2(null, STDIN_FILENO);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

int Signals::next() const {
  timespec now{};
  int signal = sigtimedwait(&watched, nullptr, &now);
  return signal > 0 ? signal : 0;
}

/// Whether a rank of mpirun's, which may be gone before them, is left.
bool Supervisor::aRankIsLeft() const {
  for (int64_t rank = 0; job.underMpirun && rank < job.board.ranks(); ++rank) {
    const BoardSlot &slot = job.board.slot(rank);
    if (slot.presence.load() != Presence::Gone && slot.processState() != 0)
      return true;
  }
  return false;
}

/// What ranks wait for each other, as far as it is known in steps.
double Supervisor::timeout() const {
  double seconds = job.board.header().timeout.load();
  return seconds > 0 ? seconds : job.timeout;
}

bool Supervisor::isLeft() const {
  for (pid_t child : job.children)
    if (child != 0)
      return true;
  return aRankIsLeft();
}

bool Supervisor::launcherIsStopped() const {
  if (!job.underMpirun || job.children[0] == 0)
    return false;
  // Between weft-run and mpirun is another one, which nobody should stop, either.
  return job.board.header().launcherIsStopped() || isStopped(processState(job.children[0], 0));
}

/// mpirun ends when its ranks have, and cleans up behind them; unless it is stopped or hangs, as
/// version 4.1 does now and then, or waits for a reader of what they told.
void Supervisor::endIdleLauncher() {
  if ((!failing && asked == 0) || aRankIsLeft()) {
    aloneSince = {};
    return;
  }
  if (aloneSince == Clock::time_point{})
    aloneSince = Clock::now();
  if (secondsSince(aloneSince) > kLauncherSeconds || launcherIsStopped())
    killChildren();
}

void Supervisor::killChildren() {
  for (pid_t child : job.children)
    if (child != 0)
      kill(child, SIGKILL);
}

/// Whether all ranks that are left are stopped: none of them says what it saw, or ends.
bool Supervisor::onlyStoppedAreLeft() const {
  bool any = false;
  for (int64_t rank = 0; rank < job.board.ranks(); ++rank) {
    const BoardSlot &slot = job.board.slot(rank);
    char state = slot.presence.load() == Presence::Gone ? char(0) : slot.processState();
    if (slot.pid.load() == 0 || (state != 0 && !isStopped(state)))
      return false; // it runs, or is about to
    any |= state != 0;
  }
  return any;
}

bool Supervisor::aRankCame() const {
  for (int64_t rank = 0; rank < job.board.ranks(); ++rank)
    if (job.board.slot(rank).pid.load() != 0)
      return true;
  return false;
}

/// Whether all ranks came, and ended in good order.
bool Supervisor::haveAllLeft() const {
  for (int64_t rank = 0; rank < job.board.ranks(); ++rank) {
    Presence presence = job.board.slot(rank).presence.load();
    if (presence != Presence::Leaving && presence != Presence::Gone)
      return false;
  }
  return true;
}

Outcome Supervisor::run() {
  stoppedSince.resize(size_t(job.board.ranks()));
  watched.resize(size_t(job.board.ranks()));
  while (true) {
    bool ended = reap();
    if (ended || secondsSince(looked) > kLookSeconds)
      lookAtBoard();
    heedSignals();
    if (!isLeft())
      break;
    if (failing && (secondsSince(failedAt) > kGraceSeconds || onlyStoppedAreLeft()))
      endAll();
    if (job.underMpirun)
      endIdleLauncher();
    if (!ended)
      usleep(kPeriod);
  }
  Outcome outcome = verdict();
  bool lost = outcome.code == int(StatusCode::RankFailed) ||
              outcome.code == int(StatusCode::Hang) ||
              outcome.code == int(StatusCode::DeviceFailed);
  outcome.isAccident = lost && asked == 0 && !neverRan();
  return outcome;
}

/// Whether a process that ends with this code was asked to, and did so in good order.
static bool isStop(int code) {
  return code == 128 + SIGHUP || code == 128 + SIGINT || code == 128 + SIGTERM;
}

/// Whether a child ended.
bool Supervisor::reap() {
  int result = 0;
  pid_t pid = waitpid(-1, &result, WNOHANG);
  if (pid <= 0)
    return false;
  for (size_t i = 0; i < job.children.size(); ++i)
    if (job.children[i] == pid) {
      job.children[i] = 0;
      noteDeath(i, pid, result);
    }
  return true;
}

void Supervisor::noteDeath(size_t child, pid_t pid, int result) {
  if (job.underMpirun) {
    launcherResult = result;
    // Its ranks end with it, whatever it was.
    fail();
    return;
  }
  Death death{int64_t(child), pid, WIFSIGNALED(result) ? WTERMSIG(result) : 0,
              WIFEXITED(result) ? WEXITSTATUS(result) : 0, sinceBoot()};
  // A rank that was sent the signal itself stops all in good order, too.
  bool stopped = isStop(death.code);
  if (stopped)
    heeded = death.code - 128;
  if (death.signal == 0 && (death.code == 0 || stopped))
    return;
  if (!ended)
    deaths.push_back(death);
  fail();
}

/// One of mpirun's ranks is there no more.
void Supervisor::noteLost(int64_t rank) {
  const BoardSlot &slot = job.board.slot(rank);
  Presence presence = slot.presence.load();
  if (ended || slot.code.load() != 0 || presence == Presence::Leaving || presence == Presence::Gone)
    return;
  for (const Death &death : deaths)
    if (death.rank == rank)
      return;
  deaths.push_back({rank, slot.pid.load(), 0, 0, sinceBoot()});
  fail();
}

void Supervisor::watchRanks() {
  for (int64_t rank = 0; rank < job.board.ranks(); ++rank)
    if (int32_t pid = job.board.slot(rank).pid.load(); pid != 0 && !watched[size_t(rank)]) {
      watched[size_t(rank)] = true;
      exits.watch(pid, rank);
      // It may have ended before it was watched.
      if (job.board.slot(rank).processState() == 0)
        noteLost(rank);
    }
  for (int64_t rank : exits.next())
    noteLost(rank);
}

void Supervisor::lookAtBoard() {
  looked = Clock::now();
  if (job.underMpirun)
    watchRanks();
  // Those that came tell whom they miss.
  auto isStuckFor = [&](Clock::time_point since, double slack) {
    if (secondsSince(since) <= timeout() + slack)
      return;
    isStuck |= !failing;
    fail();
  };
  if (!job.inOneProcess && !aRankCame())
    isStuckFor(started, 0);
  // Ranks notice a stopped one when they wait for it; nobody does if all are stopped.
  const double slack = onlyStoppedAreLeft() ? 0 : 0.5;
  auto watchStopped = [&](bool isStopped, Clock::time_point &since) {
    if (failing) // who was stopped then is to blame, though it was ended since
      return;
    if (!isStopped)
      since = {};
    else if (since == Clock::time_point{})
      since = Clock::now();
    else
      isStuckFor(since, slack);
  };
  watchStopped(launcherIsStopped(), launcherStopped);
  for (int64_t rank = 0; rank < job.board.ranks(); ++rank) {
    const BoardSlot &slot = job.board.slot(rank);
    int32_t pid = slot.pid.load();
    if (slot.code.load() != 0)
      fail();
    if (pid == 0 || ended)
      continue;
    char state = slot.processState();
    if (state == 0 && job.underMpirun)
      noteLost(rank);
    watchStopped(isStopped(state), stoppedSince[size_t(rank)]);
  }
}

void Supervisor::heedSignals() {
  int came = signals.next();
  if (came == 0)
    return;
  ++asked;
  signal = came;
  if (job.inOneProcess) {
    job.board.header().stop.store(came);
    for (pid_t child : job.children)
      if (child != 0)
        kill(child, came);
    return;
  }
  bool heeds = false;
  for (int64_t rank = 0; rank < job.board.ranks(); ++rank)
    heeds |= job.board.slot(rank).heeds.load() != 0;
  // Where nothing is done yet, there is nothing to end in good order.
  if (asked == 1 && heeds)
    job.board.header().stop.store(came);
  else
    endAll();
  pollfd out{STDERR_FILENO, POLLOUT, 0}; // whose reader may have stopped
  if (asked == 2 && poll(&out, 1, 0) > 0)
    std::fputs("weft: stopping at once; what is not saved yet is lost\n", stderr);
}

void Supervisor::fail() {
  if (failing)
    return;
  failing = true;
  failedAt = Clock::now();
}

void Supervisor::endAll() {
  endedAt = ended ? endedAt : sinceBoot();
  ended = true;
  fail();
  for (int64_t rank = 0; rank < job.board.ranks(); ++rank) {
    const BoardSlot &slot = job.board.slot(rank);
    if (job.underMpirun && slot.presence.load() != Presence::Gone && slot.processState() != 0)
      kill(slot.pid.load(), SIGKILL);
  }
  if (!job.underMpirun)
    killChildren();
}

/// The first failure of its kind that a rank left on the board.
const BoardSlot *Supervisor::toldFailure(bool consequence, bool hang) const {
  const BoardSlot *found = nullptr;
  for (int64_t rank = 0; rank < job.board.ranks(); ++rank) {
    const BoardSlot &slot = job.board.slot(rank);
    int code = slot.code.load(std::memory_order_acquire);
    if (code == 0 || (slot.consequence != 0) != consequence ||
        (code == int(StatusCode::Hang)) != hang)
      continue;
    // Of those that are ended here one may still see another go: mpirun wakes whom it ends, too.
    if (consequence && ended && slot.when >= endedAt)
      continue;
    if (!found || slot.when < found->when)
      found = &slot;
  }
  return found;
}

/// The signal that ended a rank, which mpirun knows of its ranks; 0 = none.
int Supervisor::causeOf(const Death &death) const {
  bool told = job.underMpirun && WIFEXITED(launcherResult) && WEXITSTATUS(launcherResult) > 128;
  return told ? WEXITSTATUS(launcherResult) - 128 : death.signal;
}

std::string Supervisor::describe(const Death &death) const {
  const BoardSlot &slot = job.board.slot(death.rank);
  std::string name = "rank " + std::to_string(death.rank) + " (pid " + std::to_string(death.pid) +
                     " on " + job.board.header().host + ") ";
  int cause = causeOf(death);
  std::string end = cause != 0        ? "was ended by " + signalText(cause)
                    : job.underMpirun ? std::string("ended without a word")
                                      : "ended with exit code " + std::to_string(death.code) +
                                            " and without a word";
  // A rank that was there knows the program, and where this one was in it.
  const std::string seen = name + "ended without a word";
  for (int64_t rank = 0; rank < job.board.ranks(); ++rank) {
    const BoardSlot &witness = job.board.slot(rank);
    std::string text = witness.code.load() != 0 ? witness.text : "";
    if (text.compare(0, seen.size(), seen) == 0)
      return name + end + text.substr(seen.size());
  }
  int64_t steps = slot.steps.load();
  return name + end + (steps ? " in step " + std::to_string(steps - 1) : "");
}

/// mpirun ends those that are there when one ends that never was. So to blame is
/// one of these, or the first that is seen to have ended.
std::string Supervisor::describeAbsent(const Death &death) const {
  if (!job.underMpirun || job.board.slot(death.rank).presence.load() != Presence::Meeting)
    return "";
  std::string names;
  for (int64_t rank = 0; rank < job.board.ranks(); ++rank)
    if (job.board.slot(rank).presence.load() == Presence::Absent)
      names += (names.empty() ? "rank " : " or rank ") + std::to_string(rank);
  return names.empty()
             ? ""
             : names + " or rank " + std::to_string(death.rank) + " ended before it met the others";
}

/// Which ranks do nothing, as somebody stopped them, or their launcher.
std::string Supervisor::stoppedRanks() const {
  std::string names = launcherStopped != Clock::time_point{} ? "the launcher" : "";
  for (size_t rank = 0; rank < stoppedSince.size(); ++rank)
    if (stoppedSince[rank] != Clock::time_point{})
      names += (names.empty() ? "rank " : ", rank ") + std::to_string(rank);
  if (names.empty() && aRankCame())
    return "the launcher ended before its ranks did";
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", timeout());
  return "no progress for " + std::string(seconds) +
         (names.empty() ? " s; no rank has started" : " s; stopped: " + names);
}

int weft::runtime::tell(const Outcome &outcome) {
  if (!outcome.text.empty())
    tellError("weft", outcome.text);
  return outcome.code;
}

/// Whether it ended because a user sent a signal.
bool Supervisor::wasWished() const {
  if (asked == 0 || isStuck || (!failing && job.board.header().stop.load() == 0) ||
      toldFailure(false, true))
    return false;
  for (const Death &death : deaths) // what another signal ended did not stop
    if (int cause = causeOf(death); cause != 0 && cause != signal)
      return false;
  return true;
}

/// Whether the executable, or mpirun, could not be started.
bool Supervisor::neverRan() const {
  constexpr int kCannotStart = 127; // as shells say it
  bool isSeen = !job.underMpirun || WIFSIGNALED(launcherResult) || aRankCame();
  return !isSeen || (!deaths.empty() && deaths.front().code == kCannotStart);
}

Outcome Supervisor::verdict() const {
  const BoardSlot *own = toldFailure(false, false), *hang = toldFailure(false, true),
                  *lost = toldFailure(true, false);
  if (own)
    return {own->code.load(), own->text};
  if (wasWished()) {
    // Unless the wish came in the last step, and all was done.
    bool stopped = ended || heeded != 0 || (job.inOneProcess && !deaths.empty());
    int code = WIFEXITED(launcherResult) ? WEXITSTATUS(launcherResult) : WTERMSIG(launcherResult);
    return {stopped || code != 0 ? 128 + signal : 0, ""};
  }
  if (job.inOneProcess)
    return verdictOnOne();
  // Its ranks died of that. By another signal it may have died over theirs, as it does at times.
  const BoardHeader &header = job.board.header();
  if (!ended && header.launcherSignal.load() == SIGKILL)
    return {int(StatusCode::RankFailed),
            "the launcher (pid " + std::to_string(header.launcher.load()) + " on " + header.host +
                ") was ended by " + signalText(SIGKILL) + ", and its ranks with it"};
  for (const Death &death : deaths)
    if ((death.signal != 0 || job.underMpirun) && (!hang || death.when < hang->when))
      return {int(StatusCode::RankFailed),
              describeAbsent(death).empty() ? describe(death) : describeAbsent(death)};
  if (hang)
    return {int(StatusCode::Hang), hang->text};
  if (lost)
    return {int(StatusCode::RankFailed), lost->text};
  if (!deaths.empty())
    return verdictOnDeaths();
  if (isStuck || (failing && ended && launcherResult == 0))
    return {int(StatusCode::Hang), stoppedRanks()};
  if (heeded != 0)
    return {128 + heeded, ""};
  return job.underMpirun && launcherResult != 0 ? verdictOnLauncher() : Outcome();
}

/// Ranks ended by themselves, before there was a board to tell why.
Outcome Supervisor::verdictOnDeaths() const {
  const Death &first = deaths.front();
  bool own = first.code == int(StatusCode::UserError) || first.code == int(StatusCode::Usage) ||
             first.code == int(StatusCode::Internal);
  // Before they meet, rank 0 tells what is wrong with all of them.
  for (const Death &death : deaths)
    if (own && death.rank == 0 && death.code == first.code)
      return {first.code, ""};
  return {own ? first.code : int(StatusCode::RankFailed), describe(first)};
}

/// The process of all ranks tells a failure before it has a session itself, unless it is killed.
Outcome Supervisor::verdictOnOne() const {
  if (const BoardSlot *hang = toldFailure(false, true))
    return {int(StatusCode::Hang), hang->text};
  if (deaths.empty())
    return {};
  const Death &death = deaths.front();
  if (death.signal == 0)
    return {death.code, ""};
  return {int(StatusCode::RankFailed),
          "the process of all ranks (pid " + std::to_string(death.pid) + " on " +
              job.board.header().host + ") was ended by " + signalText(death.signal)};
}

Outcome Supervisor::verdictOnLauncher() const {
  int code =
      WIFEXITED(launcherResult) ? WEXITSTATUS(launcherResult) : 128 + WTERMSIG(launcherResult);
  if (code == 127)
    return {int(StatusCode::UserError), "mpirun is not installed; use --comm tcp or inproc"};
  if ((isStop(code) && haveAllLeft()) || code == int(StatusCode::UserError) ||
      code == int(StatusCode::Usage) || code == int(StatusCode::Internal))
    return {code, ""};
  return {int(StatusCode::RankFailed),
          "mpirun ended with exit code " + std::to_string(code) + ", and no rank says why"};
}
