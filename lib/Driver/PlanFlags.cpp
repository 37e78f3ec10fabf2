// The flags of weft-plan: those that say what is asked, and those of weft-compile that say of what.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Driver/Plan.h"

#include "TextFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Regex.h"

using namespace weft;
using namespace weft::driver;
using runtime::FlagTable;

namespace {

constexpr const char *kIntro =
    R"(usage: weft-plan MODEL.onnx --cluster FILE --devices N [flags of weft-compile]
       weft-plan MODEL.onnx --evaluate AXIS=N,... [--cluster FILE] [flags of weft-compile]
       weft-plan MODEL.onnx --plan FILE [flags of weft-compile]
       weft-plan --diff FROM.textproto TO.textproto
       weft-plan --calibrate FILE [--comm inproc|tcp|mpi] [--threads-per-rank N]

Chooses how to split a model over devices: data, tensor and pipeline parallelism,
ZeRO, microbatches, schedule, recomputation; says why, what else there is and what
it loses. Or says what one layout costs: whether it fits, how long a step takes
and why, what memory holds, what moves over which axes. Nothing is compiled to
the end or run, and nothing but the model's graph is read: weights need not be there.

  weft-plan gpt.onnx --cluster h100 --devices 8 --bind batch=64,seq=1024 \
    --train --loss softmax_cross_entropy:logits,labels --optimizer adamw --precision bf16

What is chosen becomes a plan, which people can edit and weft-compile obeys:

  weft-plan gpt.onnx --cluster h100 --devices 8 ... -o plan.textproto
  weft-compile gpt.onnx --plan plan.textproto ...

Of a pipeline the axis pp counts the stages; then microbatches take turns:

  weft-plan gpt.onnx --evaluate pp=4,dp=2 --microbatches 16 --schedule zb-h1 ...

Seconds are predictions: of the program that weft-compile makes with the same flags,
on the devices and links of the cluster, whose file says how far off they may be.
)";

constexpr const char *kEnd =
    R"(Exit codes: 0 ok, with --evaluate whether it fits or not; 5 nothing fits; 1 wrong input, 2 wrong command line, 70 our bug.
)";

llvm::Error readProfile(const std::string &file, std::optional<cost::Profile> &target) {
  llvm::Expected<std::string> text = readText("--profile", file);
  if (!text)
    return text.takeError();
  std::string wrong;
  target = cost::Profile::read(*text, wrong);
  return target ? llvm::Error::success() : fileError("--profile", file, wrong);
}

llvm::Error readTrace(const std::string &file, std::string &target) {
  llvm::Expected<std::string> text = readText("--trace", file, uint64_t(1) << 30);
  if (!text)
    return text.takeError();
  if (!llvm::StringRef(*text).ltrim().starts_with("{"))
    return fileError("--trace", file, "it is no trace of weft-run --bench --trace");
  target = std::move(*text);
  return llvm::Error::success();
}

/// What means something only where a layout is to be chosen.
const std::vector<std::string> kOfChoice{"--devices", "--fix", "--forbid",     "--objective",
                                         "--budget",  "--top", "--exhaustive", "-o"};

