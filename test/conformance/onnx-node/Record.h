// Makes recorded cases of programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_CONFORMANCE_ONNX_NODE_RECORD_H
#define WEFT_TEST_CONFORMANCE_ONNX_NODE_RECORD_H

#include "Recorded.h"

#include "weft/Interfaces/HostTensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace weft::conformance {

/// The elements as a port has them.
std::string bytesOf(const HostTensor &tensor);

/// Compiles `@forward` of `program` for the target and records it with its inputs; what outputs are
/// expected is left to the caller. False, and `why` says why, on failure.
bool record(mlir::ModuleOp program, llvm::StringRef target, llvm::ArrayRef<HostTensor> inputs,
            RecordedCase &recorded);

/// Writes the file that onnx-replay runs, and tells of it or of what failed.
bool writeCases(const std::vector<RecordedCase> &cases, const std::string &path,
                llvm::raw_ostream &out);

} // namespace weft::conformance

#endif // WEFT_TEST_CONFORMANCE_ONNX_NODE_RECORD_H
