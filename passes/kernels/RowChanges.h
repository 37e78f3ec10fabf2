// Rows of which a part can be made without the rest.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_KERNELS_ROWCHANGES_H
#define WEFT_PASSES_KERNELS_ROWCHANGES_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <optional>

namespace weft::kernels {

/// Loops in loops, of which each iteration sets one element of the row.
struct RowLoops {
  llvm::SmallVector<mlir::scf::ForOp> loops; // outermost first; all from 0 in steps of 1
  /// The iteration sets an element only if this holds; null: all do.
  mlir::scf::IfOp guard;
  mlir::tensor::InsertOp insert;

  mlir::Block &body() const { return *mlir::scf::ForOp(loops.back()).getBody(); }
  llvm::SmallVector<int64_t> extents() const;
};

/// The body of an `scf.forall` that fills a row and then changes elements of it, each by its own
/// value and by what is not in the row. So whoever makes a part of the row does the changes that
/// fall into it, in order, and passes over the others.
///
/// Example, scatter: the operand's row is the fill; a loop over all updates changes the elements
/// that the indices choose.
struct RowChanges {
  mlir::Value empty; // what the row is before
  RowLoops fill, change;
  /// For each dim of the result whether it has a say in which elements are changed.
  llvm::SmallVector<bool> choosing;
};

/// Nothing if the body is anything else.
std::optional<RowChanges> rowChangesOf(mlir::scf::ForallOp forall);

} // namespace weft::kernels

#endif // WEFT_PASSES_KERNELS_ROWCHANGES_H
