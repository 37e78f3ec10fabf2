// Model files in and out: builds models, translates them to text and back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CheckpointStore.h"
#include "Request.h"
#include "python_free_frontend/text/Command.h"
#include "weft/Support/OutputFile.h"
#include "weft/runtime/FailedWrites.h"
#include "weft/runtime/Terminal.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

using namespace weft;

constexpr llvm::StringLiteral kTool = "weft-translate";

static int tell(llvm::Error wrong) {
  if (!wrong)
    return 0;
  runtime::Progress::hide();
  runtime::tellError(kTool, llvm::toString(std::move(wrong)));
  return 1;
}

static int tell(llvm::Expected<Outcome> outcome) {
  if (!outcome)
    return tell(outcome.takeError());
  runtime::Progress::hide();
  for (const std::string &warning : outcome->warnings)
    runtime::tellWarning(kTool, warning);
  for (const std::string &note : outcome->notes)
    llvm::errs() << kTool << ": note: " << runtime::messageText(note) << '\n';
  if (!outcome->summary.empty())
    llvm::errs() << runtime::messageText(outcome->summary) << '\n';
  return 0;
}

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
  return tell(builders::runBuild(request.spec, request.build));
}

static int run(Request &request) {
  const std::string &command = request.command;
  std::string input = request.files.empty() ? "-" : request.files[0];
  std::string output = request.output.empty() ? "-" : request.output;
  if (command == "--build-help") {
    llvm::outs() << builders::describeKinds();
    return tell(flushStandardOutput());
  }
  if (command == "--build")
    return build(request);
  runtime::Progress progress(true, command.substr(2) + " of '" + input + "'");
  if (command == "--onnx-to-text" || command == "--text-to-onnx")
    return tell(text::runText(command == "--onnx-to-text", input, output));
  if (command == "--onnx-to-mlir" || command == "--mlir-to-onnx") {
    request.translate.toText = command == "--onnx-to-mlir";
    request.translate.input = input;
    request.translate.output = output;
    request.translate.import.hintAtMissingData = "; --allow-missing-data reads the model without";
    llvm::Expected<bool> done = onnx::runTranslate(request.translate);
    return done ? !*done : tell(done.takeError());
  }
  request.replace.model = input;
  request.replace.output = output;
  // What a checkpoint does not hold was not trained: single numbers, and what the program does not
  // use.
  request.replace.allowMissing |= command == "--export-onnx";
  return tell(weights::runReplace(request.weights, request.replace, openCheckpointStore));
}

int main(int argc, char **argv) {
  runtime::surviveFailedWrites();
  Request request;
  std::string answer;
  std::string wrong = readRequest({argv + 1, argv + argc}, request, answer);
  if (!wrong.empty()) {
    runtime::tellError(kTool, wrong);
    return 2;
  }
  if (!answer.empty()) {
    llvm::outs() << answer;
    return tell(flushStandardOutput());
  }
  return run(request);
}
