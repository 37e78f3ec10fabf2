// What library calls are compared with: plain loops in double precision.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_RUNTIME_REFERENCE_H
#define WEFT_TEST_UNIT_RUNTIME_REFERENCE_H

#include "Harness.h"

#include "base/Convert.h"

#include <cmath>

using namespace weft::runtime;

inline double activate(Activation activation, double x) {
  switch (activation) {
  case Activation::None:
    break;
  case Activation::Relu:
    return x < 0 ? 0 : x;
  case Activation::GeluErf:
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  case Activation::GeluTanh:
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  case Activation::Silu:
    return x / (1 + std::exp(-x));
  }
  return x;
}

#endif // WEFT_TEST_UNIT_RUNTIME_REFERENCE_H
