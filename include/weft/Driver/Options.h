// The command line of weft-compile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DRIVER_OPTIONS_H
#define WEFT_DRIVER_OPTIONS_H

#include "weft/Compiler/Compilation.h"
#include "weft/Planner/Search.h"
#include "weft/runtime/Flags.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weft::driver {

/// Exit codes of the compiler's tools; docs/troubleshooting.md has those of executables, too.
enum ExitCode { Ok = 0, UserError = 1, Usage = 2, DoesNotFit = 5, OurBug = 70 };

/// How --explain tells: on one screen, all of it, or as JSON.
enum class Explain { No, Text, Full, Json };

/// A flag as it was written, with its value unless it is a switch.
struct GivenFlag {
  std::string flag, value;
  bool isSwitch = false;
};

/// What flags ask the planner beside the program: how many devices, what is settled already.
struct QuestionFlags {
  int64_t devices = 0; // 0: it was not said
  /// Sizes of axes (dp, tp, pp) by name, and axes or means (zero, recompute, sp, microbatches) that
  /// must not be used.
  std::map<std::string, int64_t> fixed;
  std::set<std::string> forbidden;
  planner::Objective objective = planner::Objective::Time;
  /// Of devices, as many as divide `devices`, the fewest on which something fits.
  bool wantsFewestDevices = false;
  /// As planner::Options has it; 0: nothing.
  int64_t budget = 0;
  /// How many of the best to show beside the choice.
  int64_t top = 3;
  /// Everything is simulated, and all of those and the best of each kind compiled: to check that
  /// nothing is lost by not doing so.
  bool isExhaustive = false;
};

/// One run of weft-compile: what is compiled to what, and what is told and written on the way.
struct Options {
  std::vector<GivenFlag> given;
  bool isGiven(llvm::StringRef flag) const;
  std::string model, output = "a.out";
  CompileOptions compile;
  bool limitIsOfCluster = false; // the memory limit: a device's, as none was given
  Phase until = Phase::Executable;
  std::string dumpDirectory, writeDevices;
  std::string cluster;     // text protobuf; or "": the program's own, else the standard one
  std::string clusterFile; // that it was read from
  Explain explain = Explain::No;
  std::string explainNodes;               // a regular expression: only these
  std::string report;                     // an HTML file, or ""
  std::string dumpSchedule, plotSchedule; // files, or ""
  bool dryRun = false, timing = false, copyWeights = false, quiet = false, verbose = false;
  bool deterministic = false; // always so on a CPU
  std::string linker, runtimeDirectory;
  /// Asked for: no mesh, not that of the model's device configuration either.
  bool isOneProcess = false;
  bool isAuto = false;    // the planner chooses the mesh, and what is not given of the rest
  QuestionFlags question; // that it is asked
  std::string planFile, scheduleFile, stageCostsFile;
  /// The flags of training that were given, to refuse them without --train.
  std::vector<std::string> trainingFlags;
  std::string answer; // to --help or --version; then nothing else counts
};

/// Parses `arguments` (without the program's name). An error says what is wrong and what to write
/// instead; it is a FileError if a file that a flag names is to blame. Whether flags fit together
/// is only known of a program in text form when its own flags are: `resumes` is the phase that it
/// goes on from, and what has acted by then is not read from files again.
llvm::Expected<Options> parseOptions(const std::vector<std::string> &arguments,
                                     std::optional<Phase> resumes = std::nullopt);

/// Parses flags that say what phases make, as the pipelines of weft-opt have them.
llvm::Expected<PhaseOptions> parsePhaseOptions(const std::vector<std::string> &arguments);
/// One of fp32, bf16, fp16 and fp64; returns what is wrong, or nothing.
std::string takePrecisionAmong(const std::string &text, Precision &target);
/// Of --batch-stats.
inline constexpr llvm::StringLiteral kPerMicrobatch = "per-microbatch";

/// Reads the schedule and the costs of stages, unless they have acted at `reached`, and checks them
/// and the cluster.
llvm::Error readFiles(Options &options, Phase reached = Phase::Import);

