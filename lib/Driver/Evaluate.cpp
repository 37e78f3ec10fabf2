// What one layout of a program costs: made as ever, priced, and compiled until its memory is known.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evaluate.h"

#include "Report.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NnProgram.h"
#include "passes/dist/StageSchedule.h"
#include "weft/Account/ProgramAccount.h"
#include "weft/Cost/CostModel.h"
#include "weft/Cost/Profile.h"
#include "weft/Cost/SimulateStep.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Interfaces/OpWork.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Support/Diagnostics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;
using namespace weft::driver;

namespace {

int64_t bytesOf(Precision precision) {
  switch (precision) {
  case Precision::F64:
    return 8;
  case Precision::F32:
    return 4;
  case Precision::BF16:
  case Precision::F16:
    return 2;
  }
  llvm_unreachable("unknown precision");
}

/// Up to so many ops, microbatches counted, the program is compiled as its flags say, which takes
/// about a second for 60,000; beyond, what repeats is called, which takes far less time and nearly
/// the same memory.
constexpr int64_t kMostUnrolledOps = 400000, kOpsOfASecond = 60000;

class Evaluator {
public:
  Evaluator(Compilation &compilation, const Options &options, const std::string &profile,
            llvm::function_ref<bool(const Evaluation &)> deservesTime, Evaluation &evaluation)
      : compilation(compilation), options(options), profileText(profile),
        deservesTime(deservesTime), evaluation(evaluation) {}

  FailureOr<int> run() {
    // What accounts know best: stages with one chunk each.
    if (compilation.options.phases.schedule.empty())
      compilation.options.phases.schedule = "1f1b";
    if (failed(compilation.runTo(Phase::Staged)) || failed(describe()))
      return failure();
    auto found = compilation.getModule()->getAttrOfType<StringAttr>(dist::kScheduleAttr);
    if (found && isAsked(dist::ScheduleRequest::Search))
      compilation.options.phases.schedule = found.str();
    FailureOr<int> code = profileText.empty() ? account() : accountOfProfile();
    if (failed(code) || *code != Ok)
      return code;
    if (int code = simulate())
      return code;
    if (profileText.empty() && failed(measure()))
      return failure();
    return int(Ok);
  }

private:
  bool isAsked(dist::ScheduleRequest request) const {
    return dist::requestOf(compilation.options.phases.schedule) == request;
  }

  /// What is asked of what: the model, its state, the cluster.
  LogicalResult describe() {
    const PhaseOptions &phases = compilation.options.phases;
    FailureOr<CostModel> found = costModelOf(compilation.getModule(), phases.mesh);
    if (failed(found))
      return failure();
    costs.emplace(std::move(*found));
    explain::collectChunks(compilation.getModule(), evaluation.document);
    evaluation.model = llvm::sys::path::filename(options.model).str();
    evaluation.layout = phases.mesh.axes.empty() ? "none" : toString(phases.mesh);
    evaluation.clusterName = costs->cluster().name;
    evaluation.uncertainty = costs->cluster().uncertainty;
    evaluation.deviceBytes = int64_t(costs->cluster().device.usableBytes());
    evaluation.trains = phases.train;
    evaluation.microbatches = phases.microbatches;
    if (!stageAxisOf(phases).empty())
      evaluation.schedule =
          isAsked(dist::ScheduleRequest::Written) ? "a schedule of its own" : phases.schedule;
    func::FuncOp function = account::leadProgram(compilation.getModule());
    evaluation.program = function.getSymName().str();
    int64_t gradientBytes = 0;
    for (BlockArgument argument : function.getArguments()) {
      unsigned number = argument.getArgNumber();
      if (!nn::isState(function, number) || function.getArgAttr(number, nn::kStatisticAttr))
        continue;
      auto type = cast<RankedTensorType>(dist::globalType(argument.getType()));
      evaluation.stateBytes += weft::bytesOf(type);
      if (function.getArgAttr(number, nn::kClassAttr) || !isa<FloatType>(type.getElementType()))
        continue;
      evaluation.parameters += type.getNumElements();
      gradientBytes +=
          type.getNumElements() * (phases.gradDtype ? bytesOf(*phases.gradDtype)
                                                    : std::max<int64_t>(4, elementBytes(type)));
    }
    if (phases.train)
      evaluation.stateBytes += gradientBytes;
    return success();
  }

