// The bytes that an #nn.source refers to, for the oracle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TESTING_INTERPRETER_STATESOURCE_H
#define WEFT_TESTING_INTERPRETER_STATESOURCE_H

#include "dialects/nn/IR/Nn.h"

namespace weft {

/// Reads a state of type `type`. Relative files are looked for in `folder`, the
/// model's. Fails with a diagnostic if there are no bytes or they do not fit.
mlir::FailureOr<HostTensor> readSource(nn::SourceAttr source, mlir::RankedTensorType type,
                                       llvm::StringRef folder,
                                       llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace weft

#endif // WEFT_TESTING_INTERPRETER_STATESOURCE_H
