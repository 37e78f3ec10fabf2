// weft-run: starts an executable on its ranks, in one process or by mpirun.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CommandLine.h"

#include "weft/runtime/Terminal.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace weft::runtime;

namespace {

int fail(const std::string &text, StatusCode code) {
  std::fprintf(stderr, "weft-run: %s%s\n", errorWord().c_str(), text.c_str());
  return int(code);
}

/// The rank count that the executable prints for --ranks.
long ranksOf(const std::string &path) {
  std::string quoted = "'";
  for (char c : path)
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  std::FILE *pipe = popen((quoted + "' --ranks").c_str(), "r");
  if (!pipe)
    return 0;
  long ranks = 0;
  bool good = std::fscanf(pipe, "%ld", &ranks) == 1;
  return pclose(pipe) == 0 && good ? ranks : 0;
}

/// The code that the first failing rank left in a file; 0 = none did.
int codeLeftIn(const char *path) {
  int code = 0;
  if (std::FILE *file = std::fopen(path, "r")) {
    if (std::fscanf(file, "%d", &code) != 1)
      code = 0;
    std::fclose(file);
  }
  return code;
}

/// SIGINT and SIGTERM, which training answers after the running step. mpirun
/// would end the ranks within a second, but passes SIGUSR1 on; so it is
/// shielded from the terminal by a process group of its own, and told what to
/// do here.
class PoliteStop {
public:
  explicit PoliteStop(bool wanted) : wanted(wanted) {
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    if (wanted)
      sigprocmask(SIG_BLOCK, &signals, &before);
  }
  ~PoliteStop() {
    if (wanted)
      sigprocmask(SIG_SETMASK, &before, nullptr);
  }
  /// In the child, which becomes mpirun or a rank.
  void shield() const {
    if (!wanted)
      return;
    setpgid(0, 0);
    // A process group in the background must not read from the terminal.
    int null = ::open("/dev/null", O_RDONLY);
    if (null >= 0)
      dup2(null, STDIN_FILENO);
    sigprocmask(SIG_SETMASK, &before, nullptr);
  }
  /// In the parent, now and then.
  void passOn(const std::vector<pid_t> &children) {
    timespec now{};
    if (!wanted || sigtimedwait(&signals, nullptr, &now) <= 0)
      return;
    for (pid_t child : children)
      kill(child, asked == 0 ? SIGUSR1 : SIGTERM);
    ++asked;
  }

private:
  bool wanted;
  sigset_t signals, before;
  int asked = 0;
};

/// Waits for mpirun. Open MPI 4.1's mpirun hangs now and then (2 of 12 runs)
/// while it ends a failed job, so it gets a few seconds after a rank failed.
int waitForLauncher(pid_t child, const char *path, PoliteStop &stop,
                    int &left) {
  int result = 0;
  for (int sinceFailure = 0; waitpid(child, &result, WNOHANG) == 0;) {
    usleep(20 * 1000);
    stop.passOn({child});
    left = left != 0 ? left : codeLeftIn(path);
    if (left == 0)
      continue;
    if (++sinceFailure == 100) // 2 s
      kill(child, SIGTERM);
    else if (sinceFailure == 200)
      kill(child, SIGKILL);
  }
  left = left != 0 ? left : codeLeftIn(path);
  return result;
}

/// Makes the file in which the first failing rank leaves its code.
bool makeStatusFile(char *path) {
  int descriptor = mkstemp(path);
  if (descriptor < 0)
    return false;
  close(descriptor);
  setenv("WEFT_STATUS_FILE", path, 1);
  return true;
}

int failOnStatusFile(const char *path) {
  return fail(std::string(path) + " cannot be made: " + std::strerror(errno),
              StatusCode::UserError);
}

/// Runs mpirun and gives its end one of our exit codes.
int launch(char *const *command, bool training) {
  char path[] = "/tmp/weft-status-XXXXXX";
  if (!makeStatusFile(path))
    return failOnStatusFile(path);
  PoliteStop stop(training);
  pid_t child = fork();
  if (child == 0) {
    stop.shield();
    execvp(command[0], command);
    _exit(127);
  }
  int left = 0;
  int result = child < 0 ? 0 : waitForLauncher(child, path, stop, left);
  unlink(path);
  if (child < 0)
    return fail(std::string("mpirun cannot be started: ") +
                    std::strerror(errno),
                StatusCode::UserError);
  if (left != 0)
    return left;
  int code = WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result);
  for (StatusCode known :
       {StatusCode::Ok, StatusCode::UserError, StatusCode::Usage,
        StatusCode::RankFailed, StatusCode::Hang, StatusCode::DoesNotFit,
        StatusCode::Internal})
    if (code == int(known))
      return code;
  if (code == 127)
    return fail("mpirun is not installed; use --comm inproc",
                StatusCode::UserError);
  return fail("a rank ended without saying why; mpirun's exit code is " +
                  std::to_string(code) +
                  (code > 128 ? ", signal " + std::to_string(code - 128) : ""),
              StatusCode::RankFailed);
}

