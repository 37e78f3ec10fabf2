// The flags of weft-translate, and which of them go together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Request.h"

#include "weft/runtime/Flags.h"

#include <algorithm>
#include <map>

using namespace weft;
using runtime::FlagTable;

namespace {

constexpr const char *kIntro =
    R"(usage: weft-translate --build KIND:key=value,... [--no-weights] -o FILE.onnx
       weft-translate --build-help
       weft-translate --onnx-to-text|--text-to-onnx [FILE] [-o FILE]
       weft-translate --onnx-to-mlir FILE.onnx [--inline-data] [--allow-missing-data] [-o FILE.mlir]
       weft-translate --mlir-to-onnx FILE.mlir [-o FILE.onnx]
       weft-translate --export-onnx MODEL.onnx --weights CHECKPOINT [--step N] -o FILE.onnx
       weft-translate --import-weights FILE.safetensors MODEL.onnx [--map 'REGEX=REPLACEMENT'] [--transpose REGEX] -o FILE.onnx
)";

/// A translation: the flags that go with it, and its files.
struct Command {
  std::vector<std::string> flags;
  size_t leastFiles, mostFiles;
  std::string files; // what they are
  bool wantsOutput;
};

const std::map<std::string, Command> &commands() {
  static const std::map<std::string, Command> table = [] {
    std::vector<std::string> replacing{"--map",         "--transpose",     "--allow-missing",
                                       "--allow-extra", "--external-data", "-o"};
    std::vector<std::string> exporting = replacing;
    exporting.insert(exporting.end(), {"--weights", "--step"});
    replacing.push_back("--step");
    return std::map<std::string, Command>{
        {"--build", {{"--no-weights", "-o"}, 0, 0, "no file", true}},
        {"--build-help", {{}, 0, 0, "no file", false}},
        {"--onnx-to-text", {{"-o"}, 0, 1, "one FILE.onnx at most", false}},
        {"--text-to-onnx", {{"-o"}, 0, 1, "one FILE at most", false}},
        {"--onnx-to-mlir",
         {{"--inline-data", "--allow-missing-data", "--mlir-print-debuginfo", "-o"},
          1,
          1,
          "one FILE.onnx",
          false}},
        {"--mlir-to-onnx", {{"-o"}, 1, 1, "one FILE.mlir", false}},
        {"--export-onnx", {exporting, 1, 1, "one MODEL.onnx", true}},
        {"--import-weights", {replacing, 1, 1, "one MODEL.onnx", true}}};
  }();
  return table;
}

void addTranslations(FlagTable &flags, Request &request) {
  auto nothing = [] {};
  flags.topic("build", "Models of any size");
  flags.value("--build", "KIND:key=value,...", "writes the model that this asks for",
              [&](const std::string &text) {
                request.spec = text;
                return std::string();
              });
  flags.alone("--build-help", "lists the kinds of models and their keys", nothing);
  flags.alone("--no-weights", "declares weights as external data and does not write them",
              [&] { request.build.withWeights = false; });
  flags.topic("text", "Model files as text, and back");
  flags.alone("--onnx-to-text", "FILE.onnx in ONNX's text syntax", nothing);
  flags.alone("--text-to-onnx", "the model file of such a text", nothing);
  flags.alone("--onnx-to-mlir", "FILE.onnx in the `onnx` dialect", nothing);
  flags.alone("--mlir-to-onnx", "the model file of such a text", nothing);
  flags.toggle("--inline-data", "the bytes of weights are in the text, not referred to",
               request.translate.import.inlineData);
  flags.toggle("--allow-missing-data", "external data need not be there",
               request.translate.import.allowMissingData);
  flags.toggle("--mlir-print-debuginfo", "places in the model are in the text",
               request.translate.locations);
}

void addWeights(FlagTable &flags, Request &request) {
  flags.topic("weights", "Other weights for a model");
  flags.alone("--export-onnx", "gives MODEL.onnx the weights of a checkpoint", [] {});
  auto addPath = [&](const std::string &path) {
    request.weights.paths.push_back(path);
    return std::string();
  };
  flags.value("--weights", "CHECKPOINT", "the checkpoint's folder", addPath);
  flags.count("--step", "N", "the checkpoint of that step (default: the newest)",
              request.weights.step, 0);
  flags.value("--import-weights", "FILE.safetensors",
              "gives MODEL.onnx the weights of files; may be given several times", addPath);
  flags.value("--map", "REGEX=REPLACEMENT",
              "names of tensors to names of initializers: what the first rule that matches finds "
              "is replaced; '^model\\.=' strips a prefix",
              [&](const std::string &text) -> std::string {
                size_t equals = text.find('=');
                if (equals == 0 || equals == std::string::npos)
                  return "wants 'REGEX=REPLACEMENT', not '" + text + "'";
                request.replace.rules.push_back({text.substr(0, equals), text.substr(equals + 1)});
                return {};
              });
  flags.value("--transpose", "REGEX", "initializers whose matrices are stored transposed",
              [&](const std::string &text) {
                request.replace.transposed.push_back(text);
                return std::string();
              });
  flags.toggle("--allow-missing", "initializers without a tensor keep their values",
               request.replace.allowMissing);
  flags.toggle("--allow-extra", "tensors without an initializer are left out",
               request.replace.allowExtra);
  flags.toggle("--external-data", "weights of 1 KiB and more go to OUT.onnx.data, however few",
               request.replace.external);
}

/// Whether all that was given belongs to one translation.
std::string checkTogether(const FlagTable &flags, Request &request) {
  for (const FlagTable::Given &given : flags.given())
    if (commands().count(given.name) > 0) {
      if (!request.command.empty() && request.command != given.name)
        return request.command + " and " + given.name + " are two translations; say one";
      request.command = given.name;
    }
  if (request.command.empty())
    return "nothing to do; --help lists the translations";
  const Command &command = commands().at(request.command);
  for (const FlagTable::Given &given : flags.given())
    if (given.name != request.command &&
        std::find(command.flags.begin(), command.flags.end(), given.name) == command.flags.end())
      return given.name + " does not go with " + request.command;
  if (request.files.size() < command.leastFiles || request.files.size() > command.mostFiles)
    return request.command + " wants " + command.files + ", not " +
           std::to_string(request.files.size());
  if (command.wantsOutput && request.output.empty())
    return request.command + " wants -o FILE.onnx";
  if (request.command == "--export-onnx" && request.weights.paths.size() != 1)
    return "--export-onnx wants one --weights CHECKPOINT";
  return {};
}

} // namespace

std::string weft::readRequest(const std::vector<std::string> &arguments, Request &request,
                              std::string &answer) {
  FlagTable flags("weft-translate", kIntro);
  addTranslations(flags, request);
  addWeights(flags, request);
  flags.topic("", "All");
  flags.text("-o", "FILE", "what is written (default of texts: standard output)", request.output);
  flags.epilogue("Exit codes: 0 ok, 1 wrong input, 2 wrong command line.\n");
  flags.positional([&](const std::string &file) {
    request.files.push_back(file);
    return std::string();
  });
  std::string wrong = flags.parse(arguments);
  if (wrong.empty() && flags.answers())
    answer = flags.answer();
  else if (wrong.empty())
    wrong = checkTogether(flags, request);
  return wrong;
}
