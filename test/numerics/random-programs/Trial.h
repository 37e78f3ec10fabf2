// One seeded program, mesh and annotation, and how it is compiled.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_NUMERICS_RANDOM_PROGRAMS_TRIAL_H
#define WEFT_TEST_NUMERICS_RANDOM_PROGRAMS_TRIAL_H

#include "../../unit/passes/dist/RandomProgram.h"

#include "weft/Emit/Emit.h"

namespace weft::test {

struct Trial {
  RandomProgram program;
  /// f32; otherwise f64.
  bool single = false;
  /// Whether annotations spread to what has none.
  bool propagate = false;
  /// The annotated program, for messages.
  std::string text;

  /// The same seed gives the same trial.
  Trial(mlir::MLIRContext &context, uint64_t seed);

  llvm::SmallVector<mlir::RankedTensorType> resultTypes();
  /// Compiles the program for all ranks of its mesh, or for one rank without
  /// any placements. The program stays as it is.
  mlir::FailureOr<emit::Artifact> compile(bool distributed);
};

struct Volume {
  uint64_t firstSeed = 0;
  unsigned count = 0;
  bool print = false;
};

/// Runs trials on ranks in this process and compares with the oracle.
int compareWithOracle(mlir::MLIRContext &context, const Volume &volume);

/// What a program exits with when it could not test anything.
inline constexpr int kSkipped = 77;

/// Runs trials as executables, under `inproc` and under mpirun; the outputs must
/// have the same bytes.
int compareWithMpi(mlir::MLIRContext &context, const Volume &volume);

} // namespace weft::test

#endif // WEFT_TEST_NUMERICS_RANDOM_PROGRAMS_TRIAL_H
