// What recomputation saves and what it costs, part by part.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_NN_STEP_RECOMPUTECHOICE_H
#define WEFT_PASSES_NN_STEP_RECOMPUTECHOICE_H

#include "passes/nn/step/ForwardPass.h"
#include "weft/Cost/CostModel.h"

namespace weft::step {

/// The ops to recompute for what is cheap between two cuts (`selective`), or for
/// all between two borders of blocks (`full`).
class RecomputeChoice {
public:
  RecomputeChoice(mlir::func::FuncOp function, const ForwardPass &forward, CostModel model);

  /// Bytes of activations that the backward pass reads, and operations and seconds that it takes to
  /// compute the marked ones again. Values that are repetitions of a smaller one
  /// count as that: kernels read it in their place.
  struct Price {
    double bytes = 0, flops = 0, seconds = 0;
  };
  Price price(const llvm::DenseSet<mlir::Operation *> &marked) const;

  /// All that `selective` or `full` marks.
  llvm::DenseSet<mlir::Operation *> all(bool full) const;
  /// The parts that save most bytes per second, until they save `share` of what all
  /// of them save; the earlier of two equal ones, as there is most room again when
  /// the backward pass comes to the first blocks. Of two shares the smaller one
  /// marks a subset.
  llvm::DenseSet<mlir::Operation *> best(double share);

private:
  struct Part {
    llvm::SmallVector<mlir::Operation *> ops;
    size_t block = 0, order = 0; // the later the larger
    bool full = false;
    double saved = 0, density = 0;
  };
  void findParts();
  /// Sets what parts save, and sorts them by that.
  void weigh();

  /// What is read by ops that compute gradients.
  llvm::SmallVector<mlir::Value> readByGradients() const;
  bool isRepetition(mlir::Value value) const;
  /// Adds computing a value again. It is fused into what reads it, so that its time is that of
  /// arithmetic.
  void addAgain(mlir::Value value, Price &price) const;
  /// Adds what `work` needs: values that are kept, and how others are computed again. `isNew` is
  /// true the first time that it is asked of a value, unless that is counted already.
  void follow(llvm::SmallVector<mlir::Value> work, const llvm::DenseSet<mlir::Operation *> &marked,
              llvm::function_ref<bool(mlir::Value)> isNew, Price &price) const;

  mlir::func::FuncOp function;
  const ForwardPass &forward;
  CostModel model;
  std::vector<Part> parts;
};

} // namespace weft::step

#endif // WEFT_PASSES_NN_STEP_RECOMPUTECHOICE_H
