// weft-reduce: shrinks an MLIR file while a given test still finds it
// interesting. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "weft/Registration/Registration.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  weft::registerAllDialects(registry);
  weft::registerAllPasses();
  mlir::MLIRContext context(registry);
  return failed(mlir::mlirReduceMain(argc, argv, context)) ? 1 : 0;
}
