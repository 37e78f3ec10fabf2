// The flags of weft-compile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Driver/Options.h"
#include "TextFile.h"
#include "passes/dist/stages/OpCosts.h"
#include "passes/dist/stages/StageChoice.h"
#include "passes/dist/stages/StageSchedule.h"
#include "weft/Cost/Cluster.h"
#include "weft/Pipeline/Check.h"
#include "weft/Pipeline/Generate.h"
#include "weft/Planner/Plan.h"
#include "weft/Sharding/Mesh.h"
#include "weft/Support/Nearest.h"
#include "weft/Target/Target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Regex.h"

using namespace weft;
using namespace weft::driver;
using runtime::FlagTable;

namespace {

constexpr const char *kIntro = R"(usage: weft-compile MODEL.onnx -o OUT [options]

Compiles a model into one executable that runs it on one or many processes.

  weft-compile model.onnx -o model --bind batch=8,seq=128
  weft-run model --input input_ids=ids.npy --output-dir out

Split over four processes: the batch over dp, weights over tp by least
communication. Look first, with --explain and --dry-run:

  weft-compile model.onnx -o model --bind batch=8 --mesh dp=2,tp=2 --explain --dry-run
  weft-run -n 4 model --input x=x.npy
)";

constexpr const char *kEnd =
    "Exit codes: 0 ok, 1 wrong input, 2 wrong command line, 5 does not fit, 70 our bug.\n";

constexpr int64_t kMostThreads = runtime::kMaxThreadsPerRank, kMostOptimization = 3;

std::optional<int64_t> parseBytes(llvm::StringRef text) {
  int64_t factor = 1;
  for (auto [suffix, value] : {std::pair<llvm::StringRef, int64_t>{"KiB", 1ll << 10},
                               {"MiB", 1ll << 20},
                               {"GiB", 1ll << 30},
                               {"TiB", 1ll << 40},
                               {"kB", 1000},
                               {"MB", 1000000},
                               {"GB", 1000000000},
                               {"B", 1}})
    if (text.ends_with(suffix)) {
      text = text.drop_back(suffix.size());
      factor = value;
      break;
    }
  double number;
  if (text.getAsDouble(number) ||
      !(number * double(factor) >= 1 && number * double(factor) <= 9e18)) // nor NaN
    return std::nullopt;
  return int64_t(number * double(factor));
}

/// A size; `zero`: what 0 means, if it means something.
FlagTable::Take takeBytes(int64_t &target, std::string example, std::string zero = "") {
  return [&target, example, zero](const std::string &text) -> std::string {
    std::optional<int64_t> bytes =
        text == "0" && !zero.empty() ? std::optional<int64_t>(0) : parseBytes(text);
    if (!bytes)
      return "'" + text + "' is no size; write " + example + zero;
    target = *bytes;
    return "";
  };
}

/// Axes joined by `+` or `,`, or none; an empty text is as if the flag were not given.
std::string takeAxes(const std::string &text, std::optional<std::vector<std::string>> &target) {
  target.reset();
  if (text.empty())
    return "";
  target.emplace();
  if (text == "none")
    return "";
  for (llvm::StringRef part : llvm::split(text, '+'))
    for (llvm::StringRef axis : llvm::split(part, ',')) {
      if (axis.empty())
        return "wants AXIS+... or none, not '" + text + "', of which an axis has no name";
      target->push_back(axis.str());
    }
  return "";
}

std::string takePrecision(const std::string &text, Precision &target) {
  if (text == "tf32")
    return "tf32 is not supported; choose fp32, bf16, fp16 or fp64";
  return takePrecisionAmong(text, target);
}

/// The value of that number among the names.
template <typename T> FlagTable::Take takeNumbered(T &target, std::vector<std::string> names) {
  return [&target, names](const std::string &text) -> std::string {
    auto found = llvm::find(names, text);
    if (found == names.end())
      return FlagTable::notAmong(text, names);
    target = T(found - names.begin());
    return "";
  };
}

std::vector<std::string> phaseNames() {
  std::vector<std::string> names;
  for (unsigned i = 0; i < kNumPhases; ++i)
    names.push_back(phaseName(Phase(i)).str());
  return names;
}

