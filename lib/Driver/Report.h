// What weft-compile tells of a compilation: times, dumps, the plan, its memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DRIVER_REPORT_H
#define WEFT_LIB_DRIVER_REPORT_H

#include "weft/Driver/Options.h"
#include "weft/Explain/Explain.h"

namespace weft::driver {

/// Of the tool that runs, before anything is told.
void nameTool(llvm::StringRef name);
/// `weft-compile: error: ...`; returns `code`.
int tell(const std::string &error, ExitCode code);
/// The same of flags: `UserError` for what a file holds that one names, else `Usage`.
int tell(llvm::Error error);
/// Puts out what was printed; `code`, or that of an error if some of it was lost and all else went
/// well.
int endOutput(int code);

/// Fills the document of a compilation from its phases, and writes what the flags ask for. What
/// returns an int returns an exit code, and has told why unless it is `Ok`.
class Report {
public:
  explicit Report(const Options &options) : options(options) {}

  /// Before the first phase.
  void begin(const Compilation &compilation, bool sequenceParallel);
  /// Within `local`, where collectives are in terms of nodes.
  void partitioned(mlir::ModuleOp module) {
    if (isAsked())
      explain::collectPlacement(module, document);
  }
  /// The time of a phase, and its dump.
  int phaseEnded(const Compilation &compilation, double seconds);
  /// The plan, as far as it is known; if the program is scheduled, with its memory.
  int showPlan();
  int showSchedule(const Compilation &compilation);
  /// --compile-to: to the file of -o if one was given, else to the screen.
  int printProgram(const Compilation &compilation);
  void recomputeTrial(Recompute mode, double share, int64_t bytes);
  void scheduleTrial(llvm::StringRef schedule, int64_t bytes);

  bool explains() const { return options.explain != Explain::No || !options.report.empty(); }

private:
  /// Whether anything is told of the document.
  bool isAsked() const { return explains() || options.dryRun || options.compile.memoryLimit != 0; }
  void explainTo(llvm::raw_ostream &out);
  int printInto(mlir::ModuleOp module, llvm::StringRef path);

  const Options &options;
  explain::Document document;
};

} // namespace weft::driver

#endif // WEFT_LIB_DRIVER_REPORT_H
