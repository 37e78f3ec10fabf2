// Starts jobs, finds their processes in /proc, and reads their files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Trial.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace faults;
namespace fs = std::filesystem;

namespace {

// Enough for half a second of steps; each evaluates for some milliseconds.
constexpr const char *kSteps = "100", *kEvery = "4", *kEvaluations = "10";

std::string contentsOf(const fs::path &path) {
  // A process may vanish while its files are read, which a stream's own iterators answer by an
  // exception.
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// The value of a variable in the environment of a process; empty = has none.
std::string variableOf(const std::string &environment, const std::string &name) {
  std::string begin = '\0' + name + "=";
  size_t at = ('\0' + environment).find(begin);
  if (at == std::string::npos)
    return "";
  at += begin.size() - 1;
  return environment.substr(at, environment.find('\0', at) - at);
}

bool isDead(const fs::path &process) {
  std::string stat = contentsOf(process / "stat");
  size_t end = stat.rfind(')');
  return end == std::string::npos || stat[end + 2] == 'Z' || stat[end + 2] == 'X';
}

} // namespace

double faults::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void faults::sleepFor(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

static std::string makeFolder() {
  std::string name = (fs::temp_directory_path() / "weft-trial-XXXXXX").string();
  const char *made = mkdtemp(name.data());
  if (!made) {
    std::perror(name.c_str());
    std::exit(1);
  }
  return made;
}

Trial::Trial(const Setting &setting, const std::string &comm, double timeout)
    : setting(setting), comm(comm), folder(makeFolder()), timeout(timeout) {}

Trial::~Trial() {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

std::vector<std::string> Trial::command() const {
  return {setting.weftRun,
          "--comm",
          comm,
          setting.executable,
          "--data-tokens",
          setting.text + ":byte",
          "--eval-data-tokens",
          setting.text + ":byte",
          "--eval-every",
          "1",
          "--eval-batches",
          kEvaluations,
          "--steps",
          kSteps,
          "--shuffle",
          "5",
          "--save",
          folder + "/ck",
          "--resume",
          folder + "/ck",
          "--every",
          kEvery,
          "--log",
          folder + "/log.jsonl",
          "--timeout",
          std::to_string(timeout)};
}

/// The job's mark.
std::vector<std::string> Trial::environment() const {
  std::vector<std::string> variables{"WEFT_TRIAL=" + folder};
  for (char **variable = environ; *variable; ++variable)
    variables.emplace_back(*variable);
  return variables;
}

static std::vector<char *> pointersTo(std::vector<std::string> &words) {
  std::vector<char *> pointers;
  for (std::string &word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

void Trial::start(const std::vector<std::string> &more) {
  std::vector<std::string> words = command(), variables = environment();
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char *> arguments = pointersTo(words), inherited = pointersTo(variables);
  int file = ::open((folder + "/out").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  job = fork();
  if (job == 0) {
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    execve(arguments[0], arguments.data(), inherited.data());
    _exit(127);
  }
  close(file);
  exitCode = -1;
}

bool Trial::runs() {
  int result = 0;
  if (exitCode < 0 && waitpid(job, &result, WNOHANG) == job)
    exitCode = WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result);
  return exitCode < 0;
}

std::vector<pid_t> Trial::processes() const {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator("/proc", ignored)) {
    pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid != 0 && pid != job && !isDead(entry.path()) &&
        variableOf(contentsOf(entry.path() / "environ"), "WEFT_TRIAL") == folder)
      found.push_back(pid);
  }
  return found;
}

std::vector<pid_t> Trial::rankPids(int64_t rank) const {
  std::vector<pid_t> found;
  std::error_code ignored;
  fs::path executable = fs::canonical(setting.executable, ignored);
  for (pid_t pid : processes()) {
    fs::path process = fs::path("/proc") / std::to_string(pid);
    if (fs::read_symlink(process / "exe", ignored) != executable)
      continue;
    std::string number = variableOf(contentsOf(process / "environ"),
                                    comm == "mpi" ? "OMPI_COMM_WORLD_RANK" : "RANK");
    if (rank < 0 || number == std::to_string(rank))
      found.push_back(pid);
  }
  return found;
}

std::vector<pid_t> Trial::mpirunPids() const {
  std::vector<pid_t> found;
  for (pid_t pid : processes())
    if (contentsOf(fs::path("/proc") / std::to_string(pid) / "comm") == "mpirun\n")
      found.push_back(pid);
  return found;
}

std::vector<std::string> Trial::leftovers() const {
  std::vector<std::string> names;
  std::error_code ignored;
  std::string own = "weft-mpi-" + std::to_string(job) + "-";
  for (const auto &entry : fs::directory_iterator("/dev/shm", ignored)) {
    if (entry.path().filename().string().compare(0, own.size(), own) != 0)
      continue;
    names.push_back(entry.path());
    for (const auto &inner : fs::recursive_directory_iterator(entry.path(), ignored))
      names.push_back(inner.path());
  }
  return names;
}

bool Trial::waitForSave(bool beingWritten) {
  for (; runs(); sleepFor(0.001)) {
    std::error_code ignored;
    for (const auto &entry : fs::directory_iterator(folder + "/ck", ignored)) {
      std::string name = entry.path().filename();
      if (name.compare(0, 5, "step-") == 0 &&
          (name.find(".tmp") != std::string::npos) == beingWritten)
        return true;
    }
  }
  return false;
}

double Trial::waitForAll(double most) {
  double start = now();
  while (true) {
    bool left = runs(), late = now() - start > most;
    // To look at all processes of the machine takes time that the job needs.
    std::vector<pid_t> others;
    if (!left || late)
      others = processes();
    if (!left && others.empty())
      return now() - start;
    if (late && left)
      others.push_back(job);
    for (pid_t pid : others)
      if (late)
        kill(pid, SIGKILL);
    sleepFor(0.01);
  }
}

int Trial::finish() {
  timeout = 60;
  start();
  waitForAll(120);
  return exitCode;
}

std::string Trial::log() const { return contentsOf(folder + "/out"); }

std::vector<std::string> Trial::errors() const {
  std::vector<std::string> lines;
  std::istringstream in(log());
  for (std::string line; std::getline(in, line);)
    if (line.find("error:") != std::string::npos)
      lines.push_back(line);
  return lines;
}

std::string Trial::curve() const {
  // A killed run may have logged steps that are done again.
  std::map<int, std::string> steps;
  std::istringstream in(contentsOf(folder + "/log.jsonl"));
  for (std::string line; std::getline(in, line);) {
    size_t end = line.find(",\"step_ms\"");
    if (line.compare(0, 8, "{\"step\":") == 0 && end != std::string::npos)
      steps[std::atoi(line.c_str() + 8)] = line.substr(0, end);
  }
  std::string text;
  for (const auto &[step, line] : steps)
    text += line + "\n";
  return text;
}

std::string Trial::state() const {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(folder + "/ck/step-00000" + kSteps, ignored))
    if (entry.path().extension() == ".safetensors")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string bytes;
  for (const fs::path &file : files)
    bytes += contentsOf(file);
  return bytes;
}
