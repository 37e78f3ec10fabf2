// Reads an .npy file as a host tensor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SUPPORT_NPY_H
#define WEFT_SUPPORT_NPY_H

#include "weft/Interfaces/HostTensor.h"

#include "llvm/Support/Error.h"

namespace weft {

/// Reads an array of bool, an integer type, float16, float32 or float64 in C
/// order. `'<V2'` and `'|V2'` are bfloat16, as ml_dtypes writes it.
llvm::Expected<HostTensor> readNpy(llvm::StringRef path, mlir::MLIRContext *context);

} // namespace weft

#endif // WEFT_SUPPORT_NPY_H
