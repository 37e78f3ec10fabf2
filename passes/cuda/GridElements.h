// Elements of kernels of a GPU: memrefs, and several elements a thread in one access.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_CUDA_GRIDELEMENTS_H
#define WEFT_PASSES_CUDA_GRIDELEMENTS_H

#include "passes/cuda/Passes.h"
#include "passes/kernels/ElementEmitter.h"

namespace weft::cuda {

/// Emits elements whose storages are one-dimensional memrefs that start on multiples of
/// kAccessBytes.
///
/// A thread computes some adjacent elements, its *lanes*, one after another: the lane is a loop of
/// the index space whose induction variable is a constant. An access of every lane in turn, of
/// which all lanes are adjacent in memory and aligned, is one access of a vector.
class GridElements : public kernels::ElementEmitter {
public:
  using ElementEmitter::ElementEmitter;

  /// Runs `body` for each lane of the loop `dim`, which has the extent; elements that it reads are
  /// remembered for the lane only.
  void forLanes(unsigned dim, llvm::function_ref<void(int64_t lane)> body);

  /// Reads the adjacent elements of all lanes of loop `dim`, as they are now.
  llvm::SmallVector<mlir::Value> loadLanes(const kernels::Storage &from,
                                           llvm::ArrayRef<mlir::AffineExpr> indices, unsigned dim,
                                           mlir::Location loc);

  /// Writes values of all lanes of loop `dim` to adjacent elements.
  void storeLanes(const kernels::Storage &to, llvm::ArrayRef<mlir::AffineExpr> indices,
                  unsigned dim, llvm::ArrayRef<mlir::Value> values, mlir::Location loc);

  /// From here on code is emitted that stays, in order: what was computed and read in blocks around
  /// is known, and conditions are chosen late, so that lanes read together.
  void keepCode() { keeps = choosesLate = true; }

  /// What was read may have been written since.
  void forgetReads() { reads.clear(); }

  mlir::Value loadAt(const kernels::Storage &from, mlir::AffineExpr place,
                     mlir::Location loc) override;
  void storeAt(const kernels::Storage &to, mlir::AffineExpr place, mlir::Value value,
               mlir::Location loc) override;

  mlir::Operation *copyOp(mlir::Operation &op, mlir::IRMapping &operands) override;

private:
  bool isAround(mlir::Value value) const;
  bool isWide(mlir::AffineExpr place, unsigned dim) const;
  mlir::AffineExpr firstPlace(mlir::AffineExpr place, unsigned dim) const;
  bool isWithin(mlir::Value memory, mlir::AffineExpr place, int64_t count) const;
  mlir::Value within(mlir::Value memory, mlir::AffineExpr place, int64_t count, mlir::Location loc);

  bool keeps = false;
  std::optional<unsigned> laneDim;
  int64_t lane = 0;
  struct Read {
    mlir::Value memory;
    mlir::AffineExpr place;
    mlir::Value value;
  };
  /// Vectors for the lanes to come, and elements that all lanes have.
  llvm::SmallVector<Read> reads;
  /// Copies of ops of bodies, by their hash.
  llvm::DenseMap<unsigned, llvm::SmallVector<mlir::Operation *>> copies;
};

} // namespace weft::cuda

#endif // WEFT_PASSES_CUDA_GRIDELEMENTS_H
