// weft-reduce: shrinks an MLIR or ONNX file while a given test still finds it
// interesting.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ReduceProgram.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "python_free_frontend/importer/Importer.h"
#include "weft/Driver/Driver.h"
#include "weft/Registration/Registration.h"
#include "weft/Support/Diagnostics.h"
#include "weft/Support/OutputFile.h"
#include "weft/Support/Version.h"
#include "weft/runtime/FailedWrites.h"
#include "weft/runtime/Terminal.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Signals.h"

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

namespace {

/// mlir-reduce writes the file of -o as it goes. It gets a temporary one, which becomes the file
/// that was asked for when all is well.
class Output {
public:
  ~Output() {
    if (!temporary.empty())
      llvm::sys::fs::remove(temporary);
  }

  /// Takes the argument at `index` for itself if it is the value of -o.
  llvm::Error redirect(int index, char **argv) {
    llvm::StringRef argument = argv[index], before = argv[index - 1];
    bool isAttached = argument.consume_front("--o=") || argument.consume_front("-o=");
    if ((!isAttached && before != "-o" && before != "--o") || argument == "-")
      return llvm::Error::success();
    if (llvm::Error error = weft::checkOutput(argument))
      return error;
    llvm::SmallString<128> name;
    if (std::error_code code = llvm::sys::fs::createTemporaryFile("weft-reduce", "mlir", name))
      return llvm::createStringError("cannot make a temporary file: " + code.message());
    path = argument.str();
    temporary = name.str().str();
    replaced = isAttached ? "-o=" + temporary : temporary;
    argv[index] = replaced.data();
    return llvm::Error::success();
  }

  llvm::Error commit() {
    if (path.empty())
      return llvm::Error::success();
    auto text = llvm::MemoryBuffer::getFile(temporary);
    if (!text)
      return llvm::createStringError("cannot read '" + temporary +
                                     "': " + text.getError().message());
    // Only now: mlir-reduce may end the process.
    weft::OutputFile file;
    if (llvm::Error error = file.open(path))
      return error;
    file.os() << (*text)->getBuffer();
    return file.commit();
  }

private:
  std::string path, temporary, replaced;
};

int fail(const std::string &error, int code = 1) {
  weft::runtime::tellError("weft-reduce", error);
  return code;
}

} // namespace

int main(int argc, char **argv) {
  llvm::sys::PrintStackTraceOnErrorSignal(argv[0]); // now: mlir-reduce would do it later
  weft::runtime::surviveFailedWrites();
  weft::setVersionPrinter("weft-reduce");
  mlir::DialectRegistry registry;
  weft::registerAllDialects(registry);
  weft::registerAllPasses();
  weft::driver::registerPipelines();
  weft::registerReduceProgram();
  mlir::MLIRContext context(registry);
  std::string text;
  Output output;
  for (int i = 1; i < argc; ++i) {
    if (llvm::Error error = output.redirect(i, argv))
      return fail(llvm::toString(std::move(error)));
    llvm::StringRef argument = argv[i];
    // MLIR's own tree cuts programs into pieces that are none.
    if (argument.ltrim('-').starts_with("reduction-tree"))
      return fail("our dialects have no patterns for --reduction-tree; write "
                  "--weft-reduce-program=\"test=PROGRAM\"",
                  2);
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
  if (failed(mlir::mlirReduceMain(argc, argv, context)))
    return 1;
  if (llvm::Error error = output.commit())
    return fail(llvm::toString(std::move(error)));
  return 0;
}
