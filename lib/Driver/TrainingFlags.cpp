// The flags of weft-compile that make training programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/step/TrainingSpec.h"
#include "weft/Driver/Options.h"
#include "weft/Sharding/Mesh.h"

#include "llvm/ADT/StringSwitch.h"

using namespace weft;
using namespace weft::driver;

bool weft::driver::isTrainingFlag(llvm::StringRef flag) {
  return llvm::StringSwitch<bool>(flag)
      .Cases({"--loss", "--optimizer", "--param-group", "--freeze", "--zero"}, true)
      .Cases({"--grad-dtype", "--recompute", "--batch-stats", "--seed", "--microbatches"}, true)
      .Default(false);
}

/// Sets `target` if `value` is one of `choices`.
static std::string choose(llvm::StringRef flag, llvm::StringRef value, llvm::ArrayRef<llvm::StringRef> choices,
                          std::string &target) {
  if (!llvm::is_contained(choices, value))
    return (flag + " is one of " + llvm::join(choices, ", ") + ", not '" + value + "'").str();
  target = value.str();
  return "";
}

static std::string parseZero(llvm::StringRef value, TrainingFlags &flags) {
  auto [stage, axis] = value.split(':');
  if (stage.size() != 1 || stage[0] < '0' || stage[0] > '3' || (value.contains(':') && axis.empty()))
    return ("--zero is 0, 1, 2 or 3, with :AXIS for other axes than the batch's, not '" + value + "'").str();
  flags.zero = value.str();
  return "";
}

void weft::driver::parseTrainingFlag(llvm::StringRef flag, const std::string &value, TrainingFlags &flags,
                                     std::string &error) {
  flags.given.push_back(flag.str());
  llvm::StringRef text = value;
  if (flag == "--loss") {
    flags.loss = value;
  } else if (flag == "--optimizer") {
    flags.optimizer = value;
  } else if (flag == "--param-group") {
    step::appendToList(flags.paramGroups, value);
  } else if (flag == "--freeze") {
    if (std::string why; step::isRegex(value, why))
      step::appendToList(flags.freeze, value);
    else
      error = "--freeze " + why;
  } else if (flag == "--zero") {
    error = parseZero(value, flags);
  } else if (flag == "--grad-dtype") {
    error = choose(flag, value, {"fp32", "bf16", "fp16", "fp64"}, flags.gradDtype);
  } else if (flag == "--recompute") {
    error = choose(flag, value, {"none", "selective", "full", "auto"}, flags.recompute);
  } else if (flag == "--batch-stats") {
    error = choose(flag, value, {"global", "per-microbatch"}, flags.batchStats);
  } else if (flag == "--seed") {
    if (text.getAsInteger(10, flags.seed))
      error = "--seed needs a number from 0 to 2^64 - 1, not '" + value + "'";
  } else if (text.getAsInteger(10, flags.microbatches) || flags.microbatches < 1) {
    error = "--microbatches needs a number of at least 1, not '" + value + "'";
  }
}

/// The axis that --zero splits state over must be in the mesh.
static std::string checkZero(const Options &options) {
  auto [stage, axis] = llvm::StringRef(options.training.zero).split(':');
  if (stage.empty() || stage == "0")
    return "";
  std::optional<Mesh> mesh = Mesh::parse(options.mesh);
  std::string told = "--zero " + options.training.zero + " splits state over ";
  if (axis.empty()) {
    // Placements of inputs may name further axes of the batch.
    if (mesh && !options.mesh.empty() && (!batchAxesOf(*mesh, options.batchAxes).empty() || !options.place.empty()))
      return "";
    return told + "the axes of the batch, and --mesh '" + options.mesh +
           "' has none; write --mesh dp=N, --batch-axes AXIS, or --zero " + stage.str() + ":AXIS";
  }
  if (mesh && !options.mesh.empty() && !mesh->resolve(axis).empty())
    return "";
  return told + "axis '" + axis.str() + "', which --mesh '" + options.mesh + "' lacks; write --mesh " +
         axis.split('.').first.str() + "=N";
}

std::string weft::driver::checkTraining(const Options &options) {
  const TrainingFlags &flags = options.training;
  if (!flags.train)
    return flags.given.empty() ? "" : flags.given.front() + " needs --train";
  std::string error;
  if (flags.usesOwnStep()) {
    for (llvm::StringRef flag : {"--param-group", "--freeze", "--grad-dtype"})
      if (llvm::is_contained(flags.given, flag))
        return (flag + " goes with --loss and --optimizer; without them a model is trained as its TrainingInfo says").str();
  } else if (!step::parseTraining({flags.loss, flags.optimizer, flags.paramGroups, flags.freeze, flags.gradDtype},
                                  error)) {
    return error;
  }
  if (flags.recompute == "auto" && options.memoryLimit == 0)
    return "--recompute auto recomputes the least that fits into --memory-limit; give it, or choose selective or full";
  return checkZero(options);
}

llvm::StringRef weft::driver::trainingHelpText() {
  return R"(How to train
  --train                   make the programs step, eval and forward:

    weft-compile gpt2.onnx -o gpt2 --bind batch=8,seq=128 --train \
      --loss softmax_cross_entropy:logits,labels \
      --optimizer adamw:lr=3e-4,clip=1,schedule=cosine,warmup=100,total=1000
    weft-run gpt2 --data-tokens corpus.bin:u16 --steps 1000

  without --loss and --optimizer a model is trained as its own TrainingInfo says
  --loss LOSS               softmax_cross_entropy:LOGITS,LABELS[,ignore=K]: mean
                            over labels that are neither -100 nor K;
                            mse:PRED,TARGET; or the name of a scalar output.
                            LABELS and TARGET become inputs of that name
  --optimizer NAME[:key=value,...]
                            sgd, momentum, nesterov, adam, adamw, adagrad, lion;
                            lr, weight_decay, momentum, beta1, beta2, eps as it
                            has them; decay=auto (not of vectors)|all; clip=NORM
                            (global); schedule=constant|linear|cosine, warmup=N,
                            total=N, min_lr=X
  --param-group REGEX:key=value,...
                            other lr, lr_scale, weight_decay, ... for weights
                            whose name matches; the first group that does
  --freeze REGEX            do not train these weights
  --zero 0..3[:AXIS]        split over the batch's axes (or AXIS) 1: optimizer
                            states, 2: and gradients, 3: and weights
  --microbatches N          take the batch in N parts, adding up gradients
  --grad-dtype fp32|bf16|fp16|fp64
                            of weight gradients and their sums (default fp32;
                            fp64 with --precision fp64)
  --recompute none|selective|full|auto
                            recompute in the backward pass rather than keep:
                            cheap values and attention, whole blocks, or the
                            least that fits into --memory-limit
  --batch-stats global|per-microbatch
                            what BatchNormalization takes its statistics of: the
                            whole batch (which --microbatches cannot do), or each
                            of the microbatches, rows [k*B/N, (k+1)*B/N)
  --seed N                  of random numbers (default 0)
)";
}
