// The phases of weft-compile, one after the other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Driver/Driver.h"
#include "weft/Driver/Resume.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/onnx/IR/Onnx.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/dist/DeviceSpecs.h"
#include "passes/onnx/OnnxToNn.h"
#include "passes/pipelines/Phases.h"
#include "passes/rt/Passes.h"
#include "python_free_frontend/importer/Importer.h"
#include "weft/Emit/Emit.h"
#include "weft/Emit/Memory.h"
#include "weft/Explain/Explain.h"
#include "weft/Registration/Registration.h"
#include "weft/Support/Diagnostics.h"
#include "weft/Target/Cpu/KernelCompiler.h"
#include "weft/Target/Cpu/Processor.h"
#include "weft/runtime/Terminal.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

#include <chrono>
#include <csignal>
#include <optional>

using namespace mlir;
using namespace weft;
using namespace weft::driver;

namespace {

using Clock = std::chrono::steady_clock;

class Compilation {
public:
  Compilation(const Options &given, const std::vector<std::string> &arguments,
              const std::string &program)
      : options(given), arguments(arguments), program(program), context(registry()),
        diagnostics(&context) {
    // A message names the node; the whole program behind it would hide it.
    context.printOpOnDiagnostic(options.verbose);
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      errors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
      runtime::Progress::hide();
      // Remarks are what passes decided; --explain tells it in order.
      bool isRemark = diagnostic.getSeverity() == DiagnosticSeverity::Remark;
      return success(isRemark && !this->options.verbose);
    });
    if (options.verbose) {
      const std::string every = ".*";
      // Without a streamer remarks become diagnostics; that cannot fail.
      (void)remark::enableOptimizationRemarks(
          context, nullptr, std::make_unique<remark::RemarkEmittingPolicyAll>(),
          remark::RemarkCategories{every, every, every, every, every},
          /*printAsEmitRemarks=*/true);
    }
  }

  int run() {
    std::string error;
    if (!cpu::checkProcessor(options.processor, error))
      return tell("--processor: " + error, Usage);
    if (int code = checkPlaces())
      return code;
    ExitCode files = checkOutputs(options, inputFiles(options), error);
    if (files == Ok && makesExecutable(options) && !emit::checkLinker(linkOptions(), error))
      files = UserError;
    if (files != Ok)
      return tell(error, files);
    progress.emplace(!options.quiet, "phase 'import'");
    int code = import();
    progress.reset();
    if (code)
      return code;
    removeLaterDumps();
    if (int code = settleMesh())
      return code;
    setPhaseOptions();
    document.model = llvm::sys::path::filename(modelPath).str();
    document.sequenceParallel = phaseOptions.sequenceParallel;
    recordCommandLine(*module, modelPath, options);
    if (int code = startPhase == Phase::Import ? finish(startPhase, begin) : checkResumed())
      return code;
    for (unsigned i = unsigned(startPhase) + 1; i < kNumPhases; ++i) {
      Phase phase = Phase(i);
      if (unsigned(options.until) < i)
        return print(Phase(i - 1));
      if (phase == Phase::Step && phaseOptions.recompute == "auto")
        if (int code = chooseRecompute())
          return code;
      progress.emplace(!options.quiet && !options.timing, "phase '" + phaseName(phase).str() + "'");
      int code =
          phase == Phase::Local ? runLocal()
          : phase == Phase::Executable
              ? emit()
              : runPasses(phase, [&](OpPassManager &pm) { buildPhase(pm, phase, phaseOptions); });
      progress.reset();
      if (code)
        return code;
      if (phase == Phase::Sharded && !options.writeDevices.empty() &&
          !writeDevices(*model, *module, modelPath, options.writeDevices, error))
        return tell(error, UserError);
      (*module)->removeAttr(dist::kRecordedAttr);
      if (phase == Phase::Scheduled)
        if (int fits = checkMemory())
          return fits;
    }
    return options.until < Phase::Executable ? print(options.until) : int(Ok);
  }

