// A kernel as a list of loop nests over pieces of its tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_KERNELS_LOOPNESTS_H
#define WEFT_PASSES_KERNELS_LOOPNESTS_H

#include "ElementEmitter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace weft::kernels {

/// The part of one dim that one unit of parallel work needs: `width` indices
/// from `base`, which depends on unit loops only, each `step` behind the one before.
struct BoxDim {
  mlir::AffineExpr base;
  int64_t width = 0;
  /// The dim's size. If base + width may pass it, the loop stops there.
  int64_t size = 0;
  /// The base may lie behind the end, where nothing is computed: whoever reads the box there looks
  /// first, as a concatenation does that has other operands there.
  bool mayBeEmpty = false;
  /// More than 1 only in a dim of the rows of a nest whose rows are made in parts.
  int64_t step = 1;
};

/// One loop nest that computes whole elements of its `values`, all of one
/// shape, and stores them.
///
/// Example, softmax over rows: nests for max (scalar), exp (a row in a
/// temporary), sum (scalar), quotient (the result); the unit is a row.
struct LoopNest {
  enum class Kind {
    /// One value, each element for itself.
    Elementwise,
    /// A linalg.generic with reduction loops.
    Reduction,
    /// An scf.forall.
    Rows,
    /// Copies a value that has a home already into a further result.
    Copy
  } kind;
  mlir::Operation *op = nullptr;
  llvm::SmallVector<mlir::Value> values;
  /// Where a Copy writes.
  Storage target;
  /// Result numbers of the function, one for each value; -1: a temporary.
  llvm::SmallVector<int> results;
  /// Dims of the values, joined where all accesses allow: runs of adjacent
  /// dims, one box dim each.
  llvm::SmallVector<llvm::SmallVector<int64_t>> groups;
  llvm::SmallVector<BoxDim> box;
  /// False of a temporary of which no nest reads an element after all.
  bool isRead = true;
  /// Loops cut in two: which, and the extent inside the cut. Box dims come
  /// first, then the loops of the generic.
  llvm::SmallVector<std::pair<unsigned, int64_t>> splits;
  /// Values of other nests that it reads, and those of them that it reads elsewhere than at its own
  /// leading indices.
  llvm::SmallVector<mlir::Value> reads, strays;
  /// As many of its leading dims as its accesses of what is overwritten keep to its own indices in;
  /// and the memory of that which it reads.
  unsigned ownDims = 0;
  llvm::SmallVector<mlir::Value> readsOverwritten;
  /// Memory that it reads along its innermost loop.
  llvm::SmallVector<mlir::Value> streams;

  mlir::Location loc() const { return values.front().getLoc(); }
  llvm::ArrayRef<int64_t> shape() const {
    return llvm::cast<mlir::RankedTensorType>(values.front().getType()).getShape();
  }
  bool isTemporary() const {
    return llvm::all_of(results, [](int result) { return result < 0; });
  }
  /// The temporary needs no memory: one element per unit.
  bool isScalar() const {
    return isTemporary() && kind != Kind::Rows &&
           llvm::all_of(box, [](const BoxDim &dim) { return dim.width == 1 && !dim.mayBeEmpty; });
  }
  int64_t boxElements() const {
    int64_t count = 1;
    for (const BoxDim &dim : box)
      count *= dim.width;
    return count;
  }
};

/// While this lives, the nests' values have no storage: they are computed together and stored
/// after, so an element of one that another reads in a form of its indices that nobody knows is
/// computed again, as memory has not got it yet.
class NotStored {
public:
  NotStored(ElementEmitter &elements, llvm::ArrayRef<LoopNest> nests);
  ~NotStored() { elements.storage = std::move(storages); }

private:
  ElementEmitter &elements;
  llvm::DenseMap<mlir::Value, Storage> storages;
};

/// For each dim of a forall's results whether the body computes it whole.
llvm::SmallVector<bool> rowDims(mlir::scf::ForallOp forall);

/// Dense memory at `pointer` for the box of a temporary.
Storage temporaryStorage(const LoopNest &nest, mlir::Value value, mlir::Value pointer,
                         IndexSpace &space);

/// What emitting a nest would do.
struct NestReport {
  Recorder seen;
  /// The nest's values are written at these indices.
  llvm::SmallVector<mlir::AffineExpr> valueIndices;
  /// Whether the innermost loop runs along memory.
  bool contiguous = true;
  /// As LoopNest has it.
  llvm::SmallVector<mlir::Value> streams;
  /// Number of times the innermost loop starts, per unit.
  double starts = 1;
  /// Cuts that would make divisions vanish, in the terms of LoopNest::splits.
  llvm::SmallVector<std::pair<unsigned, int64_t>> wantedSplits;
};

/// Notes in the nest where it reads others, and what is overwritten.
void noteReads(LoopNest &nest, const NestReport &report,
               llvm::ArrayRef<const Storage *> overwritten, IndexSpace &space);

/// Emits loop nests one after another.
class LoopNestEmitter {
public:
  explicit LoopNestEmitter(ElementEmitter &elements) : elements(elements) {}

  /// Emits `nest`, whose values have storages (or are scalars). Adjacent loops
  /// that all accesses pass through in step become one.
  void emit(LoopNest &nest);

  /// Emits elementwise nests of one shape and box, which read each other at
  /// their own indices only, as one nest.
  void emitTogether(llvm::MutableArrayRef<LoopNest> nests);

  /// Emits the one point of a nest of rows whose values are at `valueIndices`; those of a row's own
  /// dims do not count.
  void emitRow(LoopNest &nest, llvm::ArrayRef<mlir::AffineExpr> valueIndices);

  /// The region of a nest of rows at one point: its rows are the parts of the values that it would
  /// write.
  ElementEmitter::Region placeRows(LoopNest &nest, llvm::ArrayRef<mlir::AffineExpr> valueIndices);

  /// Emits the nest into a block that is thrown away, to see what it does.
  NestReport probe(LoopNest &nest);

  /// For each dim of an elementwise nest whether it may become one with the
  /// dim before it. The box holds whole dims.
  llvm::SmallVector<bool> joinableDims(LoopNest &nest);

  /// The box dim, if it is not the last, in which most operands that do not run
  /// along memory in the last dim do.
  std::optional<unsigned> stridedDim(LoopNest &nest);

private:
  struct Loops;
  Loops makeLoops(LoopNest &nest);
  void joinLoops(Loops &loops, const Recorder &seen);
  void emitLoops(LoopNest &nest, Loops &loops);
  void emitElementwise(LoopNest &nest, Loops &loops);
  mlir::Value computeElement(LoopNest &nest, const Loops &loops);
  void storeElement(LoopNest &nest, const Loops &loops, mlir::Value computed);
  void emitReduction(LoopNest &nest, Loops &loops);
  void emitRows(LoopNest &nest, Loops &loops);
  void emitInterchanged(mlir::Operation &op, ElementEmitter::Region &region, Loops &loops);
  void record(Recorder &into, llvm::function_ref<void()> emit);
  void openLoops(mlir::Location loc, const Loops &loops, llvm::ArrayRef<unsigned> which,
                 llvm::function_ref<void()> body);

  ElementEmitter &elements;
};

} // namespace weft::kernels

#endif // WEFT_PASSES_KERNELS_LOOPNESTS_H
