// One run of weft-compile, from its flags to its exit code.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Driver/Driver.h"
#include "weft/Driver/Resume.h"

#include "AskPlanner.h"
#include "ChoiceReport.h"
#include "Messages.h"
#include "Report.h"
#include "ScheduleFiles.h"
#include "weft/Registration/Registration.h"
#include "weft/runtime/Terminal.h"

#include <chrono>
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
        messages(context, options), report(options), schedules(options) {}

  int run() {
    if (int code = checkCommandLine(options, program))
      return code;
    int code = load();
    for (unsigned i = unsigned(first) + 1; code == Ok && i <= unsigned(options.until); ++i)
      code = runPhase(Phase(i));
    if (code == Ok)
      if (llvm::Error wrong = schedules.write())
        return tell(llvm::toString(std::move(wrong)), UserError);
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
    if (options.isAuto)
      if (int code = plan())
        return code;
    if (int code = prepare(*compilation, arguments, options, program))
      return code;
    if (std::string wrong = checkStages(options); first < Phase::Sharded && !wrong.empty())
      return tell(wrong, Usage);
    if (!options.writeDevices.empty())
      model = compilation->getModule().clone();
    compilation->timesPasses = options.timing;
    compilation->onPartitioned = [this](ModuleOp module) { report.partitioned(module); };
    compilation->onRecomputeTrial = [this](Recompute mode, double share, int64_t bytes) {
      report.recomputeTrial(mode, share, bytes);
    };
    compilation->onScheduleTrial = [this](StringRef schedule, int64_t bytes) {
      report.scheduleTrial(schedule, bytes);
    };
    schedules.note(compilation->getModule());
    report.begin(*compilation, options.compile.phases.sequenceParallel);
    if (first == Phase::Import)
      return report.phaseEnded(*compilation, secondsSince(start));
    if (first == Phase::Local)
      report.partitioned(compilation->getModule());
    if (mlir::failed(compilation->verify()))
      return failed();
    return first == Phase::Scheduled ? report.showSchedule(*compilation) : int(Ok);
  }

  /// What the planner chooses becomes flags, as if they had been given.
  int plan() {
    runtime::Progress progress(!options.quiet, "planning");
    Compilation copy = compilation->clone();
    Options asked = options;
    asked.quiet = true;
    if (int code = prepare(copy, arguments, asked, program))
      return code;
    choosing::Choice choice;
    if (int code = choose(copy, asked, options.question, messages, choice))
      return code;
    runtime::Progress::hide();
    if (!choice.isFound()) {
      printText(choice, 0, llvm::errs());
      return DoesNotFit;
    }
    bool hasStages = choice.layout->size(planner::Role::Stages) > 1;
    llvm::Expected<Options> planned =
        parseOptions(settledFlags(choosing::planOf(choice), hasStages));
    if (!planned)
      return tell(llvm::toString(planned.takeError()), OurBug);
    bool hasOrder = llvm::any_of(options.given,
                                 [](const GivenFlag &given) { return given.flag == "--schedule"; });
    options = std::move(*planned);
    if (!options.quiet)
      llvm::errs() << "plan: " << choice.layout->text()
                   << (hasOrder && !hasStages ? ", without stages for --schedule\n" : "\n");
    return Ok;
  }

  /// The command line with what the planner chose in place of the question. Which schedule stages
  /// shall have says nothing where there are none.
  std::vector<std::string> settledFlags(const planner::Plan &plan, bool hasStages) const {
    std::vector<std::string> settled{options.model};
    auto add = [&](const GivenFlag &given) {
      bool isLong = StringRef(given.flag).starts_with("--");
      settled.push_back(isLong && !given.isSwitch ? given.flag + "=" + given.value : given.flag);
      if (!isLong && !given.isSwitch)
        settled.push_back(given.value);
    };
    for (const GivenFlag &given : options.given)
      if (given.flag != "--auto" && !isOfQuestion(given.flag) &&
          (hasStages || given.flag != "--schedule"))
        add(given);
    // Those that were given are obeyed, and so said again as they were.
    for (const auto &[flag, value] : plan.flags())
      if (llvm::none_of(options.given, [flag = StringRef(flag)](const GivenFlag &given) {
            return given.flag == flag;
          }))
        add({flag, value});
    return settled;
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
    schedules.note(compilation->getModule());
    // Later phases say more, if there are any.
    if (phase == Phase::Local && options.until == Phase::Local)
      if (int code = report.showPlan())
        return code;
    if (int code = report.phaseEnded(*compilation, secondsSince(start)))
      return code;
    // Stages are known once programs are cut.
    if (phase == std::min(options.until, Phase::Staged) && model)
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
    if (report.explains() && phase == Phase::Local && first == Phase::Local)
      return tell("--explain and --report of a text of phase local tell what is scheduled; give "
                  "--compile-to scheduled or a later one",
                  Usage);
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
  ScheduleFiles schedules;
};

} // namespace

int weft::driver::compileMain(const std::vector<std::string> &arguments,
                              const std::string &program) {
  registerAllTargets();
  llvm::Expected<Options> options = parseOptions(arguments);
  if (!options)
    return tell(options.takeError());
  if (!options->answer.empty()) {
    llvm::outs() << options->answer;
    return endOutput(Ok);
  }
  return endOutput(Run(*options, arguments, program).run());
}
