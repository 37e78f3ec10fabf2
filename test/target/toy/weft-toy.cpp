// weft-toy: weft-compile with one target more; `weft-toy opt` is weft-opt with it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ToyTarget.h"

#include "weft/Driver/Driver.h"
#include "weft/Registration/Registration.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  weft::registerTarget(weft::toy::createToyTarget());
  for (bool speaks : {true, false})
    weft::registerTarget(weft::toy::createFaultyTarget(speaks));
  if (argc < 2 || llvm::StringRef(argv[1]) != "opt")
    return weft::driver::compileMain(std::vector<std::string>(argv + 1, argv + argc), argv[0]);
  mlir::DialectRegistry registry;
  weft::registerAllDialects(registry);
  weft::registerAllPasses();
  weft::driver::registerPipelines();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc - 1, argv + 1, "Weft passes with a toy target\n", registry));
}
