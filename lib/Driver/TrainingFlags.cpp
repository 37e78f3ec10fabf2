// The flags of weft-compile that make training programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/step/TrainingSpec.h"
#include "weft/Compiler/ZeroStage.h"
#include "weft/Driver/Options.h"
#include "weft/Sharding/Mesh.h"

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

std::string takeZero(llvm::StringRef value, PhaseOptions &training) {
  if (!ZeroStage::parse(value))
    return ("is 0, 1, 2 or 3, with :AXIS for other axes than the batch's, not '" + value + "'")
        .str();
  training.zero = value.str();
  return "";
}

std::string takeFreeze(const std::string &value, PhaseOptions &training) {
  std::string why;
  if (!step::isRegex(value, why))
    return why;
  step::appendToList(training.freeze, value);
  return "";
}

FlagTable::Take takeText(std::string &target) {
  return [&target](const std::string &value) {
    target = value;
    return std::string();
  };
}

FlagTable::Take takeChoice(std::string &target, std::vector<std::string> choices) {
  return [&target, choices](const std::string &value) -> std::string {
    if (!llvm::is_contained(choices, value))
      return FlagTable::notAmong(value, choices);
    target = value;
    return "";
  };
}

} // namespace

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
  acts.between(Phase::Graph, Phase::Step, Phase::Step,
               add("--loss", "LOSS",
                   "softmax_cross_entropy:LOGITS,LABELS[,ignore=K]: mean over labels that are "
                   "neither -100 nor "
                   "K; "
                   "mse:PRED,TARGET; or the name of a scalar output. LABELS and TARGET become "
                   "inputs of that "
                   "name",
                   takeText(training.loss)));
  acts.between(
      Phase::Graph, Phase::Step, Phase::Step,
      add("--optimizer", "NAME[:key=value,...]",
          "sgd, momentum, nesterov, adam, adamw, adagrad, lion; lr, weight_decay, momentum, beta1, "
          "beta2, eps as it has "
          "them; decay=auto (not of vectors)|all; clip=NORM (global); "
          "schedule=constant|linear|cosine, "
          "warmup=N, "
          "total=N, min_lr=X",
          takeText(training.optimizer)));
  acts.at(Phase::Step, add("--param-group", "REGEX:key=value,...",
                           "other lr, lr_scale, weight_decay, ... for weights whose name matches; "
                           "the first group that "
                           "does",
                           [&training](const std::string &value) {
                             step::appendToList(training.paramGroups, value);
                             return std::string();
                           }));
  acts.at(Phase::Step,
          add("--freeze", "REGEX", "do not train these weights",
              [&training](const std::string &value) { return takeFreeze(value, training); }));
  acts.at(Phase::Sharded,
          add("--zero", "0..3[:AXIS]",
              "split over the batch's axes (or AXIS) 1: optimizer states, 2: and gradients, 3: and "
              "weights",
              [&training](const std::string &value) { return takeZero(value, training); }));
  acts.at(Phase::Sharded,
          add("--microbatches", "N", "take the batch in N parts, adding up gradients",
              [&training](const std::string &value) {
                return FlagTable::parseCount(value, 1, 1 << 30, training.microbatches);
              }));
  acts.at(Phase::Step,
          add("--grad-dtype", "fp32|bf16|fp16|fp64",
              "of weight gradients and their sums (default fp32; fp64 with --precision fp64)",
              takeChoice(training.gradDtype, {"fp32", "bf16", "fp16", "fp64"}),
              {"fp32", "bf16", "fp16", "fp64"}));
  acts.at(Phase::Step, add("--recompute", "none|selective|full|auto",
                           "recompute in the backward pass rather than keep: cheap values and "
                           "attention, whole blocks, "
                           "or the least that "
                           "fits into --memory-limit",
                           takeChoice(training.recompute, {"none", "selective", "full", "auto"}),
                           {"none", "selective", "full", "auto"}));
  acts.between(
      Phase::Graph, Phase::Graph, Phase::Sharded,
      add("--batch-stats", "global|per-microbatch",
          "what BatchNormalization takes its statistics of: the whole batch (which --microbatches "
          "cannot do), or each of "
          "the microbatches, rows [k*B/N, (k+1)*B/N)",
          takeChoice(training.batchStats, {"global", "per-microbatch"}),
          {"global", "per-microbatch"}));
  acts.between(
      Phase::Graph, Phase::Graph, Phase::Step,
      add("--seed", "N", "of random numbers (default 0)", [&training](const std::string &value) {
        return FlagTable::parseSeed(value, training.seed);
      }));
}

/// The axis that --zero splits state over must be in the mesh.
static std::string checkZero(const Options &options) {
  const PhaseOptions &phases = options.compile.phases;
  const ZeroStage zero = *ZeroStage::parse(phases.zero);
  if (zero.stage == 0)
    return "";
  std::optional<Mesh> mesh = Mesh::parse(phases.mesh);
  std::string told = "--zero " + phases.zero + " splits state over ";
  if (zero.axis.empty()) {
    // Placements of inputs may name further axes of the batch.
    if (mesh && !phases.mesh.empty() &&
        (!batchAxesOf(*mesh, phases.batchAxes).empty() || !phases.place.empty()))
      return "";
    return told + "the axes of the batch, and --mesh '" + phases.mesh +
           "' has none; write --mesh dp=N, --batch-axes AXIS, or --zero " +
           std::to_string(zero.stage) + ":AXIS";
  }
  if (mesh && !phases.mesh.empty() && !mesh->resolve(zero.axis).empty())
    return "";
  return told + "axis '" + zero.axis + "', which --mesh '" + phases.mesh +
         "' lacks; write --mesh " + llvm::StringRef(zero.axis).split('.').first.str() + "=N";
}

std::string weft::driver::checkTraining(const Options &options) {
  const PhaseOptions &flags = options.compile.phases;
  const std::vector<std::string> &given = options.trainingFlags;
  if (!flags.train)
    return given.empty() ? "" : given.front() + " needs --train";
  if (!flags.usesModelStep() && flags.optimizer.empty())
    return "--loss needs --optimizer beside it: adamw:lr=1e-3, for one; --help=optimizer lists all";
  std::string error;
  if (flags.usesModelStep()) {
    for (llvm::StringRef flag : {"--param-group", "--freeze", "--grad-dtype"})
      if (llvm::is_contained(given, flag))
        return (flag + " goes with --loss and --optimizer; without them a model is trained as its "
                       "TrainingInfo says")
            .str();
  } else if (!step::parseTraining(
                 {flags.loss, flags.optimizer, flags.paramGroups, flags.freeze, flags.gradDtype},
                 error)) {
    return error;
  }
  if (flags.recompute == "auto" && options.compile.memoryLimit == 0)
    return "--recompute auto recomputes the least that fits into --memory-limit; give it, or "
           "choose selective or full";
  return checkZero(options);
}
