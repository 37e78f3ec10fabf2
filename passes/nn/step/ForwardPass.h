// The forward pass of a training step as a line of ops, and where it is narrow.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_NN_STEP_FORWARDPASS_H
#define WEFT_PASSES_NN_STEP_FORWARDPASS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace weft::step {

/// Contractions: to compute one again is dear. So it is of attention, but the memory is worth it.
bool isExpensive(mlir::Operation *op);

class ForwardPass {
public:
  explicit ForwardPass(mlir::func::FuncOp function);

  /// Those that make activations. What else there is, such as tables of positions and casts of
  /// weights, stands wherever it is first read, which is no part of what repeats.
  llvm::ArrayRef<mlir::Operation *> ops() const { return line; }
  /// Values that depend on weights and on inputs; all else is there anyway.
  bool isActivation(mlir::Value value) const {
    return ofState.contains(value) && ofInput.contains(value);
  }

  struct Cut {
    mlir::Value value;
    size_t position;
  };
  /// Values through which every path from the inputs to the loss goes, where a residual is
  /// added or a product made: keeping one lets all before it be dropped. The first such value
  /// (an embedding) is one, too, since to recompute it would need the whole table.
  llvm::ArrayRef<Cut> cuts() const { return narrow; }

  /// The cuts that lie between repeated blocks: of the period that covers most
  /// (the shortest of those), one cut a period; outside of it every cut.
  llvm::DenseSet<mlir::Value> blockBorders() const;
  /// Of the blocks of that period, as many as there are op by op, the value that the first one
  /// reads and those that each makes: where one begins is chosen so that all these are all that
  /// goes on, of one type. Nothing if there are not two.
  llvm::SmallVector<Cut> repeatedBorders() const;

private:
  void add(mlir::Operation *op);
  bool isWorthKeeping(mlir::Value value) const;
  void findCuts();
  std::optional<size_t> lastUse(mlir::Value value) const;
  std::vector<unsigned> signatures() const;
  bool areAlike(size_t op, size_t other) const;
  llvm::SmallVector<Cut> bordersFrom(size_t first, size_t period, size_t end) const;

  llvm::DenseSet<mlir::Value> ofState, ofInput;
  std::vector<mlir::Operation *> line;
  llvm::DenseMap<mlir::Operation *, size_t> position;
  llvm::SmallVector<Cut> narrow;
  std::vector<mlir::Value> only; ///< behind each op, the activation that goes on, if it is one
};

} // namespace weft::step

#endif // WEFT_PASSES_NN_STEP_FORWARDPASS_H
