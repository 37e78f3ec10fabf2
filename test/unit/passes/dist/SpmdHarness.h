// What the tests of whole programs share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_PASSES_DIST_SPMDHARNESS_H
#define WEFT_TEST_UNIT_PASSES_DIST_SPMDHARNESS_H

#include "../../../support/Distance.h"
#include "RandomProgram.h"

#include "passes/dist/Passes.h"
#include "weft/Registration/Registration.h"
#include "weft/Testing/Interpreter/Interpreter.h"
#include "weft/Testing/Spmd/Interpreter.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <cmath>
#include <map>

namespace weft::test {

struct Context {
  mlir::DialectRegistry registry;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  Context() {
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }
};

/// All passes from annotations to `local`, the verifier after each.
inline mlir::LogicalResult partition(mlir::ModuleOp module, bool propagate, bool simplify) {
  mlir::PassManager passes(module.getContext());
  if (propagate)
    passes.addPass(dist::createDistPropagate());
  passes.addPass(dist::createDistInsertReshards());
  passes.addPass(dist::createDistVerifySpmd());
  passes.addPass(dist::createDistPartition());
  passes.addPass(dist::createDistVerifySpmd());
  passes.addPass(mlir::createCSEPass());
  passes.addPass(dist::createDistVerifySpmd());
  if (simplify) {
    passes.addPass(dist::createDistSimplifyCollectives());
    passes.addPass(dist::createDistVerifySpmd());
  }
  return passes.run(module);
}

/// Loops over microbatches; fails with errors that are nobody's to see where a program cannot have
/// them.
inline mlir::LogicalResult formLoops(mlir::ModuleOp module, std::string *errors = nullptr) {
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (errors && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      *errors += diagnostic.str() + "\n";
  });
  mlir::PassManager passes(module.getContext());
  passes.addPass(dist::createDistFormLoops());
  passes.addPass(dist::createDistVerifySpmd());
  return passes.run(module);
}

inline double distanceOf(const HostTensor &found, const HostTensor &oracle, Distance distance) {
  if (found.shape != oracle.shape || found.integers != oracle.integers)
    return INFINITY;
  for (auto [y, o] : llvm::zip_equal(found.reals, oracle.reals))
    distance.add(y, o);
  return distance.relative();
}

/// max|y-o| / max|o|; special values must be the same.
inline double errorOf(const HostTensor &found, const HostTensor &oracle) {
  return distanceOf(found, oracle, Distance(Specials::MayAgree, 1e-300));
}

/// The largest difference, relative to max(1, largest element); all must be finite.
inline double stateErrorOf(const HostTensor &found, const HostTensor &oracle) {
  return distanceOf(found, oracle, Distance(Specials::AreWrong, 1));
}

inline std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

} // namespace weft::test

#endif // WEFT_TEST_UNIT_PASSES_DIST_SPMDHARNESS_H
