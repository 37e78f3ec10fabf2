// Ranks, all of them, weft-run and mpirun are killed, stopped and asked to stop at random moments,
// or stall at commands: all processes are gone in time, nothing is left in shared memory, one
// message names the right rank, and the resumed run is the straight one, to the bit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Trial.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

using namespace faults;

namespace {

enum class Victim { Rank, All, WeftRun, Mpirun };
enum class Moment { Start, Step, Save };
/// No signal: a rank stalls by itself, as the only way to stop a thread.
constexpr int kStall = 0;
/// Of the sample's step: before, at and after what waits for its collective.
constexpr const char *kStallCommands[] = {"0", "5", "6", "7"};

struct Fault {
  const char *comm;
  Victim victim;
  Moment moment;
  int signal;
  std::string text() const {
    const char *who[] = {"a rank", "all ranks", "weft-run", "mpirun"};
    const char *when[] = {"at start", "in a step", "in a save"};
    return std::string(comm) + ", " + (stalls() ? "Stall" : strsignal(signal)) + " for " +
           who[int(victim)] + " " + when[int(moment)];
  }
  bool stalls() const { return signal == kStall; }
  /// Nothing ends by it, but it goes on no more, either.
  bool stops() const { return stalls() || signal == SIGSTOP; }
  bool kills() const { return signal == SIGKILL; }
  /// It ends what weft-run is, with the signal's code.
  bool hitsWeftRun() const {
    return victim == Victim::WeftRun || (std::strcmp(comm, "inproc") == 0 && !stalls());
  }
};

struct Count {
  int trials = 0, hits = 0, failures = 0;
  bool isTimed = false;            // by a clock, so that it may come too late
  double slowest = 0, seconds = 0; // until all was gone; in all, of trials
};

class Campaign {
public:
  explicit Campaign(Setting setting) : setting(std::move(setting)) {}

  /// Without it nothing can be compared.
  bool straight() {
    Trial trial(setting, "inproc");
    bool done = trial.finish() == 0;
    curve = trial.curve();
    state = trial.state();
    if (!done || curve.empty() || state.empty())
      std::printf("FAILED: the straight run\n%s\n", trial.log().c_str());
    return done && !curve.empty() && !state.empty();
  }

  /// All of `faults`, some at a time: times are then upper bounds, as trials hold
  /// up one another. Each has random numbers of its own, whichever thread it is on.
  void runAll(const std::vector<Fault> &faults, unsigned seed, unsigned jobs) {
    std::atomic<size_t> next{0};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < jobs; ++i)
      threads.emplace_back([&] {
        for (size_t at = next++; at < faults.size(); at = next++) {
          std::mt19937_64 random(seed + (at << 32));
          double begin = now();
          run(faults[at], random);
          std::lock_guard<std::mutex> lock(mutex);
          counts[faults[at].text()].seconds += now() - begin;
        }
      });
    for (std::thread &thread : threads)
      thread.join();
  }

  int report(bool hasMpi) const {
    int failures = 0, hits = 0, trials = 0, timed = 0, late = 0;
    for (const auto &[text, count] : counts) {
      std::printf("%-48s %3d trials of %.1f s, %3d hit, slowest %.2f s, %d failed\n", text.c_str(),
                  count.trials, count.seconds / count.trials, count.hits, count.slowest,
                  count.failures);
      failures += count.failures;
      hits += count.hits;
      trials += count.trials;
      timed += count.isTimed ? count.trials : 0;
      late += count.isTimed ? count.trials - count.hits : 0;
    }
    std::printf("%d trials, %d hit, %d failures\n", trials, hits, failures);
    // Of few, beside other tests, many may; not every program has each command at which to stall.
    bool hitsEnough = hits * 2 >= trials && (!setting.full || late * 20 <= timed);
    if (!hitsEnough)
      std::printf("FAILED: %d of %d signals came too late, and %d of %d faults hit nothing; of all "
                  "half must hit, in full 95 in 100 signals\n",
                  late, timed, trials - hits, trials);
    if (hasMpi && sharing == 0)
      std::printf("FAILED: no job was seen to share memory by files\n");
    return failures == 0 && hitsEnough && (!hasMpi || sharing > 0) ? 0 : 1;
  }

private:
  using Random = std::mt19937_64;

