// Matrices that are known by their diagonals, however large they are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_NN_DIAGONALS_H
#define WEFT_PASSES_NN_DIAGONALS_H

#include "weft/Interfaces/HostTensor.h"

#include "mlir/IR/Value.h"

#include <optional>

namespace weft {

/// A matrix whose element [i, j] depends on j - i alone, as what a causal mask or a sliding window
/// holds: its values by stretches of diagonals, each of which reaches to the next one.
struct Diagonals {
  struct Stretch {
    int64_t first; // diagonal, j - i; that of the first stretch is the least number
    Scalar value;  // in the element type of the matrix
  };
  llvm::SmallVector<Stretch, 4> stretches; // by `first`, at least one

  Scalar at(int64_t diagonal) const;
};

/// What `value` holds in its last two dims, whatever its others are: found by what ops mean on
/// ranges of numbers (`nn.iota`, constants that count in equal steps), splats, comparisons of these
/// and elementwise ops on the results. Nothing if it holds something else, or if that is not seen.
std::optional<Diagonals> diagonalsOf(mlir::Value value);

} // namespace weft

#endif // WEFT_PASSES_NN_DIAGONALS_H
