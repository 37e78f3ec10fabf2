// Definitions generated from StepOpInterface.td.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Sharding/StepOpInterface.h"

#include "weft/Sharding/StepOpInterface.cpp.inc"
