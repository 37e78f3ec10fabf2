// Translation of model files to text of the `onnx` dialect, and back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/translate/Command.h"
#include "dialects/onnx/IR/TensorData.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "python_free_frontend/exporter/Exporter.h"
#include "weft/Support/Diagnostics.h"
#include "weft/Support/OutputFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace weft::onnx;

static mlir::OwningOpRef<mlir::ModuleOp> readInput(const TranslateOptions &options,
                                                   mlir::MLIRContext &context) {
  return options.toText ? importModel(options.input, &context, options.import)
                        : mlir::parseSourceFile<mlir::ModuleOp>(options.input, &context);
}

llvm::Expected<bool> weft::onnx::runTranslate(const TranslateOptions &options) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<OnnxDialect>();
  weft::DiagnosticHandler diagnostics(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module = readInput(options, context);
  if (!module)
    return false;
  weft::OutputFile file;
  if (llvm::sys::fs::equivalent(options.input, options.output))
    return llvm::createStringError("'" + options.output +
                                   "' is the input itself; name another file");
  for (const std::string &data : dataFilesOf(*module))
    if (llvm::sys::fs::equivalent(data, options.output))
      return llvm::createStringError("'" + options.output +
                                     "' holds weights of the model; name another file");
  if (llvm::Error error = file.open(options.output))
    return error;
  if (options.toText) {
    mlir::OpPrintingFlags flags;
    if (options.locations)
      flags.enableDebugInfo();
    module->print(file.os(), flags);
  } else if (failed(exportModel(*module, file.os()))) {
    return false;
  }
  if (llvm::Error error = file.commit())
    return error;
  return true;
}
