// Translation of model files to text of the `onnx` dialect, and back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/translate/Command.h"
#include "dialects/onnx/IR/Onnx.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "python_free_frontend/exporter/Exporter.h"
#include "python_free_frontend/importer/Importer.h"
#include "weft/Support/Diagnostics.h"
#include "weft/Support/OutputFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace weft::onnx;

namespace {
struct Options {
  bool toText = false, toModel = false, locations = false;
  std::string input, output = "-";
  ImportOptions import;
};
} // namespace

/// Null if the command line makes no sense, with the reason in `error`.
static std::optional<Options> parseOptions(int argc, const char *const *argv, std::string &error) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef arg = argv[i];
    if (arg == "--onnx-to-mlir") {
      options.toText = true;
    } else if (arg == "--mlir-to-onnx" || arg == "--export-onnx") {
      options.toModel = true;
    } else if (arg == "--inline-data") {
      options.import.inlineData = true;
    } else if (arg == "--allow-missing-data") {
      options.import.allowMissingData = true;
    } else if (arg == "--mlir-print-debuginfo") {
      options.locations = true;
    } else if (arg == "-o" && i + 1 < argc) {
      options.output = argv[++i];
    } else if (options.input.empty() && (arg == "-" || !arg.starts_with("-"))) {
      options.input = arg.str();
    } else {
      error = ("does not take '" + arg + "'").str();
      return std::nullopt;
    }
  }
  if (options.toText == options.toModel)
    error = "translates in one direction at a time";
  else if (options.input.empty())
    error = "needs an input file";
  if (!error.empty())
    return std::nullopt;
  return options;
}

static mlir::OwningOpRef<mlir::ModuleOp> readInput(const Options &options,
                                                   mlir::MLIRContext &context) {
  return options.toText ? importModel(options.input, &context, options.import)
                        : mlir::parseSourceFile<mlir::ModuleOp>(options.input, &context);
}

std::optional<int> weft::onnx::runTranslateCommand(int argc, const char *const *argv) {
  auto asks = [&](llvm::StringRef flag) {
    return std::any_of(argv + 1, argv + argc, [&](const char *arg) { return flag == arg; });
  };
  if (!asks("--onnx-to-mlir") && !asks("--mlir-to-onnx") && !asks("--export-onnx"))
    return std::nullopt;
  std::string error;
  std::optional<Options> options = parseOptions(argc, argv, error);
  if (!options) {
    llvm::errs() << "error: weft-translate " << error
                 << "\nusage: weft-translate --onnx-to-mlir FILE.onnx "
                    "[--inline-data] [--allow-missing-data] [-o FILE.mlir]\n"
                    "       weft-translate --mlir-to-onnx FILE.mlir "
                    "[-o FILE.onnx]\n";
    return 2;
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<OnnxDialect>();
  weft::DiagnosticHandler diagnostics(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module = readInput(*options, context);
  if (!module)
    return 1;
  weft::OutputFile file;
  if (llvm::sys::fs::equivalent(options->input, options->output))
    error = "'" + options->output + "' is the input itself; name another file";
  else
    file.open(options->output, error);
  if (!error.empty()) {
    llvm::errs() << "error: " << error << '\n';
    return 1;
  }
  if (options->toText) {
    mlir::OpPrintingFlags flags;
    if (options->locations)
      flags.enableDebugInfo();
    module->print(file.os(), flags);
  } else if (failed(exportModel(*module, file.os()))) {
    return 1;
  }
  if (!file.commit(error)) {
    llvm::errs() << "error: " << error << '\n';
    return 1;
  }
  return 0;
}