FlagTable tableFor(PlanOptions &options) {
  ActsTable acts;
  FlagTable flags("weft-plan", kIntro);
  flags.topic("ask", "What is asked");
  flags.value("--evaluate", "AXIS=N,...",
              "what this layout costs: processes as a grid, as --mesh of weft-compile has them; "
              "none: one process",
              [&options](const std::string &text) -> std::string {
                options.layout = text;
                options.program.isOneProcess = text == "none";
                return takeMesh(text, options.program.compile.phases.mesh);
              });
  flags.text("--plan", "FILE",
             "what a plan says: its mesh is that of --evaluate, and the rest as flags",
             options.program.planFile);
  addQuestionFlags(flags, acts, options.question);
  flags.count("--top", "N", "show so many of the best beside the choice (default 3)",
              options.question.top, 0, 1000);
  flags.toggle("--exhaustive",
               "simulate every layout, unless --budget is given, and compile as a whole all that "
               "--top shows: checks that what the search leaves out loses nothing, and takes long",
               options.question.isExhaustive);
  flags.text("-o|--output", "FILE", "write the plan that is chosen, for weft-compile --plan",
             options.output);
  flags.value("--why", "REGEX",
              "say of nodes and states of such names how the layout splits them, what that makes "
              "devices send, and who needs it, as weft-compile --explain=REGEX does",
              [&options](const std::string &text) -> std::string {
                options.program.explainNodes = text;
                std::string why;
                return llvm::Regex(text).isValid(why)
                           ? ""
                           : "takes a regular expression for names of nodes; '" + text +
                                 "' is none: " + why;
              });
  flags.text("--report", "FILE.html",
             "write a page with pictures for any browser: what each stage does when, who sends to "
             "whom, memory, where everything lies, and what else there was",
             options.program.report);
  flags.value("--diff", "FROM",
              "say what the plan in the file that follows has otherwise than "
              "that in FROM, and nothing else",
              [&options](const std::string &file) -> std::string {
                options.from = file;
                return "";
              });
  flags.text("--profile", "FILE",
             "what it costs with other software, whose kernels for a transformer FILE lists, "
             "instead of with the program that weft-compile makes",
             options.profileFile);
  flags.text("--trace", "FILE",
             "what each part took beside what was predicted, from what weft-run --bench --trace "
             "FILE has written of the same program with the same flags",
             options.traceFile);
  flags.text(
      "--calibrate", "FILE",
      "measure this machine for about a minute, and write FILE, which --cluster reads; needs "
      "no model",
      options.calibrate);
  flags.value("--comm", "inproc|tcp|mpi", "with --calibrate: over what ranks communicate (inproc)",
              [&options](const std::string &text) -> std::string {
                options.comm = text;
                return text == "inproc" || text == "tcp" || text == "mpi"
                           ? ""
                           : "wants inproc, tcp or mpi, not '" + text + "'";
              });
  flags.toggle("--json", "the answer as one JSON document (docs/plan.md)", options.isJson);
  flags.toggle("-v|--verbose", "what passes decided, and the operation behind each message",
               options.program.verbose);
  flags.toggle("-q|--quiet", "only results, warnings and errors", options.program.quiet);
  addProgramFlags(flags, acts, options.program);
  flags.refused("--mesh", "here the layout that is asked about is the value of --evaluate");
  flags.epilogue(kEnd);
  flags.positional([&options](const std::string &word) -> std::string {
    if (!options.from.empty()) {
      if (!options.to.empty())
        return "--diff compares two plans, and '" + word + "' is a third";
      options.to = word;
      return "";
    }
    if (!options.program.model.empty())
      return "two models given: '" + options.program.model + "' and '" + word + "'";
    options.program.model = word;
    return "";
  });
  return flags;
}

/// What is wrong if a flag is given that is none of those that `task` heeds, or "".
std::string checkHeeded(const PlanOptions &options, const std::string &task,
                        llvm::ArrayRef<llvm::StringRef> heeded) {
  for (const GivenFlag &given : options.program.given)
    if (!llvm::is_contained(heeded, given.flag))
      return task + " does not heed " + given.flag + ": leave it out";
  return "";
}

