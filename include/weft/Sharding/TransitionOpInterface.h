// The questions that ops between placements answer; see TransitionOpInterface.td.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SHARDING_TRANSITIONOPINTERFACE_H
#define WEFT_SHARDING_TRANSITIONOPINTERFACE_H

#include "weft/Interfaces/HostTensor.h"
#include "weft/Sharding/Collective.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "weft/Sharding/TransitionOpInterface.h.inc"

#endif // WEFT_SHARDING_TRANSITIONOPINTERFACE_H
