// weft-opt: runs passes on an MLIR or ONNX file, as mlir-opt does for MLIR.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "IdlePasses.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "python_free_frontend/importer/Importer.h"
#include "weft/Driver/Driver.h"
#include "weft/Registration/Registration.h"
#include "weft/Support/Diagnostics.h"
#include "weft/Support/OutputFile.h"
#include "weft/Support/Version.h"
#include "weft/runtime/FailedWrites.h"
#include "weft/runtime/Terminal.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"

static int fail(const std::string &error) {
  weft::runtime::tellError("weft-opt", error);
  return 1;
}

/// Reads the input: a model file is imported and handed on as bytecode, which
/// keeps the locations.
static std::unique_ptr<llvm::MemoryBuffer> openInput(llvm::StringRef path,
                                                     mlir::DialectRegistry &registry) {
  std::string error;
  if (!path.ends_with(".onnx")) {
    auto buffer = mlir::openInputFile(path, &error);
    if (!buffer)
      fail(error);
    return buffer;
  }
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  weft::DiagnosticHandler diagnostics(&context);
  // Nothing is run here: a model may be looked at without its weights.
  weft::onnx::ImportOptions options;
  options.allowMissingData = true;
  mlir::OwningOpRef<mlir::ModuleOp> module = weft::onnx::importModel(path, &context, options);
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (!module || failed(mlir::writeBytecodeToFile(*module, stream)))
    return nullptr;
  return llvm::MemoryBuffer::getMemBufferCopy(bytes, path);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  weft::runtime::surviveFailedWrites();
  weft::setVersionPrinter("weft-opt");
  mlir::DialectRegistry registry;
  weft::registerAllDialects(registry);
  weft::registerAllPasses();
  weft::driver::registerPipelines();
  auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, argv, "Weft pass driver\n", registry);
  mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));

  std::unique_ptr<llvm::MemoryBuffer> buffer = openInput(input, registry);
  if (!buffer)
    return 1;
  weft::OutputFile file;
  if (output != "-" && llvm::sys::fs::equivalent(input, output))
    return fail("'" + output + "' is the input itself; name another file");
  if (llvm::Error error = file.open(output))
    return fail(llvm::toString(std::move(error)));
  // The driver installs its own handler, which drops the names of nodes; ours
  // comes after it and so is asked first.
  mlir::MlirOptMainConfig pipeline = config;
  config.setPassPipelineSetupFn([&](mlir::PassManager &pm) {
    if (!pipeline.shouldVerifyDiagnostics())
      weft::printNodeDiagnostics(pm.getContext());
    pm.addInstrumentation(weft::tellOfIdlePasses());
    return pipeline.setupPassPipeline(pm);
  });
  if (failed(mlir::MlirOptMain(file.os(), std::move(buffer), registry, config)))
    return 1;
  if (llvm::Error error = file.commit())
    return fail(llvm::toString(std::move(error)));
  return 0;
}