std::string check(const PlanOptions &options) {
  if (!options.calibrate.empty()) {
    if (!options.program.model.empty() || !options.layout.empty())
      return "--calibrate measures a machine, whatever runs on it: leave the model and --evaluate "
             "out";
    return checkHeeded(options, "--calibrate", {"--calibrate", "--comm", "--threads-per-rank"});
  }
  for (const GivenFlag &given : options.program.given)
    if (given.flag == "--comm")
      return "--comm is for --calibrate: links and what messages take are in the file of --cluster";
  if (!options.from.empty())
    return options.to.empty() ? "--diff needs two plans: weft-plan --diff FROM TO"
                              : checkHeeded(options, "--diff", {"--diff", "-q", "--quiet"});
  if (options.program.model.empty())
    return "no model given; write weft-plan MODEL.onnx --evaluate dp=2,tp=2, or --help";
  if (!isModelFile(options.program.model))
    return "'" + options.program.model +
           "' is no model (*.onnx); what a layout costs is asked of one";
  if (!options.traceFile.empty() && (options.isJson || !options.profileFile.empty()))
    return "--trace is joined with the prediction of what weft-compile makes, as a table: leave "
           "--json and --profile out";
  if (!options.program.explainNodes.empty() && (options.isJson || !options.profileFile.empty()))
    return "--why explains what weft-compile makes, as lines: leave --json and --profile out";
  for (auto [flag, file] : {std::pair<const char *, const std::string &>("-o", options.output),
                            {"--report", options.program.report}})
    if (file == "-")
      return std::string(flag) + " - and the answer would both write to the screen; give " + flag +
             " a file";
  bool chooses = options.layout.empty();
  if (chooses && !(options.profileFile.empty() && options.traceFile.empty()))
    return "--profile and --trace go with --evaluate, which says of which layout";
  for (const GivenFlag &given : options.program.given)
    if (!chooses && llvm::is_contained(kOfChoice, given.flag))
      return given.flag + " is for choosing, and --evaluate says the layout; leave one out";
  if (!chooses)
    if (std::string wrong = checkStages(options.program); !wrong.empty())
      return wrong;
  Options asked = options.program;
  // Any mesh that may be chosen.
  if (chooses)
    asked.compile.phases.mesh = *Mesh::parse("dp=2");
  return checkProgram(asked);
}

} // namespace

llvm::Expected<PlanOptions>
weft::driver::parsePlanOptions(const std::vector<std::string> &arguments) {
  PlanOptions options;
  FlagTable flags = tableFor(options);
  if (std::string wrong = flags.parse(arguments); !wrong.empty())
    return llvm::createStringError(wrong);
  if (flags.answers()) {
    options.answer = flags.answer();
    return options;
  }
  if (!options.program.planFile.empty()) {
    auto wrongIn = [](const std::string &flag) {
      PlanOptions own;
      return tableFor(own).parse({flag});
    };
    auto merged =
        withPlan(arguments, options.program.planFile, flags.given(), "--evaluate", "none", wrongIn);
    if (!merged)
      return merged.takeError();
    llvm::Expected<PlanOptions> all = parsePlanOptions(*merged);
    if (all)
      all->program.planFile = options.program.planFile;
    return all;
  }
  for (const FlagTable::Given &given : flags.given())
    options.program.given.push_back({given.name, given.value, given.alone});
  if (std::string wrong = check(options); !wrong.empty())
    return llvm::createStringError(wrong);
  if (llvm::Error wrong = readFiles(options.program))
    return wrong;
  if (!options.profileFile.empty())
    if (llvm::Error wrong = readProfile(options.profileFile, options.profile))
      return wrong;
  if (!options.traceFile.empty())
    if (llvm::Error wrong = readTrace(options.traceFile, options.trace))
      return wrong;
  // The program knows its layout by the name that weft-compile has for it.
  static const char *const kOwn[] = {"--evaluate", "--profile",   "--json", "-v",
                                     "--verbose",  "--calibrate", "--comm", "--trace",
                                     "--report",   "--why",       "-q"};
  llvm::erase_if(options.program.given, [](const GivenFlag &given) {
    return llvm::is_contained(kOwn, given.flag) || llvm::is_contained(kOfChoice, given.flag);
  });
  if (!options.program.compile.phases.mesh.axes.empty())
    options.program.given.push_back({"--mesh", options.layout, false});
  return options;
}
