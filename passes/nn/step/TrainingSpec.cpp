// Parses losses, optimizers and groups of parameters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/step/TrainingSpec.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

#include <cmath>

using namespace weft::step;
using llvm::SmallVector;
using llvm::StringRef;

/// Splits at `separator` that no backslash escapes; the backslash goes, too,
/// but where it escapes something else (as in a regular expression).
static SmallVector<std::string> splitAt(StringRef text, char separator) {
  SmallVector<std::string> items(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == separator)
      items.back() += text[++i];
    else if (text[i] == separator)
      items.emplace_back();
    else
      items.back() += text[i];
  }
  return items;
}

SmallVector<std::string> weft::step::splitList(StringRef text) {
  return text.empty() ? SmallVector<std::string>() : splitAt(text, ';');
}

std::string weft::step::joinList(llvm::ArrayRef<std::string> items) {
  std::string list;
  for (const std::string &item : items) {
    if (!list.empty())
      list += ';';
    for (char c : item)
      list += c == ';' ? std::string("\\;") : std::string(1, c);
  }
  return list;
}

bool weft::step::isRegex(StringRef pattern, std::string &error) {
  std::string why;
  if (!pattern.empty() && llvm::Regex(pattern).isValid(why))
    return true;
  error = ("'" + pattern + "' is no regular expression" + (why.empty() ? "" : ": " + why)).str();
  return false;
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

static constexpr char kLosses[] = "write softmax_cross_entropy:LOGITS,LABELS[,ignore=K], "
                                  "mse:PRED,TARGET, or the name of a scalar output";

std::optional<LossSpec> weft::step::parseLoss(StringRef text, std::string &error) {
  auto fail = [&](const llvm::Twine &why) {
    error = (why + "; " + kLosses).str();
    return std::nullopt;
  };
  LossSpec loss;
  loss.text = text.str();
  StringRef rest = text;
  if (rest.consume_front("softmax_cross_entropy:")) {
    loss.kind = LossSpec::Kind::SoftmaxCrossEntropy;
  } else if (rest.consume_front("mse:")) {
    loss.kind = LossSpec::Kind::MeanSquare;
  } else {
    if (text.empty() || text == "softmax_cross_entropy" || text == "mse")
      return fail("'" + text + "' names no output");
    loss.value = text.str();
    return loss;
  }
  SmallVector<std::string> items = splitAt(rest, ',');
  if (items.size() < 2 || items[0].empty() || items[1].empty())
    return fail("'" + text + "' needs two names, of an output and of what it is compared with");
  loss.value = items[0];
  loss.target = items[1];
  for (StringRef option : llvm::ArrayRef(items).drop_front(2)) {
    int64_t ignore;
    if (loss.kind != LossSpec::Kind::SoftmaxCrossEntropy || !option.consume_front("ignore="))
      return fail("'" + option + "' is no option of this loss");
    if (option.getAsInteger(10, ignore))
      return fail("ignore needs a label, not '" + option + "'");
    loss.ignore = ignore;
  }
  return loss;
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

namespace {
struct KindEntry {
  StringRef name;
  OptimizerKind kind;
  HyperParameters defaults;
  /// Its hyper-parameters beside `lr` and `weight_decay`.
  SmallVector<StringRef> keys;
};
} // namespace

/// Defaults are PyTorch's; of Lion those of its authors (Chen et al., 2023).
static const SmallVector<KindEntry> &kinds() {
  static const SmallVector<KindEntry> entries = {
      {"sgd", OptimizerKind::Sgd, {1e-3, 0, 0, 0, 0, 0, false}, {}},
      {"momentum", OptimizerKind::Momentum, {1e-3, 0, 0, 0, 0.9, 0, false}, {"momentum"}},
      {"nesterov", OptimizerKind::Nesterov, {1e-3, 0, 0, 0, 0.9, 0, false}, {"momentum"}},
      {"adam",
       OptimizerKind::Adam,
       {1e-3, 0.9, 0.999, 1e-8, 0, 0, false},
       {"beta1", "beta2", "eps"}},
      {"adamw",
       OptimizerKind::AdamW,
       {1e-3, 0.9, 0.999, 1e-8, 0, 1e-2, false},
       {"beta1", "beta2", "eps"}},
      {"adagrad", OptimizerKind::Adagrad, {1e-2, 0, 0, 1e-10, 0, 0, false}, {"eps"}},
      {"lion", OptimizerKind::Lion, {1e-4, 0.9, 0.99, 0, 0, 0, false}, {"beta1", "beta2"}},
  };
  return entries;
}

static const KindEntry &entryOf(OptimizerKind kind) {
  return *llvm::find_if(kinds(), [&](const KindEntry &entry) { return entry.kind == kind; });
}

static double *fieldOf(HyperParameters &hyper, StringRef key) {
  if (key == "lr")
    return &hyper.lr;
  if (key == "beta1")
    return &hyper.beta1;
  if (key == "beta2")
    return &hyper.beta2;
  if (key == "eps")
    return &hyper.eps;
  if (key == "momentum")
    return &hyper.momentum;
  if (key == "weight_decay")
    return &hyper.weightDecay;
  return nullptr;
}

static SmallVector<StringRef> hyperKeys(const KindEntry &entry) {
  SmallVector<StringRef> keys{"lr", "weight_decay"};
  llvm::append_range(keys, entry.keys);
  return keys;
}

/// Reads a hyper-parameter within its range; false with the reason.
static bool readHyper(StringRef key, StringRef value, double &target, std::string &error) {
  double number;
  bool isFraction = key.starts_with("beta") || key == "momentum";
  if (value.getAsDouble(number) || !std::isfinite(number) || number < 0 ||
      (isFraction && number >= 1)) {
    error = (key + " is a number " + (isFraction ? "in [0, 1)" : "not below 0") + ", not '" +
             value + "'")
                .str();
    return false;
  }
  target = number;
  return true;
}

static bool readCount(StringRef key, StringRef value, int64_t &target, std::string &error) {
  if (!value.getAsInteger(10, target) && target >= 0)
    return true;
  error = (key + " is a number of steps, not '" + value + "'").str();
  return false;
}

static bool readOption(StringRef key, StringRef value, const KindEntry &entry, OptimizerSpec &spec,
                       std::string &error) {
  if (llvm::is_contained(hyperKeys(entry), key))
    return readHyper(key, value, *fieldOf(spec.hyper, key), error);
  if (key == "clip")
    return readHyper(key, value, spec.clip, error);
  if (key == "min_lr")
    return readHyper(key, value, spec.schedule.minLr, error);
  if (key == "warmup")
    return readCount(key, value, spec.schedule.warmup, error);
  if (key == "total")
    return readCount(key, value, spec.schedule.total, error);
  // Sgd with momentum is the optimizer of that name.
  if (key == "momentum" && spec.kind == OptimizerKind::Sgd) {
    spec.kind = OptimizerKind::Momentum;
    return readHyper(key, value, spec.hyper.momentum, error);
  }
  if (key == "decay") {
    spec.hyper.decayAll = value == "all";
    if (value == "all" || value == "auto")
      return true;
    error =
        ("decay is auto (not of vectors: biases and scales of norms) or all, not '" + value + "'")
            .str();
    return false;
  }
  if (key == "schedule") {
    using Kind = ScheduleSpec::Kind;
    for (auto [name, kind] : {std::pair("constant", Kind::Constant),
                              std::pair("linear", Kind::Linear), std::pair("cosine", Kind::Cosine)})
      if (value == name) {
        spec.schedule.kind = kind;
        return true;
      }
    error = ("schedule is constant, linear or cosine, not '" + value + "'").str();
    return false;
  }
  error = (entry.name + " has no '" + key + "'; it takes " + llvm::join(hyperKeys(entry), ", ") +
           ", decay, clip, schedule, warmup, total, min_lr")
              .str();
  return false;
}

std::optional<OptimizerSpec> weft::step::parseOptimizer(StringRef text, std::string &error) {
  auto [name, rest] = text.split(':');
  auto entry =
      llvm::find_if(kinds(), [name = name](const KindEntry &entry) { return entry.name == name; });
  if (entry == kinds().end()) {
    error = ("'" + name + "' is no optimizer; choose " +
             llvm::join(llvm::map_range(kinds(), [](const KindEntry &entry) { return entry.name; }),
                        ", "))
                .str();
    return std::nullopt;
  }
  OptimizerSpec spec;
  spec.kind = entry->kind;
  spec.hyper = entry->defaults;
  spec.text = text.str();
  for (const std::string &item : rest.empty() ? SmallVector<std::string>() : splitAt(rest, ',')) {
    auto [key, value] = StringRef(item).split('=');
    if (!readOption(key, value, *entry, spec, error))
      return std::nullopt;
  }
  const ScheduleSpec &schedule = spec.schedule;
  if (schedule.kind != ScheduleSpec::Kind::Constant && schedule.total <= schedule.warmup)
    error = "a linear or cosine schedule ends at step total=N, more than warmup";
  else if (schedule.minLr > spec.hyper.lr)
    error = "min_lr is above lr";
  else
    return spec;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static bool isOfEveryGroup(StringRef key) { return key == "lr_scale" || key == "decay"; }

std::optional<ParameterGroup> weft::step::parseGroup(StringRef text, std::string &error) {
  SmallVector<std::string> parts = splitAt(text, ':');
  ParameterGroup group;
  group.text = text.str();
  group.pattern = parts.front();
  if (parts.size() != 2 || parts[1].empty()) {
    error = "'" + text.str() + "' needs REGEX:key=value,...; a ':' of the pattern is written \\:";
    return std::nullopt;
  }
  if (!isRegex(group.pattern, error))
    return std::nullopt;
  HyperParameters all;
  for (StringRef item : splitAt(parts[1], ',')) {
    auto [key, value] = item.split('=');
    double number = 0;
    if (key == "decay" && (value == "all" || value == "auto")) {
      number = value == "all";
    } else if (key == "lr_scale" || fieldOf(all, key)) {
      if (!readHyper(key, value, number, error))
        return std::nullopt;
    } else {
      error = ("'" + item + "' is nothing that a group may have: lr, weight_decay, what else the " +
               "optimizer has, lr_scale, decay=auto|all")
                  .str();
      return std::nullopt;
    }
    group.values.emplace_back(key.str(), number);
  }
  return group;
}

bool weft::step::checkGroup(const ParameterGroup &group, const OptimizerSpec &optimizer,
                            std::string &error) {
  const KindEntry &entry = entryOf(optimizer.kind);
  for (const auto &[key, value] : group.values)
    if (!isOfEveryGroup(key) && !llvm::is_contained(hyperKeys(entry), key)) {
      error = "a group of " + entry.name.str() + " has no '" + key + "'; it takes " +
              llvm::join(hyperKeys(entry), ", ") + ", lr_scale, decay=auto|all";
      return false;
    }
  return true;
}

HyperParameters weft::step::refine(const HyperParameters &hyper, const ParameterGroup &group) {
  HyperParameters own = hyper;
  for (const auto &[key, value] : group.values) {
    if (key == "lr_scale")
      own.lr *= value;
    else if (key == "decay")
      own.decayAll = value != 0;
    else
      *fieldOf(own, key) = value;
    // Who names a decay for a pattern means its members.
    if (key == "weight_decay")
      own.decayAll = true;
  }
  return own;
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

std::optional<TrainingSpec> weft::step::parseTraining(const TrainingTexts &texts,
                                                      std::string &error) {
  auto fail = [&](StringRef flag) {
    error = (flag + " " + error).str();
    return std::nullopt;
  };
  TrainingSpec spec;
  std::optional<LossSpec> loss = parseLoss(texts.loss, error);
  if (!loss)
    return fail("--loss");
  std::optional<OptimizerSpec> optimizer = parseOptimizer(texts.optimizer, error);
  if (!optimizer)
    return fail("--optimizer");
  for (const std::string &text : splitList(texts.paramGroups)) {
    std::optional<ParameterGroup> group = parseGroup(text, error);
    if (!group || !checkGroup(*group, *optimizer, error))
      return fail("--param-group");
    spec.groups.push_back(*group);
  }
  for (const std::string &pattern : splitList(texts.freeze)) {
    if (!isRegex(pattern, error))
      return fail("--freeze");
    spec.freeze.push_back(pattern);
  }
  spec.gradDtype = parsePrecision(texts.gradDtype);
  if (!texts.gradDtype.empty() && !spec.gradDtype) {
    error = "'" + texts.gradDtype + "' is none of fp32, bf16, fp16, fp64";
    return fail("--grad-dtype");
  }
  spec.loss = *loss;
  spec.optimizer = *optimizer;
  return spec;
}