private:
  static DialectRegistry registry() {
    DialectRegistry result;
    registerAllDialects(result);
    cpu::registerKernelDialects(result);
    return result;
  }

  /// What would fail after a long compilation for a reason that is known now.
  int checkPlaces() {
    StringRef dumps = options.dumpDirectory;
    if (!dumps.empty() && llvm::sys::fs::exists(dumps) && !llvm::sys::fs::is_directory(dumps))
      return tell("--dump-phases '" + dumps.str() + "' is a file, not a folder", UserError);
    if (llvm::sys::fs::is_directory(options.model))
      return tell("'" + options.model + "' is a folder, not a model" +
                      (llvm::sys::fs::exists(options.model + "/latest") ||
                               llvm::sys::fs::exists(options.model + "/manifest.json")
                           ? "; weft-translate --export-onnx MODEL.onnx --weights " +
                                 options.model +
                                 " -o OUT.onnx puts the weights of a checkpoint into a model"
                           : ""),
                  UserError);
    return Ok;
  }

  int import() {
    begin = Clock::now();
    if (isModelFile(options.model)) {
      onnx::ImportOptions importOptions;
      // Looking and planning need no weights.
      importOptions.allowMissingData = options.dryRun || options.until != Phase::Executable;
      module = onnx::importModel(options.model, &context, importOptions);
    } else {
      module = parseSourceFile<ModuleOp>(options.model, &context);
      if (module && mlir::failed(checkSizes(*module)))
        return failure(UserError);
      if (!module && !StringRef(options.model).ends_with(".mlir"))
        return tell(
            "'" + options.model +
                "' is neither a model (.onnx) nor a program as --compile-to prints it (.mlir)",
            UserError);
    }
    if (!module)
      return failure(UserError);
    if (int code = isModelFile(options.model) ? int(Ok) : resume())
      return code;
    modelPath = modelPathOf(*module, options.model);
    std::string error;
    std::vector<std::string> data = dataFiles(*module);
    data.push_back(modelPath);
    if (ExitCode code = checkOutputs(options, data, error))
      return tell(error, code);
    bool isModel = onnx::getMainGraph(*module) != nullptr;
    if (isModel && options.training.train && options.training.usesOwnStep() &&
        !onnx::hasOwnStep(*module))
      return tell("--train needs --loss and --optimizer: the model has no training step of its own "
                  "(TrainingInfo)",
                  UserError);
    (*module)->setAttr(kPhaseAttr, StringAttr::get(&context, phaseName(startPhase)));
    return Ok;
  }

  /// A program in text form says itself where it stands and how it was compiled.
  int resume() {
    bool isModel = onnx::getMainGraph(*module) != nullptr;
    std::optional<Phase> at = phaseOf(*module);
    if (!at && (!isModel || (*module)->hasAttr(kPhaseAttr)))
      return tell(
          "'" + options.model +
              "' does not say at which phase its program is; write it at the module: module "
              "attributes {weft.phase = \"graph\"}, or step, sharded, staged, local, scheduled",
          UserError);
    startPhase = at.value_or(Phase::Import);
    if (startPhase == Phase::Executable)
      return tell("'" + options.model + "': 'executable' is no phase of a text", UserError);
    std::string error;
    if (!resumeOptions(*module, startPhase, arguments, options, error))
      return tell(error, Usage);
    return Ok;
  }

  /// What a person may have edited is checked before it goes on; `local` begins with the
  /// check of placements.
  int checkResumed() {
    if (startPhase == Phase::Local)
      explain::collectPlacement(*module, document);
    if (startPhase != Phase::Scheduled)
      return Ok;
    if (failed(pipeline([](OpPassManager &pm) { pm.addPass(rt::createRtVerifyCommands()); })))
      return failure(UserError);
    return checkMemory();
  }

  /// Without --mesh a model that has device configurations is asked for its own.
  int settleMesh() {
    mesh = options.mesh;
    if (mesh.empty())
      if (auto configured = dist::configuredMesh(*module)) {
        mesh = configured->mesh;
        options.given.push_back({"--mesh", mesh});
        if (!options.quiet)
          llvm::errs() << "mesh " << mesh << " from the model's device configuration '"
                       << configured->configuration << "'\n";
      }
    if (mesh.empty() && !options.place.empty())
      return tell("--place needs --mesh: it splits over its axes", Usage);
    if (options.writeDevices.empty())
      return Ok;
    if (mesh.empty())
      return tell("--write-devices needs --mesh: without one there are no placements", Usage);
    if (!onnx::getModel(*module))
      return tell("--write-devices needs a model as in the file, not a program of a later phase",
                  UserError);
    model = module->clone();
    return Ok;
  }

  void setPhaseOptions() {
    phaseOptions.bind = options.bind;
    phaseOptions.mesh = mesh;
    phaseOptions.recordPlacements = !options.writeDevices.empty();
    phaseOptions.place = options.place;
    phaseOptions.batchAxes = options.batchAxes;
    phaseOptions.allowIdleAxes = options.allowIdleAxes;
    phaseOptions.sequenceParallel = options.sequenceParallel == "on";
    phaseOptions.precision = options.precision;
    const TrainingFlags &training = options.training;
    phaseOptions.train = training.train;
    phaseOptions.keepWeights = options.keepWeights;
    phaseOptions.loss = training.loss;
    phaseOptions.optimizer = training.optimizer;
    phaseOptions.paramGroups = training.paramGroups;
    phaseOptions.freeze = training.freeze;
    if (!training.gradDtype.empty())
      phaseOptions.gradDtype = training.gradDtype;
    if (!training.recompute.empty())
      phaseOptions.recompute = training.recompute;
    if (!training.zero.empty())
      phaseOptions.zero = training.zero;
    phaseOptions.seed = training.seed;
    phaseOptions.microbatches = training.microbatches;
    if (!training.batchStats.empty())
      phaseOptions.batchStats = training.batchStats;
    phaseOptions.memoryLimit = options.memoryLimit;
    phaseOptions.bucketBytes = options.bucketBytes;
  }

  /// Without an error nobody was told what is wrong: that is our fault.
  int failure(ExitCode code) {
    if (errors > 0)
      return code;
    llvm::errs() << "weft-compile: internal error: compilation failed without a message; please "
                    "report it with the "
                    "command line and the model\n";
    return OurBug;
  }

  LogicalResult pipeline(llvm::function_ref<void(OpPassManager &)> build) {
    PassManager pm(&context);
    if (options.timing)
      pm.enableTiming();
    build(pm);
    return pm.run(*module);
  }

  /// Up to `staged` a failure is the input's; later the compiler's own rules broke, unless a
  /// person may have edited the program.
  ExitCode blame(Phase phase) const {
    return phase <= Phase::Staged || startPhase > Phase::Import ? UserError : OurBug;
  }

  int runPasses(Phase phase, llvm::function_ref<void(OpPassManager &)> build) {
    auto start = Clock::now();
    if (failed(pipeline(build)))
      return failure(blame(phase));
    return finish(phase, start);
  }

  bool explains() const { return options.explain != Explain::No || !options.report.empty(); }

  /// Collectives are found on the way to `local`, here on that of a copy.
  int explainCopy() {
    OwningOpRef<ModuleOp> kept(module->clone());
    std::swap(module, kept);
    LogicalResult ran = pipeline([&](OpPassManager &pm) { buildPartition(pm, phaseOptions); });
    if (succeeded(ran))
      explain::collectPlacement(*module, document);
    std::swap(module, kept);
    return succeeded(ran) ? showPlan() : failure(blame(Phase::Local));
  }

  int runLocal() {
    auto start = Clock::now();
    if (failed(pipeline([&](OpPassManager &pm) { buildPartition(pm, phaseOptions); })))
      return failure(blame(Phase::Local));
    explain::collectPlacement(*module, document);
    // Later phases say more, if there are any.
    if (options.until == Phase::Local)
      if (int code = showPlan())
        return code;
    if (failed(pipeline([&](OpPassManager &pm) { buildOutline(pm, phaseOptions); })))
      return failure(blame(Phase::Local));
    return finish(Phase::Local, start);
  }

  /// Bytes of a process's arena with such recomputation, planned on a copy of
  /// `graph`: an estimate would not be exact.
  std::optional<int64_t> plannedBytes(ModuleOp graph, StringRef mode, double share) {
    phaseOptions.recompute = mode.str();
    phaseOptions.recomputeShare = share;
    module = graph.clone();
    LogicalResult ran = pipeline([&](OpPassManager &pm) {
      for (Phase phase :
           {Phase::Step, Phase::Sharded, Phase::Staged, Phase::Local, Phase::Scheduled})
        buildPhase(pm, phase, phaseOptions);
    });
    if (failed(ran))
      return std::nullopt;
    int64_t bytes = emit::memoryUse(*module).arenaBytes;
    if (!options.quiet)
      llvm::errs() << "recompute " << mode
                   << (mode == "best"
                           ? " " + std::to_string(int(share * 1000) / 10.0).substr(0, 4) + " %"
                           : "")
                   << ": " << bytes << " bytes a process\n";
    return bytes;
  }

  /// The least recomputation of which a process fits into the limit. Memory falls with
  /// the share that is recomputed, nearly as a line between none and all: two
  /// guesses come close, and no more than four plans are made.
  int chooseRecompute() {
    OwningOpRef<ModuleOp> graph(module->clone());
    const int64_t limit = options.memoryLimit;
    struct Point {
      double share;
      int64_t bytes;
    };
    Point above{0, 0}, below{1, 0};
    auto plan = [&](StringRef mode, double share) -> std::optional<bool> {
      std::optional<int64_t> bytes = plannedBytes(*graph, mode, share);
      if (!bytes)
        return std::nullopt;
      (*bytes <= limit ? below : above) = {share, *bytes};
      return *bytes <= limit;
    };
    auto settle = [&](StringRef mode, double share) {
      phaseOptions.recompute = mode.str();
      phaseOptions.recomputeShare = share;
      module = graph->clone();
      return Ok;
    };
    std::optional<bool> fits = plan("none", 0);
    if (!fits || *fits)
      return fits ? int(settle("none", 0)) : failure(UserError);
    // Where even that does not fit, it is what the message is about.
    fits = plan("full", 1);
    if (!fits || !*fits)
      return fits ? int(settle("full", 1)) : failure(UserError);
    for (int guess = 0; guess < 2; ++guess) {
      double slope = (below.share - above.share) / double(above.bytes - below.bytes);
      // A little more than the line says, as a plan that does not fit is lost.
      double share = above.share + (guess == 0 ? 1.02 : 1.03) * slope * double(above.bytes - limit);
      if (!(share > above.share && share < below.share))
        break;
      if (!plan("best", share))
        return failure(UserError);
    }
    return below.share < 1 ? settle("best", below.share) : settle("full", 1);
  }

  /// What --explain asks for, of what is known so far.
  void explainTo(llvm::raw_ostream &out) {
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

  int showPlan() {
    explainTo(llvm::outs());
    if (options.report.empty())
      return Ok;
    OutputFile file;
    std::string error;
    if (!file.open(options.report, error))
      return tell(error, UserError);
    explain::printHtml(document, file.os());
    return file.commit(error) ? Ok : tell(error, UserError);
  }

  int checkMemory() {
    explain::collectSchedule(*module, document);
    if (int code = showPlan())
      return code;
    if (options.dryRun && options.explain == Explain::No && !options.quiet)
      explain::printSummary(document, llvm::outs());
    int64_t bytes = document.memory.arena;
    if (options.memoryLimit == 0 || bytes <= options.memoryLimit)
      return Ok;
    bool isLeast = options.training.recompute == "auto" || options.training.recompute == "full";
    llvm::errs() << options.model << ": error: a process needs " << bytes << " bytes"
                 << (isLeast ? " with all blocks recomputed" : "") << ", more than the limit of "
                 << options.memoryLimit
                 << "; use more processes, another placement or a smaller batch\n";
    explain::printMemory(document.memory, llvm::errs());
    return DoesNotFit;
  }

  /// Ties the program to its weights: where they are, and the hashes of their
  /// bytes.
  bool settleSources(emit::BlobOptions &blob, std::string &error) {
    SmallString<256> model(modelPath);
    llvm::sys::fs::make_absolute(model);
    blob.modelName = llvm::sys::path::filename(model).str();
    blob.modelDirectory = llvm::sys::path::parent_path(model).str();
    emit::SourceFiles sources(blob.modelDirectory, blob.modelName);
    if (!emit::hashSources(*module, sources, blob.hashes, error))
      return false;
    SmallString<256> output(options.output);
    llvm::sys::fs::make_absolute(output);
    StringRef outputDirectory = llvm::sys::path::parent_path(output);
    if (options.copyWeights) {
      SmallString<256> path{StringRef(output), ".weights"};
      blob.bundle = llvm::sys::path::filename(path).str();
      blob.modelDirectory = outputDirectory.str();
      if (!copyWeights(*module, sources, blob.hashes, path.str().str(), bundle.emplace(), error))
        return false;
    }
    blob.modelDirectory = seenFrom(outputDirectory, blob.modelDirectory);
    return true;
  }

  int emit() {
    auto start = Clock::now();
    if (options.dryRun)
      return Ok; // memory and communication are known, code is not needed
    std::string error;
    emit::BlobOptions blob;
    if (!settleSources(blob, error))
      return tell(error, UserError);
    blob.commandLine = flagsText(*module);
    blob.threadsPerRank = options.threadsPerRank;
    blob.version = runtime::weftVersion();
    cpu::KernelOptions kernels;
    kernels.processor = options.processor;
    kernels.optLevel = options.optLevel;
    auto artifact = emit::emitArtifact(*module, kernels, blob);
    if (failed(artifact))
      return failure(blame(Phase::Executable));
    emit::LinkOptions link = linkOptions();
    OutputFile executable;
    if (!executable.open(options.output, error, /*isProgram=*/true) ||
        !emit::linkExecutable(*artifact, executable.os(), link, error))
      return tell(error, UserError);
    // The weights first: an executable never names those of another one.
    if ((bundle && !bundle->commit(error)) || !executable.commit(error))
      return tell(error, UserError);
    return finish(Phase::Executable, start);
  }

  int tell(const std::string &error, ExitCode code) {
    llvm::errs() << "weft-compile: " << runtime::errorWord() << error << '\n';
    return code;
  }

  emit::LinkOptions linkOptions() const { return {options.linker, runtimeDirectory()}; }

  /// Beside the build's or installation's `bin`.
  std::string runtimeDirectory() const {
    if (!options.runtimeDirectory.empty())
      return options.runtimeDirectory;
    static int anchor;
    SmallString<256> path(llvm::sys::fs::getMainExecutable(program.c_str(), &anchor));
    llvm::sys::path::remove_filename(path);
    llvm::sys::path::append(path, "..", "lib");
    return path.str().str();
  }

  int finish(Phase phase, Clock::time_point start) {
    double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    runtime::Progress::hide();
    if (!options.quiet)
      llvm::errs() << llvm::format("%-10s %8.3f s\n", phaseName(phase).str().c_str(), seconds);
    if (options.dumpDirectory.empty() || phase == Phase::Executable)
      return Ok;
    if (auto code = llvm::sys::fs::create_directories(options.dumpDirectory))
      return tell("cannot make folder '" + options.dumpDirectory + "': " + code.message(),
                  UserError);
    return printModule(dumpPath(phase));
  }

  std::string dumpPath(Phase phase) const {
    SmallString<128> path(options.dumpDirectory);
    llvm::sys::path::append(path,
                            std::to_string(unsigned(phase)) + "-" + phaseName(phase) + ".mlir");
    return path.str().str();
  }

  /// What an earlier run wrote of phases that this one reaches, or not, is not of this program.
  void removeLaterDumps() {
    for (unsigned i = unsigned(startPhase) + 1;
         !options.dumpDirectory.empty() && i < unsigned(Phase::Executable); ++i)
      (void)llvm::sys::fs::remove(dumpPath(Phase(i)));
  }

  /// --compile-to: to the file of -o if one was given, else to the screen.
  int print(Phase phase) {
    if (explains() && (phase == Phase::Sharded || phase == Phase::Staged))
      if (int code = explainCopy())
        return code;
    if (options.dryRun)
      return Ok;
    if (options.output == Options().output || options.output == "-") {
      printProgram(*module, llvm::outs());
      return Ok;
    }
    return printModule(options.output);
  }

  int printModule(StringRef path) {
    OutputFile file;
    std::string error;
    if (!file.open(path, error))
      return tell(error, UserError);
    printProgram(*module, file.os());
    return file.commit(error) ? Ok : tell(error, UserError);
  }

  Options options;
  const std::vector<std::string> &arguments;
  std::string program, mesh, modelPath;
  Phase startPhase = Phase::Import;
  Clock::time_point begin;
  std::optional<OutputFile> bundle; ///< of --copy-weights, until the executable is there
  MLIRContext context;
  DiagnosticHandler diagnostics;
  OwningOpRef<ModuleOp> module;
  OwningOpRef<ModuleOp> model; ///< as imported, for --write-devices
  PhaseOptions phaseOptions;
  explain::Document document;                ///< filled as phases pass
  std::optional<runtime::Progress> progress; ///< of the phase in work
  unsigned errors = 0;
};

} // namespace

int weft::driver::compileMain(const std::vector<std::string> &arguments,
                              const std::string &program) {
  Options options;
  std::string error;
  if (!parseOptions(arguments, options, error)) {
    llvm::errs() << "weft-compile: " << runtime::errorWord() << error << '\n';
    return Usage;
  }
  if (!options.answer.empty()) {
    llvm::outs() << options.answer;
    return Ok;
  }
  // A file that may not grow any more is an error to tell, not our end.
  std::signal(SIGXFSZ, SIG_IGN);
  int code = Compilation(options, arguments, program).run();
  if (!flushStandardOutput(error)) {
    llvm::errs() << "weft-compile: error: " << error << '\n';
    return code == Ok ? UserError : code;
  }
  return code;
}
