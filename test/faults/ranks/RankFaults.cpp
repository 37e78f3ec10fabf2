// Ranks, all of them and their launcher are killed, stopped and asked to stop at random moments:
// all processes are gone in time, one message names the right rank, and the resumed run is the
// straight one, to the bit. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Trial.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

using namespace faults;

namespace {

enum class Victim { Rank, All, Launcher };
enum class Moment { Start, Step, Save };

struct Fault {
  const char *comm;
  Victim victim;
  Moment moment;
  int signal;
  std::string text() const {
    const char *who[] = {"a rank", "all ranks", "weft-run"};
    const char *when[] = {"at start", "in a step", "in a save"};
    return std::string(comm) + ", " + strsignal(signal) + " for " + who[int(victim)] + " " +
           when[int(moment)];
  }
};

struct Count {
  int trials = 0, hits = 0, failures = 0;
  double slowest = 0;
};

class Campaign {
public:
  Campaign(Setting setting, unsigned seed) : setting(std::move(setting)), random(seed) {}

  void straight() {
    Trial trial(setting, "inproc", "straight");
    if (trial.finish() != 0)
      fail("the straight run", trial.log());
    curve = trial.curve();
    state = trial.state();
    if (curve.empty() || state.empty())
      fail("the straight run", "no log or no checkpoint");
  }

  void run(const Fault &fault) {
    Count &count = counts[fault.text()];
    ++count.trials;
    double slack = setting.full ? 0 : 4; // on a busy machine
    bool stops = fault.signal == SIGSTOP;
    Trial trial(setting, fault.comm, "trial", stops ? 2 : 60);
    int64_t rank = int64_t(random() % uint64_t(trial.ranks()));
    trial.start();
    std::vector<pid_t> victims = aim(trial, fault, rank);
    if (victims.empty())
      return; // it was over before
    for (pid_t pid : victims)
      kill(pid, fault.signal);
    double limit = (stops ? 3 : 2) + slack;
    double seconds = trial.waitForAll(limit + 5);
    int code = trial.code();
    if (code == 0)
      return resume(trial, fault); // it came too late
    ++count.hits;
    count.slowest = std::max(count.slowest, seconds);
    if (seconds > limit)
      failed(fault, trial, "its processes were gone after " + std::to_string(seconds) + " s only");
    check(trial, fault, rank, code);
    resume(trial, fault);
  }

  int report() const {
    int failures = broken, hits = 0, trials = 0;
    for (const auto &[text, count] : counts) {
      std::printf("%-48s %3d trials, %3d hit, slowest %.2f s, %d failed\n", text.c_str(),
                  count.trials, count.hits, count.slowest, count.failures);
      failures += count.failures;
      hits += count.hits;
      trials += count.trials;
    }
    std::printf("%d trials, %d hit, %d failures\n", trials, hits, failures);
    if (hits * 2 < trials)
      std::printf("FAILED: most faults came too late\n");
    return failures == 0 && hits * 2 >= trials ? 0 : 1;
  }

private:
  void fail(const std::string &what, const std::string &log) {
    ++broken;
    std::printf("FAILED: %s\n%s\n", what.c_str(), log.c_str());
  }
  void failed(const Fault &fault, Trial &trial, const std::string &what) {
    ++counts[fault.text()].failures;
    std::printf("FAILED: %s: %s\n%s\n", fault.text().c_str(), what.c_str(), trial.log().c_str());
  }

  /// Waits for the moment; the processes to hit then.
  std::vector<pid_t> aim(Trial &trial, const Fault &fault, int64_t rank) {
    auto pause = [&](unsigned most) { sleepFor(double(random() % most) * 1e-3); };
    if (fault.moment == Moment::Start)
      pause(100);
    else if (!trial.waitForSave(fault.moment == Moment::Save))
      return {};
    if (fault.moment == Moment::Step)
      pause(200);
    bool inOne = std::strcmp(fault.comm, "inproc") == 0;
    if (fault.victim == Victim::Launcher || inOne)
      return {trial.pid()};
    std::vector<pid_t> ranks;
    while (ranks.empty() && trial.runs())
      ranks = trial.rankPids(fault.victim == Victim::All ? -1 : rank);
    return ranks;
  }

  void check(Trial &trial, const Fault &fault, int64_t rank, int code) {
    bool inOne = std::strcmp(fault.comm, "inproc") == 0, kills = fault.signal == SIGKILL;
    bool asks = !kills && fault.signal != SIGSTOP;
    int expected = fault.victim == Victim::Launcher || inOne ? 128 + fault.signal : kills ? 3 : 4;
    if (code != expected)
      failed(fault, trial,
             "exit code " + std::to_string(code) + ", expected " + std::to_string(expected));
    std::vector<std::string> errors = trial.errors();
    bool speaks = fault.victim != Victim::Launcher && !inOne && !asks;
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
  std::mt19937_64 random;
  std::map<std::string, Count> counts;
  std::string curve, state;
  int broken = 0;
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: %s WEFT_RUN EXECUTABLE TEXT mpi|no-mpi [SEED]\n", argv[0]);
    return 2;
  }
  Setting setting{argv[1], argv[2], argv[3], std::getenv("WEFT_TEST_FULL") != nullptr};
  Campaign campaign(setting, argc > 5 ? unsigned(std::atoi(argv[5])) : 1);
  campaign.straight();
  std::vector<const char *> comms = {"tcp"};
  if (std::strcmp(argv[4], "mpi") == 0)
    comms.push_back("mpi");
  else
    std::printf("SKIPPED: the faults under mpi, MPI was not found\n");
  // 500 kills and 200 stops, or some of each kind.
  const Moment moments[] = {Moment::Start, Moment::Step, Moment::Save};
  auto times = [&](int few, int many) { return setting.full ? many : few; };
  for (const char *comm : comms)
    for (Moment moment : moments) {
      for (int i = 0; i < times(1, 60); ++i)
        campaign.run({comm, Victim::Rank, moment, SIGKILL});
      for (int i = 0; i < times(0, 10); ++i)
        campaign.run({comm, Victim::All, moment, SIGKILL});
      for (int i = 0; i < times(moment == Moment::Step, 8); ++i)
        campaign.run({comm, Victim::Launcher, moment, SIGKILL});
      for (int i = 0; i < times(1, 34); ++i)
        campaign.run({comm, Victim::Rank, moment, SIGSTOP});
      if (moment != Moment::Start)
        for (int signal : {SIGTERM, SIGHUP})
          for (int i = 0; i < times(signal == SIGHUP && moment == Moment::Step, 5); ++i)
            campaign.run({comm, Victim::Launcher, moment, signal});
    }
  for (Moment moment : moments)
    for (int i = 0; i < times(moment == Moment::Save, 12); ++i)
      campaign.run({"inproc", Victim::Rank, moment, SIGKILL});
  return campaign.report();
}
