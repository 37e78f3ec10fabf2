// weft-plan: what a layout of a model costs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Driver/Plan.h"
#include "weft/runtime/FailedWrites.h"

#include "llvm/Support/InitLLVM.h"

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  weft::runtime::surviveFailedWrites();
  return weft::driver::planMain(std::vector<std::string>(argv + 1, argv + argc), argv[0]);
}
