// One run of weft-plan, from its flags to its exit code.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Driver/Plan.h"

#include "Calibrate.h"
#include "Messages.h"
#include "PlanReport.h"
#include "Report.h"
#include "TraceReport.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NnProgram.h"
#include "weft/Account/ProgramAccount.h"
#include "weft/Cost/CostModel.h"
#include "weft/Cost/Profile.h"
#include "weft/Cost/SimulateStep.h"
#include "weft/Driver/Driver.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Interfaces/OpWork.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Registration/Registration.h"
#include "weft/Support/Diagnostics.h"
#include "weft/Support/OutputFile.h"

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

/// Up to so many ops, microbatches counted, the program is compiled as its flags say; beyond, what
/// repeats is called, which takes far less time and nearly the same memory.
constexpr int64_t kMostUnrolledOps = 60000;

class PlanRun {
public:
  PlanRun(const PlanOptions &asked, const std::string &program)
      : asked(asked), options(asked.program), program(program), context(compilerRegistry()),
        messages(context, options) {}

  int run() {
    // Nothing is written, and no weight is read.
    options.until = Phase::Scheduled;
    options.dryRun = options.quiet = true;
    FailureOr<Compilation> loaded =
        Compilation::load(options.model, context, /*allowMissingData=*/true);
    if (failed(loaded))
      return messages.failed(false);
    compilation.emplace(std::move(*loaded));
    if (int code = prepare(*compilation, {}, options, program))
      return code;
    if (failed(compilation->runTo(Phase::Staged)))
      return messages.failed(compilation->compilerIsToBlame());
    if (int code = describe())
      return code;
    if (int code = asked.profile.empty() ? account() : accountOfProfile())
      return code;
    if (int code = simulate())
      return code;
    if (asked.profile.empty() && failed(measure()))
      return messages.failed(compilation->compilerIsToBlame());
    asked.isJson ? printJson(evaluation, llvm::outs()) : printText(evaluation, llvm::outs());
    return asked.trace.empty() ? int(Ok) : join();
  }

private:
  /// The program that trains, else the first.
  func::FuncOp lead() const {
    func::FuncOp first;
    for (auto function : compilation->getModule().getOps<func::FuncOp>()) {
      if (!function.isPublic() || function.isExternal())
        continue;
      for (unsigned result = 0; result < function.getNumResults(); ++result)
        if (nn::updatedState(function, result))
          return function;
      if (!first)
        first = function;
    }
    return first;
  }

  /// What is asked of what: the model, its state, the cluster.
  int describe() {
    const PhaseOptions &phases = options.compile.phases;
    FailureOr<CostModel> found = costModelOf(compilation->getModule(), phases.mesh);
    if (failed(found))
      return messages.failed(false);
    costs.emplace(std::move(*found));
    evaluation.model = llvm::sys::path::filename(options.model).str();
    evaluation.layout = asked.layout;
    evaluation.clusterName = costs->cluster().name;
    evaluation.uncertainty = costs->cluster().uncertainty;
    evaluation.deviceBytes = int64_t(costs->cluster().device.usableBytes());
    evaluation.trains = phases.train;
    evaluation.microbatches = phases.microbatches;
    if (!stageAxisOf(phases).empty())
      evaluation.schedule =
          StringRef(phases.schedule).contains('\n') ? "a schedule of its own" : phases.schedule;
    func::FuncOp function = lead();
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
    return Ok;
  }

  int account() {
    std::string wrong;
    LogicalResult shown = compilation->inspectFusible([&](ModuleOp module) {
      module.walk([&](Operation *op) {
        auto role = op->getAttrOfType<StringAttr>(nn::kRoleAttr);
        if (role && role.getValue() == nn::kRoleOptimizer)
          optimizerNodes.insert(nodeName(op->getLoc()));
      });
      auto found = account::accountOf(
          module, {options.compile.phases.schedule, options.compile.phases.bucketBytes});
      if (found)
        evaluation.account = std::move(*found);
      else
        wrong = llvm::toString(found.takeError());
    });
    if (failed(shown))
      return messages.failed(compilation->compilerIsToBlame());
    if (!wrong.empty())
      return tell("--schedule: " + wrong, Usage);
    return Ok;
  }

  /// Sizes of the transformer that the program is: its attention and its last product, which makes
  /// the logits, tell them.
  std::optional<cost::Transformer> transformer(int64_t &batch) const {
    cost::Transformer model;
    WorkShape attention, last, widest;
    model.layers = 0;
    lead().walk([&](Operation *op) {
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
    const PhaseOptions &phases = options.compile.phases;
    std::string wrong;
    std::optional<cost::Profile> profile = cost::Profile::read(asked.profile, wrong);
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
    std::optional<cost::Prediction> prediction =
        cost::simulateStep(evaluation.account, costs->cluster(), {}, fault);
    if (!prediction)
      return tell(fault, OurBug);
    evaluation.prediction = std::move(*prediction);
    return Ok;
  }

  /// Exact memory, and what our transports send.
  LogicalResult measure() {
    Compilation copy = compilation->clone();
    int64_t ops = 0;
    lead().walk([&](Operation *) { ++ops; });
    if (ops * evaluation.microbatches > kMostUnrolledOps) {
      // Stages are written out always; then lifetimes must do.
      if (!evaluation.schedule.empty())
        return success();
      copy.options.phases.routines = Routines::Called;
    }
    copy.onPartitioned = [&](ModuleOp module) {
      explain::collectPlacement(module, evaluation.document);
    };
    if (failed(copy.runTo(Phase::Scheduled)))
      return failure();
    explain::collectSchedule(copy.getModule(), evaluation.document);
    evaluation.isScheduled = true;
    return success();
  }

  int join() {
    llvm::Expected<TraceReport> report =
        joinTrace(asked.trace, evaluation.account, evaluation.prediction, optimizerNodes);
    if (!report)
      return tell("--trace: " + llvm::toString(report.takeError()), UserError);
    printReport(*report, llvm::outs());
    return Ok;
  }

  const PlanOptions &asked;
  Options options;
  std::string program;
  MLIRContext context;
  Messages messages;
  std::optional<Compilation> compilation;
  std::optional<CostModel> costs;
  Evaluation evaluation;
  llvm::StringSet<> optimizerNodes;
};

} // namespace

int weft::driver::planMain(const std::vector<std::string> &arguments, const std::string &program) {
  nameTool("weft-plan");
  registerAllTargets();
  llvm::Expected<PlanOptions> options = parsePlanOptions(arguments);
  if (!options)
    return tell(llvm::toString(options.takeError()), Usage);
  if (!options->answer.empty()) {
    llvm::outs() << options->answer;
    return Ok;
  }
  int code = options->calibrate.empty()
                 ? PlanRun(*options, program).run()
                 : calibrate({options->calibrate, options->comm,
                              std::max(1u, options->program.compile.threadsPerRank)},
                             program);
  if (llvm::Error lost = flushStandardOutput()) {
    llvm::errs() << "weft-plan: error: " << llvm::toString(std::move(lost)) << '\n';
    return code == Ok ? UserError : code;
  }
  return code;
}
