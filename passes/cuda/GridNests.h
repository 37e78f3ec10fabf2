// Loop nests shared by the threads of a block, or of a grid.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_CUDA_GRIDNESTS_H
#define WEFT_PASSES_CUDA_GRIDNESTS_H

#include "GridElements.h"
#include "GridPlan.h"
#include "GroupReduce.h"

#include <array>
#include <map>

namespace weft::cuda {

/// Threads that share a nest: number `thread` of `count`; consecutive ones are a warp.
struct Threads {
  mlir::Value thread;
  mlir::Value step; // their number, as a value
  int64_t count;
  /// The dim of the space that stands for `thread`. Where there is one, loops of few turns are
  /// written out in its terms, so that what one of them has read others know: in a turn so many
  /// `accesses` of 16 bytes.
  std::optional<unsigned> dim = std::nullopt;
  int64_t accesses = 0;

  bool writeOut(int64_t numbers) const {
    // Accesses that are kept take 4 registers each, and twice as many as numbers to compute with
    // where these have 16 bits.
    constexpr int64_t kMostTurns = 4, kMostKept = 16;
    int64_t turns = numbers / count;
    return dim && numbers % count == 0 && turns <= kMostTurns && turns * accesses <= kMostKept;
  }
};

/// Emits nests for one thread of many. All threads of a block emit the same, and take a share of
/// what is independent; nothing waits but within reductions.
class GridNestEmitter {
public:
  /// `makeScratch` gives workgroup memory of so many elements for a reduction's own use, which has
  /// `scratchBytes` for what is no single number a warp.
  using MakeScratch = std::function<mlir::Value(mlir::Type element, int64_t count)>;
  /// By its length what a list of changes of rows is made with: bits, their counts, the list.
  using Lists = std::map<int64_t, std::array<mlir::Value, 3>>;
  GridNestEmitter(GridElements &elements, Threads threads, MakeScratch makeScratch,
                  int64_t scratchBytes = 0)
      : elements(elements), space(elements.space), builder(elements.builder), threads(threads),
        makeScratch(std::move(makeScratch)), scratchBytes(scratchBytes) {}

  /// Emits a nest whose values have storages (or are scalars, which every thread gets). True if it
  /// wrote to memory.
  bool emit(kernels::LoopNest &nest);

  /// Emits nests of the same rows (`nestsByRow`): each warp does all of them for a row of its own,
  /// which knows what it has read and computed of it, and then for its next. Before it overwrites
  /// what some of its lanes have read it waits for all of them.
  void emitByRow(llvm::MutableArrayRef<kernels::LoopNest> nests);

  /// Emits elementwise nests of one shape and box, which is all of the values: each thread reads
  /// its elements of all nests before it writes any.
  void emitTogether(llvm::MutableArrayRef<kernels::LoopNest> nests);

private:
  using Indices = llvm::SmallVector<mlir::AffineExpr>;
  using Body = llvm::function_ref<void(const Indices &)>;

  /// A loop over the numbers below `count` that fall to one thread: i to thread i modulo their
  /// count. Where each has as many, the loop is over these: who unrolls it sees how many there are.
  llvm::SmallVector<mlir::Value> loopOfThread(
      mlir::Location loc, int64_t count, const Threads &among, mlir::ValueRange carried,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);
  void share(mlir::Location loc, int64_t count, Threads among,
             llvm::function_ref<void(mlir::AffineExpr number)> body);
  mlir::AffineExpr turnOf(const Threads &among, int64_t turn);
  Threads lanesOfWarp(llvm::ArrayRef<kernels::LoopNest> nests);
  void waitToOverwrite(const kernels::LoopNest &nest, llvm::SmallVectorImpl<mlir::Value> &seen);
  void emitNumber(kernels::LoopNest &nest, const Threads &ofWarp, const Indices &indices,
                  llvm::SmallVectorImpl<mlir::Value> &seen);
  Indices indicesAt(const kernels::LoopNest &nest, const Indices &boxIndices);
  Indices indicesInRow(const kernels::LoopNest &nest, const kernels::LoopNest &rows,
                       mlir::AffineExpr row, mlir::AffineExpr number, int64_t lanes,
                       mlir::AffineExpr lane);
  Indices valueIndices(const kernels::LoopNest &nest, mlir::AffineExpr number, int64_t lanes,
                       mlir::AffineExpr lane, Indices &boxIndices);
  void guarded(const kernels::LoopNest &nest, const Indices &boxIndices,
               llvm::function_ref<void()> body);
  void forBox(const kernels::LoopNest &nest, Threads among, int64_t lanes,
              llvm::function_ref<void(unsigned laneDim, const Indices &indices)> body);
  mlir::Value computeElement(kernels::LoopNest &nest, const Indices &indices);
  void emitElements(llvm::MutableArrayRef<kernels::LoopNest> nests, unsigned laneDim,
                    const Indices &indices);
  llvm::SmallVector<mlir::Value> reduceAlone(kernels::LoopNest &nest, unsigned laneDim,
                                             const Indices &indices);
  llvm::SmallVector<mlir::Value> reduceTogether(kernels::LoopNest &nest, Threads among,
                                                const Indices &indices);
  llvm::SmallVector<mlir::Value> reduceRows(kernels::LoopNest &nest, Threads among, int64_t lanes,
                                            unsigned laneDim, const Indices &indices);
  llvm::SmallVector<mlir::Value> addRun(mlir::linalg::GenericOp generic, const Combiner &combiner,
                                        llvm::ArrayRef<mlir::AffineExpr> loops, unsigned laneDim,
                                        llvm::ArrayRef<mlir::Value> now);
  bool keepsScalar(kernels::LoopNest &nest, llvm::ArrayRef<mlir::Value> values);
  void storeByFirst(mlir::Value thread, kernels::LoopNest &nest, const Indices &indices,
                    llvm::ArrayRef<mlir::Value> values);
  bool emitReduction(kernels::LoopNest &nest);
  bool reduceInGroups(kernels::LoopNest &nest);
  void emitRows(kernels::LoopNest &nest);
  void fillRows(kernels::LoopNest &nest, const kernels::RowLoops &fill);
  void changeRows(kernels::LoopNest &nest, const kernels::RowChanges &rows);

  GridElements &elements;
  kernels::IndexSpace &space;
  mlir::OpBuilder &builder;
  Threads threads;
  MakeScratch makeScratch;
  int64_t scratchBytes;
  Lists lists;
};

} // namespace weft::cuda

#endif // WEFT_PASSES_CUDA_GRIDNESTS_H
