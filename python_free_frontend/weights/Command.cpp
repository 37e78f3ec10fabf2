// The part of weft-translate's command line that replaces weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/weights/Command.h"

#include "python_free_frontend/weights/ReplaceWeights.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace weft::weights {
namespace {

constexpr StringLiteral kUsage =
    "usage: weft-translate --export-onnx MODEL.onnx --weights CHECKPOINT "
    "[--step N] -o OUT.onnx\n"
    "       weft-translate --import-weights FILE.safetensors "
    "[--import-weights ...] MODEL.onnx -o OUT.onnx\n"
    "  --map 'REGEX=REPLACEMENT'  names of tensors to names of initializers; "
    "the first rule that matches\n"
    "  --transpose REGEX          initializers whose matrices are stored "
    "transposed\n"
    "  --allow-missing            initializers without a tensor keep their "
    "values\n"
    "  --allow-extra              tensors without an initializer are left "
    "out\n"
    "  --external-data            weights go to OUT.onnx.data whatever their "
    "size\n";

struct CommandLine {
  std::vector<std::string> weights;
  int64_t step = -1;
  bool exports = false;
  ReplaceOptions options;
};

Error usage(const Twine &what) {
  return createStringError(inconvertibleErrorCode(), "weft-translate " + what + "\n" + kUsage);
}

Expected<CommandLine> parse(ArrayRef<const char *> arguments) {
  CommandLine line;
  std::vector<std::string> models;
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef arg = arguments[i];
    auto value = [&]() -> Expected<std::string> {
      if (i + 1 == arguments.size())
        return usage(arg + " wants a value");
      return std::string(arguments[++i]);
    };
    bool wants =
        is_contained({StringRef("--weights"), StringRef("--import-weights"), StringRef("--step"),
                      StringRef("--map"), StringRef("--transpose"), StringRef("-o")},
                     arg);
    std::string text;
    if (wants) {
      Expected<std::string> given = value();
      if (!given)
        return given.takeError();
      text = std::move(*given);
    }
    if (arg == "--weights" || arg == "--import-weights") {
      line.weights.push_back(text);
      line.exports |= arg == "--weights";
    } else if (arg == "--step") {
      if (StringRef(text).getAsInteger(10, line.step) || line.step < 0)
        return usage("--step wants a number, not '" + text + "'");
    } else if (arg == "--map") {
      auto [pattern, replacement] = StringRef(text).split('=');
      if (pattern.empty() || !StringRef(text).contains('='))
        return usage("--map wants 'REGEX=REPLACEMENT', not '" + text + "'");
      line.options.rules.push_back({pattern.str(), replacement.str()});
    } else if (arg == "--transpose") {
      line.options.transposed.push_back(text);
    } else if (arg == "-o") {
      line.options.output = text;
    } else if (arg == "--allow-missing") {
      line.options.allowMissing = true;
    } else if (arg == "--allow-extra") {
      line.options.allowExtra = true;
    } else if (arg == "--external-data") {
      line.options.external = true;
    } else if (arg == "--export-onnx") {
      line.exports = true;
    } else if (arg.starts_with("-")) {
      return usage("does not take '" + arg + "' here");
    } else {
      models.push_back(arg.str());
    }
  }
  if (models.size() != 1 || line.options.output.empty() || line.weights.empty())
    return usage("needs one model, weights and -o");
  line.options.model = models[0];
  // What a checkpoint does not hold was not trained: single numbers, and what
  // the program does not use.
  line.options.allowMissing |= line.exports;
  return line;
}

Expected<std::unique_ptr<TensorStore>> openStore(const CommandLine &line,
                                                 OpenCheckpoint openCheckpoint) {
  if (line.weights.size() == 1) {
    auto store = openCheckpoint(line.weights[0], line.step);
    if (!store || *store)
      return store;
  }
  if (line.step >= 0)
    return createStringError(inconvertibleErrorCode(),
                             "--step is for checkpoints, which '%s' is not",
                             line.weights[0].c_str());
  return openSafetensors(line.weights);
}

void list(const char *what, const std::vector<std::string> &names) {
  if (names.empty())
    return;
  errs() << "note: " << names.size() << what << ": ";
  interleaveComma(names, errs());
  errs() << '\n';
}

} // namespace

std::optional<int> runWeightsCommand(int argc, const char *const *argv,
                                     OpenCheckpoint openCheckpoint) {
  ArrayRef<const char *> arguments(argv + 1, argv + argc);
  if (none_of(arguments,
              [](StringRef arg) { return arg == "--weights" || arg == "--import-weights"; }))
    return std::nullopt;
  Expected<CommandLine> line = parse(arguments);
  if (!line) {
    errs() << "error: " << toString(line.takeError());
    return 2;
  }
  auto store = openStore(*line, openCheckpoint);
  Expected<ReplaceSummary> summary =
      store ? replaceWeights(**store, line->options) : Expected<ReplaceSummary>(store.takeError());
  if (!summary) {
    errs() << "error: " << toString(summary.takeError()) << '\n';
    return 1;
  }
  if (summary->unknownFields)
    errs() << "warning: left out " << summary->unknownFields
           << " fields of the model that the standard does not know\n";
  list(" initializers keep the model's values", summary->kept);
  list(" tensors are left out", summary->unused);
  errs() << line->options.output << ": " << summary->replaced << " initializers replaced ("
         << format("%.1f", double(summary->bytes) / 1e6) << " MB "
         << (summary->external ? "in " + line->options.output + ".data"
                               : std::string("in the file"))
         << ")\n";
  return 0;
}

} // namespace weft::weights
