// What is settled before the first phase: whether files can be written, flags of earlier runs, and
// the mesh.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.h"
#include "dialects/onnx/IR/TensorData.h"
#include "passes/dist/devices/DeviceSpecs.h"
#include "passes/onnx/OnnxToNn.h"
#include "weft/Compiler/StageAxis.h"
#include "weft/Cost/CostModel.h"
#include "weft/Driver/Driver.h"
#include "weft/Driver/Resume.h"
#include "weft/Target/Target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;
using namespace weft::driver;

/// Beside the build's or installation's `bin`.
static std::string runtimeDirectory(const Options &options, const std::string &program) {
  if (!options.runtimeDirectory.empty())
    return options.runtimeDirectory;
  static int anchor;
  SmallString<256> path(llvm::sys::fs::getMainExecutable(program.c_str(), &anchor));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, "..", "lib");
  return path.str().str();
}

/// What would fail after a long compilation for a reason that is known now.
static int checkPlaces(const Options &options) {
  StringRef dumps = options.dumpDirectory;
  if (!dumps.empty() && llvm::sys::fs::exists(dumps) && !llvm::sys::fs::is_directory(dumps))
    return tell("--dump-phases '" + dumps.str() + "' is a file, not a folder", UserError);
  if (!llvm::sys::fs::is_directory(options.model))
    return Ok;
  bool isCheckpoint = llvm::sys::fs::exists(options.model + "/latest") ||
                      llvm::sys::fs::exists(options.model + "/manifest.json");
  return tell("'" + options.model + "' is a folder, not a model" +
                  (isCheckpoint
                       ? "; weft-translate --export-onnx MODEL.onnx --weights " + options.model +
                             " -o OUT.onnx puts the weights of a checkpoint into a model"
                       : ""),
              UserError);
}

/// Whether the target can be compiled and linked for.
static int checkTarget(const Options &options, const std::string &program) {
  // --target was checked when it was read.
  const Target &target = *lookupTarget(options.compile.phases.target);
  if (llvm::Error wrong = target.checkOptions(options.compile.kernels))
    return tell("--processor: " + llvm::toString(std::move(wrong)), Usage);
  if (makesExecutable(options))
    if (llvm::Error wrong = target.checkLink({options.linker, runtimeDirectory(options, program)}))
      return tell(llvm::toString(std::move(wrong)), UserError);
  return Ok;
}

int driver::checkCommandLine(const Options &options, const std::string &program) {
  if (int code = checkPlaces(options))
    return code;
  if (llvm::Error wrong = checkOutputs(options, inputFiles(options)))
    return tell(llvm::toString(std::move(wrong)), UserError);
  // The text of a phase says itself for which target it is.
  return isModelFile(options.model) ? checkTarget(options, program) : int(Ok);
}

/// Without --mesh a model that has device configurations is asked for its own, unless the planner
/// chooses.
static int settleMesh(ModuleOp module, Options &options) {
  Mesh &mesh = options.compile.phases.mesh;
  std::optional<dist::ConfiguredMesh> configured;
  if (mesh.axes.empty() && !options.isAuto)
    configured = dist::configuredMesh(module, kStageAxis);
  if (configured && options.isOneProcess) {
    options.given.push_back({"--mesh", "none"});
  } else if (configured) {
    mesh = configured->mesh;
    options.given.push_back({"--mesh", toString(mesh)});
    if (!options.quiet)
      llvm::errs() << "mesh " << toString(mesh) << " from the model's device configuration '"
                   << configured->configuration << "'\n";
  }
  if (mesh.axes.empty() && !options.compile.phases.place.empty() && !options.isAuto)
    return tell("--place needs --mesh: it splits over its axes", Usage);
  if (options.writeDevices.empty())
    return Ok;
  if (mesh.axes.empty() && !options.isAuto)
    return tell("--write-devices needs --mesh: without one there are no placements", Usage);
  if (options.until == Phase::Sharded && !stageAxisOf(options.compile.phases).empty())
    return tell("--write-devices needs the stages of phase staged; give --compile-to staged or a "
                "later one",
                Usage);
  if (!onnx::getModel(module))
    return tell("--write-devices needs a model as in the file, not a program of a later phase",
                UserError);
  options.compile.phases.recordPlacements = true;
  return Ok;
}

/// The gradient of a library's attention adds up what its blocks have in the order in which they
/// end.
static int settleAttention(Options &options) {
  PhaseOptions &phases = options.compile.phases;
  const Target &target = *lookupTarget(phases.target);
  if (!options.deterministic || !phases.train || target.traits().hasAttention)
    return Ok;
  if (phases.raiseAttention.value_or(false))
    return tell("--deterministic: the gradient of attention as a whole has other bits in every run "
                "on target '" +
                    phases.target + "'; --attention decomposed has the same",
                Usage);
  phases.raiseAttention = false;
  return Ok;
}

