// One way to train one model, compiled and run on ranks against the interpreter.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_NUMERICS_COMPILED_TRAINING_TRAININGTRIAL_H
#define WEFT_TEST_NUMERICS_COMPILED_TRAINING_TRAININGTRIAL_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <map>
#include <string>

namespace weft {
struct PhaseOptions;
enum class Routines;
} // namespace weft

namespace weft::test {

/// What weft-compile's flags of these names say.
struct TrainingFlags {
  std::string bind, loss, optimizer, paramGroups, freeze, gradDtype, mesh, place;
  std::string zero = "0", recompute = "none", batchStats = "global", precision = "fp64";
  std::string schedule = "1f1b";
  bool sequenceParallel = false, allowIdleAxes = false;
  int64_t microbatches = 1;

  /// The flags that are not as by default, for messages.
  std::string text() const;
  void set(PhaseOptions &options) const;
};

struct TrialOutcome {
  /// Of any result or state, in the unit of what is allowed; infinite on failure.
  double distance = 0;
  /// Where it is, or why nothing came out.
  std::string message;
  int64_t ranks = 0;
  /// Elements of states that were compared, and those that the program does not
  /// determine in fp64 (see `TrainingTrial::discontinuous`).
  int64_t elements = 0, undetermined = 0;

  /// A hash of all results and states that came out, bit by bit.
  uint64_t bits = 0;
  /// Of each state alone, by name: the norm of gradients adds up in another order where layouts
  /// differ.
  std::map<std::string, uint64_t> bitsOfStates;

  /// How far the oracle itself moves, in the same unit, when weights move by one
  /// ulp of fp64; known if the distance is too large.
  double sensitivity = 0;

  bool good() const { return distance <= 1; }
  /// Rounding alone explains the distance: the case can tell nothing.
  bool isIllConditioned() const { return !good() && distance <= sensitivity; }
};

struct TrainingTrial {
  std::string model; // for messages
  TrainingFlags flags;
  /// Makes `@forward` at `graph`; the same each time.
  std::function<mlir::OwningOpRef<mlir::ModuleOp>(mlir::MLIRContext &)> graph;
  /// Where the states' files are.
  std::string folder;
  /// Tokens are drawn below the one, labels below the other.
  int64_t vocabulary = 8, classes = 8;
  unsigned steps = 3;
  unsigned optLevel = 1;
  uint64_t seed = 3;
  /// Losses, norms and states may differ by this of max(1, largest element).
  double tolerance = 1e-9;
  /// If not 0: gradients are rounded, so updates are compared, in l2 norm per
  /// tensor, and may differ by this share.
  double updateTolerance = 0;
  /// The optimizer has jumps (Lion: the sign; Adagrad: g / |g| in the first step).
  /// Where the true gradient is 0, as of a key's bias, rounding decides. Elements of
  /// parameters whose gradients are below 1e-8 of all are counted and left out, but for
  /// those that stay exactly 0 however the weights are rounded: those are compared.
  bool discontinuous = false;
  /// Of what computes in fewer bits than the oracle only the bits are told, and states are finite.
  bool isCompared() const { return flags.precision == "fp64"; }

  TrialOutcome run(mlir::MLIRContext &context) const;
  TrialOutcome run(mlir::MLIRContext &context, Routines routines) const;
};

/// The model in a file, taken to `graph` for training, with statistics of each of
/// `batchParts` parts of the batch. Null after a diagnostic.
mlir::OwningOpRef<mlir::ModuleOp> importGraph(mlir::MLIRContext &context, const std::string &path,
                                              const std::string &bind, int64_t batchParts = 1);

} // namespace weft::test

#endif // WEFT_TEST_NUMERICS_COMPILED_TRAINING_TRAININGTRIAL_H
