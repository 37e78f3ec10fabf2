// Runs programs that share state one after the other: the oracle of training.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TESTING_INTERPRETER_STATEFULRUN_H
#define WEFT_TESTING_INTERPRETER_STATEFULRUN_H

#include "weft/Testing/Interpreter/Interpreter.h"

#include "llvm/ADT/StringMap.h"

namespace weft {

/// States by name. A result marked `nn.updates` is the state's value from then
/// on; arguments that are no state are inputs by name.
///
/// Example, 20 steps of training:
/// ```
/// StatefulRun run;
/// (void)run.start(step, modelFolder);
/// for (int i = 0; i < 20; ++i) {
///   auto results = run.run(step, batch(i));
///   double loss = results->lookup("loss").reals[0];
/// }
/// ```
class StatefulRun {
public:
  using Tensors = llvm::StringMap<HostTensor>;

  explicit StatefulRun(InterpreterOptions options = {}) : options(std::move(options)) {}

  /// Gives the states of `function` that have none yet the value they start at:
  /// their bytes (relative files are in `folder`) or their initial value, rounded
  /// to their type.
  llvm::LogicalResult start(mlir::func::FuncOp function, llvm::StringRef folder);

  /// The results that have names. Fails with a diagnostic if an input is missing.
  llvm::FailureOr<Tensors> run(mlir::func::FuncOp function, const Tensors &inputs);

  Tensors states;

private:
  InterpreterOptions options;
};

} // namespace weft

#endif // WEFT_TESTING_INTERPRETER_STATEFULRUN_H
