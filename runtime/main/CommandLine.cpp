// Parser of the command line and its help.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CommandLine.h"

#include <cstdlib>

using namespace weft::runtime;

namespace {

Status usage(const std::string &what) {
  return {StatusCode::Usage, what + "; --help shows what there is"};
}

bool parseNumber(const std::string &text, double &value) {
  char *end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == 0 && value >= 0;
}

} // namespace

Status weft::runtime::addFile(const std::string &flag, const std::string &text,
                              CommandLine::Files &files) {
  size_t at = text.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    return usage(flag + " wants NAME=FILE.npy, not '" + text + "'");
  files.emplace_back(text.substr(0, at), text.substr(at + 1));
  return {};
}

Status
weft::runtime::parseCommandLine(const std::vector<std::string> &arguments,
                                bool positional, CommandLine &result) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string flag = arguments[i], value;
    if (flag.empty() || flag[0] != '-') {
      if (!positional || !result.executable.empty())
        return usage("what is '" + flag + "'?");
      result.executable = flag;
      continue;
    }
    size_t equals = flag.find('=');
    bool attached = equals != std::string::npos;
    if (attached) {
      value = flag.substr(equals + 1);
      flag.resize(equals);
    }
    // Flags that stand alone.
    bool *alone = flag == "--help" || flag == "-h" ? &result.help
                  : flag == "--info"               ? &result.info
                  : flag == "--dump"               ? &result.dump
                  : flag == "--ranks"              ? &result.countRanks
                                                   : nullptr;
    if (alone) {
      if (attached)
        return usage(flag + " takes no value");
      *alone = true;
      result.given.emplace_back(flag, "");
      continue;
    }
    if (flag == "--bench") {
      result.bench = true;
      result.benchJson = value == "json";
      if (attached && !result.benchJson)
        return usage("--bench is alone or =json, not '" + value + "'");
      result.given.emplace_back(flag, "");
      continue;
    }
    std::string *text = flag == "--comm"         ? &result.comm
                        : flag == "--program"    ? &result.program
                        : flag == "--output-dir" ? &result.outputDirectory
                        : flag == "--trace"      ? &result.trace
                        : flag == "--model-dir"  ? &result.modelDirectory
                        : flag == "--inject"     ? &result.inject
                        : flag == "--show-placement" ? &result.showPlacement
                        : flag == "--pin"        ? &result.pin
                                                 : nullptr;
    CommandLine::Files *files = flag == "--input"    ? &result.inputs
                                : flag == "--expect" ? &result.expected
                                                     : nullptr;
    double number = 0;
    bool numeric = flag == "-n" || flag == "--rtol" || flag == "--atol" ||
                   flag == "--timeout" || flag == "--threads-per-rank";
    bool training = isTrainingFlag(flag);
    if (!text && !files && !numeric && !training)
      return usage("there is no flag '" + flag + "'");
    if (!attached) {
      if (i + 1 == arguments.size())
        return usage(flag + " wants a value");
      value = arguments[++i];
    }
    result.given.emplace_back(flag, value);
    if (training) {
      WEFT_TRY(parseTrainingFlag(flag, value, result.training));
    } else if (text) {
      *text = value;
    } else if (files) {
      Status status = addFile(flag, value, *files);
      if (!status.ok())
        return status;
    } else {
      if (!parseNumber(value, number))
        return usage(flag + " wants a number, not '" + value + "'");
      if (flag == "-n")
        result.ranks = long(number);
      else if (flag == "--rtol")
        result.rtol = number;
      else if (flag == "--atol")
        result.atol = number;
      else if (flag == "--timeout")
        result.timeout = number;
      else
        result.threads = unsigned(number);
      if ((flag == "-n" || flag == "--threads-per-rank") &&
          (number < 1 || number != double(long(number)) || number > 1e6))
        return usage(flag + " wants a whole number of at least 1, not '" +
                     value + "'");
    }
  }
  if (!result.comm.empty() && result.comm != "inproc" &&
      result.comm != "mpi" && result.comm != "tcp")
    return usage("--comm is inproc, mpi or tcp, not '" + result.comm + "'");
  if (result.pin != "on" && result.pin != "off")
    return usage("--pin is on or off, not '" + result.pin + "'");
  return checkTrainingFlags(result);
}

std::string weft::runtime::helpText(const std::string &name, bool positional) {
  std::string call = name + (positional ? " OUT" : "");
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

Where it runs:
  -n N                  number of ranks; must be the program's
  --comm inproc|mpi|tcp ranks are threads of this process (default), MPI
                        processes, or processes that meet over TCP; chosen by
                        itself under mpirun, and under torchrun and srun
  --threads-per-rank N  default: cores / ranks on this machine
  --pin on|off          keep each rank's threads on cores of its own, where
                        there are enough (default on)
  --timeout SECONDS     a rank that waits longer for others reports a hang (600)
  --model-dir DIR       where the weights' files are, if they moved

What it runs:
  --program NAME        one of the executable's programs; default: the first
  --input NAME=FILE.npy repeat for each input; dtype and shape must match
  --output-dir DIR      write every output to DIR/NAME.npy
  --expect NAME=FILE.npy  compare an output: |y - e| <= atol + rtol * |e|
  --rtol R, --atol A    defaults 1e-4 and 1e-5
  --bench[=json]        warm up, then time runs: p50, p90, p99, rate, the share
                        of time that communication was waited for, and how much
                        of it went on under computation
  --trace FILE          one timed run's commands as Chrome/Perfetto JSON
                        (open in ui.perfetto.dev)
  --info, --dump        describe the program; print all of its commands
  --show-placement NAME which ranks hold which slice of a state, input or
                        output, as boxes
  --help
)" + std::string(trainingHelp()) +
         R"(
Exit codes: 0 ok, 1 user error or mismatch, 2 usage, 3 a rank failed, 4 hang,
5 does not fit in memory, 70 a bug of Weft.
)";
}