/// A port that is free on this machine; 0 if there is none.
uint16_t freePort() {
  int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof name;
  auto *address = reinterpret_cast<sockaddr *>(&name);
  bool found = descriptor >= 0 && bind(descriptor, address, length) == 0 &&
               getsockname(descriptor, address, &length) == 0;
  if (descriptor >= 0)
    close(descriptor);
  return found ? ntohs(name.sin_port) : 0;
}

/// Starts `ranks` processes that meet over TCP, and gives the first failure's
/// code. They watch each other, so nobody need be stopped.
int startRanks(char *const *command, long ranks, bool training) {
  char path[] = "/tmp/weft-status-XXXXXX";
  if (!makeStatusFile(path))
    return failOnStatusFile(path);
  setenv("WORLD_SIZE", std::to_string(ranks).c_str(), 1);
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  setenv("MASTER_PORT", std::to_string(freePort()).c_str(), 1);
  unsetenv("TORCHELASTIC_RUN_ID");
  PoliteStop stop(training);
  std::vector<pid_t> children;
  while (long(children.size()) < ranks) {
    pid_t child = fork();
    if (child < 0)
      break;
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      stop.shield();
      setenv("RANK", std::to_string(children.size()).c_str(), 1);
      execvp(command[0], command);
      _exit(127);
    }
    children.push_back(child);
  }
  size_t started = children.size();
  int first = 0, result = 0;
  while (!children.empty()) {
    pid_t ended = waitpid(-1, &result, WNOHANG);
    if (ended <= 0) {
      usleep(20 * 1000);
      stop.passOn(children);
      continue;
    }
    children.erase(std::find(children.begin(), children.end(), ended));
    int code =
        WIFEXITED(result) ? WEXITSTATUS(result) : int(StatusCode::RankFailed);
    first = first != 0 ? first : code;
  }
  int left = codeLeftIn(path);
  unlink(path);
  if (long(started) < ranks)
    return fail("rank " + std::to_string(started) +
                    " cannot be started: " + std::strerror(errno),
                StatusCode::UserError);
  return left != 0 ? left : first;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  CommandLine options;
  Status status = parseCommandLine("weft-run", arguments, true, options);
  if (!status.ok())
    return fail(status.text(), status.code());
  if (!options.answer.empty() || options.executable.empty()) {
    bool asked = !options.answer.empty();
    std::fputs(asked ? options.answer.c_str()
                     : helpText("weft-run", true).c_str(),
               asked ? stdout : stderr);
    return asked ? 0 : int(StatusCode::Usage);
  }
  std::string path = options.executable;
  if (path.find('/') == std::string::npos)
    path = "./" + path;
  if (access(path.c_str(), X_OK) != 0)
    return fail("'" + path + "' cannot be run: " + std::strerror(errno) +
                    "; weft-compile MODEL.onnx -o OUT makes one",
                StatusCode::UserError);
  std::vector<std::string> command;
  long ranks = 1;
  bool runs =
      !options.info && !options.dump && options.showPlacement.empty();
  if (runs && (options.comm == "mpi" || options.comm == "tcp")) {
    ranks = options.ranks ? options.ranks : ranksOf(path);
    if (ranks < 1)
      return fail("'" + path + "' is not an executable of weft-compile",
                  StatusCode::UserError);
  }
  if (runs && options.comm == "mpi") {
    // More ranks than cores is a matter of taste on one machine, not an error;
    // root is common in containers, and Open MPI asks for a word.
    command = {"mpirun", "-n", std::to_string(ranks), "--oversubscribe"};
    if (geteuid() == 0)
      command.push_back("--allow-run-as-root");
  }
  command.push_back(path);
  bool named = false;
  for (const std::string &argument : arguments) {
    if (!named && argument == options.executable) {
      named = true;
      continue;
    }
    command.push_back(argument);
  }
  std::vector<char *> pointers;
  for (std::string &word : command)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  if (command[0] == "mpirun")
    return launch(pointers.data(), options.training.wanted);
  if (runs && options.comm == "tcp" && ranks > 1)
    return startRanks(pointers.data(), ranks, options.training.wanted);
  execvp(pointers[0], pointers.data());
  return fail("'" + command[0] + "' cannot be run: " + std::strerror(errno),
              StatusCode::UserError);
}
