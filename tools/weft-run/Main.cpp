// weft-run: starts an executable on its ranks, in one process or by mpirun.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CommandLine.h"
#include "Start.h"

#include "weft/runtime/Terminal.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

int supervise(const std::vector<std::string> &command, int64_t ranks,
              const CommandLine &options) {
  Job job;
  job.training = options.training.wanted;
  job.timeout = options.timeout > 0 ? options.timeout : job.timeout;
  Signals signals;
  Status status = options.comm == "mpi"
                      ? startMpi(command, ranks, signals, job)
                      : startTcp(command, ranks, signals, job);
  if (!status.ok())
    return fail(status.text(), status.code());
  return Supervisor(job, signals).run();
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
  command.push_back(path);
  bool named = false;
  for (const std::string &argument : arguments) {
    if (!named && argument == options.executable) {
      named = true;
      continue;
    }
    command.push_back(argument);
  }
  if (runs && (options.comm == "mpi" || (options.comm == "tcp" && ranks > 1)))
    return supervise(command, ranks, options);
  std::vector<char *> pointers;
  for (std::string &word : command)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  return fail("'" + command[0] + "' cannot be run: " + std::strerror(errno),
              StatusCode::UserError);
}
