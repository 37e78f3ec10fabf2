// What weft-compile tells of a compilation: times, dumps, the plan, its memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.h"

#include "TextFile.h"
#include "weft/Driver/Driver.h"
#include "weft/Support/OutputFile.h"
#include "weft/runtime/Terminal.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;
using namespace weft::driver;

static std::string toolName = "weft-compile";
void driver::nameTool(StringRef name) { toolName = name.str(); }

int driver::tell(const std::string &error, ExitCode code) {
  runtime::Progress::hide();
  runtime::tellError(toolName, error);
  return code;
}

int driver::tell(llvm::Error error) {
  ExitCode code = error.isA<FileError>() ? UserError : Usage;
  return tell(llvm::toString(std::move(error)), code);
}

/// Tells what went wrong, if anything did.
static int tellOf(llvm::Error error) {
  return error ? tell(llvm::toString(std::move(error)), UserError) : int(Ok);
}

int driver::endOutput(int code) {
  int lost = tellOf(flushStandardOutput());
  return code == Ok ? lost : code;
}

void Report::begin(const Compilation &compilation, bool sequenceParallel) {
  document.model = llvm::sys::path::filename(compilation.getModelPath()).str();
  document.sequenceParallel = sequenceParallel;
  // What an earlier run wrote of phases that this one reaches, or not, is not of this program.
  for (unsigned i = unsigned(compilation.getPhase()) + 1;
       !options.dumpDirectory.empty() && i < unsigned(Phase::Executable); ++i)
    (void)llvm::sys::fs::remove(dumpPath(options.dumpDirectory, Phase(i)));
}

int Report::phaseEnded(const Compilation &compilation, double seconds) {
  Phase phase = compilation.getPhase();
  runtime::Progress::hide();
  if (!options.quiet)
    llvm::errs() << llvm::format("%-10s %8.3f s\n", phaseName(phase).str().c_str(), seconds);
  if (options.dumpDirectory.empty() || phase == Phase::Executable)
    return Ok;
  if (auto code = llvm::sys::fs::create_directories(options.dumpDirectory))
    return tell("cannot make folder '" + options.dumpDirectory + "': " + code.message(), UserError);
  return printInto(compilation.getModule(), dumpPath(options.dumpDirectory, phase));
}

void Report::explainTo(llvm::raw_ostream &out) {
  switch (options.explain) {
  case Explain::No:
    return;
  case Explain::Json:
    return explain::printJson(document, /*indent=*/true, out);
  case Explain::Text:
  case Explain::Full:
    return explain::printText(document,
                              options.explain == Explain::Full ? explain::Detail::Full
                                                               : explain::Detail::Classes,
                              options.explainNodes, out);
  }
}

int Report::showPlan() {
  if (std::string choice = attentionChoice(options.compile.phases); !choice.empty())
    document.notes = {choice};
  explainTo(llvm::outs());
  if (options.report.empty())
    return Ok;
  OutputFile file;
  if (int code = tellOf(file.open(options.report)))
    return code;
  explain::printHtml(document, file.os());
  return tellOf(file.commit());
}

int Report::showSchedule(const Compilation &compilation) {
  if (!isAsked())
    return Ok;
  explain::collectSchedule(compilation.getModule(), document);
  if (int code = showPlan())
    return code;
  if (options.dryRun && options.explain == Explain::No && !options.quiet)
    explain::printSummary(document, llvm::outs());
  const CompileOptions &asked = options.compile;
  int64_t bytes = document.memory.arena, limit = asked.memoryLimit;
  if (limit == 0 || bytes <= limit)
    return Ok;
  Recompute recompute = asked.phases.recompute;
  bool isLeast = recompute == Recompute::Auto || recompute == Recompute::Full;
  int code =
      tell("a process needs " + std::to_string(bytes) + " bytes" +
               (isLeast ? " with all blocks recomputed" : "") + ", more than " +
               (options.limitIsOfCluster ? "a device of the cluster has, " : "the limit of ") +
               std::to_string(limit) + "; use more processes, another placement or a smaller batch",
           DoesNotFit);
  explain::printMemory(document.memory, llvm::errs());
  return code;
}

int Report::printProgram(const Compilation &compilation) {
  if (options.dryRun)
    return Ok;
  if (options.isGiven("-o") && options.output != "-")
    return printInto(compilation.getModule(), options.output);
  weft::printProgram(compilation.getModule(), llvm::outs());
  return Ok;
}

int Report::printInto(ModuleOp module, StringRef path) {
  OutputFile file;
  if (int code = tellOf(file.open(path)))
    return code;
  weft::printProgram(module, file.os());
  return tellOf(file.commit());
}

void Report::recomputeTrial(Recompute mode, double share, int64_t bytes) {
  if (options.quiet)
    return;
  std::string percent = std::to_string(int(share * 1000) / 10.0).substr(0, 4) + " %";
  llvm::errs() << "recompute " << nameOf(mode) << (mode == Recompute::Best ? " " + percent : "")
               << ": " << bytes << " bytes a process\n";
}

void Report::scheduleTrial(StringRef schedule, int64_t bytes) {
  if (!options.quiet)
    llvm::errs() << "schedule " << schedule << ": " << bytes << " bytes a process\n";
}
