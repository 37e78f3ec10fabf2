// The loops of one loop nest; shared by the files of LoopNestEmitter.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_KERNELS_NESTLOOPS_H
#define WEFT_PASSES_KERNELS_NESTLOOPS_H

#include "LoopNests.h"

namespace weft::kernels {

/// Key of loops that are never cut.
inline constexpr unsigned kNever = ~0u;

/// The loops of a nest, outermost first, and what they compute.
struct LoopNestEmitter::Loops {
  struct Loop {
    unsigned dim;
    bool reduction;
    /// Which entry of LoopNest::splits cuts it, and the extent of what is inside.
    unsigned key;
    int64_t inside;
    /// Stops at `size - base` if that is less than the extent.
    bool clamped = false;
    mlir::AffineExpr base = {};
    int64_t size = 0;
  };
  llvm::SmallVector<Loop> list;
  /// Index of the values, a dim each.
  llvm::SmallVector<mlir::AffineExpr> valueIndices;
  /// Reduction only: index of each loop of the generic.
  llvm::SmallVector<mlir::AffineExpr> genericLoops;
  /// The innermost reduction loop is split into lanes, and stays as it is.
  bool lanes = false;
};

/// Two adjacent loops may be one if every address moves by one step of the
/// inner loop times its extent with the outer one.
bool loopsInStep(const IndexSpace &space, unsigned outer, unsigned inner, const Recorder &seen);

} // namespace weft::kernels

#endif // WEFT_PASSES_KERNELS_NESTLOOPS_H
