// weft-reduce: shrinks an MLIR or ONNX file while a given test still finds it
// interesting. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ReduceProgram.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "python_free_frontend/importer/Importer.h"
#include "weft/Compiler/Pipelines.h"
#include "weft/Registration/Registration.h"
#include "weft/Support/Diagnostics.h"
#include "weft/Support/Version.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"

/// Writes a model file as text into a temporary file, whose name it returns; ""
/// if it cannot.
static std::string textOfModel(llvm::StringRef path, mlir::MLIRContext &context) {
  weft::DiagnosticHandler diagnostics(&context);
  weft::onnx::ImportOptions options;
  options.allowMissingData = true;
  mlir::OwningOpRef<mlir::ModuleOp> module = weft::onnx::importModel(path, &context, options);
  llvm::SmallString<128> text;
  int file = -1;
  if (!module || llvm::sys::fs::createTemporaryFile("weft-reduce", "mlir", file, text))
    return "";
  llvm::raw_fd_ostream out(file, /*shouldClose=*/true);
  module->print(out);
  return text.str().str();
}

int main(int argc, char **argv) {
  weft::setVersionPrinter("weft-reduce");
  mlir::DialectRegistry registry;
  weft::registerAllDialects(registry);
  weft::registerAllPasses();
  weft::registerPipelines();
  weft::registerReduceProgram();
  mlir::MLIRContext context(registry);
  std::string text;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    // MLIR's own tree cuts programs into pieces that are none.
    if (argument.ltrim('-').starts_with("reduction-tree")) {
      llvm::errs() << "weft-reduce: error: our dialects have no patterns for "
                      "--reduction-tree; write --weft-reduce-program="
                      "\"test=PROGRAM\"\n";
      return 2;
    }
    if (!argument.ends_with(".onnx") || argument.starts_with("-") ||
        llvm::StringRef(argv[i - 1]) == "-o")
      continue;
    text = textOfModel(argument, context);
    if (text.empty())
      return 1;
    argv[i] = text.data();
  }
  llvm::FileRemover remover(text);
  if (text.empty())
    remover.releaseFile();
  return failed(mlir::mlirReduceMain(argc, argv, context)) ? 1 : 0;
}
