// Model files in and out: builds models, translates them to text and back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CheckpointStore.h"
#include "Request.h"
#include "python_free_frontend/text/Command.h"
#include "weft/runtime/Terminal.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <optional>

using namespace weft;

static int build(Request &request) {
  std::optional<runtime::Progress> progress;
  request.build.output = request.output;
  request.build.written = [&](int64_t done, int64_t total) {
    if (!progress)
      progress.emplace(true, "writing weights", uint64_t(total), runtime::Progress::Bytes);
    progress->set(uint64_t(done));
    if (done == total)
      progress.reset();
  };
  return builders::runBuild(request.spec, request.build);
}

static int run(Request &request) {
  const std::string &command = request.command;
  std::string input = request.files.empty() ? "-" : request.files[0];
  std::string output = request.output.empty() ? "-" : request.output;
  if (command == "--build-help") {
    llvm::outs() << builders::describeKinds();
    return 0;
  }
  if (command == "--build")
    return build(request);
  runtime::Progress progress(true, command.substr(2) + " of '" + input + "'");
  if (command == "--onnx-to-text" || command == "--text-to-onnx")
    return text::runText(command == "--onnx-to-text", input, output);
  if (command == "--onnx-to-mlir" || command == "--mlir-to-onnx") {
    request.translate.toText = command == "--onnx-to-mlir";
    request.translate.input = input;
    request.translate.output = output;
    request.translate.import.hintAtMissingData = "; --allow-missing-data reads the model without";
    return onnx::runTranslate(request.translate);
  }
  request.replace.model = input;
  request.replace.output = output;
  // What a checkpoint does not hold was not trained: single numbers, and what the program does not
  // use.
  request.replace.allowMissing |= command == "--export-onnx";
  return weights::runReplace(request.weights, request.replace, openCheckpointStore);
}

int main(int argc, char **argv) {
  // A file that may not grow any more is an error to tell, not our end.
  std::signal(SIGXFSZ, SIG_IGN);
  Request request;
  std::string answer;
  std::string wrong = readRequest({argv + 1, argv + argc}, request, answer);
  if (!wrong.empty()) {
    runtime::tellError("weft-translate", wrong);
    return 2;
  }
  if (!answer.empty()) {
    llvm::outs() << answer;
    return 0;
  }
  return run(request);
}
