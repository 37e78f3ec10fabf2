// The flags of weft-run and of every executable.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CommandLine.h"

#include <algorithm>

using namespace weft::runtime;

namespace {

std::string introOf(const std::string &call) {
  return "usage: " + call +
         R"( [flags]

Runs a program that weft-compile made, on all ranks of its mesh.

Try these:
  )" + call +
         R"( --info                           what it computes, wants and needs
  )" + call +
         R"( --input x=x.npy                  run once, print the outputs' values
  )" + call +
         R"( --input x=x.npy --output-dir d   ... and write d/NAME.npy
  )" + call +
         R"( --input x=x.npy --expect y=y.npy ... and compare: exit code 1 if different
  )" + call +
         R"( --bench                          measure time, with zeros for inputs not given
)";
}

constexpr const char *kEnd =
    R"(Exit codes: 0 ok, 1 user error or mismatch, 2 usage, 3 a rank failed, 4 hang,
5 does not fit in memory, 6 a GPU failed, 70 a bug of Weft; 128 + N stopped by signal N.
)";

void addWhere(FlagTable &flags, CommandLine &line) {
  flags.topic("where", "Where it runs:");
  flags.count("-n", "N", "number of ranks; must be the program's", line.ranks, 1, 1000000);
  flags.choice("--comm", "inproc|mpi|tcp|nccl",
               "ranks are threads of this process (default), MPI processes, or "
               "processes that meet over TCP; chosen by itself under mpirun, "
               "and under torchrun and srun. nccl (default on GPUs): they meet as they were "
               "started, and NCCL moves between GPUs; with the others that goes through memory "
               "of the host",
               line.comm, {"inproc", "mpi", "tcp", "nccl"});
  flags.count("--threads-per-rank", "N", "default: cores / ranks on this machine", line.threads, 1,
              kMaxThreadsPerRank);
  flags.choice("--pin", "on|off",
               "keep each rank's threads on cores of its own, where there are "
               "enough (default on)",
               line.pin, {"on", "off"});
  flags.value(
      "--timeout", "SECONDS",
      "a rank that waits longer for others reports a hang (600; in a step of training, from the "
      "sixth on, 20 times the slowest so far, but at least 30)",
      [&line](const std::string &text) -> std::string {
        std::string wrong = FlagTable::parseNumber(text, 1e9, line.timeout);
        return wrong.empty() && line.timeout == 0 ? "wants more than 0 seconds" : wrong;
      });
  flags.text("--model-dir", "DIR", "where the weights' files are, if they moved",
             line.modelDirectory);
  flags.text("--inject", "RANK:COMMAND[:stall]|RANK:STEP:flip", "", line.inject);
}

void addRestarts(FlagTable &flags, CommandLine &line) {
  flags.count("--max-restarts", "N",
              "when a rank dies or hangs, or a GPU fails, start training again from the last "
              "checkpoint of --save, at most N times (0)",
              line.maxRestarts, 0, 1000000);
}

void addWhat(FlagTable &flags, CommandLine &line) {
  flags.topic("what", "What it runs:");
  flags.text("--program", "NAME", "one of the executable's programs; default: the first",
             line.program);
  flags.value("--input", "NAME=FILE.npy", "repeat for each input; dtype and shape must match",
              takeFile(line.inputs));
  flags.text("--output-dir", "DIR", "write every output to DIR/NAME.npy", line.outputDirectory);
  flags.value("--expect", "NAME=FILE.npy",
              "compare an output: |y - e| <= atol + rtol * |e|; integers must be equal, unless a "
              "tolerance is given",
              takeFile(line.expected));
  flags.number("--rtol", "R", "default 1e-4", line.rtol, 1e300);
  flags.number("--atol", "A", "default 1e-5", line.atol, 1e300);
  flags.optional("--bench", "json",
                 "warm up, then time runs: p50, p90, p99, rate, how long a rank "
                 "communicates, how much of that it computes meanwhile, what "
                 "share of the run the rest is, and what it sends",
                 [&line](const std::string &text) -> std::string {
                   line.bench = true;
                   line.benchJson = text == "json";
                   return text.empty() || line.benchJson ? ""
                                                         : "is alone or =json, not '" + text + "'";
                 });
  flags.text("--trace", "FILE",
             "all ranks' commands as Chrome/Perfetto JSON (open in ui.perfetto.dev), of each "
             "stream the first 65536",
             line.trace);
  flags.text("--pretend", "FILE",
             "actions of a pipeline sleep instead of computing, as many seconds as FILE, written "
             "like that of weft-schedule --costs, says; all else is real, but values are not",
             line.pretend);
  flags.toggle("--check-numbers",
               "look at every number that a command writes; which command made the first NaN, and "
               "what was infinite before, is told when a step fails, or at the end",
               line.checksNumbers);
  flags.toggle("--info", "describe the program", line.info);
  flags.toggle("--dump", "print all of its commands", line.dump);
  flags.text("--show-placement", "NAME",
             "which ranks hold which slice of a state, input or output, as "
             "boxes",
             line.showPlacement);
  flags.toggle("--ranks", "", line.countRanks);
  flags.toggle("-q|--quiet", "only results, warnings and errors", line.quiet);
}

FlagTable tableFor(const std::string &name, bool positional, CommandLine &line) {
  FlagTable flags(positional ? "weft-run" : "weft executable",
                  introOf(name + (positional ? " OUT" : "")));
  addWhere(flags, line);
  if (positional)
    addRestarts(flags, line);
  addWhat(flags, line);
  addTrainingFlags(flags, line.training);
  flags.epilogue(kEnd);
  flags.positional([positional, &line](const std::string &word) -> std::string {
    if (!positional)
      return "what is '" + word + "'? Inputs are given by --input NAME=FILE.npy";
    if (!line.executable.empty())
      return "two executables given: '" + line.executable + "' and '" + word +
             "'; weft-run runs one at a time";
    line.executable = word;
    return {};
  });
  return flags;
}

} // namespace

FlagTable::Take weft::runtime::takeFile(CommandLine::Files &files) {
  return [&files](const std::string &text) -> std::string {
    size_t at = text.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == text.size())
      return "wants NAME=FILE.npy, not '" + text + "'";
    std::string name = text.substr(0, at), file = text.substr(at + 1);
    for (const auto &entry : files)
      if (entry.first == name)
        return "gives '" + name + "' twice: '" + entry.second + "' and '" + file + "'";
    files.emplace_back(name, file);
    return {};
  };
}

Status weft::runtime::parseCommandLine(const std::string &name,
                                       const std::vector<std::string> &arguments, bool positional,
                                       CommandLine &result) {
  FlagTable flags = tableFor(name, positional, result);
  std::string wrong = flags.parse(arguments);
  if (!wrong.empty())
    return {StatusCode::Usage, wrong};
  result.given = flags.given();
  if (flags.answers()) {
    result.answer = flags.answer();
    return {};
  }
  return checkTrainingFlags(result);
}

std::string weft::runtime::helpText(const std::string &name, bool positional) {
  CommandLine line;
  return tableFor(name, positional, line).help();
}

Status weft::runtime::checkRanks(const CommandLine &line, int64_t ranks) {
  if (line.ranks == 0 || line.ranks == ranks)
    return {};
  return {StatusCode::Usage, "the program is for " + std::to_string(ranks) + " ranks, not " +
                                 std::to_string(line.ranks) + "; run it with -n " +
                                 std::to_string(ranks) + ", or compile it with another --mesh"};
}