std::string takeCluster(const std::string &fileOrName, Options &options) {
  std::string error;
  std::optional<std::string> text = textOfCluster(fileOrName, error);
  if (!text)
    return error + didYouMean(fileOrName, namesOfClusters());
  std::string named = fileOfCluster(fileOrName);
  options.clusterFile = llvm::sys::fs::exists(fileOrName) ? fileOrName : named;
  options.cluster = std::move(*text);
  return "";
}

std::string takeTarget(const std::string &text, std::string &target) {
  target = text;
  if (lookupTarget(text))
    return "";
  std::string all = targetNames();
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(all).split(parts, ", ");
  std::vector<std::string> names(parts.begin(), parts.end());
  return "'" + text + "' is not one of: " + all + didYouMean(text, names);
}

std::string takePhase(const std::string &text, Phase &target) {
  if (auto phase = parsePhase(text)) {
    target = *phase;
    return "";
  }
  return "'" + text + "' is no phase; it " + FlagTable::notAmong(text, phaseNames());
}

std::string takeExplain(const std::string &text, Options &options) {
  options.explain = text == "json" ? Explain::Json : text == "full" ? Explain::Full : Explain::Text;
  options.explainNodes = options.explain == Explain::Text ? text : "";
  std::string why;
  if (llvm::Regex(options.explainNodes).isValid(why) || options.explainNodes.empty())
    return "";
  return "takes json, full or a regular expression for names of nodes; '" + text +
         "' is none: " + why;
}

std::vector<std::string> scheduleNames() {
  std::vector<std::string> names;
  for (const pipeline::Generator &generator : pipeline::generators())
    names.push_back(
        generator.name +
        std::string(generator.leastChunksPerRank == generator.mostChunksPerRank ? "" : ":V"));
  names.push_back(dist::kSearch.str());
  return names;
}

/// A schedule by its name, or the file that has its text.
std::string takeSchedule(const std::string &text, Options &options) {
  options.compile.phases.schedule.clear();
  options.scheduleFile.clear();
  llvm::StringRef file = text;
  if (file.consume_front("file:")) {
    options.scheduleFile = file.str();
    return "";
  }
  options.compile.phases.schedule = text;
  if (dist::requestOf(text) == dist::ScheduleRequest::Search ||
      pipeline::findGenerator(file.split(':').first.str()))
    return "";
  std::vector<std::string> names = scheduleNames();
  names.push_back("file:F");
  return FlagTable::notAmong(text, names);
}

std::string changeScheduleFile(const std::string &value, ChangeFile change) {
  llvm::StringRef file = value;
  return file.consume_front("file:") ? "file:" + change(file.str()) : value;
}

/// Of --bind.
std::string changeConstants(const std::string &value, ChangeFile change) {
  onnx::Bindings bindings;
  if (!bindings.add(value).empty() || bindings.files.empty())
    return value;
  for (auto &[input, file] : bindings.files)
    file = change(file);
  return bindings.text();
}

std::string changeWhole(const std::string &value, ChangeFile change) { return change(value); }

/// Whether a schedule is one for so many stages and microbatches is asked when there are stages.
llvm::Error readSchedule(const std::string &file, std::string &target) {
  llvm::Expected<std::string> text = readText("--schedule", file, pipeline::kMostText);
  if (!text)
    return text.takeError();
  target = std::move(*text);
  std::string why;
  return pipeline::readChecked(target, why) ? llvm::Error::success()
                                            : fileError("--schedule", file, why);
}

llvm::Error readStageCosts(const std::string &file, std::string &target) {
  llvm::Expected<std::string> text = readText("--stage-costs", file);
  if (!text)
    return text.takeError();
  target = std::move(*text);
  llvm::Expected<dist::StageCosts> costs = dist::StageCosts::read(target);
  return costs ? llvm::Error::success()
               : fileError("--stage-costs", file, llvm::toString(costs.takeError()));
}

void addBinding(FlagTable &flags, ActsTable &acts, Options &options) {
  flags.topic("bind", "What the model leaves open");
  auto add = [&options](const std::string &text) {
    return options.compile.phases.bindings.add(text);
  };
  acts.atOfFiles(
      Phase::Graph, changeConstants,
      flags.value("--bind", "NAME=N,...",
                  "extents of symbolic dims; INPUT=@FILE.npy makes an input a constant; INPUT[0]=N "
                  "binds a nameless dim",
                  add));
}

