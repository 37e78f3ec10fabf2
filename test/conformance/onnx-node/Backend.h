// How a converted program is run: the harness does not care.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_CONFORMANCE_ONNX_NODE_BACKEND_H
#define WEFT_TEST_CONFORMANCE_ONNX_NODE_BACKEND_H

#include "Case.h"

#include <memory>
#include <string>

namespace weft::conformance {

enum class Outcome { Passed, Wrong, Refused, NotRun };

struct Result {
  Outcome outcome;
  std::string reason;
  unsigned boundInputs = 0;
};

/// What a program's first outputs must be.
struct Expected {
  llvm::ArrayRef<NamedTensor> outputs;
  unsigned units = 0;

  /// What differs, or "".
  std::string check(llvm::ArrayRef<HostTensor> found) const;
};

/// Called from several threads at once.
class Backend {
public:
  virtual ~Backend() = default;
  virtual llvm::StringRef name() const = 0;
  /// Runs `@forward` of `program` (the phase `graph`), which it may change or
  /// take apart, on its arguments in order. A case may be run in several ways
  /// (placements); all must give the expected outputs. `test` is the case's
  /// name. NotRun: there is no way to run it that this back end should try.
  virtual Result run(llvm::StringRef test, mlir::ModuleOp program,
                     llvm::ArrayRef<HostTensor> inputs, const Expected &expected) = 0;
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

/// Compiles programs for a target and writes them with their data to a file,
/// which onnx-replay runs.
std::unique_ptr<Backend> createRecordingBackend(llvm::StringRef target, llvm::StringRef path);

/// Compiles the program and runs it in this process, a thread a process rank.
std::unique_ptr<Backend> createCompiledBackend(const CompiledOptions &options);

} // namespace weft::conformance

#endif // WEFT_TEST_CONFORMANCE_ONNX_NODE_BACKEND_H
