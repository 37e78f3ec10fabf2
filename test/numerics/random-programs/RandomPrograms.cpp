// Random programs compiled and run on real ranks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usage: weft-random-programs [--mpi] [--seed N] [--count N]
// With --seed one trial runs and its annotated program is printed.
#include "Trial.h"

#include "weft/Registration/Registration.h"

using namespace mlir;
using namespace weft;
using namespace weft::test;

int main(int argc, char **argv) {
  bool mpi = false;
  Volume volume;
  for (int i = 1; i < argc; ++i) {
    StringRef flag = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--mpi") {
      mpi = true;
    } else if (flag == "--seed" && !value.getAsInteger(10, volume.firstSeed)) {
      volume.print = true;
      volume.count = 1;
      ++i;
    } else if (flag == "--count" && !value.getAsInteger(10, volume.count)) {
      ++i;
    } else {
      llvm::errs() << "usage: weft-random-programs [--mpi] [--seed N] [--count N]\n";
      return 2;
    }
  }
  if (volume.count == 0)
    volume.count = mpi ? test::volume(5, 20) : test::volume(60, 400);
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  return mpi ? compareWithMpi(context, volume) : compareWithOracle(context, volume);
}
