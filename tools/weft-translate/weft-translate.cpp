// Model files in and out: builds models.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Command.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  if (auto code = weft::builders::runBuildCommand(argc, argv))
    return *code;
  llvm::errs() << "usage: weft-translate --build KIND:key=value,... "
                  "[--no-weights] -o FILE.onnx\n";
  return 2;
}
