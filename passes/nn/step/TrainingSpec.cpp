// Parses losses, optimizers and groups of parameters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/step/TrainingSpec.h"

#include "weft/Support/Nearest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Regex.h"

#include <cmath>

using namespace weft::step;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
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

Error weft::step::checkRegex(StringRef pattern) {
  std::string why;
  if (!pattern.empty() && llvm::Regex(pattern).isValid(why))
    return Error::success();
  return createStringError("'" + pattern + "' is no regular expression" +
                           (why.empty() ? "" : ": " + why));
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

static constexpr char kLosses[] =
    "write softmax_cross_entropy:LOGITS,LABELS[,ignore=K][,dim=D][,smoothing=E], mse:PRED,TARGET, "
    "or the name of a scalar output";

Expected<LossSpec> weft::step::parseLoss(StringRef text) {
  auto fail = [](const llvm::Twine &why) { return createStringError(why + "; " + kLosses); };
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
  llvm::StringSet<> keys;
  for (StringRef option : llvm::ArrayRef(items).drop_front(2)) {
    auto [key, value] = option.split('=');
    int64_t number;
    if (loss.kind != LossSpec::Kind::SoftmaxCrossEntropy ||
        !llvm::is_contained({"ignore", "dim", "smoothing"}, key))
      return fail("'" + option + "' is no option of this loss");
    if (!keys.insert(key).second)
      return fail(key + " is given twice");
    if (key == "smoothing") {
      if (value.getAsDouble(loss.smoothing) || !(loss.smoothing >= 0 && loss.smoothing <= 1))
        return fail("smoothing needs a share from 0 to 1, not '" + value + "'");
      continue;
    }
    if (value.getAsInteger(10, number))
      return fail(key + " needs " + (key == "dim" ? "a number" : "a label") + ", not '" + value +
                  "'");
    (key == "dim" ? loss.classDim : loss.ignore) = number;
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

/// Reads a hyper-parameter within its range.
static Error readHyper(StringRef key, StringRef value, double &target) {
  double number;
  bool isFraction = key.starts_with("beta") || key == "momentum";
  if (value.getAsDouble(number) || !std::isfinite(number) || number < 0 ||
      (isFraction && number >= 1))
    return createStringError(key + " is a number " + (isFraction ? "in [0, 1)" : "not below 0") +
                             ", not '" + value + "'");
  target = number;
  return Error::success();
}

static Error readCount(StringRef key, StringRef value, int64_t &target) {
  if (!value.getAsInteger(10, target) && target >= 0)
    return Error::success();
  return createStringError(key + " is a number of steps, not '" + value + "'");
}

static Error readOption(StringRef key, StringRef value, const KindEntry &entry,
                        OptimizerSpec &spec) {
  if (llvm::is_contained(hyperKeys(entry), key))
    return readHyper(key, value, *fieldOf(spec.hyper, key));
  if (key == "clip")
    return readHyper(key, value, spec.clip);
  if (key == "min_lr")
    return readHyper(key, value, spec.schedule.minLr);
  if (key == "warmup")
    return readCount(key, value, spec.schedule.warmup);
  if (key == "total")
    return readCount(key, value, spec.schedule.total);
  // Sgd with momentum is the optimizer of that name.
  bool isSgd = entry.name == "sgd";
  if (key == "momentum" && isSgd) {
    spec.kind = OptimizerKind::Momentum;
    return readHyper(key, value, spec.hyper.momentum);
  }
  if (key == "decay") {
    spec.hyper.decayAll = value == "all";
    if (value == "all" || value == "auto")
      return Error::success();
    return createStringError(
        "decay is auto (not of vectors: biases and scales of norms) or all, not '" + value + "'");
  }
  if (key == "schedule") {
    using Kind = ScheduleSpec::Kind;
    for (auto [name, kind] : {std::pair("constant", Kind::Constant),
                              std::pair("linear", Kind::Linear), std::pair("cosine", Kind::Cosine)})
      if (value == name) {
        spec.schedule.kind = kind;
        return Error::success();
      }
    return createStringError("schedule is constant, linear or cosine, not '" + value + "'");
  }
  SmallVector<StringRef> keys = hyperKeys(entry);
  std::vector<std::string> known(keys.begin(), keys.end());
  if (isSgd)
    known.push_back("momentum");
  known.insert(known.end(), {"decay", "clip", "schedule", "warmup", "total", "min_lr"});
  return createStringError(entry.name + " has no '" + key + "'; it takes " +
                           llvm::join(known, ", ") + weft::didYouMean(key, known));
}

Expected<OptimizerSpec> weft::step::parseOptimizer(StringRef text) {
  auto [name, rest] = text.split(':');
  auto entry =
      llvm::find_if(kinds(), [name = name](const KindEntry &entry) { return entry.name == name; });
  if (entry == kinds().end()) {
    std::vector<std::string> known;
    for (const KindEntry &kind : kinds())
      known.push_back(kind.name.str());
    return createStringError("'" + name + "' is no optimizer; choose " + llvm::join(known, ", ") +
                             weft::didYouMean(name, known));
  }
  OptimizerSpec spec;
  spec.kind = entry->kind;
  spec.hyper = entry->defaults;
  spec.text = text.str();
  llvm::StringSet<> given;
  for (const std::string &item : rest.empty() ? SmallVector<std::string>() : splitAt(rest, ',')) {
    auto [key, value] = StringRef(item).split('=');
    if (!given.insert(key).second)
      return createStringError("'" + key + "' is given twice");
    if (Error wrong = readOption(key, value, *entry, spec))
      return std::move(wrong);
  }
  const ScheduleSpec &schedule = spec.schedule;
  if (schedule.kind != ScheduleSpec::Kind::Constant && schedule.total <= schedule.warmup)
    return createStringError("a linear or cosine schedule ends at step total=N, more than warmup");
  for (StringRef key : {"total", "min_lr"})
    if (!given.contains("schedule") && given.contains(key))
      return createStringError(key + " is of a schedule that falls: give schedule=linear or "
                                     "schedule=cosine, too");
  if (schedule.minLr > spec.hyper.lr)
    return createStringError("min_lr is above lr");
  return spec;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static bool isOfEveryGroup(StringRef key) { return key == "lr_scale" || key == "decay"; }

Expected<ParameterGroup> weft::step::parseGroup(StringRef text) {
  SmallVector<std::string> parts = splitAt(text, ':');
  ParameterGroup group;
  group.text = text.str();
  group.pattern = parts.front();
  if (parts.size() != 2 || parts[1].empty())
    return createStringError("'" + text +
                             "' needs REGEX:key=value,...; a ':' of the pattern is written \\:");
  if (Error wrong = checkRegex(group.pattern))
    return std::move(wrong);
  HyperParameters all;
  for (StringRef item : splitAt(parts[1], ',')) {
    auto [key, value] = item.split('=');
    double number = 0;
    if (key == "decay" && (value == "all" || value == "auto")) {
      number = value == "all";
    } else if (key == "lr_scale" || fieldOf(all, key)) {
      if (Error wrong = readHyper(key, value, number))
        return std::move(wrong);
    } else {
      return createStringError("'" + item +
                               "' is nothing that a group may have: lr, weight_decay, what else "
                               "the optimizer has, lr_scale, decay=auto|all" +
                               weft::didYouMean(key, {"lr", "weight_decay", "momentum", "beta1",
                                                      "beta2", "eps", "lr_scale", "decay"}));
    }
    group.values.emplace_back(key.str(), number);
  }
  return group;
}

Error weft::step::checkGroup(const ParameterGroup &group, const OptimizerSpec &optimizer) {
  const KindEntry &entry = entryOf(optimizer.kind);
  for (const auto &[key, value] : group.values)
    if (!isOfEveryGroup(key) && !llvm::is_contained(hyperKeys(entry), key))
      return createStringError("a group of " + entry.name + " has no '" + key + "'; it takes " +
                               llvm::join(hyperKeys(entry), ", ") + ", lr_scale, decay=auto|all");
  return Error::success();
}

HyperParameters weft::step::refine(const HyperParameters &hyper, const ParameterGroup &group) {
  HyperParameters own = hyper;
  // In whatever order they stand: numbers first, then what scales them. Who names a decay for a
  // pattern means its members, unless the group says which.
  double scale = 1;
  std::optional<bool> decayAll;
  for (const auto &[key, value] : group.values) {
    if (key == "lr_scale")
      scale *= value;
    else if (key == "decay")
      decayAll = value != 0;
    else
      *fieldOf(own, key) = value;
    if (key == "weight_decay" && !decayAll)
      own.decayAll = true;
  }
  own.lr *= scale;
  own.decayAll = decayAll.value_or(own.decayAll);
  return own;
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

Expected<TrainingSpec> weft::step::parseTraining(const TrainingTexts &texts) {
  auto withFlag = [](StringRef flag, Error wrong) {
    return createStringError(flag + " " + llvm::toString(std::move(wrong)));
  };
  TrainingSpec spec;
  Expected<LossSpec> loss = parseLoss(texts.loss);
  if (!loss)
    return withFlag("--loss", loss.takeError());
  spec.loss = std::move(*loss);
  Expected<OptimizerSpec> optimizer = parseOptimizer(texts.optimizer);
  if (!optimizer)
    return withFlag("--optimizer", optimizer.takeError());
  spec.optimizer = std::move(*optimizer);
  for (const std::string &text : splitList(texts.paramGroups)) {
    Expected<ParameterGroup> group = parseGroup(text);
    if (!group)
      return withFlag("--param-group", group.takeError());
    if (Error wrong = checkGroup(*group, spec.optimizer))
      return withFlag("--param-group", std::move(wrong));
    spec.groups.push_back(std::move(*group));
  }
  for (const std::string &pattern : splitList(texts.freeze)) {
    if (Error wrong = checkRegex(pattern))
      return withFlag("--freeze", std::move(wrong));
    spec.freeze.push_back(pattern);
  }
  spec.gradDtype = parsePrecision(texts.gradDtype);
  if (!texts.gradDtype.empty() && !spec.gradDtype)
    return createStringError("--grad-dtype '" + texts.gradDtype +
                             "' is none of fp32, bf16, fp16, fp64");
  return spec;
}
