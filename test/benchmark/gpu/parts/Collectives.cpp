// Part f: 2 and 4 NCCL ranks on one GPU. This process starts the ranks,
// gathers their lines, and ends those that hang.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CollectiveRank.h"
#include "common/Device.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace weft::gpukit;

namespace {

using Clock = std::chrono::steady_clock;

struct Child {
  pid_t pid = -1;
  int output = -1;
  bool open = false;
  std::string pending; ///< bytes of a line not yet ended
  std::string failure;
  bool joined = false, done = false;
};

/// What NCCL needs to take processes of one GPU for hosts of their own, joined
/// by loopback sockets.
void setEnvironment(int rank, bool chooseAlgorithm) {
  setenv("NCCL_HOSTID", ("rank" + std::to_string(rank)).c_str(), 1);
  const char *settings[][2] = {
      {"NCCL_NET", "Socket"},    {"NCCL_SOCKET_IFNAME", "lo"},
      {"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"},
      {"NCCL_IB_DISABLE", "1"},  {"NCCL_NVLS_ENABLE", "0"},
      {"NCCL_RAS_ENABLE", "0"},  {"NCCL_MAX_CTAS", "2"},
      {"NCCL_DEBUG", "WARN"},    {"NCCL_MULTI_RANK_GPU_ENABLE", "1"}}; // the last from NCCL 2.30 on
  for (auto &[name, value] : settings)
    setenv(name, value, 1);
  if (chooseAlgorithm) {
    setenv("NCCL_ALGO", "Ring", 1);
    setenv("NCCL_PROTO", "Simple", 1);
  }
}

/// What every rank is started with.
struct Launcher {
  std::string program, idFile;
  std::string divisor = "1";
};

Child start(const Launcher &launcher, int rank, int world, bool chooseAlgorithm) {
  Child child;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) // A rank must not hold its elders' pipes open.
    throw Failure(std::string("pipe: ") + std::strerror(errno));
  child.pid = fork();
  if (child.pid < 0) {
    close(ends[0]);
    close(ends[1]);
    throw Failure(std::string("fork: ") + std::strerror(errno));
  }
  if (child.pid == 0) {
    // NCCL prints its warnings to stdout too: they share the pipe and are told
    // apart by their form.
    dup2(ends[1], STDOUT_FILENO);
    prctl(PR_SET_PDEATHSIG,
          SIGKILL); // No rank outlives this process, however it ends.
    setEnvironment(rank, chooseAlgorithm);
    std::string rankText = std::to_string(rank), worldText = std::to_string(world);
    const char *program = launcher.program.c_str();
    execl(program, program, "--rank", rankText.c_str(), "--world", worldText.c_str(), "--id-file",
          launcher.idFile.c_str(), "--divisor", launcher.divisor.c_str(),
          static_cast<char *>(nullptr));
    std::fprintf(stderr, "cannot start %s: %s\n", program, std::strerror(errno));
    _exit(127);
  }
  close(ends[1]);
  child.output = ends[0];
  child.open = true;
  return child;
}

/// One world: its ranks' results by case, and why it ended early if it did.
struct World {
  std::map<std::string, std::vector<RankResult>> results;
  std::vector<std::string> problems;
  std::string facts;
  bool joined = false;
};

