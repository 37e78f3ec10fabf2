// The questions every op answers; see OpInterfaces.td for their contracts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_INTERFACES_OPINTERFACES_H
#define WEFT_INTERFACES_OPINTERFACES_H

#include "weft/Interfaces/ComputeClass.h"
#include "weft/Interfaces/FactorRule.h"
#include "weft/Interfaces/HostTensor.h"
#include "weft/Interfaces/LibraryCall.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "weft/Interfaces/OpInterfaces.h.inc"

#endif // WEFT_INTERFACES_OPINTERFACES_H
