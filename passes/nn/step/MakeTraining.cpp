// Makes the programs of training from the forward pass.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/step/FillGradients.h"
#include "passes/nn/step/Losses.h"
#include "passes/nn/step/Passes.h"
#include "passes/nn/step/TrainingPrograms.h"

#include "dialects/nn/IR/Nn.h"
#include "dialects/nn/IR/NnTraining.h"
#include "weft/runtime/Metadata.h"

namespace weft::step {
#define GEN_PASS_DEF_STEPMAKETRAINING
#include "passes/nn/step/Passes.h.inc"
} // namespace weft::step

using namespace mlir;
using namespace weft;
using namespace weft::step;
namespace metadata = weft::runtime::metadata;

namespace {

struct MakeTraining : step::impl::StepMakeTrainingBase<MakeTraining> {
  using StepMakeTrainingBase::StepMakeTrainingBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto forward = module.lookupSymbol<func::FuncOp>("forward");
    if (!forward) {
      module.emitError("has no program @forward to train");
      return signalPassFailure();
    }
    if (module.lookupSymbol<func::FuncOp>(nn::kModelStep)) {
      if (failed(finishOwn(module)))
        signalPassFailure();
      return;
    }
    llvm::Expected<TrainingSpec> spec =
        parseTraining({loss, optimizer, paramGroups, freeze, gradDtype});
    if (!spec) {
      module.emitError() << llvm::toString(spec.takeError());
      return signalPassFailure();
    }
    auto variant = module.lookupSymbol<func::FuncOp>("forward.training");
    OpBuilder builder(forward);
    auto step = cast<func::FuncOp>(builder.clone(variant ? *variant : *forward));
    auto eval = cast<func::FuncOp>(builder.clone(*forward));
    step.setName("step");
    step.setPublic();
    eval.setName("eval");
    FailureOr<Loss> built = makeStep(step, *spec);
    if (failed(built) || failed(makeEval(eval, *spec))) {
      step.erase();
      eval.erase();
      return signalPassFailure();
    }
    if (variant)
      variant.erase();
    module->setAttr(nn::kMetadataAttr, describe(module, step, forward, *spec, *built));
  }

  /// The step that the model describes, if it does, in place of one that is made.
  LogicalResult finishOwn(ModuleOp module) {
    auto step = module.lookupSymbol<func::FuncOp>(nn::kModelStep);
    auto eval = module.lookupSymbol<func::FuncOp>(nn::kModelEvaluation);
    if (!loss.empty() || !optimizer.empty() || !eval)
      return step.emitError() << "@" << nn::kModelStep << " needs @" << nn::kModelEvaluation
                              << " beside it, and neither loss nor optimizer";
    if (failed(finishModelStep(step)))
      return failure();
    finishModelEvaluation(eval);
    for (auto [function, name] : {std::pair(step, "step"), std::pair(eval, "eval")}) {
      function.setName(name);
      function.setPublic();
    }
    OpBuilder builder(module.getContext());
    NamedAttrList entries;
    if (auto old = module->getAttrOfType<DictionaryAttr>(nn::kMetadataAttr))
      entries.append(old.getValue());
    auto set = [&](StringRef key, const Twine &value) {
      entries.set(key, builder.getStringAttr(value));
    };
    set(metadata::kTrainLoss, "of the model (TrainingInfo)");
    set(metadata::kTrainOptimizer, "of the model (TrainingInfo)");
    set(metadata::kTrainSeed, Twine(seed.getValue()));
    for (BlockArgument arg : step.getArguments())
      if (auto type = cast<RankedTensorType>(arg.getType());
          !nn::isState(step, arg.getArgNumber()) && type.getRank() > 0) {
        set(metadata::kTrainBatch, Twine(type.getDimSize(0)));
        break;
      }
    describeText(step, module.lookupSymbol<func::FuncOp>("forward"), set);
    module->setAttr(nn::kMetadataAttr, entries.getDictionary(module.getContext()));
    return success();
  }

