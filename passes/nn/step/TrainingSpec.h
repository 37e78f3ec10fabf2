// What to train for and how, as the flags of weft-compile say it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_NN_STEP_TRAININGSPEC_H
#define WEFT_PASSES_NN_STEP_TRAININGSPEC_H

#include "passes/nn/step/Precision.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>

namespace weft::step {

/// `softmax_cross_entropy:LOGITS,LABELS[,ignore=K][,dim=D][,smoothing=E]`, `mse:PRED,TARGET`, or
/// the name of a scalar output.
struct LossSpec {
  enum class Kind { SoftmaxCrossEntropy, MeanSquare, Output };
  Kind kind = Kind::Output;
  /// Logits, predictions, or the scalar itself: an output of the model.
  std::string value;
  /// Labels or targets: an input, made if the model has none of that name.
  std::string target;
  /// A label that does not count, beside -100.
  std::optional<int64_t> ignore;
  /// The dim of the classes, from the end if negative; nothing: the one that labels lack.
  std::optional<int64_t> classDim;
  /// The share of what is expected that all classes have alike, 0 to 1; the label has the rest
  /// (Szegedy et al., 2016).
  double smoothing = 0;
  /// The text it was parsed from.
  std::string text;
};

enum class OptimizerKind { Sgd, Momentum, Nesterov, Adam, AdamW, Adagrad, Lion };

/// What may differ between groups of parameters.
struct HyperParameters {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, momentum = 0, weightDecay = 0;
  /// Whether vectors (biases, scales of norms) decay too.
  bool decayAll = false;
  bool operator==(const HyperParameters &other) const {
    return lr == other.lr && beta1 == other.beta1 && beta2 == other.beta2 && eps == other.eps &&
           momentum == other.momentum && weightDecay == other.weightDecay &&
           decayAll == other.decayAll;
  }
};

/// The factor on the learning rate at step k (from 0): during warm-up
/// (k + 1) / warmup; then with p = (k - warmup) / (total - warmup), at most 1,
/// constant 1, linear 1 - p, or cosine (1 + cos(pi p)) / 2, between
/// `minLr / lr` and 1.
struct ScheduleSpec {
  enum class Kind { Constant, Linear, Cosine };
  Kind kind = Kind::Constant;
  int64_t warmup = 0, total = 0;
  double minLr = 0;
};

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::AdamW;
  HyperParameters hyper;
  /// The greatest global norm of gradients; 0: no clipping.
  double clip = 0;
  ScheduleSpec schedule;
  /// The text it was parsed from.
  std::string text;
  /// `adamw`, as it was written.
  llvm::StringRef name() const { return llvm::StringRef(text).split(':').first; }
};

/// `REGEX:key=value,...`: parameters whose name has a match. The first group
/// that matches a parameter is its own.
struct ParameterGroup {
  std::string pattern;
  llvm::SmallVector<std::pair<std::string, double>> values;
  /// The text it was parsed from.
  std::string text;
};

/// Errors tell what is wrong and what may be written instead.
llvm::Expected<LossSpec> parseLoss(llvm::StringRef text);
llvm::Expected<OptimizerSpec> parseOptimizer(llvm::StringRef text);
/// Keys are those that any optimizer has; `checkGroup`: that `optimizer` has.
llvm::Expected<ParameterGroup> parseGroup(llvm::StringRef text);
llvm::Error checkGroup(const ParameterGroup &group, const OptimizerSpec &optimizer);

/// All of it.
struct TrainingSpec {
  LossSpec loss;
  OptimizerSpec optimizer;
  llvm::SmallVector<ParameterGroup> groups;
  /// Patterns of weights that are not trained.
  llvm::SmallVector<std::string> freeze;
  /// Nothing: fp32 or the parameter's type if wider.
  std::optional<Precision> gradDtype;
};

/// The texts of a pass's options; lists as `splitList` reads them.
struct TrainingTexts {
  std::string loss, optimizer, paramGroups, freeze, gradDtype;
};
llvm::Expected<TrainingSpec> parseTraining(const TrainingTexts &texts);

/// The hyper-parameters of a member of `group`.
HyperParameters refine(const HyperParameters &hyper, const ParameterGroup &group);

/// Splits a list of the pipeline's options at `;` that no backslash escapes.
llvm::SmallVector<std::string> splitList(llvm::StringRef text);
/// Such a list of `items`.
std::string joinList(llvm::ArrayRef<std::string> items);

/// An error if `pattern` is no regular expression.
llvm::Error checkRegex(llvm::StringRef pattern);

} // namespace weft::step

#endif // WEFT_PASSES_NN_STEP_TRAININGSPEC_H
