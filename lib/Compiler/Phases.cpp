// The borders of phases: where a program stands, and whether it may go on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Compiler/Phases.h"

#include "dialects/dist/IR/Dist.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

namespace weft {
#define GEN_PASS_DECL
#define GEN_PASS_DEF_WEFTBEGINPHASE
#define GEN_PASS_DEF_WEFTENDPHASE
#define GEN_PASS_DEF_WEFTONMESH
#define GEN_PASS_DEF_WEFTONSTAGES
#include "lib/Compiler/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

std::optional<Phase> weft::phaseOf(ModuleOp module) {
  auto phase = module->getAttrOfType<StringAttr>(kPhaseAttr);
  return phase ? parsePhase(phase.getValue()) : std::nullopt;
}

/// Whether `--NAME` is among the flags that the program is compiled with.
static bool asksFor(ModuleOp module, StringRef name) {
  auto flags = module->getAttrOfType<ArrayAttr>(kFlagsAttr);
  return flags && llvm::any_of(flags, [&](Attribute flag) {
           auto text = dyn_cast<StringAttr>(flag);
           StringRef rest = text ? text.getValue() : "";
           return rest.consume_front("--") && rest.split('=').first == name;
         });
}

static std::string textOf(OpPassManager &passes) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  passes.printAsTextualPipeline(stream);
  return text;
}

/// Reads passes on a module, as `textOf` writes them.
static LogicalResult readPasses(StringRef text, OpPassManager &passes,
                                function_ref<LogicalResult(const Twine &)> errorHandler) {
  FailureOr<OpPassManager> manager = parsePassPipeline(text);
  if (failed(manager) || manager->getOpAnchorName() != ModuleOp::getOperationName())
    return errorHandler("'" + text + "' is no pipeline builtin.module(...)");
  passes = *manager;
  return success();
}

namespace {

struct BeginPhase : weft::impl::WeftBeginPhaseBase<BeginPhase> {
  using WeftBeginPhaseBase::WeftBeginPhaseBase;

