// Training steps that call routines, for tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_LIB_EMIT_CALLEDSTEP_H
#define WEFT_TEST_UNIT_LIB_EMIT_CALLEDSTEP_H

#include "Compile.h"

namespace weft::test {

/// Three microbatches through two layers on one axis of `ranks`, at `scheduled`; with `isFlat`
/// nothing is called.
mlir::OwningOpRef<mlir::ModuleOp> scheduleCalledStep(int64_t ranks, bool isFlat);

/// A random training step in microbatches that calls routines, at `scheduled`; null where the seed
/// draws one microbatch. It cannot be run: its states have no files.
mlir::OwningOpRef<mlir::ModuleOp> scheduleRandomCalls(unsigned seed);

/// What two steps leave; the second reads what the first left.
struct CalledStep {
  std::vector<HostTensor> outputs;
  HostTensor w, v;
};
bool isEqual(const CalledStep &a, const CalledStep &b);

/// Runs a module at `scheduled` with the kernels of `like`; false if it fails.
bool runCalledStep(mlir::ModuleOp module, const emit::Artifact &like, int64_t ranks,
                   CalledStep &step);

/// What the verifier of commands says.
bool isAccepted(mlir::ModuleOp module);

} // namespace weft::test

#endif // WEFT_TEST_UNIT_LIB_EMIT_CALLEDSTEP_H
