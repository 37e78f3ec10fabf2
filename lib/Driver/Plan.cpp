// One run of weft-plan, from its flags to its exit code.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Driver/Plan.h"

#include "AskPlanner.h"
#include "Calibrate.h"
#include "ChoiceReport.h"
#include "PlanReport.h"
#include "Report.h"
#include "TextFile.h"
#include "TraceReport.h"
#include "dialects/onnx/IR/TensorData.h"
#include "weft/Driver/Driver.h"
#include "weft/Driver/Resume.h"
#include "weft/Explain/Explain.h"
#include "weft/Registration/Registration.h"
#include "weft/Support/OutputFile.h"
#include "weft/runtime/Terminal.h"

using namespace mlir;
using namespace weft;
using namespace weft::driver;
using choosing::Choice;
using choosing::Evaluation;

namespace {

llvm::Error writePlan(const Choice &choice, const std::string &path) {
  OutputFile file;
  if (llvm::Error wrong = file.open(path))
    return wrong;
  file.os() << planner::writePlan(choosing::planOf(choice));
  return file.commit();
}

class PlanRun {
public:
  PlanRun(const PlanOptions &asked, const std::string &program)
      : asked(asked), options(asked.program), program(program), context(compilerRegistry()),
        messages(context, options) {}

  int run() {
    // Nothing is written, and no weight is read.
    options.until = Phase::Scheduled;
    options.dryRun = options.quiet = true;
    options.isAuto = asked.layout.empty();
    std::vector<std::string> inputs = inputFiles(options);
    for (const std::string &file : {asked.profileFile, asked.traceFile})
      if (!file.empty())
        inputs.push_back(file);
    if (int code = checkOutput(inputs))
      return code;
    progress.emplace(!asked.program.quiet,
                     asked.layout.empty() ? "planning" : "evaluating the layout");
    FailureOr<Compilation> loaded =
        Compilation::load(options.model, context, /*allowMissingData=*/true);
    if (failed(loaded))
      return messages.failed(false);
    compilation.emplace(std::move(*loaded));
    if (int code = checkOutput(onnx::dataFilesOf(compilation->getModule())))
      return code;
    if (int code = prepare(*compilation, {}, options, program))
      return code;
    return asked.layout.empty() ? chooseLayout() : evaluateLayout();
  }

private:
  /// Whether what is asked for can be written, and is none of `inputs`.
  int checkOutput(ArrayRef<std::string> inputs) const {
    Outputs plan;
    if (!asked.output.empty())
      plan.push_back({"-o", asked.output});
    llvm::Error wrong = checkOutputs(options, inputs, plan);
    return wrong ? tell(llvm::toString(std::move(wrong)), UserError) : int(Ok);
  }

  int evaluateLayout() {
    Evaluation evaluation;
    int code = evaluate(*compilation, asked, messages, evaluation);
    progress.reset();
    if (code != Ok)
      return code;
    asked.isJson ? printJson(evaluation, llvm::outs()) : printText(evaluation, llvm::outs());
    printWhy(evaluation);
    if (int code = writePage(evaluation, forecastOf(evaluation)))
      return code;
    return asked.trace.empty() ? int(Ok) : join(evaluation);
  }

  /// Nothing without --why.
  void printWhy(const Evaluation &evaluation) {
    if (options.explainNodes.empty())
      return;
    if (evaluation.document.programs.empty())
      llvm::outs() << "why       of so many ops only lifetimes are known; ask weft-compile "
                      "--compile-to local --explain='"
                   << options.explainNodes << "' with this layout\n";
    else
      explain::printText(evaluation.document, explain::Detail::Classes, options.explainNodes,
                         llvm::outs());
  }

  /// Nothing without --report.
  int writePage(const Evaluation &evaluation, explain::Forecast forecast) {
    if (options.report.empty())
      return Ok;
    explain::Document document = evaluation.document;
    document.model = evaluation.model;
    document.forecast = std::move(forecast);
    OutputFile file;
    llvm::Error wrong = file.open(options.report);
    if (!wrong) {
      explain::printHtml(document, file.os());
      wrong = file.commit();
    }
    return wrong ? tell(llvm::toString(std::move(wrong)), UserError) : int(Ok);
  }

