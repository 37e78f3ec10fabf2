// weft-compile: a model file in, one executable out.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Driver/Driver.h"
#include "weft/runtime/FailedWrites.h"

#include "llvm/Support/InitLLVM.h"

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  weft::runtime::surviveFailedWrites();
  return weft::driver::compileMain(std::vector<std::string>(argv + 1, argv + argc), argv[0]);
}