void addMesh(FlagTable &flags, ActsTable &acts, Options &options) {
  acts.at(Phase::Sharded,
          flags.value(
              "--mesh", "AXIS=N,...",
              "the processes as a grid: dp=2,tp=2; dp=4x2 has two sub-axes, dp.0 and dp.1; rank = "
              "row-major index. Over dp the batch is split, over any other axis weights, by least "
              "communication. none: one process, whatever the model's device configuration is",
              [&options](const std::string &text) -> std::string {
                options.isOneProcess = text == "none";
                return takeMesh(text, options.compile.phases.mesh);
              }));
}

void addSplitting(FlagTable &flags, ActsTable &acts, Options &options) {
  acts.at(
      Phase::Sharded,
      flags.value("--batch-axes", "AXIS+...",
                  "the batch over these axes instead of dp; none: over no axis. An axis over which "
                  "--place splits the "
                  "batch of an input is one, too",
                  [&options](const std::string &text) {
                    return takeAxes(text, options.compile.phases.batchAxes);
                  }));
  acts.at(Phase::Sharded,
          flags.count("--microbatches", "N",
                      "take the batch in N parts, one after the other: memory for the activations "
                      "of one; gradients are added up, rows of results put in place",
                      options.compile.phases.microbatches, 1, 1 << 30));
  acts.atOfFiles(
      Phase::Local, changeScheduleFile,
      flags.value(
          "--schedule", "NAME|file:F",
          "in which order the stages of a pipeline (pp) run microbatches: 1f1b, gpipe, zb-h1, "
          "zb-h2; "
          "with two chunks of the model on each stage zb-v, dualpipev, with V interleaved:V; "
          "search: an order that is found for the model's own times; or "
          "what weft-schedule has written to a file; default: the one of the shortest step by "
          "modelled times that fits into memory",
          [&options](const std::string &text) { return takeSchedule(text, options); },
          scheduleNames()));
  acts.at(
      Phase::Staged,
      flags.value("--stages", "REGEX;..|blocks:N,..",
                  "where the model is cut for a pipeline (pp): the first node of each chunk but "
                  "the first, or how many of its equal blocks each has, as blocks:5,7,7,5; "
                  "default: chunks of about equal time",
                  [&options](const std::string &text) {
                    options.compile.phases.stages = text;
                    return llvm::toString(dist::checkStages(text));
                  }));
  acts.atOfFiles(
      Phase::Staged, changeWhole,
      flags.text("--stage-costs", "FILE",
                 "how long nodes take, for the cut into stages (pp) and the choice of a "
                 "schedule: lines 'REGEX F=SECONDS [B=SECONDS] [W=SECONDS]' of all nodes that "
                 "match, below 'weft stage costs 1'; default: the model of costs",
                 options.stageCostsFile));
  acts.at(Phase::Sharded,
          flags.toggle(
              "--allow-idle-axes",
              "let processes repeat the work of others where an axis splits nothing, which else "
              "is an error",
              options.compile.phases.allowIdleAxes));
  acts.at(Phase::Sharded,
          flags.value(
              "--place|--pin", "REGEX=dimN:AXIS,..",
              "how to split values whose name matches: weights, inputs, outputs and nodes, as "
              "Netron or --explain names them; - is whole; of two rules for one value the first "
              "counts. The planner obeys it on the axes dp and tp. Device configurations in the "
              "model (ONNX IR 11) count where no rule does, and their mesh where there is no "
              "--mesh; --mesh dp=1 ignores them",
              [&options](const std::string &text) {
                return llvm::toString(dist::appendRules(text, options.compile.phases.place));
              }));
  acts.at(Phase::Sharded,
          flags.value(
              "--sequence-parallel", "on|off",
              "also split norms and residuals over weight axes; less memory, the same bytes moved",
              [&options](const std::string &text) -> std::string {
                options.compile.phases.sequenceParallel = text == "on";
                bool known = text == "on" || text == "off";
                return known ? "" : FlagTable::notAmong(text, {"on", "off"});
              },
              {"on", "off"}));
  acts.ofTheRun(flags.value(
      "--cluster", "FILE",
      "devices and links to plan for: a file, or a name such as h100 (docs/cluster.md); "
      "default: 16 cores and 8 GiB/s a process",
      [&options](const std::string &file) { return takeCluster(file, options); }));
}

