// What library calls are compared with: plain loops in double precision.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_RUNTIME_REFERENCE_H
#define WEFT_TEST_UNIT_RUNTIME_REFERENCE_H

#include "Harness.h"

#include "base/Convert.h"

#include <cmath>

using namespace weft::runtime;

#endif // WEFT_TEST_UNIT_RUNTIME_REFERENCE_H