std::string helpText();

/// What becomes of the name of a file; and of a flag's value that has such names.
using ChangeFile = llvm::function_ref<std::string(const std::string &file)>;
using ChangeFiles = std::string (*)(const std::string &value, ChangeFile change);

/// When a flag acts: from `presence` on it matters whether it was given, from `value` on which
/// value it has, after `last` not any more.
struct Acts {
  Phase presence, value, last;
  /// About one run of weft-compile, not about what it makes.
  bool ofTheRun = false;
  /// Of a flag that names files; else null.
  ChangeFiles changeFiles = nullptr;
};

/// What the rows of the table of flags say of when they act.
class ActsTable {
public:
  /// `names` are those of the row's flag, as FlagTable returns them.
  void at(Phase phase, const runtime::FlagTable::Names &names) {
    between(phase, phase, phase, names);
  }
  void between(Phase presence, Phase value, Phase last, const runtime::FlagTable::Names &names) {
    for (const std::string &name : names)
      rows[name] = {presence, value, last};
  }
  void atOfFiles(Phase phase, ChangeFiles changeFiles, const runtime::FlagTable::Names &names) {
    at(phase, names);
    for (const std::string &name : names)
      rows[name].changeFiles = changeFiles;
  }
  void ofTheRun(const runtime::FlagTable::Names &names) {
    for (const std::string &name : names)
      rows[name] = {Phase::Import, Phase::Import, Phase::Executable, /*ofTheRun=*/true};
  }
  /// A flag whose row says nothing may act anywhere, so that a new one cannot be lost.
  Acts of(llvm::StringRef flag) const {
    auto found = rows.find(flag);
    return found == rows.end() ? Acts{Phase::Import, Phase::Import, Phase::Executable}
                               : found->second;
  }

private:
  llvm::StringMap<Acts> rows;
};
/// Of all flags of weft-compile.
const ActsTable &flagActs();

/// Adds the flags that say what is made of a model, but for --mesh: for tools that have another way
/// to say it.
void addProgramFlags(runtime::FlagTable &flags, ActsTable &acts, Options &options);
/// Adds what the planner can be asked: --devices, --fix, --forbid, --objective, --budget.
void addQuestionFlags(runtime::FlagTable &flags, ActsTable &acts, QuestionFlags &question);
/// Whether it is one of those.
bool isOfQuestion(llvm::StringRef flag);
/// `arguments` without --plan, and with the flags that the plan in `file` says and `given` does
/// not. `meshFlag` is what --mesh is called there, and `oneDevice` its value for one process;
/// `wrongIn` tells what is wrong with a flag alone, or nothing. Fails where both say something
/// else, and, with a FileError, where the plan says something wrong.
llvm::Expected<std::vector<std::string>>
withPlan(const std::vector<std::string> &arguments, const std::string &file,
         const std::vector<runtime::FlagTable::Given> &given, const std::string &meshFlag,
         const std::string &oneDevice,
         llvm::function_ref<std::string(const std::string &flag)> wrongIn);
/// Reads `dp=2,tp=2`, or `none`; returns what is wrong, or nothing.
std::string takeMesh(const std::string &text, Mesh &target);
/// Whether flags that say what is made, and are right by themselves, fit together.
std::string checkProgram(const Options &options);
/// Whether there are stages for the flags that are given for them, once the mesh is known.
std::string checkStages(const Options &options);
/// The same of a whole command line; what only a text's own flags tell is left out unless it is
/// gone on from (`resumes`). Returns what is wrong, or nothing.
std::string checkOptions(const Options &options, bool resumes);
/// Whether a flag asks for stages of a pipeline; --schedule only says what those do that there are.
bool needsStages(llvm::StringRef flag);

/// Adds --train and the flags that go with it.
void addTrainingFlags(runtime::FlagTable &flags, ActsTable &acts, Options &options);
/// Whether the flags of training fit together; what is wrong otherwise.
std::string checkTraining(const Options &options);

} // namespace weft::driver

#endif // WEFT_DRIVER_OPTIONS_H
