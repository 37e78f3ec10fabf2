// Names of what an account counts by.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/StepAccount.h"

const char *weft::nameOf(Arithmetic arithmetic) {
  static constexpr std::array<const char *, kArithmeticCount> kNames = {"f64",  "f32", "f16",
                                                                        "bf16", "f8",  "integer"};
  return kNames[size_t(arithmetic)];
}

const char *weft::cost::nameOf(StateClass stateClass) {
  static constexpr std::array<const char *, kStateClassCount> kNames = {
      "parameters", "gradients", "master", "optimizer", "other"};
  return kNames[size_t(stateClass)];
}
