// What tells errors apart, and the one that is made most.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Choosing/Failure.h"

using namespace weft;
using namespace weft::choosing;

char Failure::ID;
char NoMesh::ID;

llvm::Error choosing::doesNotCompile() {
  return llvm::make_error<Failure>(Failure::Cause::Program);
}
