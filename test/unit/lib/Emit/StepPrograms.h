// Training steps by the oracle and compiled, for tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_LIB_EMIT_STEPPROGRAMS_H
#define WEFT_TEST_UNIT_LIB_EMIT_STEPPROGRAMS_H

#include "Compile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace weft::test {

/// Outputs of each step that are no updates, and the states after the last.
struct TrainingRun {
  std::vector<std::vector<HostTensor>> outputs;
  std::map<std::string, HostTensor> states;
};

/// A module with @step and @eval, batches for it and what the oracle says.
struct Training {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string file; // of the weights
  std::vector<std::vector<HostTensor>> batches;
  TrainingRun expected;
};
Training makeTraining(unsigned seed, unsigned steps);

/// The value of a state before the first step.
HostTensor initialState(mlir::func::FuncOp function, unsigned argument);

/// Steps by the oracle: updates are the next step's states.
TrainingRun runOracle(mlir::func::FuncOp step, const std::vector<std::vector<HostTensor>> &batches);

/// The same by the program @step of an executable.
bool runCompiled(emit::InProcessProgram &program, mlir::func::FuncOp step,
                 const std::vector<std::vector<HostTensor>> &batches, TrainingRun &run,
                 std::string &error);

/// The largest distance of outputs and states; integers must be equal.
double distance(const TrainingRun &found, const TrainingRun &expected);

} // namespace weft::test

#endif // WEFT_TEST_UNIT_LIB_EMIT_STEPPROGRAMS_H
