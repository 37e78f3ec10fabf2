// What one layout of a program costs: made as ever, priced, and compiled until its memory is known.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Choosing/Evaluate.h"

#include "ProfileAccount.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NnProgram.h"
#include "passes/dist/stages/StageSchedule.h"
#include "weft/Account/ProgramAccount.h"
#include "weft/Choosing/Failure.h"
#include "weft/Cost/CostModel.h"
#include "weft/Explain/Explain.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Pipeline/Generate.h"
#include "weft/Support/Diagnostics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace weft;
using namespace weft::choosing;

namespace {

/// Up to so many ops, microbatches counted, the program is compiled as its flags say, which takes
/// about a second for 60,000; beyond, what repeats is called, which takes far less time and nearly
/// the same memory.
constexpr int64_t kMostUnrolledOps = 400000, kOpsOfASecond = 60000;

class Evaluator {
public:
  Evaluator(Compilation &compilation, const std::string &model, const cost::Profile *profile,
            llvm::function_ref<bool(const Evaluation &)> deservesTime)
      : compilation(compilation), profile(profile), deservesTime(deservesTime) {
    evaluation.model = model;
  }

  llvm::Expected<Evaluation> run() {
    if (failed(compilation.runTo(Phase::Staged)) || failed(describe()))
      return doesNotCompile();
    if (llvm::Error wrong = profile ? accountOfOthers() : account())
      return wrong;
    if (llvm::Error wrong = simulate())
      return wrong;
    if (!profile && failed(measure()))
      return doesNotCompile();
    return std::move(evaluation);
  }

private:
  bool isAsked(dist::ScheduleRequest request) const {
    return dist::requestOf(compilation.options.phases.schedule) == request;
  }

  /// What the compiler has chosen or found is what accounts and later copies go by.
  void settleSchedule() {
    auto found = compilation.getModule()->getAttrOfType<StringAttr>(dist::kScheduleAttr);
    bool isOpen = isAsked(dist::ScheduleRequest::Best) || isAsked(dist::ScheduleRequest::Search);
    std::string why;
    std::optional<pipeline::Schedule> schedule;
    if (found && isOpen)
      schedule = pipeline::readSchedule(found.str(), why);
    if (!schedule)
      return;
    std::string name = pipeline::nameOf(*schedule);
    compilation.options.phases.schedule = name.empty() ? found.str() : name;
  }

  /// What is asked of what: the model, its state, the cluster.
  LogicalResult describe() {
    settleSchedule();
    const PhaseOptions &phases = compilation.options.phases;
    FailureOr<CostModel> found = costModelOf(compilation.getModule(), phases.mesh);
    if (failed(found))
      return failure();
    costs.emplace(std::move(*found));
    explain::collectChunks(compilation.getModule(), evaluation.document);
    evaluation.layout = phases.mesh.axes.empty() ? "none" : toString(phases.mesh);
    evaluation.clusterName = costs->cluster().name;
    evaluation.uncertainty = costs->cluster().uncertainty;
    evaluation.deviceBytes = costs->cluster().device.usableBytes();
    evaluation.trains = phases.train;
    evaluation.microbatches = phases.microbatches;
    if (!stageAxisOf(phases).empty())
      evaluation.schedule =
          isAsked(dist::ScheduleRequest::Written) ? "a schedule of its own" : phases.schedule;
    func::FuncOp function = account::leadProgram(compilation.getModule());
    evaluation.program = function.getSymName().str();
    int64_t gradientBytes = 0;
    llvm::StringSet<> updated; // what is frozen has no gradient
    for (unsigned result = 0; result < function.getNumResults(); ++result)
      if (StringAttr name = nn::updatedState(function, result))
        updated.insert(name.getValue());
    for (BlockArgument argument : function.getArguments()) {
      unsigned number = argument.getArgNumber();
      bool isParameter = nn::isParameter(function, number);
      if (!isParameter && !nn::isOptimizerState(function, number))
        continue;
      auto type = cast<RankedTensorType>(dist::globalType(argument.getType()));
      evaluation.stateBytes += bytesOf(type);
      if (!isParameter || !isa<FloatType>(type.getElementType()))
        continue;
      evaluation.parameters += type.getNumElements();
      if (!updated.contains(nn::argumentName(function, number)))
        continue;
      gradientBytes +=
          type.getNumElements() *
          (phases.gradDtype ? elementBytes(precisionType(*phases.gradDtype, type.getContext()))
                            : std::max<int64_t>(4, elementBytes(type)));
    }
    if (phases.train)
      evaluation.stateBytes += gradientBytes;
    return success();
  }

