// weft-plan: what a layout of a model costs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Driver/Plan.h"
#include "weft/runtime/FailedWrites.h"

#include "llvm/Support/InitLLVM.h"

int main(int argc, char **argv) {
  weft::runtime::surviveFailedWrites();
  llvm::InitLLVM init(argc, argv);
  return weft::driver::planMain(std::vector<std::string>(argv + 1, argv + argc), argv[0]);
}
