// Ranks as processes of this one, or of mpirun.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Start.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace weft::runtime;

namespace {

Status failure(const std::string &what) { return Status::user(what + ": " + std::strerror(errno)); }

Status makeBoard(int64_t ranks, Job &job) {
  WEFT_TRY(Board::make(ranks, job.board));
  job.board.header().supervisor = getpid();
  job.board.header().supervisorStarted = processStart(getpid());
  setenv(kBoardVariable, job.board.address().c_str(), 1);
  return {};
}

Status drawSecret(std::string &digits) {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != ssize_t(sizeof bytes))
    return failure("no random numbers for the job's secret");
  for (unsigned char byte : bytes)
    for (int half : {byte >> 4, byte & 15})
      digits += "0123456789abcdef"[half];
  return {};
}

/// A socket that listens on this machine alone.
Status listenHere(int &listener, uint16_t &port) {
  listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof name;
  auto *address = reinterpret_cast<sockaddr *>(&name);
  if (listener < 0 || bind(listener, address, length) != 0 || listen(listener, SOMAXCONN) != 0 ||
      getsockname(listener, address, &length) != 0)
    return failure("no port can be opened on the loopback address");
  port = ntohs(name.sin_port);
  return {};
}

std::vector<char *> pointersTo(std::vector<std::string> &words) {
  std::vector<char *> pointers;
  for (std::string &word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Between weft-run and mpirun: whatever becomes of weft-run, mpirun ends. It
/// gets the time to clean up behind its ranks, but not to hang over it.
[[noreturn]] void keepLauncher(char *const *command, const Signals &signals, Job &job) {
  const Board &board = job.board;
  pid_t weftRun = getppid();
  pid_t launcher = fork();
  if (launcher == 0) {
    signals.shield();
    job.folder.setVariables();
    execvp(command[0], command);
    _exit(127);
  }
  board.header().setLauncher(launcher);
  setpgid(0, 0);
  constexpr int kPeriodMs = 20, kPatienceMs = 1000;
  int result = 0, alone = -1; // for so many milliseconds
  bool asked = false;
  while (waitpid(launcher, &result, WNOHANG) == 0) {
    usleep(kPeriodMs * 1000);
    if (alone < 0 && getppid() == weftRun)
      continue;
    alone += alone < 0 ? 1 : kPeriodMs;
    bool began = false;
    for (int64_t rank = 0; rank < board.ranks(); ++rank) {
      const BoardSlot &slot = board.slot(rank);
      began |= slot.pid.load() != 0;
      if (slot.presence.load() != Presence::Gone && slot.processState() != 0)
        kill(slot.pid.load(), SIGKILL);
    }
    // Open MPI's mpirun ends when its ranks have, and cleans up; asked to end while it does so, it
    // crashes now and then and leaves their shared memory behind.
    if (alone > kPatienceMs)
      kill(launcher, SIGKILL);
    else if (!asked && (!began || alone > kPatienceMs / 2))
      asked = kill(launcher, SIGTERM) == 0;
  }
  if (alone >= 0)
    job.folder.remove();
  else if (WIFSIGNALED(result))
    board.header().launcherSignal.store(WTERMSIG(result));
  _exit(WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result));
}

} // namespace

Status weft::runtime::startTcp(const std::vector<std::string> &command, int64_t ranks,
                               const Signals &signals, Job &job) {
  std::vector<std::string> words = command;
  std::vector<char *> pointers = pointersTo(words);
  std::string secret;
  int listener = -1;
  uint16_t port = 0;
  WEFT_TRY(makeBoard(ranks, job));
  WEFT_TRY(drawSecret(secret));
  WEFT_TRY(listenHere(listener, port));
  setenv("WORLD_SIZE", std::to_string(ranks).c_str(), 1);
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  setenv("MASTER_PORT", std::to_string(port).c_str(), 1);
  setenv("WEFT_JOB_SECRET", secret.c_str(), 1);
  // Of a launcher around this one; its rank on the machine is not that of ours,
  // and would have all of them speak, or none.
  for (const char *other :
       {"TORCHELASTIC_RUN_ID", "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
        "LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"})
    unsetenv(other);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    pid_t child = fork();
    if (child == 0) {
      signals.shield();
      setenv("RANK", std::to_string(rank).c_str(), 1);
      if (rank == 0) {
        int inherited = dup(listener); // which exec leaves open
        setenv("WEFT_JOB_LISTENER", std::to_string(inherited).c_str(), 1);
      }
      execv(pointers[0], pointers.data());
      _exit(127);
    }
    if (child < 0) {
      Status status = failure("rank " + std::to_string(rank) + " cannot be started");
      for (pid_t started : job.children)
        kill(started, SIGKILL);
      return status;
    }
    job.children.push_back(child);
  }
  close(listener);
  return {};
}

Status weft::runtime::startMpi(const std::vector<std::string> &command, int64_t ranks,
                               const Signals &signals, Job &job) {
  // More ranks than cores is a matter of taste on one machine, not an error;
  // root is common in containers, and Open MPI asks for a word. What ended a job
  // is told here, so mpirun need not.
  std::vector<std::string> words = {"mpirun", "-q", "-n", std::to_string(ranks), "--oversubscribe"};
  if (geteuid() == 0)
    words.push_back("--allow-run-as-root");
  words.insert(words.end(), command.begin(), command.end());
  std::vector<char *> pointers = pointersTo(words);
  WEFT_TRY(makeBoard(ranks, job));
  WEFT_TRY(job.folder.make());
  job.underMpirun = true;
  pid_t child = fork();
  if (child == 0)
    keepLauncher(pointers.data(), signals, job);
  if (child < 0)
    return failure("mpirun cannot be started");
  job.children.push_back(child);
  return {};
}

Status weft::runtime::startHere(const std::vector<std::string> &command, int executable,
                                const Signals &signals, Job &job) {
  std::vector<std::string> words = command;
  std::vector<char *> pointers = pointersTo(words);
  WEFT_TRY(makeBoard(1, job));
  job.inOneProcess = true;
  pid_t child = fork();
  if (child == 0) {
    signals.shield();
    fexecve(executable, pointers.data(), environ);
    _exit(127);
  }
  if (child < 0)
    return failure("'" + command[0] + "' cannot be run");
  job.children.push_back(child);
  return {};
}