  void runOnOperation() override {
    std::optional<Phase> next = parsePhase(phase);
    if (!next || *next == Phase::Import) {
      getOperation().emitError() << "'" << phase << "' is no phase that passes lead to";
      return signalPassFailure();
    }
    if (failed(checkPhase(*next)) || failed(checkMesh()) || failed(checkFlags(*next)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult checkPhase(Phase next) {
    Attribute attribute = getOperation()->getAttr(kPhaseAttr);
    if (!attribute)
      return success();
    std::optional<Phase> at = phaseOf(getOperation());
    if (!at)
      return getOperation().emitError() << "'weft.phase' is " << attribute << ", which is no phase";
    // Nothing is cut at `staged` where there is one stage.
    Phase before = Phase(unsigned(next) - 1);
    if (*at == before || (before == Phase::Staged && *at == Phase::Sharded && !hasStages()))
      return success();
    return getOperation().emitError()
           << "the program is at phase '" << phaseName(*at) << "', but what leads to '" << phase
           << "' begins at '" << phaseName(before) << "'";
  }

  bool hasStages() {
    auto own = getOperation()->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    std::optional<AxisId> axis = own ? own.getValue().stageAxis() : std::nullopt;
    return axis && own.getValue().size(*axis) > 1;
  }

  LogicalResult checkMesh() {
    auto own = getOperation()->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    if (!own || mesh.empty())
      return success();
    Mesh space = own.getValue();
    llvm::erase_if(space.axes,
                   [](const Mesh::Axis &axis) { return axis.kind == AxisKind::Temporal; });
    for (Mesh::Axis &axis : space.axes)
      axis.kind = AxisKind::Space;
    if (std::optional<Mesh> given = Mesh::parse(mesh); given && *given == space)
      return success();
    return getOperation().emitError() << "the program is placed on mesh '" << toString(space)
                                      << "', not on '" << mesh << "'; leave the mesh out";
  }

  /// Up to `sharded` the program does not show yet what it is meant for.
  LogicalResult checkFlags(Phase next) {
    if (next > Phase::Sharded)
      return success();
    for (auto [name, given] : {std::pair<StringRef, bool>{"mesh", !mesh.empty()}, {"train", train}})
      if (asksFor(getOperation(), name) && !given)
        return getOperation().emitError() << "'weft.flags' of the program have --" << name
                                          << "; give it to the pipeline, too, or delete it there";
    return success();
  }
};

struct EndPhase : weft::impl::WeftEndPhaseBase<EndPhase> {
  using WeftEndPhaseBase::WeftEndPhaseBase;
  void runOnOperation() override {
    if (!parsePhase(phase)) {
      getOperation().emitError() << "'" << phase << "' is no phase";
      return signalPassFailure();
    }
    getOperation()->setAttr(kPhaseAttr, StringAttr::get(&getContext(), phase));
  }
};

struct OnMesh : weft::impl::WeftOnMeshBase<OnMesh> {
  using WeftOnMeshBase::WeftOnMeshBase;
  OnMesh() = default;
  OnMesh(llvm::function_ref<void(OpPassManager &)> build,
         llvm::function_ref<void(OpPassManager &)> buildOtherwise) {
    build(passes);
    buildOtherwise(otherPasses);
    pipeline = textOf(passes);
    otherwise = textOf(otherPasses);
  }

  LogicalResult
  initializeOptions(StringRef options,
                    function_ref<LogicalResult(const Twine &)> errorHandler) override {
    if (failed(WeftOnMeshBase::initializeOptions(options, errorHandler)))
      return failure();
    if (failed(readPasses(pipeline, passes, errorHandler)) ||
        failed(readPasses(otherwise, otherPasses, errorHandler)))
      return failure();
    return success();
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    passes.getDependentDialects(registry);
    otherPasses.getDependentDialects(registry);
  }

  void runOnOperation() override {
    OpPassManager &chosen = getOperation()->hasAttr(dist::kMeshAttr) ? passes : otherPasses;
    if (chosen.empty())
      return markAllAnalysesPreserved();
    if (failed(runPipeline(chosen, getOperation())))
      signalPassFailure();
  }

private:
  OpPassManager passes{ModuleOp::getOperationName()}, otherPasses{ModuleOp::getOperationName()};
};

struct OnStages : weft::impl::WeftOnStagesBase<OnStages> {
  using WeftOnStagesBase::WeftOnStagesBase;
  OnStages() = default;
  OnStages(llvm::function_ref<void(OpPassManager &)> build) {
    build(passes);
    pipeline = textOf(passes);
  }

  LogicalResult
  initializeOptions(StringRef options,
                    function_ref<LogicalResult(const Twine &)> errorHandler) override {
    if (failed(WeftOnStagesBase::initializeOptions(options, errorHandler)))
      return failure();
    return readPasses(pipeline, passes, errorHandler);
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    passes.getDependentDialects(registry);
  }

  void runOnOperation() override {
    OpPassManager whole(ModuleOp::getOperationName());
    // Stages know of no other, so that they are compiled beside each other.
    bool isCut = !getOperation().getOps<ModuleOp>().empty();
    if (isCut)
      whole.nest<ModuleOp>() = passes;
    if (failed(runPipeline(isCut ? whole : passes, getOperation())))
      signalPassFailure();
  }

private:
  OpPassManager passes{ModuleOp::getOperationName()};
};

} // namespace

std::unique_ptr<Pass> weft::createBeginPhase(Phase phase, const PhaseOptions &options) {
  WeftBeginPhaseOptions begin;
  begin.phase = phaseName(phase).str();
  begin.mesh = toString(options.mesh);
  begin.train = options.train;
  return std::make_unique<BeginPhase>(begin);
}

std::unique_ptr<Pass> weft::createEndPhase(Phase phase) {
  return std::make_unique<EndPhase>(WeftEndPhaseOptions{phaseName(phase).str()});
}

std::unique_ptr<Pass> weft::createOnMesh(llvm::function_ref<void(OpPassManager &)> build,
                                         llvm::function_ref<void(OpPassManager &)> otherwise) {
  return std::make_unique<OnMesh>(build, otherwise);
}

std::unique_ptr<Pass> weft::createOnStages(llvm::function_ref<void(OpPassManager &)> build) {
  return std::make_unique<OnStages>(build);
}

void weft::registerPhasePasses() {
  registerPass([] { return std::make_unique<BeginPhase>(); });
  registerPass([] { return std::make_unique<EndPhase>(); });
  registerPass([] { return std::make_unique<OnMesh>(); });
  registerPass([] { return std::make_unique<OnStages>(); });
}
