// The flags of weft-compile that make training programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Driver/Options.h"

#include "llvm/ADT/STLExtras.h"

using namespace weft;
using namespace weft::driver;
using runtime::FlagTable;

namespace {

constexpr const char *kExample = R"(
  weft-compile gpt2.onnx -o gpt2 --bind batch=8,seq=128 --train \
    --loss softmax_cross_entropy:logits,labels \
    --optimizer adamw:lr=3e-4,clip=1,schedule=cosine,warmup=100,total=1000
  weft-run gpt2 --data-tokens corpus.bin:u16 --steps 1000

)";

/// What a person can ask for: the share of Recompute::Best only trials can tell.
const std::vector<std::string> kRecomputeChoices{nameOf(Recompute::None),
                                                 nameOf(Recompute::Selective),
                                                 nameOf(Recompute::Full), nameOf(Recompute::Auto)};

/// A flag whose text `parse` reads.
template <typename T>
FlagTable::Take takeParsed(std::optional<T> &target, llvm::Expected<T> (*parse)(llvm::StringRef)) {
  return [&target, parse](const std::string &text) -> std::string {
    llvm::Expected<T> parsed = parse(text);
    if (!parsed)
      return llvm::toString(parsed.takeError());
    target = std::move(*parsed);
    return "";
  };
}

std::string takeZero(llvm::StringRef text, ZeroStage &target) {
  std::optional<ZeroStage> zero = ZeroStage::parse(text);
  if (!zero)
    return ("is 0, 1, 2 or 3, with :AXIS for other axes than the batch's, not '" + text + "'")
        .str();
  target = std::move(*zero);
  return "";
}

std::string takeGroup(const std::string &text, std::vector<step::ParameterGroup> &groups) {
  llvm::Expected<step::ParameterGroup> group = step::parseGroup(text);
  if (!group)
    return llvm::toString(group.takeError());
  groups.push_back(std::move(*group));
  return "";
}

std::string takeRegex(const std::string &text, std::vector<std::string> &patterns) {
  if (llvm::Error wrong = step::checkRegex(text))
    return llvm::toString(std::move(wrong));
  patterns.push_back(text);
  return "";
}

FlagTable::Take takeRecompute(Recompute &target) {
  return [&target](const std::string &text) -> std::string {
    if (!llvm::is_contained(kRecomputeChoices, text))
      return FlagTable::notAmong(text, kRecomputeChoices);
    target = *parseRecompute(text);
    return "";
  };
}

} // namespace

std::string weft::driver::takePrecisionAmong(const std::string &text, Precision &target) {
  static const std::vector<std::string> names{"fp32", "bf16", "fp16", "fp64"};
  if (!llvm::is_contained(names, text))
    return FlagTable::notAmong(text, names);
  target = *parsePrecision(text);
  return "";
}

