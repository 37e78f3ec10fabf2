// The oracle: runs a function op by op with each op's own reference method.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TESTING_INTERPRETER_INTERPRETER_H
#define WEFT_TESTING_INTERPRETER_INTERPRETER_H

#include "weft/Interfaces/HostTensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>
#include <vector>

namespace weft {

struct InterpreterOptions {
  enum class Rounding {
    /// Arithmetic in fp64; only ops that round by themselves do (nn.cast). The
    /// oracle's rule: rounding of the program under test is its error.
    CastsOnly,
    /// Every result is rounded to its element type.
    EveryResult,
  };
  Rounding rounding = Rounding::CastsOnly;
  /// Called after each op, in program order, with its results.
  std::function<void(mlir::Operation *, llvm::ArrayRef<HostTensor>)> afterOp;
};

/// Runs `function`, a single block of ops that answer ReferenceOpInterface, and
/// returns what it returns. `inputs` are taken as they are: the caller rounds
/// them to the run's element types. A value is freed after its last use.
/// Fails with a diagnostic if an input does not fit its argument or an op has
/// no reference.
llvm::FailureOr<llvm::SmallVector<HostTensor>> interpret(mlir::func::FuncOp function,
                                                         std::vector<HostTensor> inputs,
                                                         const InterpreterOptions &options = {});

} // namespace weft

#endif // WEFT_TESTING_INTERPRETER_INTERPRETER_H
