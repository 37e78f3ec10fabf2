// Prints what `weft-compile --version` of the same installation does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Flags.h"

#include <cstdio>

int main() {
  std::printf("weft-compile %s\n", weft::runtime::weftVersion());
  return 0;
}