void weft::driver::addTrainingFlags(FlagTable &flags, ActsTable &acts, Options &options) {
  PhaseOptions &training = options.compile.phases;
  flags.topic("training", "How to train", kExample);
  acts.between(
      Phase::Graph, Phase::Graph, Phase::Sharded,
      flags.toggle(
          "--train",
          "make the programs step, eval and forward; without --loss and --optimizer a model "
          "is trained as its "
          "own TrainingInfo says",
          training.train));
  // All others want --train, and so are remembered.
  auto add = [&flags, &options](const char *name, const char *placeholder, const char *help,
                                FlagTable::Take take, std::vector<std::string> choices = {}) {
    return flags.value(
        name, placeholder, help,
        [name, take, &options](const std::string &value) {
          options.trainingFlags.push_back(name);
          return take(value);
        },
        std::move(choices));
  };
  acts.between(
      Phase::Graph, Phase::Step, Phase::Step,
      add("--loss", "LOSS",
          "softmax_cross_entropy:LOGITS,LABELS with ,ignore=K ,dim=D ,smoothing=E as needed: "
          "mean over labels that are neither -100 nor K, classes in dim D (by default the "
          "one that labels lack, of several the last), E of what is expected shared by all "
          "classes; mse:PRED,TARGET; or the name of a scalar output. LABELS and TARGET "
          "become inputs of that name",
          takeParsed(training.loss, step::parseLoss)));
  acts.between(
      Phase::Graph, Phase::Step, Phase::Step,
      add("--optimizer", "NAME[:key=value,...]",
          "sgd, momentum, nesterov, adam, adamw, adagrad, lion; lr, weight_decay, momentum, beta1, "
          "beta2, eps as it has "
          "them; decay=auto (not of vectors)|all; clip=NORM (global); "
          "schedule=constant|linear|cosine, "
          "warmup=N, "
          "total=N, min_lr=X",
          takeParsed(training.optimizer, step::parseOptimizer)));
  acts.at(Phase::Step, add("--param-group", "REGEX:key=value,...",
                           "other lr, lr_scale, weight_decay, ... for weights whose name matches; "
                           "the first group that "
                           "does",
                           [&training](const std::string &value) {
                             return takeGroup(value, training.paramGroups);
                           }));
  acts.at(Phase::Step,
          add("--freeze", "REGEX", "do not train these weights",
              [&training](const std::string &value) { return takeRegex(value, training.freeze); }));
  acts.at(Phase::Sharded,
          add("--zero", "0..3[:AXIS]",
              "split over the batch's axes (or AXIS) 1: optimizer states, 2: and gradients, 3: and "
              "weights",
              [&training](const std::string &value) { return takeZero(value, training.zero); }));
  acts.at(Phase::Step,
          add("--grad-dtype", "fp32|bf16|fp16|fp64",
              "of weight gradients and their sums (default fp32; fp64 with --precision fp64)",
              [&training](const std::string &value) {
                return takePrecisionAmong(value, training.gradDtype.emplace());
              },
              {"fp32", "bf16", "fp16", "fp64"}));
  acts.at(Phase::Step, add("--recompute", "none|selective|full|auto",
                           "recompute in the backward pass rather than keep: cheap values and "
                           "attention, whole blocks, "
                           "or the least that fits into memory",
                           takeRecompute(training.recompute), kRecomputeChoices));
  acts.between(
      Phase::Graph, Phase::Graph, Phase::Sharded,
      add("--batch-stats", "global|per-microbatch",
          "what BatchNormalization takes its statistics of: the whole batch (which --microbatches "
          "cannot do), or each of "
          "the microbatches, rows [k*B/N, (k+1)*B/N)",
          [&training](const std::string &value) -> std::string {
            bool ofParts = value == kPerMicrobatch;
            training.batchStats = ofParts ? BatchStats::PerMicrobatch : BatchStats::Global;
            return ofParts || value == "global"
                       ? ""
                       : FlagTable::notAmong(value, {"global", kPerMicrobatch.str()});
          },
          {"global", kPerMicrobatch.str()}));
  acts.between(
      Phase::Graph, Phase::Graph, Phase::Step,
      add("--seed", "N", "of random numbers (default 0)", [&training](const std::string &value) {
        return FlagTable::parseSeed(value, training.seed);
      }));
}

/// The axis that --zero splits state over must be in the mesh.
static std::string checkZero(const PhaseOptions &phases) {
  const auto &[stage, axis] = phases.zero;
  if (stage == 0)
    return "";
  std::string mesh = toString(phases.mesh), number = std::to_string(stage);
  if (axis.empty()) {
    // Placements of inputs may name further axes of the batch.
    bool mayHave = !batchAxesOf(phases).empty() || !phases.place.empty();
    if (!phases.mesh.axes.empty() && mayHave)
      return "";
    return "--zero " + number + " splits state over the axes of the batch, and --mesh '" + mesh +
           "' has none; write --mesh dp=N, --batch-axes AXIS, or --zero " + number + ":AXIS";
  }
  if (!phases.mesh.resolve(axis).empty())
    return "";
  return "--zero " + number + ":" + axis + " splits state over axis '" + axis +
         "', which --mesh '" + mesh + "' lacks; write --mesh " +
         llvm::StringRef(axis).split('.').first.str() + "=N";
}

std::string weft::driver::checkTraining(const Options &options) {
  const PhaseOptions &flags = options.compile.phases;
  const std::vector<std::string> &given = options.trainingFlags;
  if (!flags.train)
    return given.empty() ? "" : given.front() + " needs --train";
  if (flags.loss && !flags.optimizer)
    return "--loss needs --optimizer beside it: adamw:lr=1e-3, for one; --help=optimizer lists all";
  if (flags.optimizer && !flags.loss)
    return "--optimizer needs --loss beside it: softmax_cross_entropy:LOGITS,LABELS, for one; "
           "--help=loss lists all";
  for (llvm::StringRef flag : {"--param-group", "--freeze", "--grad-dtype"})
    if (flags.usesModelStep() && llvm::is_contained(given, flag))
      return (flag + " goes with --loss and --optimizer; without them a model is trained as its "
                     "TrainingInfo says")
          .str();
  for (const step::ParameterGroup &group : flags.paramGroups)
    if (llvm::Error wrong = checkGroup(group, *flags.optimizer))
      return "--param-group " + llvm::toString(std::move(wrong));
  return checkZero(flags);
}