  /// A training graph whose only input of its own is integers batch x sequence, as is
  /// one of the model, learns texts; what the model makes of each token are logits.
  static void describeText(func::FuncOp step, func::FuncOp forward,
                           llvm::function_ref<void(StringRef, const Twine &)> set) {
    BlockArgument labels, tokens;
    auto nameOf = [](func::FuncOp function, BlockArgument arg) {
      return nn::argumentName(function, arg.getArgNumber());
    };
    for (BlockArgument arg : step.getArguments()) {
      if (nn::isState(step, arg.getArgNumber()) || findArgument(forward, nameOf(step, arg)))
        continue;
      auto type = cast<RankedTensorType>(arg.getType());
      if (labels || type.getRank() != 2 || !type.getElementType().isInteger())
        return;
      labels = arg;
    }
    for (BlockArgument arg : forward.getArguments())
      if (!tokens && labels && !nn::isState(forward, arg.getArgNumber()) &&
          arg.getType() == labels.getType())
        tokens = arg;
    if (!tokens)
      return;
    set(metadata::kTrainLabels, nameOf(step, labels));
    // The model's loss has its own idea of which do not count, if any.
    set(metadata::kTrainAllLabelsCount, "1");
    set(metadata::kTrainTokens, nameOf(forward, tokens));
    ArrayRef<int64_t> shape = cast<RankedTensorType>(tokens.getType()).getShape();
    for (auto [i, type] : llvm::enumerate(forward.getResultTypes())) {
      auto output = cast<RankedTensorType>(type);
      auto name = forward.getResultAttrOfType<StringAttr>(i, nn::kNameAttr);
      if (!name || output.getRank() != 3 || output.getShape().drop_back() != shape ||
          !isa<FloatType>(output.getElementType()))
        continue;
      set(metadata::kGenerateTokens, nameOf(forward, tokens));
      set(metadata::kGenerateLogits, name.getValue());
      return;
    }
  }

  /// What the runtime needs to know to feed and to name things.
  DictionaryAttr describe(ModuleOp module, func::FuncOp step, func::FuncOp forward,
                          const TrainingSpec &spec, const Loss &built) {
    OpBuilder builder(module.getContext());
    NamedAttrList entries;
    if (auto old = module->getAttrOfType<DictionaryAttr>(nn::kMetadataAttr))
      entries.append(old.getValue());
    auto set = [&](StringRef key, const Twine &value) {
      entries.set(key, builder.getStringAttr(value));
    };
    set(metadata::kTrainLoss, loss.getValue());
    set(metadata::kTrainOptimizer, optimizer.getValue());
    set(metadata::kTrainSeed, Twine(seed.getValue()));
    BlockArgument first = built.target ? built.target : step.getArgument(0);
    if (auto type = cast<RankedTensorType>(first.getType()); type.getRank() > 0)
      set(metadata::kTrainBatch, Twine(type.getDimSize(0)));
    if (built.target)
      set(metadata::kTrainLabels, spec.loss.target);
    if (built.numClasses)
      set(metadata::kTrainClasses, Twine(built.numClasses));
    if (spec.loss.ignore)
      set(metadata::kTrainIgnored, Twine(*spec.loss.ignore));
    if (StringAttr tokens = findTokens(step, built)) {
      set(metadata::kTrainTokens, tokens.getValue());
      set(metadata::kGenerateTokens, tokens.getValue());
      set(metadata::kGenerateLogits, spec.loss.value);
    }
    return entries.getDictionary(module.getContext());
  }

  /// The first input of integers whose dims are those of the labels.
  static StringAttr findTokens(func::FuncOp step, const Loss &built) {
    auto labels =
        built.target ? cast<RankedTensorType>(built.target.getType()) : RankedTensorType();
    if (!labels || labels.getRank() != 2 || !labels.getElementType().isInteger())
      return {};
    for (BlockArgument arg : step.getArguments()) {
      auto type = cast<RankedTensorType>(arg.getType());
      if (arg != built.target && !nn::isState(step, arg.getArgNumber()) &&
          type.getElementType().isInteger() && type.getShape() == labels.getShape())
        return step.getArgAttrOfType<StringAttr>(arg.getArgNumber(), nn::kNameAttr);
    }
    return {};
  }
};

} // namespace
