// A program's way through the phases.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Compiler/Compilation.h"

#include "ChooseRecompute.h"
#include "ChooseSchedule.h"
#include "weft/Compiler/Phases.h"
#include "weft/Emit/Memory.h"
#include "weft/Registration/Registration.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace weft;

DialectRegistry weft::compilerRegistry() {
  DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

Compilation::Compilation(OwningOpRef<ModuleOp> program, Phase phase, CompileOptions options)
    : options(std::move(options)), module(std::move(program)), phase(phase), start(phase) {
  auto path = (*module)->getAttrOfType<StringAttr>(kModelAttr);
  modelPath = path ? path.getValue().str() : "";
}

Compilation Compilation::clone() const {
  Compilation copy(getModule().clone(), phase, options);
  copy.modelPath = modelPath;
  copy.start = start;
  return copy;
}

LogicalResult Compilation::runPasses(llvm::function_ref<void(OpPassManager &)> build) {
  PassManager pm(&getContext());
  // What comes of a model is verified behind each pass; what passes make of that, once a phase, as
  // it takes as long as many a pass does.
  bool verifiesEach = phase < Phase::Graph;
  pm.enableVerifier(verifiesEach);
  if (timesPasses)
    pm.enableTiming();
  build(pm);
  if (failed(pm.run(*module)))
    return failure();
  bool isJudged = !options.phases.onlyMeasured || phase < Phase::Sharded;
  return success(verifiesEach || !isJudged || succeeded(mlir::verify(*module)));
}

LogicalResult Compilation::runTo(Phase last) {
  assert(last <= Phase::Scheduled && "an executable is emitted, not run to");
  while (phase < last)
    if (failed(runNext()))
      return failure();
  return success();
}

LogicalResult Compilation::runNext() {
  Phase next = Phase(unsigned(phase) + 1);
  if (next == Phase::Step && options.phases.recompute == Recompute::Auto)
    if (failed(chooseRecompute(*this)))
      return failure();
  if (next == Phase::Staged && options.memoryLimit > 0)
    if (failed(chooseSchedule(*this)))
      return failure();
  LogicalResult ran = next == Phase::Local ? runLocal() : runPasses([&](OpPassManager &pm) {
    buildPhase(pm, next, options.phases);
  });
  phase = next;
  if (failed(ran))
    blame(next);
  return ran;
}

LogicalResult Compilation::runLocal() {
  if (failed(runPasses([&](OpPassManager &pm) { buildPartition(pm, options.phases); })))
    return failure();
  if (onPartitioned)
    onPartitioned(*module);
  return runPasses([&](OpPassManager &pm) { buildOutline(pm, options.phases); });
}

LogicalResult Compilation::verify() {
  return runPasses([&](OpPassManager &pm) { buildBorder(pm, phase); });
}

LogicalResult Compilation::checkPlaces() const {
  return clone().runPasses([&](OpPassManager &pm) { buildPlaced(pm, options.phases); });
}

FailureOr<int64_t> Compilation::measureMemory(llvm::function_ref<void(CompileOptions &)> change) {
  if (phase >= Phase::Scheduled)
    return emit::mostArenaBytes(getModule());
  Compilation copy = clone();
  if (change)
    change(copy.options);
  if (failed(copy.runTo(Phase::Scheduled))) {
    broken = copy.broken;
    return failure();
  }
  return emit::mostArenaBytes(copy.getModule());
}

LogicalResult Compilation::showWithin(llvm::function_ref<void(OpPassManager &)> build,
                                      llvm::function_ref<void(ModuleOp)> inspect) {
  if (failed(runTo(Phase::Staged)))
    return failure();
  if (failed(runPasses(build))) {
    blame(Phase::Local);
    return failure();
  }
  inspect(getModule());
  return success();
}

LogicalResult Compilation::inspectWithin(llvm::function_ref<void(OpPassManager &)> build,
                                         llvm::function_ref<void(ModuleOp)> inspect) {
  Compilation copy = clone();
  LogicalResult shown = copy.showWithin(build, inspect);
  broken = copy.broken;
  return shown;
}

LogicalResult Compilation::inspectPartitioned(llvm::function_ref<void(ModuleOp)> inspect) {
  return inspectWithin([&](OpPassManager &pm) { buildPartition(pm, options.phases); }, inspect);
}

/// Two microbatches tell of all.
static void buildShown(OpPassManager &pm, const PhaseOptions &options) {
  buildFusible(pm, options, /*mostMicrobatches=*/2);
}

LogicalResult Compilation::inspectFusible(llvm::function_ref<void(ModuleOp)> inspect) & {
  return inspectWithin([&](OpPassManager &pm) { buildShown(pm, options.phases); }, inspect);
}

LogicalResult Compilation::inspectFusible(llvm::function_ref<void(ModuleOp)> inspect) && {
  return showWithin([&](OpPassManager &pm) { buildShown(pm, options.phases); }, inspect);
}
