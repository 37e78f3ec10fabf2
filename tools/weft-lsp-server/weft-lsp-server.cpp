// weft-lsp-server: completion, hovers and diagnostics for our dialects in editors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "weft/Registration/Registration.h"
#include "weft/Support/Version.h"
#include "weft/runtime/FailedWrites.h"

int main(int argc, char **argv) {
  weft::runtime::surviveFailedWrites();
  weft::setVersionPrinter("weft-lsp-server");
  mlir::DialectRegistry registry;
  weft::registerAllDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry)) ? 1 : 0;
}