  void run(const Fault &fault, Random &random) {
    double slack = setting.full ? 0 : 4; // on a busy machine
    Trial trial(setting, fault.comm, fault.stops() ? 2 : 60);
    int64_t rank = int64_t(random() % uint64_t(trial.ranks()));
    std::vector<std::string> stall;
    if (fault.stalls())
      stall = {"--inject", std::to_string(rank) + ":" +
                               kStallCommands[random() % std::size(kStallCommands)] + ":stall"};
    trial.start(stall);
    std::vector<pid_t> victims;
    if (!fault.stalls())
      victims = aim(trial, fault, rank, random);
    update(fault, [&](Count &count) {
      ++count.trials;
      count.isTimed = !fault.stalls();
    });
    if (victims.empty() && !fault.stalls())
      return; // it was over before
    std::vector<std::string> files = trial.leftovers();
    bool shares = std::any_of(files.begin(), files.end(), [](const std::string &name) {
      return name.find("_segment") != std::string::npos;
    });
    for (pid_t pid : victims)
      kill(pid, fault.signal);
    double limit = (fault.stops() ? 3 : 2) + slack;
    double seconds = trial.waitForAll(limit + 5);
    int code = trial.code();
    if (std::vector<std::string> left = trial.leftovers(); !left.empty())
      failed(fault, trial, left.front() + " is left in shared memory");
    if (code == 0)
      return resume(trial, fault); // it came too late
    update(fault, [&](Count &count) {
      ++count.hits;
      count.slowest = std::max(count.slowest, seconds);
      sharing += shares;
    });
    if (seconds > limit)
      failed(fault, trial, "its processes were gone after " + std::to_string(seconds) + " s only");
    check(trial, fault, rank, code);
    resume(trial, fault);
  }

  template <typename Change> void update(const Fault &fault, Change change) {
    std::lock_guard<std::mutex> lock(mutex);
    change(counts[fault.text()]);
  }
  void failed(const Fault &fault, Trial &trial, const std::string &what) {
    update(fault, [&](Count &count) {
      ++count.failures;
      std::printf("FAILED: %s: %s\n%s\n", fault.text().c_str(), what.c_str(), trial.log().c_str());
      std::fflush(stdout);
    });
  }

  /// Waits for the moment; the processes to hit then.
  std::vector<pid_t> aim(Trial &trial, const Fault &fault, int64_t rank, Random &random) {
    auto pause = [&](unsigned most) { sleepFor(double(random() % most) * 1e-3); };
    if (fault.moment == Moment::Start)
      pause(100);
    else if (!trial.waitForSave(fault.moment == Moment::Save))
      return {};
    if (fault.moment == Moment::Step)
      pause(200);
    if (fault.hitsWeftRun())
      return {trial.pid()};
    std::vector<pid_t> found;
    for (; found.empty() && trial.runs(); sleepFor(0.002))
      found = fault.victim == Victim::Mpirun
                  ? trial.mpirunPids()
                  : trial.rankPids(fault.victim == Victim::All ? -1 : rank);
    return found;
  }

  void check(Trial &trial, const Fault &fault, int64_t rank, int code) {
    bool speaks = !fault.hitsWeftRun();
    int expected = !speaks ? 128 + fault.signal : fault.kills() ? 3 : 4;
    if (code != expected)
      failed(fault, trial,
             "exit code " + std::to_string(code) + ", expected " + std::to_string(expected));
    std::vector<std::string> errors = trial.errors();
    if (errors.size() != (speaks ? 1 : 0))
      return failed(fault, trial, std::to_string(errors.size()) + " errors are told");
    // The first rank that is named is the one to blame; of those that mpirun ended before they were
    // there, one.
    size_t at = speaks ? errors[0].find("rank ") : 0;
    if (speaks && fault.moment == Moment::Start &&
        errors[0].find("ended before it met") != std::string::npos)
      at = errors[0].find("rank " + std::to_string(rank) + " ");
    if (speaks && fault.victim == Victim::Rank &&
        (at == std::string::npos || std::atoll(errors[0].c_str() + at + 5) != rank))
      failed(fault, trial, "rank " + std::to_string(rank) + " was hit");
    auto says = [&](const char *what) { return errors[0].find(what) != std::string::npos; };
    if (fault.victim == Victim::Mpirun &&
        !(says("the launcher") && (fault.kills() || says("stopped"))))
      failed(fault, trial, "mpirun was hit");
    // Those that were not there yet are not stopped.
    bool allAreStopped =
        fault.victim == Victim::All && fault.stops() && fault.moment != Moment::Start;
    for (int64_t each = 0; allAreStopped && each < trial.ranks(); ++each)
      if (errors[0].find("rank " + std::to_string(each)) == std::string::npos)
        failed(fault, trial, "rank " + std::to_string(each) + " is not named");
  }