void readLine(World &world, Child &child, const std::string &line) {
  if (auto result = RankResult::parse(line)) {
    world.results[result->name].push_back(*result);
  } else if (line.rfind("failed\t", 0) == 0 || line.rfind("no-device\t", 0) == 0) {
    child.failure = line.substr(line.find('\t') + 1);
  } else if (line.rfind("facts\t", 0) == 0) {
    world.facts = line.substr(6);
  } else if (line == "joined") {
    child.joined = true;
  } else if (line == "done") {
    child.done = true;
  } else if (!line.empty()) {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
}

World runWorld(const Launcher &launcher, int size, double seconds, bool chooseAlgorithm) {
  World world;
  std::vector<Child> children;
  auto in = [](double wait) {
    return Clock::now() + std::chrono::milliseconds(int64_t(1000 * wait));
  };
  auto deadline = in(seconds);
  unlink(launcher.idFile.c_str());
  try {
    for (int rank = 0; rank < size; ++rank)
      children.push_back(start(launcher, rank, size, chooseAlgorithm));
  } catch (const Failure &failure) {
    world.problems.push_back(failure.what());
    deadline = Clock::now();
  }
  auto anyOpen = [&] {
    return std::any_of(children.begin(), children.end(),
                       [](const Child &child) { return child.open; });
  };
  bool failing = false;
  while (anyOpen() && Clock::now() < deadline) {
    std::vector<pollfd> waiting;
    std::vector<Child *> owners;
    for (Child &child : children)
      if (child.open) {
        waiting.push_back({child.output, POLLIN, 0});
        owners.push_back(&child);
      }
    if (poll(waiting.data(), waiting.size(), 200) < 0 && errno != EINTR)
      break;
    for (size_t i = 0; i < waiting.size(); ++i) {
      if (!waiting[i].revents)
        continue;
      char bytes[4096];
      ssize_t length = read(waiting[i].fd, bytes, sizeof(bytes));
      Child &child = *owners[i];
      if (length <= 0) {
        child.open = false;
        continue;
      }
      child.pending.append(bytes, size_t(length));
      for (size_t end; (end = child.pending.find('\n')) != std::string::npos;) {
        readLine(world, child, child.pending.substr(0, end));
        child.pending.erase(0, end + 1);
      }
    }
    // A rank that ended without being done leaves the others waiting for it: a
    // moment to speak, then end them.
    bool lost = std::any_of(children.begin(), children.end(), [](const Child &child) {
      return !child.failure.empty() || (!child.open && !child.done);
    });
    if (lost && !failing) {
      failing = true;
      deadline = std::min(deadline, in(3));
    }
  }
  world.joined = !children.empty() && std::all_of(children.begin(), children.end(),
                                                  [](const Child &c) { return c.joined; });
  std::vector<std::string> victims;
  for (size_t rank = 0; rank < children.size(); ++rank) {
    Child &child = children[rank];
    bool ended = !child.open;
    if (!ended)
      kill(child.pid, SIGKILL);
    int status = 0;
    waitpid(child.pid, &status, 0);
    close(child.output);
    if (!child.failure.empty())
      world.problems.push_back(format("rank %zu: %s", rank, child.failure.c_str()));
    else if (!ended)
      victims.push_back(format("rank %zu: ended by its parent %s", rank,
                               failing ? "after another rank had failed" : "at the time limit"));
    else if (!child.done && WIFSIGNALED(status))
      world.problems.push_back(format("rank %zu: ended by signal %d", rank, WTERMSIG(status)));
    else if (!child.done)
      world.problems.push_back(
          format("rank %zu: ended with exit code %d", rank, WEXITSTATUS(status)));
  }
  // Causes first: ranks that merely waited for another say the least.
  world.problems.insert(world.problems.end(), victims.begin(), victims.end());
  unlink(launcher.idFile.c_str());
  return world;
}

/// All ranks of one case as one result: correct when all are, as slow as the
/// slowest.
Json combine(const World &world, const CollectiveCase &test, int size) {
  auto found = world.results.find(test.name(size));
  if (found == world.results.end() || found->second.size() != size_t(size))
    throw Failure(format("%zu of %d ranks reported",
                         found == world.results.end() ? 0 : found->second.size(), size) +
                  (world.problems.empty() ? "" : "; " + world.problems.front()));
  const std::vector<RankResult> &ranks = found->second;
  const RankResult &slowest =
      *std::max_element(ranks.begin(), ranks.end(), [](const RankResult &a, const RankResult &b) {
        return a.times.median < b.times.median;
      });
  Check check = ranks.front().check;
  for (const RankResult &rank : ranks) {
    check.ok = check.ok && rank.check.ok;
    check.normError = std::max(check.normError, rank.check.normError);
    check.elementError = std::max(check.elementError, rank.check.elementError);
    check.compared = std::max(check.compared, rank.check.compared);
    check.notFinite = std::max(check.notFinite, rank.check.notFinite);
  }
  if (slowest.times.samples < minSamples)
    throw Failure("too few samples");
  // No rate: ranks share one GPU by turns over loopback, and no such figure
  // says anything of communication.
  return {{"ms", toJson(slowest.times)},
          {"check", toJson(check)},
          {"world", size},
          {"collective", toString(test.collective)},
          {"type", test.bf16 ? "bf16" : "f32"},
          {"block_bytes", test.count * (test.bf16 ? 2 : 4)},
          {"native", ranks.front().native}};
}

} // namespace

int main(int argc, char **argv) {
  int rank = std::atoi(option(argc, argv, "rank", "-1").c_str());
  uint64_t divisor = uint64_t(std::max(1, std::atoi(option(argc, argv, "divisor", "1").c_str())));
  if (rank >= 0)
    return runRank(rank, std::atoi(option(argc, argv, "world", "0").c_str()),
                   option(argc, argv, "id-file", ""), divisor);

  // The parent opens no device of its own before the ranks have ended: a
  // context it held would take part in the sharing.
  Report report("f", "NCCL ranks sharing one GPU: every collective, correct or not",
                option(argc, argv, "json", ""));
  double limit = std::max(4.0, std::atof(option(argc, argv, "limit", "50").c_str()));
  int deviceCount = 0;
  if (cudaError_t error = cudaGetDeviceCount(&deviceCount);
      error != cudaSuccess || deviceCount == 0)
    return report.finishNoDevice(error != cudaSuccess ? cudaGetErrorString(error)
                                                      : "the driver reports no device");
  try {
    Launcher launcher;
    launcher.program = std::filesystem::read_symlink("/proc/self/exe").string();
    launcher.idFile =
        (std::filesystem::temp_directory_path() / format("weft-kit-nccl-%d", int(getpid())))
            .string();
    launcher.divisor = std::to_string(divisor);
    auto begin = Clock::now();
    for (int size : {2, 4}) {
      double used = std::chrono::duration<double>(Clock::now() - begin).count();
      double share = std::max(2.0, (limit - used) * (size == 2 ? 0.45 : 1.0));
      auto worldBegin = Clock::now();
      World world = runWorld(launcher, size, share, true);
      // Some versions refuse a call for which the ring is not offered: once
      // more with their own choice.
      if (!world.joined || world.results.empty()) {
        double left = share - std::chrono::duration<double>(Clock::now() - worldBegin).count();
        if (left > 5)
          world = runWorld(launcher, size, left, false);
      }
      report.facts()["nccl"] = world.facts;
      if (!world.problems.empty())
        report.facts()[format("problems of %d ranks", size)] = world.problems;
      for (const CollectiveCase &test : collectiveCases(size, divisor))
        report.attempt(test.name(size), [&] { return combine(world, test, size); });
    }
    if (openDevice().empty())
      report.facts()["device"] = describeDevice();
  } catch (const std::exception &error) {
    return report.finishFailed(error.what());
  }
  return report.finish();
}
