// From a converted program to what a target's runtime runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_CONFORMANCE_ONNX_NODE_COMPILE_H
#define WEFT_TEST_CONFORMANCE_ONNX_NODE_COMPILE_H

#include "weft/Emit/Emit.h"

#include <optional>

namespace weft::conformance {

/// The messages of errors in a context while this lives, joined.
class Messages {
public:
  explicit Messages(mlir::MLIRContext *context);
  const std::string &text() const { return joined; }

private:
  std::string joined;
  mlir::ScopedDiagnosticHandler handler;
};

/// Inputs that the harness gives as data are no weights.
void takeWeightsAsInputs(mlir::ModuleOp program);

/// Compiles `@forward` of `program`, from the phase `graph` or `sharded`, with little optimization.
/// Nothing and why not on failure.
std::optional<emit::Artifact> compile(mlir::ModuleOp program, llvm::StringRef target,
                                      std::string &why);

} // namespace weft::conformance

#endif // WEFT_TEST_CONFORMANCE_ONNX_NODE_COMPILE_H