  llvm::Error account() {
    std::string wrong;
    Compilation lead = compilation.clone();
    lead.options.phases.onlyMeasured = true;
    account::keepLeadProgram(lead.getModule());
    LogicalResult shown = std::move(lead).inspectFusible([&](ModuleOp module) {
      module.walk([&](Operation *op) {
        auto role = op->getAttrOfType<StringAttr>(nn::kRoleAttr);
        if (role && role.getValue() == nn::kRoleOptimizer)
          evaluation.optimizerNodes.insert(nodeName(op->getLoc()));
      });
      auto found = account::accountOf(
          module, {compilation.options.phases.schedule, compilation.options.phases.bucketBytes});
      if (found)
        evaluation.account = std::move(*found);
      else
        wrong = llvm::toString(found.takeError());
    });
    if (failed(shown))
      return doesNotCompile();
    if (!wrong.empty())
      return llvm::make_error<Failure>(Failure::Cause::Schedule, wrong);
    return llvm::Error::success();
  }

  /// As their profile has it.
  llvm::Error accountOfOthers() {
    const PhaseOptions &phases = compilation.options.phases;
    llvm::Expected<cost::StepAccount> found =
        accountOfProfile(*profile, compilation.getModule(), phases);
    if (!found)
      return found.takeError();
    evaluation.account = std::move(*found);
    costs.emplace(phases.mesh, profile->on(costs->cluster()));
    return llvm::Error::success();
  }

  llvm::Error simulate() {
    std::string fault;
    std::optional<cost::Prediction> prediction = cost::simulateStep(
        evaluation.account, costs->cluster(), {/*everyRank=*/false, &evaluation.events}, fault);
    if (!prediction)
      return llvm::make_error<Failure>(Failure::Cause::Ours, fault);
    evaluation.prediction = std::move(*prediction);
    return llvm::Error::success();
  }

  /// Exact memory, and what our transports send.
  LogicalResult measure() {
    int64_t ops = 0;
    account::leadProgram(compilation.getModule()).walk([&](Operation *) { ++ops; });
    Routines routines = compilation.options.phases.routines;
    ops *= evaluation.microbatches;
    if (ops > kMostUnrolledOps ||
        (ops > kOpsOfASecond && deservesTime && !deservesTime(evaluation))) {
      // All stages would take long: then lifetimes must do.
      if (!evaluation.schedule.empty())
        return success();
      if (routines != Routines::Auto || evaluation.microbatches == 1)
        routines = Routines::Called;
    }
    Compilation copy = compilation.clone();
    copy.options.phases.routines = routines;
    copy.options.phases.onlyMeasured = true;
    copy.onPartitioned = [&](ModuleOp module) {
      explain::collectPlacement(module, evaluation.document);
    };
    if (failed(copy.runTo(Phase::Scheduled)))
      return failure();
    explain::collectSchedule(copy.getModule(), evaluation.document);
    evaluation.isScheduled = true;
    evaluation.isExact = routines == compilation.options.phases.routines;
    return success();
  }

  Compilation &compilation;
  const cost::Profile *profile;
  llvm::function_ref<bool(const Evaluation &)> deservesTime;
  std::optional<CostModel> costs;
  Evaluation evaluation;
};

} // namespace

llvm::Expected<Evaluation>
choosing::evaluate(Compilation &compilation, const std::string &model, const cost::Profile *profile,
                   llvm::function_ref<bool(const Evaluation &)> deservesTime) {
  return Evaluator(compilation, model, profile, deservesTime).run();
}