void addComputing(FlagTable &flags, ActsTable &acts, Options &options) {
  flags.topic("compute", "How to compute");
  acts.between(Phase::Graph, Phase::Graph, Phase::Step,
               flags.value("--precision", "fp32|bf16|fp16|fp64",
                           "of what the model computes in fp32 (default fp32)",
                           [&options](const std::string &text) {
                             return takePrecision(text, options.compile.phases.precision);
                           },
                           {"fp32", "bf16", "fp16", "fp64"}));
  acts.at(Phase::Graph,
          flags.value("--attention", "whole|decomposed",
                      "whole (default on CPUs): a library's or one kernel; decomposed: the model's "
                      "products and softmax, with scores in memory; default on GPUs: whole where "
                      "cuDNN does it (bf16 and fp16, heads of up to 128 and a multiple of 8, no "
                      "mask but a causal one), else decomposed",
                      takeNumbered(options.compile.phases.raiseAttention, {"decomposed", "whole"}),
                      {"whole", "decomposed"}));
  acts.at(Phase::Executable, flags.count("--threads-per-rank", "N", "default: cores / local ranks",
                                         options.compile.threadsPerRank, 1, kMostThreads));
  acts.at(Phase::Local, flags.value("--bucket-size", "SIZE",
                                    "collectives that can wait for each other share messages up to "
                                    "this size: 25MiB; 0: none do",
                                    takeBytes(options.compile.phases.bucketBytes, "25MiB",
                                              ", or 0 for no buckets")));
  // In the order of their enumerators.
  std::vector<std::string> routines{"auto", "called", "inlined", "unrolled"};
  acts.at(Phase::Local,
          flags.value(
              "--routines", "auto|called|inlined|unrolled",
              "what becomes of microbatches and layers that repeat: called, their commands are "
              "there once; unrolled, they are written out, for many of them far more and "
              "compiled slower, but no kernel is cut at a border, and updates of several layers "
              "share launches; auto (default), called if there are several microbatches; "
              "inlined, cut so and written out, to compare",
              takeNumbered(options.compile.phases.routines, routines), routines));
  acts.between(Phase::Graph, Phase::Graph, Phase::Executable,
               flags.value("--target", "NAME",
                           "what it runs on: cpu (default); cuda:CHIP (sm_80, sm_90, sm_90a, "
                           "sm_100, sm_120; cuda is sm_90), one GPU a rank; or cuda:host, CUDA's "
                           "kernels executed by this processor, slowly, with every access checked",
                           [&options](const std::string &text) {
                             return takeTarget(text, options.compile.phases.target);
                           }));
  acts.at(Phase::Executable,
          flags.text("--processor", "NAME", "as LLVM names it (default native: this machine's)",
                     options.compile.kernels.processor));
  acts.at(Phase::Executable,
          flags.count("-O|--opt-level", "N", "how hard LLVM tries, 0 to 3 (default 3)",
                      options.compile.kernels.optLevel, 0, kMostOptimization));
  acts.at(Phase::Executable,
          flags.toggle("--deterministic",
                       "the same bits in every run: on a CPU always so; of GPUs sums are added in "
                       "the order of ranks, NCCL only moves, and attention that is trained is "
                       "decomposed",
                       options.deterministic));
}

