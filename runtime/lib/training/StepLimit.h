// How long ranks wait for each other within a step, by what steps took.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_TRAINING_STEPLIMIT_H
#define WEFT_RUNTIME_LIB_TRAINING_STEPLIMIT_H

#include "job/World.h"

#include <algorithm>
#include <cstdlib>

namespace weft::runtime {

/// A hang in a step that took a second is told after half a minute, not after ten. All processes
/// give it the same seconds, those of the slowest of them, so all have the same limit.
class StepLimit {
public:
  static constexpr int64_t kSteps = 5; // before these are done nothing is known
  static constexpr double kLeast = 30, kTimes = 20;

  StepLimit() {
    // Tests of long waits want to end.
    if (const char *told = std::getenv("WEFT_STEP_LIMIT_SECONDS"))
      least = std::max(1.0, std::atof(told));
  }

  /// A step of all ranks was done in `seconds`.
  void took(double seconds) {
    ++steps;
    slowest = std::max(slowest, seconds);
  }
  /// Of waits in the next step.
  double seconds() const {
    return steps < kSteps ? kLongestWait
                          : std::min(kLongestWait, std::max(least, kTimes * slowest));
  }

private:
  int64_t steps = 0;
  double slowest = 0, least = kLeast;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_TRAINING_STEPLIMIT_H
