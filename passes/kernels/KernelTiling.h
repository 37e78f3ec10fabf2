// Which nests a kernel has, and how its work is cut into units.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_KERNELS_KERNELTILING_H
#define WEFT_PASSES_KERNELS_KERNELTILING_H

#include "LoopNests.h"

#include <vector>

namespace weft::kernels {

/// Joined dims of the results along which units are cut: `chunk` indices each or, where results
/// differ in size, into `parts` of equal size.
struct UnitDim {
  unsigned group;
  int64_t chunk;
  int64_t parts = 0;
  /// A unit has every n-th index, of n units, instead of adjacent ones.
  bool takesTurns = false;

  /// Indices of a unit, of a result with `size` of them.
  int64_t chunkOf(int64_t size) const { return parts ? size / parts : chunk; }
};

/// The tiling of one kernel.
///
/// A unit of parallel work computes a box of every result. The boxes of
/// temporaries follow from what the nests after them read, so that a unit
/// computes all that it needs by itself: units are independent, may run in any
/// order, and results do not depend on how many run together.
struct KernelTiling {
  std::vector<LoopNest> nests; // in the order of execution
  llvm::SmallVector<UnitDim> units;
  /// Number of units along each unit dim, which are loops 0.. of the space; their product is the
  /// kernel's extent.
  llvm::SmallVector<int64_t> unitExtents;
  /// All nests are elementwise, over one box, and read each other in place,
  /// but for temporaries of one element, which come first. Elements are read
  /// before they are written.
  bool together = false;
  /// Bytes of memory that the temporaries of a unit take.
  int64_t stackBytes = 0;
  /// Estimated scalar operations of one unit.
  double unitCost = 0;

  int64_t extent() const {
    int64_t product = 1;
    for (int64_t extent : unitExtents)
      product *= extent;
    return product;
  }
};

/// Bytes that the temporaries of a nest take, each at a multiple of 64.
int64_t stackBytesOf(const LoopNest &nest);

} // namespace weft::kernels

#endif // WEFT_PASSES_KERNELS_KERNELTILING_H