void addSeeing(FlagTable &flags, ActsTable &acts, Options &options) {
  flags.topic("see", "What to see");
  acts.ofTheRun(flags.optional(
      "--explain", "full|json|REGEX",
      "what moves over which axes, how much and why, and what memory holds; repeated layers are "
      "one line. "
      "full: every node; REGEX: nodes of such names; json: one document (docs/explain.md)",
      [&options](const std::string &text) { return takeExplain(text, options); },
      {"full", "json"}));
  acts.ofTheRun(flags.text("--report", "FILE.html",
                           "the same as a page with pictures, for any browser", options.report));
  acts.ofTheRun(flags.text("--dump-schedule", "FILE",
                           "write the schedule of a pipeline, as --schedule file:FILE reads it",
                           options.dumpSchedule));
  acts.ofTheRun(flags.text("--plot-schedule", "FILE.svg",
                           "draw it by modelled times: who does what when, and how many "
                           "microbatches each stage has under way",
                           options.plotSchedule));
  acts.ofTheRun(flags.toggle(
      "--dry-run", "plan, tell memory and communication, but generate no code and write no OUT",
      options.dryRun));
  acts.ofTheRun(flags.value(
      "--compile-to", "PHASE",
      "print the program at a phase instead: import, graph, step, sharded, staged, local, "
      "scheduled, "
      "executable; weft-compile FILE.mlir -o OUT goes on from there, with the flags that "
      "the text lists",
      [&options](const std::string &text) { return takePhase(text, options.until); },
      phaseNames()));
  acts.ofTheRun(flags.text("--dump-phases", "DIR", "write every phase into numbered files",
                           options.dumpDirectory));
  acts.ofTheRun(flags.text(
      "--write-devices", "FILE.onnx",
      "write the model with the placements found, and the stages of a pipeline, as its device "
      "configuration: edit it, or compile it elsewhere without --mesh, --place and --stages",
      options.writeDevices));
  acts.ofTheRun(flags.toggle("--timing", "time of every pass", options.timing));
  acts.ofTheRun(flags.toggle("-v|--verbose",
                             "what passes decided, and the operation behind each message",
                             options.verbose));
  acts.ofTheRun(flags.toggle("-q|--quiet", "only results, warnings and errors", options.quiet));
}

void addFiles(FlagTable &flags, ActsTable &acts, Options &options) {
  flags.topic("files", "Limits and files");
  acts.ofTheRun(flags.text("-o|--output", "OUT",
                           "the executable (default a.out); - with --compile-to: the screen",
                           options.output));
  acts.at(
      Phase::Executable,
      flags.value("--memory-limit", "SIZE",
                  "fail (exit code 5) if a process needs more: 80GiB; default: what a device of "
                  "--cluster has, if that is given",
                  takeBytes(options.compile.memoryLimit, "80GiB or 512MiB")));
  acts.ofTheRun(flags.toggle(
      "--copy-weights", "put the weights beside OUT instead of referring to them where they are",
      options.copyWeights));
  acts.at(
      Phase::Graph,
      flags.toggle("--keep-weights",
                   "fold no weight into the code, however small, so that OUT can take those of a "
                   "checkpoint: weft-run OUT "
                   "--resume DIR. Programs of --train always can",
                   options.compile.phases.keepWeights));
  acts.ofTheRun(flags.text("--linker", "PROGRAM", "default: c++, g++ or clang++", options.linker));
  acts.ofTheRun(
      flags.text("--runtime-dir", "DIR", "where libweft_runtime.a is", options.runtimeDirectory));
}

void addPlanning(FlagTable &flags, ActsTable &acts, Options &options) {
  flags.topic("plan", "Who decides that");
  acts.ofTheRun(flags.text("--plan", "FILE",
                           "split as a plan says that weft-plan has written or you have; what it "
                           "does not say is as the flags say, and both must not contradict "
                           "(docs/plan.md)",
                           options.planFile));
  acts.ofTheRun(flags.toggle("--auto",
                             "let the planner choose the mesh and how it is used, for the fastest "
                             "step on --cluster that fits: what weft-plan answers",
                             options.isAuto));
  addQuestionFlags(flags, acts, options.question);
}

FlagTable tableFor(Options &options, ActsTable &acts) {
  FlagTable flags("weft-compile", kIntro);
  addBinding(flags, acts, options);
  flags.topic("split", "How to split");
  addMesh(flags, acts, options);
  addSplitting(flags, acts, options);
  addPlanning(flags, acts, options);
  addComputing(flags, acts, options);
  addTrainingFlags(flags, acts, options);
  addSeeing(flags, acts, options);
  addFiles(flags, acts, options);
  flags.epilogue(kEnd);
  flags.positional([&options](const std::string &word) -> std::string {
    if (!options.model.empty())
      return "two models given: '" + options.model + "' and '" + word + "'";
    options.model = word;
    return "";
  });
  return flags;
}

} // namespace

