// Out-of-line parts that TableGen makes of the op interfaces.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Interfaces/OpInterfaces.h"

#include "weft/Interfaces/ReduceKind.cpp.inc"

#include "weft/Interfaces/OpInterfaces.cpp.inc"
