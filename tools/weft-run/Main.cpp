// weft-run: starts an executable on its ranks, in one process or several.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CommandLine.h"
#include "Restarts.h"
#include "Start.h"

#include "weft/runtime/ExecutableFile.h"
#include "weft/runtime/FailedWrites.h"
#include "weft/runtime/Terminal.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace weft::runtime;

namespace {

int fail(const std::string &text, StatusCode code) {
  tellError("weft-run", text);
  return int(code);
}

/// Where the ranks run: threads of one process, or processes.
enum class Ranks { Here, Tcp, Mpi };

Status start(Ranks where, const std::vector<std::string> &command, int64_t ranks,
             const ExecutableFile &executable, const Signals &signals, Job &job) {
  if (where == Ranks::Here)
    return startHere(command, executable.descriptor(), signals, job);
  return where == Ranks::Mpi ? startMpi(command, ranks, signals, job)
                             : startTcp(command, ranks, signals, job);
}

int supervise(Ranks where, const std::string &path, int64_t ranks, const ExecutableFile &executable,
              const CommandLine &options) {
  Signals signals;
  Restarts restarts(options);
  while (true) {
    Job job;
    job.timeout = options.timeout > 0 ? options.timeout : job.timeout;
    std::vector<std::string> command = commandOf(path, options, restarts.resume());
    Status status = start(where, command, ranks, executable, signals, job);
    if (!status.ok())
      return fail(status.text(), status.code());
    Outcome outcome = Supervisor(job, signals).run();
    if (!restarts.again(outcome))
      return restarts.last(outcome);
  }
}

} // namespace

int main(int argc, char **argv) {
  surviveFailedWrites();
  std::vector<std::string> arguments(argv + 1, argv + argc);
  CommandLine options;
  Status status = parseCommandLine("weft-run", arguments, true, options);
  if (!status.ok())
    return fail(status.text(), status.code());
  if (!options.answer.empty()) {
    std::fputs(options.answer.c_str(), stdout);
    status = flushStandardOutput();
    return status.ok() ? 0 : fail(status.text(), status.code());
  }
  if (options.executable.empty()) {
    std::fputs(helpText("weft-run", true).c_str(), stderr);
    return int(StatusCode::Usage);
  }
  std::string path = options.executable;
  if (path.find('/') == std::string::npos)
    path = "./" + path;
  // Nothing is run that is not a whole executable of weft-compile.
  ExecutableFile executable;
  status = ExecutableFile::open(path, executable);
  if (!status.ok())
    return fail(status.text(), status.code());
  bool runs =
      !options.info && !options.dump && !options.countRanks && options.showPlacement.empty();
  int64_t ranks = executable.program().numRanks();
  if (status = checkRanks(options, ranks); runs && !status.ok())
    return fail(status.text(), status.code());
  // NCCL wants a process a GPU, which meet over TCP.
  bool meets = options.comm == "tcp" || options.comm == "nccl";
  Ranks where = options.comm == "mpi" ? Ranks::Mpi : meets && ranks > 1 ? Ranks::Tcp : Ranks::Here;
  if (runs && (where != Ranks::Here || options.maxRestarts > 0))
    return supervise(where, path, ranks, executable, options);
  std::vector<std::string> command = commandOf(path, options, "");
  std::vector<char *> pointers;
  for (std::string &word : command)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  // What was checked is what is run. Supervised ranks are started by name, by
  // mpirun on other machines too; there each checks its own file first.
  fexecve(executable.descriptor(), pointers.data(), environ);
  return fail("'" + command[0] + "' cannot be run: " + std::strerror(errno), StatusCode::UserError);
}