void weft::driver::addProgramFlags(FlagTable &flags, ActsTable &acts, Options &options) {
  addBinding(flags, acts, options);
  flags.topic("split", "How to split");
  addSplitting(flags, acts, options);
  addComputing(flags, acts, options);
  addTrainingFlags(flags, acts, options);
}

std::string weft::driver::takeMesh(const std::string &text, Mesh &target) {
  std::string why;
  std::optional<Mesh> mesh = text == "none" ? Mesh() : Mesh::parse(text, &why);
  if (!mesh)
    return "'" + text + "': " + why;
  target = std::move(*mesh);
  bool isWrong = target.axes.empty() && text != "none";
  return isWrong ? "wants AXIS=N,..., such as dp=2,tp=2, not '" + text + "'" : "";
}

llvm::Error weft::driver::readFiles(Options &options, Phase reached) {
  auto isWanted = [&](const std::string &file, llvm::StringRef flag) {
    return !file.empty() && flagActs().of(flag).last > reached;
  };
  if (std::string wrong; !options.cluster.empty() && !readCluster(options.cluster, wrong))
    return fileError("--cluster", options.clusterFile, wrong);
  PhaseOptions &phases = options.compile.phases;
  if (isWanted(options.scheduleFile, "--schedule"))
    if (llvm::Error wrong = readSchedule(options.scheduleFile, phases.schedule))
      return wrong;
  if (isWanted(options.stageCostsFile, "--stage-costs"))
    return readStageCosts(options.stageCostsFile, phases.stageCosts);
  return llvm::Error::success();
}

llvm::Expected<Options> weft::driver::parseOptions(const std::vector<std::string> &arguments,
                                                   std::optional<Phase> resumes) {
  Options options;
  ActsTable acts;
  FlagTable flags = tableFor(options, acts);
  if (std::string wrong = flags.parse(arguments); !wrong.empty())
    return llvm::createStringError(wrong);
  for (const FlagTable::Given &given : flags.given())
    // Of a model none is as if nothing was said.
    if (given.name != "--mesh" || !options.isOneProcess || !isModelFile(options.model))
      options.given.push_back({given.name, given.value, given.alone});
  if (flags.answers()) {
    options.answer = flags.answer();
    return options;
  }
  if (!options.planFile.empty()) {
    auto wrongIn = [](const std::string &flag) {
      Options own;
      ActsTable ownActs;
      return tableFor(own, ownActs).parse({flag});
    };
    auto merged = withPlan(arguments, options.planFile, flags.given(), "--mesh", "none", wrongIn);
    if (!merged)
      return merged.takeError();
    llvm::Expected<Options> all = parseOptions(*merged, resumes);
    if (all)
      all->planFile = options.planFile;
    return all;
  }
  if (std::string wrong = checkOptions(options, resumes.has_value()); !wrong.empty())
    return llvm::createStringError(wrong);
  if (llvm::Error wrong = readFiles(options, resumes.value_or(Phase::Import)))
    return wrong;
  return options;
}

llvm::Expected<PhaseOptions>
weft::driver::parsePhaseOptions(const std::vector<std::string> &arguments) {
  Options options;
  ActsTable acts;
  FlagTable flags = tableFor(options, acts);
  std::string error = flags.parse(arguments);
  if (error.empty() && (flags.answers() || !options.model.empty()))
    error = "only flags that say what is made";
  for (const FlagTable::Given &given : flags.given())
    if (Acts flag = acts.of(given.name);
        error.empty() && (flag.ofTheRun || flag.presence == Phase::Executable))
      error = given.name + " is no matter of passes";
  if (error.empty())
    error = checkProgram(options);
  if (error.empty() && options.compile.phases.recompute == Recompute::Auto)
    error = "--recompute auto needs trials, which passes cannot make; choose selective or full";
  if (!error.empty())
    return llvm::createStringError(error);
  if (llvm::Error wrong = readFiles(options))
    return wrong;
  return std::move(options.compile.phases);
}

std::string weft::driver::helpText() {
  Options options;
  ActsTable acts;
  return tableFor(options, acts).help();
}

const ActsTable &weft::driver::flagActs() {
  static const ActsTable table = [] {
    Options options;
    ActsTable acts;
    tableFor(options, acts);
    return acts;
  }();
  return table;
}
