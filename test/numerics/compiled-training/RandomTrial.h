// Draws models and ways to train them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_NUMERICS_COMPILED_TRAINING_RANDOMTRIAL_H
#define WEFT_TEST_NUMERICS_COMPILED_TRAINING_RANDOMTRIAL_H

#include "TrainingTrial.h"

#include <map>

namespace weft::test {

struct RandomTrial {
  TrainingTrial trial;
  int64_t rows = 0; // of a batch
  /// Which of the things that a seed decides it has: ("optimizer", "lion").
  std::map<std::string, std::string> traits;
};

/// The same seed gives the same trial; its files go to `folder`. A message in
/// `error` if the model cannot be built.
RandomTrial randomTrial(mlir::MLIRContext &context, uint64_t seed, const std::string &folder,
                        std::string &error);

} // namespace weft::test

#endif // WEFT_TEST_NUMERICS_COMPILED_TRAINING_RANDOMTRIAL_H
