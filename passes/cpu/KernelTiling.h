// Which nests a kernel has, and how its work is cut into units.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_CPU_KERNELTILING_H
#define WEFT_PASSES_CPU_KERNELTILING_H

#include "passes/kernels/LoopNests.h"

#include <vector>

#include "llvm/Support/Error.h"

namespace weft::cpu {

/// Joined dims of the results along which units are cut: `chunk` indices each.
struct UnitDim {
  unsigned group;
  int64_t chunk;
};

/// The tiling of one kernel.
///
/// A unit of parallel work computes a box of every result. The boxes of
/// temporaries follow from what the nests after them read, so that a unit
/// computes all that it needs by itself: units are independent, may run in any
/// order, and results do not depend on how many run together.
struct KernelTiling {
  std::vector<kernels::LoopNest> nests; // in the order of execution
  llvm::SmallVector<UnitDim> units;
  /// Number of units along each unit dim; their product is the kernel's extent.
  llvm::SmallVector<int64_t> unitExtents;
  /// All nests are elementwise, over one box, and read each other in place,
  /// but for temporaries of one element, which come first. Elements are read
  /// before they are written.
  bool together = false;
  /// Loops 0.. of the space are the unit dims.
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

/// Bytes that the temporaries of a nest take on the stack.
int64_t stackBytesOf(const kernels::LoopNest &nest);

/// Tiles `kernel`, a function of tensors. `elements` has storages for the
/// arguments, results are in `resultStorages`; its builder stands where scrap
/// code may refer to them. Fails if temporaries do not fit on the stack, or a
/// kernel that must be together is not.
llvm::Expected<KernelTiling> tileKernel(mlir::func::FuncOp kernel,
                                        kernels::ElementEmitter &elements,
                                        llvm::ArrayRef<kernels::Storage> resultStorages,
                                        int64_t stackLimit, bool mustBeTogether);

} // namespace weft::cpu

#endif // WEFT_PASSES_CPU_KERNELTILING_H
