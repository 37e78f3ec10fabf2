// Definitions generated from TransitionOpInterface.td.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Sharding/TransitionOpInterface.h"

#include "weft/Sharding/TransitionOpInterface.cpp.inc"
