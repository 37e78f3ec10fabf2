// How a converted program is run: the harness does not care.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_CONFORMANCE_ONNXNODE_BACKEND_H
#define WEFT_TEST_CONFORMANCE_ONNXNODE_BACKEND_H

#include "weft/Interfaces/HostTensor.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <string>

namespace weft::conformance {

class Backend {
public:
  virtual ~Backend() = default;
  virtual llvm::StringRef name() const = 0;
  /// Runs `@forward` of `program` (the rung `graph`), which it may change or
  /// take apart, on its arguments in order. Returns why not, or "". A case may
  /// be run in several ways (placements); all must give `check` the same
  /// outputs.
  virtual std::string
  run(mlir::ModuleOp program, llvm::ArrayRef<HostTensor> inputs,
      llvm::function_ref<std::string(llvm::ArrayRef<HostTensor>)> check) = 0;
};

/// The oracle.
std::unique_ptr<Backend> createInterpreterBackend();

} // namespace weft::conformance

#endif // WEFT_TEST_CONFORMANCE_ONNXNODE_BACKEND_H
