// The command line of weft-compile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DRIVER_OPTIONS_H
#define WEFT_DRIVER_OPTIONS_H

#include "passes/pipelines/Pipelines.h"
#include "weft/runtime/Flags.h"

#include <string>
#include <vector>

namespace weft::driver {

/// Exit codes of all tools (docs/architecture.md).
enum ExitCode { Ok = 0, UserError = 1, Usage = 2, DoesNotFit = 5, OurBug = 70 };

/// How --explain tells: on one screen, all of it, or as JSON.
enum class Explain { No, Text, Full, Json };

/// What --train and the flags beside it say; texts are as given, lists separated
/// as PhaseOptions has them.
struct TrainingFlags {
  bool train = false;
  std::string loss, optimizer, paramGroups, freeze, gradDtype, recompute, zero, batchStats;
  uint64_t seed = 0;
  int64_t microbatches = 1;
  /// The flags of training that were given, to refuse them without --train.
  std::vector<std::string> given;
  /// Without a loss and an optimizer the model itself says how it is trained.
  bool usesOwnStep() const { return loss.empty() && optimizer.empty(); }
};

/// A flag as it was written, with its value unless it is a switch.
struct GivenFlag {
  std::string flag, value;
  bool isSwitch = false;
};

struct Options {
  std::vector<GivenFlag> given;
  std::string model, output = "a.out", bind, mesh, place, batchAxes, precision = "f32",
                     sequenceParallel = "auto";
  Phase until = Phase::Executable;
  std::string dumpDirectory, writeDevices;
  Explain explain = Explain::No;
  std::string explainNodes; // a regular expression: only these
  std::string report;       // an HTML file, or ""
  bool allowIdleAxes = false, dryRun = false, timing = false, copyWeights = false, quiet = false,
       verbose = false;
  bool deterministic = false; // always so on CPU
  bool keepWeights = false;
  int64_t memoryLimit = 0;        // bytes a rank; 0 = none
  int64_t bucketBytes = 25 << 20; // of collectives; 0 = no buckets
  unsigned threadsPerRank = 0, optLevel = 3;
  std::string linker, runtimeDirectory, processor = "native";
  TrainingFlags training;
  std::string answer; // to --help or --version; then nothing else counts
};

/// Parses `arguments` (without the program's name). On failure tells in `error`
/// what is wrong and what to write instead. Whether flags fit together is only
/// known of a program in text form when its own flags are (`resumes`).
bool parseOptions(const std::vector<std::string> &arguments, Options &options, std::string &error,
                  bool resumes = false);

/// Whether the file is a model, and not a program of a later phase.
bool isModelFile(llvm::StringRef path);

std::string helpText();

/// Adds --train and the flags that go with it.
void addTrainingFlags(runtime::FlagTable &flags, TrainingFlags &training);
/// Whether the flags of training fit together; what is wrong otherwise.
std::string checkTraining(const Options &options);

} // namespace weft::driver

#endif // WEFT_DRIVER_OPTIONS_H
