// How a reduction combines two elements, and from which it starts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_INTERFACES_REDUCTION_H
#define WEFT_INTERFACES_REDUCTION_H

#include "weft/Interfaces/FactorRule.h"
#include "weft/Interfaces/HostTensor.h"

namespace weft {

/// The element that leaves every other as it is; for max of floats it is minus infinity.
Scalar neutralElement(ReduceKind kind, mlir::Type elementType);
/// `a` combined with `b`. NaN wins in max and min.
Scalar combine(ReduceKind kind, Scalar a, Scalar b, mlir::Type elementType);

} // namespace weft

#endif // WEFT_INTERFACES_REDUCTION_H
