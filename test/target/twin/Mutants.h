// Kernels in CUDA's form with one small mistake each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_TARGET_TWIN_MUTANTS_H
#define WEFT_TEST_TARGET_TWIN_MUTANTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace weft::test {

struct Mutant {
  /// The kind of the mistake, and which op of the kernel has it.
  std::string kind, name;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// All of the one kernel of `module`: a barrier of block or warp dropped, the bound of a guard or a
/// loop one more or one less, a shuffle with another lane or in segments that its offset leaves, an
/// access of half as many elements.
std::vector<Mutant> mutantsOf(mlir::ModuleOp module);

} // namespace weft::test

#endif // WEFT_TEST_TARGET_TWIN_MUTANTS_H
