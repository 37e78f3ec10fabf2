// The command line of weft-run and of every executable.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_MAIN_COMMANDLINE_H
#define WEFT_RUNTIME_MAIN_COMMANDLINE_H

#include "weft/runtime/Flags.h"
#include "weft/runtime/Status.h"
#include "weft/runtime/Training.h"

#include <string>
#include <utility>
#include <vector>

namespace weft::runtime {

struct CommandLine {
  using Files = TrainingOptions::Files;

  std::string executable; // weft-run only: OUT
  long ranks = 0;         // -n; 0 = the program's
  std::string comm;       // empty = by how the process was started
  std::string program;    // empty = the first
  Files inputs, expected; // NAME=FILE
  std::string outputDirectory, trace, modelDirectory;
  double rtol = 1e-4, atol = 1e-5;
  double timeout = 0; // seconds; 0 = the runtime's default
  unsigned threads = 0;
  std::string pin = "on";
  bool bench = false, benchJson = false, quiet = false;
  bool info = false, dump = false, countRanks = false;
  std::string showPlacement; // of this state, input or output
  std::string inject;        // RANK:COMMAND[:stall] or RANK:STEP:flip
  std::string pretend;       // a file
  bool checksNumbers = false;
  long maxRestarts = 0; // weft-run only
  std::vector<FlagTable::Given> given;
  TrainingOptions training;
  std::string answer; // to --help or --version; then nothing else counts
};

/// Parses `arguments` (without the program's name). `name` is how the program
/// was called. `positional`: the first argument without dashes is the executable.
Status parseCommandLine(const std::string &name, const std::vector<std::string> &arguments,
                        bool positional, CommandLine &result);
/// Whether -n, if it was given, is what the program is for.
Status checkRanks(const CommandLine &line, int64_t ranks);

/// NAME=FILE, once for each name.
FlagTable::Take takeFile(CommandLine::Files &files);

/// The flags of training, evaluation, checkpoints and generation.
void addTrainingFlags(FlagTable &flags, TrainingOptions &options);
/// Whether the flags make sense together.
Status checkTrainingFlags(const CommandLine &options);

/// The flags that all processes of a job must be given alike, as lines
/// "flag<TAB>value"; of NAME=FILE only the name, as files may lie elsewhere on
/// another machine.
std::string agreementOf(const CommandLine &options);

/// The text of --help. `name` is how the program was called.
std::string helpText(const std::string &name, bool positional);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_MAIN_COMMANDLINE_H