/// A program that was made for a target says so, and from `local` on it was made for one.
static int settleTarget(const Compilation &compilation, Options &options) {
  auto own = compilation.getModule()->getAttrOfType<StringAttr>(kTargetAttr);
  if (!own && compilation.getPhase() < Phase::Local)
    return Ok;
  std::string name = own ? own.getValue().str() : kDefaultTarget.str();
  std::string &asked = options.compile.phases.target;
  bool isAsked =
      llvm::any_of(options.given, [](const GivenFlag &entry) { return entry.flag == "--target"; });
  if (isAsked && asked != name)
    return tell("--target '" + asked + "': '" + options.model + "' is at phase '" +
                    phaseName(compilation.getPhase()).str() + "' and for target '" + name +
                    "'; leave it out, or compile the model anew",
                Usage);
  asked = name;
  return Ok;
}

/// What the program's own cluster settles: without --memory-limit the memory of a device is the
/// limit. Not that of the standard cluster, which is no machine that anybody has.
static int settleCluster(const Compilation &compilation, Options &options) {
  ModuleOp module = compilation.getModule();
  CompileOptions &compile = options.compile;
  if (module->hasAttr(kClusterAttr)) {
    FailureOr<CostModel> costs = costModelOf(module, compile.phases.mesh);
    if (failed(costs))
      return UserError;
    // A cluster's description may serve several meshes, so that this is no error.
    bool meshIsLaid = compilation.getPhase() < Phase::Sharded && options.until >= Phase::Sharded;
    if (std::vector<std::string> unknown = costs->unknownAxes(); meshIsLaid && !unknown.empty())
      module.emitWarning() << "the cluster names the links of '" << llvm::join(unknown, "', '")
                           << "', "
                           << (compile.phases.mesh.axes.empty()
                                   ? "and there is no mesh"
                                   : "which mesh '" + toString(compile.phases.mesh) +
                                         "' does not have")
                           << "; they decide nothing";
    options.limitIsOfCluster = compile.memoryLimit == 0;
    if (options.limitIsOfCluster)
      compile.memoryLimit = costs->cluster().device.usableBytes();
  }
  if (compile.phases.recompute == Recompute::Auto && compile.memoryLimit == 0)
    return tell("--recompute auto recomputes the least that fits into --memory-limit; give it or "
                "--cluster, or choose selective or full",
                Usage);
  return Ok;
}

int driver::prepare(Compilation &compilation, const std::vector<std::string> &arguments,
                    Options &options, const std::string &program) {
  ModuleOp module = compilation.getModule();
  if (!isModelFile(options.model)) {
    auto resumed = resumeOptions(module, compilation.getPhase(), arguments, options);
    if (!resumed)
      return tell(resumed.takeError());
    options = std::move(*resumed);
    if (int code = settleTarget(compilation, options))
      return code;
    if (int code = checkTarget(options, program))
      return code;
  }
  std::vector<std::string> data = onnx::dataFilesOf(module);
  data.push_back(compilation.getModelPath());
  if (llvm::Error wrong = checkOutputs(options, data))
    return tell(llvm::toString(std::move(wrong)), UserError);
  llvm::append_range(data, inputFiles(options));
  if (llvm::Error wrong = checkDumps(options, compilation.getPhase(), data))
    return tell(llvm::toString(std::move(wrong)), UserError);
  const PhaseOptions &phases = options.compile.phases;
  if (onnx::getMainGraph(module) && phases.train && phases.usesModelStep() &&
      !onnx::hasModelStep(module))
    return tell("--train needs --loss and --optimizer: the model has no training step of its own "
                "(TrainingInfo)",
                UserError);
  if (int code = settleMesh(module, options))
    return code;
  if (int code = settleAttention(options))
    return code;
  recordCommandLine(module, compilation.getModelPath(), options);
  if (int code = settleCluster(compilation, options))
    return code;
  compilation.options = options.compile;
  return Ok;
}

EmitOptions driver::emitOptions(ModuleOp module, const Options &options,
                                const std::string &program) {
  EmitOptions emit;
  emit.output = options.output;
  emit.copyWeights = options.copyWeights;
  emit.deterministic = options.deterministic;
  emit.linker = options.linker;
  emit.runtimeDirectory = runtimeDirectory(options, program);
  emit.commandLine = flagsText(module);
  return emit;
}
