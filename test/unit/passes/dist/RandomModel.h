// Seeded random small models and ways to train them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_PASSES_DIST_RANDOMMODEL_H
#define WEFT_TEST_UNIT_PASSES_DIST_RANDOMMODEL_H

#include "StepProgram.h"

#include "../../lib/Foundation/Sharding/RandomPlacement.h"

#include "weft/Interfaces/HostTensor.h"

#include <string>
#include <vector>

namespace weft::test {

/// How a step is split, as weft-compile's flags would say it.
struct TrainingLayout {
  std::string mesh;
  int64_t microbatches = 1;
  int zero = 0;
  std::string zeroAxis = "dp";
  bool sequenceParallel = false;
  std::string stages; // the axis of stages, if any
  std::string schedule = "1f1b";
  std::string text() const;
  /// The passes from `step` to `local`, with the verifier after each.
  std::string pipeline(bool loops = true) const;
};

struct TrainingCase {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  TrainingLayout layout;
  StepOptions options;
};

/// `@forward` of perceptrons, attention blocks, norms and (tied) embeddings over
/// f64, of sizes that axes do not always divide: one input, one result.
mlir::OwningOpRef<mlir::ModuleOp> randomModel(mlir::MLIRContext &context, Random &random,
                                              int64_t batch);

/// Such a model, a layout, and its training step.
TrainingCase randomTrainingCase(mlir::MLIRContext &context, Random &random);

/// Random values of a program's arguments. States of the optimizer start at zero.
std::vector<HostTensor> randomArguments(mlir::func::FuncOp function, Random &random);

/// Runs a program `steps` times on `run`, each time with the states that it
/// returned; the results of all runs one after the other.
std::vector<HostTensor> runSteps(
    mlir::func::FuncOp function, std::vector<HostTensor> arguments, int steps,
    llvm::function_ref<std::optional<std::vector<HostTensor>>(llvm::ArrayRef<HostTensor>)> run);

} // namespace weft::test

#endif // WEFT_TEST_UNIT_PASSES_DIST_RANDOMMODEL_H
