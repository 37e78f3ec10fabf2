// One run of weft-compile, from its flags to its exit code.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Driver/Driver.h"
#include "weft/Driver/Resume.h"

#include "Messages.h"
#include "Report.h"
#include "weft/Registration/Registration.h"
#include "weft/Support/OutputFile.h"
#include "weft/runtime/Terminal.h"

#include <chrono>
#include <csignal>
#include <optional>

using namespace mlir;
using namespace weft;
using namespace weft::driver;

namespace {

using Clock = std::chrono::steady_clock;

class Run {
public:
  Run(const Options &given, const std::vector<std::string> &arguments, const std::string &program)
      : options(given), arguments(arguments), program(program), context(compilerRegistry()),
        messages(context, options), report(options) {}

  int run() {
    if (int code = checkCommandLine(options, program))
      return code;
    int code = load();
    for (unsigned i = unsigned(first) + 1; code == Ok && i <= unsigned(options.until); ++i)
      code = runPhase(Phase(i));
    return code == Ok && options.until < Phase::Executable ? print() : code;
  }

private:
  int failed() { return messages.failed(compilation && compilation->compilerIsToBlame()); }

  int load() {
    auto start = Clock::now();
    runtime::Progress progress(!options.quiet, "phase 'import'");
    // Looking and planning need no weights.
    FailureOr<Compilation> loaded =
        Compilation::load(options.model, context, /*allowMissingData=*/!makesExecutable(options));
    if (mlir::failed(loaded))
      return failed();
    compilation.emplace(std::move(*loaded));
    first = compilation->getPhase();
    if (int code = prepare(*compilation, arguments, options, program))
      return code;
    if (!options.writeDevices.empty())
      model = compilation->getModule().clone();
    compilation->timesPasses = options.timing;
    compilation->onPartitioned = [this](ModuleOp module) { report.partitioned(module); };
    compilation->onRecomputeTrial = [this](StringRef mode, double share, int64_t bytes) {
      report.recomputeTrial(mode, share, bytes);
    };
    report.begin(*compilation, options.compile.phases.sequenceParallel);
    if (first == Phase::Import)
      return report.phaseEnded(*compilation, secondsSince(start));
    if (first == Phase::Local)
      report.partitioned(compilation->getModule());
    if (mlir::failed(compilation->verify()))
      return failed();
    return first == Phase::Scheduled ? report.showSchedule(*compilation) : int(Ok);
  }

  int runPhase(Phase phase) {
    if (phase == Phase::Executable && options.dryRun)
      return Ok; // memory and communication are known, code is not needed
    auto start = Clock::now();
    {
      runtime::Progress progress(!options.quiet && !options.timing,
                                 "phase '" + phaseName(phase).str() + "'");
      if (mlir::failed(phase == Phase::Executable ? compilation->emitExecutable(emitOptions(
                                                        compilation->getModule(), options, program))
                                                  : compilation->runTo(phase)))
        return failed();
    }
    // Later phases say more, if there are any.
    if (phase == Phase::Local && options.until == Phase::Local)
      if (int code = report.showPlan())
        return code;
    if (int code = report.phaseEnded(*compilation, secondsSince(start)))
      return code;
    if (phase == Phase::Sharded && model)
      if (llvm::Error wrong = writeDevices(*model, compilation->getModule(),
                                           compilation->getModelPath(), options.writeDevices))
        return tell(llvm::toString(std::move(wrong)), UserError);
    return phase == Phase::Scheduled ? report.showSchedule(*compilation) : int(Ok);
  }

  int print() {
    Phase phase = compilation->getPhase();
    if (report.explains() && (phase == Phase::Sharded || phase == Phase::Staged)) {
      if (mlir::failed(compilation->inspectPartitioned(
              [this](ModuleOp module) { report.partitioned(module); })))
        return failed();
      if (int code = report.showPlan())
        return code;
    }
    return report.printProgram(*compilation);
  }

  static double secondsSince(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  Options options;
  const std::vector<std::string> &arguments;
  std::string program;
  MLIRContext context;
  Messages messages;
  std::optional<Compilation> compilation;
  OwningOpRef<ModuleOp> model; ///< as imported, for --write-devices
  Phase first = Phase::Import; ///< where the program came in
  Report report;
};

} // namespace

int weft::driver::compileMain(const std::vector<std::string> &arguments,
                              const std::string &program) {
  registerAllTargets();
  Options options;
  std::string error;
  if (!parseOptions(arguments, options, error))
    return tell(error, Usage);
  if (!options.answer.empty()) {
    llvm::outs() << options.answer;
    return Ok;
  }
  // A file that may not grow any more is an error to tell, not our end.
  std::signal(SIGXFSZ, SIG_IGN);
  int code = Run(options, arguments, program).run();
  if (llvm::Error lost = flushStandardOutput()) {
    llvm::errs() << "weft-compile: error: " << llvm::toString(std::move(lost)) << '\n';
    return code == Ok ? UserError : code;
  }
  return code;
}
