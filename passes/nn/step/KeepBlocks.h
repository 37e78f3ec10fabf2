// Programs of fewer of the blocks that repeat.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_NN_STEP_KEEPBLOCKS_H
#define WEFT_PASSES_NN_STEP_KEEPBLOCKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace weft::step {

/// What reads a state, by where it stands: before the blocks that repeat, in one, behind them.
enum Part : unsigned { Before = 1, Within = 2, Behind = 4 };

/// The blocks that repeat in a forward pass, one after the other.
struct Blocks {
  int64_t count = 0;
  /// What one block hands to the next.
  mlir::RankedTensorType border;
  /// Of each state, by name, the parts that read it.
  llvm::StringMap<unsigned> partsOf;
};

/// Finds them. Fails where nothing repeats, or where a block's value is read other than by the next
/// block through its one border: such a program is no line of blocks.
llvm::FailureOr<Blocks> findBlocks(mlir::func::FuncOp forward);

/// Leaves the first `keep` of them, 1 to `count`: what follows the last reads the border of the one
/// that is the last now, and states that nobody reads any more are gone. Fails as `findBlocks`.
llvm::LogicalResult keepBlocks(mlir::func::FuncOp forward, int64_t keep);

} // namespace weft::step

#endif // WEFT_PASSES_NN_STEP_KEEPBLOCKS_H
