// Model files in and out: builds models, translates them to text and back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CheckpointStore.h"
#include "python_free_frontend/builders/Command.h"
#include "python_free_frontend/text/Command.h"
#include "python_free_frontend/translate/Command.h"
#include "python_free_frontend/weights/Command.h"
#include "weft/Support/Nearest.h"
#include "weft/runtime/Flags.h"
#include "weft/runtime/Terminal.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>

static constexpr const char *kUsage =
    R"(usage: weft-translate --build KIND:key=value,... [--no-weights] -o FILE.onnx
       weft-translate --build-help
       weft-translate --onnx-to-text|--text-to-onnx [FILE] [-o FILE]
       weft-translate --onnx-to-mlir FILE.onnx [--inline-data] [--allow-missing-data] [-o FILE.mlir]
       weft-translate --mlir-to-onnx FILE.mlir [-o FILE.onnx]
       weft-translate --export-onnx MODEL.onnx --weights CHECKPOINT [--step N] -o FILE.onnx
       weft-translate --import-weights FILE.safetensors MODEL.onnx [--map 'REGEX=REPLACEMENT'] [--transpose REGEX] -o FILE.onnx
)";

/// What says which translation is meant.
static const std::vector<std::string> kCommands{
    "--build",        "--build-help",  "--onnx-to-text",   "--text-to-onnx", "--onnx-to-mlir",
    "--mlir-to-onnx", "--export-onnx", "--import-weights", "--help",         "--version"};

int main(int argc, char **argv) {
  if (argc == 2 && llvm::StringRef(argv[1]) == "--version") {
    llvm::outs() << "weft-translate " << weft::runtime::weftVersion() << '\n';
    return 0;
  }
  if (argc == 2 && llvm::StringRef(argv[1]) == "--help") {
    llvm::outs() << kUsage;
    return 0;
  }
  // A file that may not grow any more is an error to tell, not our end.
  std::signal(SIGXFSZ, SIG_IGN);
  if (auto code = weft::builders::runBuildCommand(argc, argv))
    return *code;
  if (auto code = weft::text::runTextCommand(argc, argv))
    return *code;
  if (auto code = weft::weights::runWeightsCommand(argc, argv, weft::openCheckpointStore))
    return *code;
  if (auto code = weft::onnx::runTranslateCommand(argc, argv))
    return *code;
  std::string error = "nothing to do";
  for (llvm::StringRef word : llvm::ArrayRef(argv + 1, argc - 1))
    if (word.starts_with("-") && !llvm::is_contained(kCommands, word)) {
      error = ("there is no flag '" + word + "'").str() + weft::didYouMean(word, kCommands);
      break;
    }
  llvm::errs() << "weft-translate: " << weft::runtime::errorWord() << error << '\n' << kUsage;
  return 2;
}