  void resume(Trial &trial, const Fault &fault) {
    if (trial.finish() != 0)
      return failed(fault, trial, "it cannot be resumed");
    if (trial.curve() != curve)
      failed(fault, trial, "other losses than the straight run's");
    if (trial.state() != state)
      failed(fault, trial, "another last checkpoint than the straight run's");
  }

  Setting setting;
  std::string curve, state; // of the straight run
  std::mutex mutex;         // of what follows
  std::map<std::string, Count> counts;
  int sharing = 0; // jobs that had files in shared memory when they were hit
};

/// 530 kills, 230 stops and 60 wishes, or some of each kind.
std::vector<Fault> chooseFaults(const std::vector<const char *> &comms, bool full) {
  std::vector<Fault> faults;
  auto add = [&](int few, int many, const Fault &fault) {
    faults.insert(faults.end(), size_t(full ? many : few), fault);
  };
  const Moment moments[] = {Moment::Start, Moment::Step, Moment::Save};
  for (const char *comm : comms)
    for (Moment moment : moments) {
      add(1, 60, {comm, Victim::Rank, moment, SIGKILL});
      add(0, 10, {comm, Victim::All, moment, SIGKILL});
      add(moment == Moment::Step, 8, {comm, Victim::WeftRun, moment, SIGKILL});
      add(1, 22, {comm, Victim::Rank, moment, SIGSTOP});
      add(moment == Moment::Step, 8, {comm, Victim::All, moment, SIGSTOP});
      for (int signal : {SIGTERM, SIGHUP})
        add(moment == (signal == SIGHUP ? Moment::Step : Moment::Start), 5,
            {comm, Victim::WeftRun, moment, signal});
      for (int signal : {SIGKILL, SIGSTOP})
        add(std::strcmp(comm, "mpi") == 0 && moment != Moment::Start,
            std::strcmp(comm, "mpi") == 0 ? 10 : 0, {comm, Victim::Mpirun, moment, signal});
    }
  add(2, 20, {"inproc", Victim::Rank, Moment::Step, kStall});
  for (Moment moment : moments)
    add(moment == Moment::Save, 12, {"inproc", Victim::Rank, moment, SIGKILL});
  return faults;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 5) {
    std::fprintf(stderr,
                 "usage: %s WEFT_RUN EXECUTABLE TEXT mpi|no-mpi [SEED [JOBS [FAULTS]]]\n"
                 "FAULTS: only those whose text has this in it, as 'mpi, Stopped'\n",
                 argv[0]);
    return 2;
  }
  Setting setting{argv[1], argv[2], argv[3], std::getenv("WEFT_TEST_FULL") != nullptr};
  unsigned seed = argc > 5 ? unsigned(std::atoi(argv[5])) : 1;
  // In full their limits of time have no slack.
  unsigned jobs = argc > 6 ? unsigned(std::atoi(argv[6])) : setting.full ? 2 : 3;
  std::vector<const char *> comms = {"tcp"};
  bool hasMpi = std::strcmp(argv[4], "mpi") == 0;
  if (hasMpi)
    comms.push_back("mpi");
  else
    std::printf("SKIPPED: the faults under mpi, MPI was not found\n");
  double begin = now();
  Campaign campaign(setting);
  if (!campaign.straight())
    return 1;
  std::vector<Fault> faults = chooseFaults(comms, setting.full);
  if (argc > 7)
    faults.erase(
        std::remove_if(faults.begin(), faults.end(),
                       [&](const Fault &f) { return f.text().find(argv[7]) == std::string::npos; }),
        faults.end());
  // Those that wait beside those that compute.
  std::shuffle(faults.begin(), faults.end(), std::mt19937_64(seed));
  campaign.runAll(faults, seed, jobs);
  // Of some faults alone, none may last long enough to be seen sharing memory.
  int code = campaign.report(hasMpi && argc <= 7);
  std::printf("%.0f s, %u trials at a time\n", now() - begin, jobs);
  return code;
}