  int join(const Evaluation &evaluation) {
    llvm::Expected<TraceReport> report =
        joinTrace(asked.trace, evaluation.trains ? "step" : "forward", evaluation.account,
                  evaluation.prediction, evaluation.optimizerNodes);
    if (!report)
      return tell("--trace: " + llvm::toString(report.takeError()), UserError);
    warnOfOtherFlags(report->flags);
    printReport(*report, llvm::outs());
    return Ok;
  }

  /// Of what was compiled with other flags times may be another program's, though it has the axes.
  void warnOfOtherFlags(const std::string &flags) const {
    std::vector<GivenFlag> words;
    for (StringRef word : llvm::split(flags, ' ')) {
      auto [flag, value] = word.split('=');
      words.push_back({flag.str(), value.str(), flag == word});
    }
    std::vector<std::string> here = flagsOfCommands(options.given), there = flagsOfCommands(words);
    auto missing = [](const std::vector<std::string> &from, const std::vector<std::string> &in) {
      std::string texts;
      for (const std::string &flag : from)
        if (!llvm::is_contained(in, flag))
          texts += " " + flag;
      return texts;
    };
    std::string onlyHere = missing(here, there), onlyThere = missing(there, here);
    if (!onlyHere.empty() || !onlyThere.empty())
      runtime::tellWarning("weft-plan",
                           "--trace is of a program that was compiled with other flags:" +
                               (onlyThere.empty() ? "" : onlyThere + " only there") +
                               (onlyThere.empty() || onlyHere.empty() ? "" : ",") +
                               (onlyHere.empty() ? "" : onlyHere + " only here"));
  }

  int chooseLayout() {
    Choice choice;
    int code = choose(*compilation, options, asked.question, messages, choice);
    progress.reset();
    if (code != Ok)
      return code;
    asked.isJson ? printJson(choice, llvm::outs())
                 : printText(choice, asked.question.top, llvm::outs());
    if (!choice.isFound())
      return DoesNotFit;
    for (const auto &[loc, text] : choice.evaluation.warnings)
      emitWarning(loc) << text;
    printWhy(choice.evaluation);
    if (int code = writePage(choice.evaluation, forecastOf(choice)))
      return code;
    if (asked.output.empty())
      return Ok;
    if (llvm::Error wrong = writePlan(choice, asked.output))
      return tell(llvm::toString(std::move(wrong)), UserError);
    return Ok;
  }

  const PlanOptions &asked;
  Options options;
  std::string program;
  MLIRContext context;
  Messages messages;
  std::optional<Compilation> compilation;
  std::optional<runtime::Progress> progress;
};

llvm::Expected<planner::Plan> planIn(const std::string &file) {
  llvm::Expected<std::string> text = readText("--diff", file);
  if (!text)
    return text.takeError();
  std::string wrong;
  std::optional<planner::Plan> plan = planner::readPlan(*text, wrong);
  if (!plan)
    return fileError("--diff", file, wrong);
  return *plan;
}

int comparePlans(const std::string &from, const std::string &to) {
  llvm::Expected<planner::Plan> before = planIn(from);
  if (!before)
    return tell(before.takeError());
  llvm::Expected<planner::Plan> after = planIn(to);
  if (!after)
    return tell(after.takeError());
  for (const std::string &line : planner::differences(*before, *after))
    llvm::outs() << line << '\n';
  return Ok;
}

} // namespace

int weft::driver::planMain(const std::vector<std::string> &arguments, const std::string &program) {
  nameTool("weft-plan");
  registerAllTargets();
  llvm::Expected<PlanOptions> options = parsePlanOptions(arguments);
  if (!options)
    return tell(options.takeError());
  if (!options->answer.empty()) {
    llvm::outs() << options->answer;
    return endOutput(Ok);
  }
  auto answer = [&] {
    if (!options->calibrate.empty())
      return calibrate({options->calibrate, options->comm,
                        std::max(1u, options->program.compile.threadsPerRank)},
                       program);
    return options->from.empty() ? PlanRun(*options, program).run()
                                 : comparePlans(options->from, options->to);
  };
  return endOutput(answer());
}
