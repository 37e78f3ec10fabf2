// How a converted program is run: the harness does not care.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_CONFORMANCE_ONNX_NODE_BACKEND_H
#define WEFT_TEST_CONFORMANCE_ONNX_NODE_BACKEND_H

#include "weft/Interfaces/HostTensor.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <string>

namespace weft::conformance {

enum class Outcome { Passed, Wrong, Refused, NotRun };

struct Result {
  Outcome outcome;
  std::string reason;
  unsigned boundInputs = 0;
};

/// Called from several threads at once.
class Backend {
public:
  using Check = llvm::function_ref<std::string(llvm::ArrayRef<HostTensor>)>;

  virtual ~Backend() = default;
  virtual llvm::StringRef name() const = 0;
  /// Runs `@forward` of `program` (the phase `graph`), which it may change or
  /// take apart, on its arguments in order. A case may be run in several ways
  /// (placements); all must give `check` the same outputs. `test` is the case's
  /// name. NotRun: there is no way to run it that this back end should try.
  virtual Result run(llvm::StringRef test, mlir::ModuleOp program,
                     llvm::ArrayRef<HostTensor> inputs, Check check) = 0;
  /// Prints what was run, and returns false if that was too little.
  virtual bool report(llvm::raw_ostream &) { return true; }
};

/// The oracle.
std::unique_ptr<Backend> createInterpreterBackend();

struct CompiledOptions {
  /// Process ranks. On more than one, every way to split one dimension of one
  /// input over all of them is a configuration.
  llvm::SmallVector<int64_t> ranks = {1};
  /// The most configurations of one case and number of ranks, chosen by `seed`;
  /// and of how many cases in a hundred any is taken.
  unsigned placements = 2, percent = 100;
  uint64_t seed = 1;
  /// The least number of runs on several ranks whose outputs were compared.
  unsigned minimumRuns = 0;
};

/// Compiles the program and runs it in this process, a thread a process rank.
std::unique_ptr<Backend> createCompiledBackend(const CompiledOptions &options);

} // namespace weft::conformance

#endif // WEFT_TEST_CONFORMANCE_ONNX_NODE_BACKEND_H