  FailureOr<int> account() {
    std::string wrong;
    Compilation lead = compilation.clone();
    account::keepLeadProgram(lead.getModule());
    LogicalResult shown = lead.inspectFusible([&](ModuleOp module) {
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
      return failure();
    if (!wrong.empty())
      return tell("--schedule: " + wrong, Usage);
    return int(Ok);
  }

  /// Sizes of the transformer that the program is: its attention and its last product, which makes
  /// the logits, tell them.
  std::optional<cost::Transformer> transformer(int64_t &batch) const {
    cost::Transformer model;
    WorkShape attention, last, widest;
    model.layers = 0;
    account::leadProgram(compilation.getModule()).walk([&](Operation *op) {
      if (op->hasAttr(nn::kRoleAttr) || !isa<ShardableOpInterface>(op))
        return;
      WorkShape shape = workOf(op).shape;
      if (shape.kind == WorkShape::Kind::Attention) {
        attention = shape;
        ++model.layers;
      } else if (shape.kind == WorkShape::Kind::Gemm) {
        widest = last.n > widest.n ? last : widest;
        last = shape;
      }
    });
    if (model.layers == 0 || last.k % std::max<int64_t>(1, attention.k) != 0)
      return std::nullopt;
    model.hidden = last.k;
    model.heads = last.k / attention.k;
    model.sequence = attention.m;
    model.vocabulary = last.n;
    model.feedForward = widest.n;
    batch = attention.batch / model.heads;
    return model;
  }

  int accountOfProfile() {
    const PhaseOptions &phases = compilation.options.phases;
    std::string wrong;
    std::optional<cost::Profile> profile = cost::Profile::read(profileText, wrong);
    int64_t batch = 0;
    std::optional<cost::Transformer> model = transformer(batch);
    if (!phases.train || !model)
      return tell("--profile is of the training of a transformer: give --train, and a model with "
                  "attention whose last product makes the logits",
                  UserError);
    cost::Layout layout;
    for (const std::string &axis : batchAxesOf(phases))
      layout.data *= phases.mesh.groupSize(phases.mesh.resolve(axis));
    if (std::string axis = stageAxisOf(phases); !axis.empty())
      layout.stages = phases.mesh.groupSize(phases.mesh.resolve(axis));
    layout.tensor = phases.mesh.processCount() / (layout.data * layout.stages);
    layout.globalBatch = batch;
    layout.microbatch = std::max<int64_t>(1, batch / (layout.data * phases.microbatches));
    layout.sequenceParallel = phases.sequenceParallel;
    layout.recompute = phases.recompute == "full"        ? cost::Layout::Recompute::Full
                       : phases.recompute == "selective" ? cost::Layout::Recompute::Selective
                                                         : cost::Layout::Recompute::None;
    layout.zero = phases.zero.stage;
    std::optional<cost::StepAccount> account = profile->account(*model, layout, wrong);
    if (!account)
      return tell("--profile: " + wrong, UserError);
    evaluation.account = std::move(*account);
    costs.emplace(phases.mesh, profile->on(costs->cluster()));
    return Ok;
  }

  int simulate() {
    std::string fault;
    std::optional<cost::Prediction> prediction = cost::simulateStep(
        evaluation.account, costs->cluster(), {/*everyRank=*/false, &evaluation.events}, fault);
    if (!prediction)
      return tell(fault, OurBug);
    evaluation.prediction = std::move(*prediction);
    return Ok;
  }

  /// Exact memory, and what our transports send.
  LogicalResult measure() {
    Compilation copy = compilation.clone();
    int64_t ops = 0;
    account::leadProgram(compilation.getModule()).walk([&](Operation *) { ++ops; });
    Routines &routines = copy.options.phases.routines;
    ops *= evaluation.microbatches;
    if (ops > kMostUnrolledOps ||
        (ops > kOpsOfASecond && deservesTime && !deservesTime(evaluation))) {
      // All stages would take long: then lifetimes must do.
      if (!evaluation.schedule.empty())
        return success();
      if (routines != Routines::Auto || evaluation.microbatches == 1)
        routines = Routines::Called;
    }
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
  const Options &options;
  const std::string &profileText;
  llvm::function_ref<bool(const Evaluation &)> deservesTime;
  std::optional<CostModel> costs;
  Evaluation &evaluation;
};

} // namespace

FailureOr<int> driver::evaluate(Compilation &compilation, const Options &options,
                                const std::string &profile, Evaluation &evaluation,
                                llvm::function_ref<bool(const Evaluation &)> deservesTime) {
  return Evaluator(compilation, options, profile, deservesTime, evaluation).run();
}
