// The search for a kernel's nests and units, in its parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_KERNELS_KERNELTILER_H
#define WEFT_PASSES_KERNELS_KERNELTILER_H

#include "KernelTiling.h"

#include "llvm/Support/Error.h"

namespace weft::kernels {

/// What decides between temporaries and computing again, and between ways to cut, in the scalar
/// operations that `ElementEmitter` counts.
struct TilingPrices {
  /// Elements that cost as one, where the innermost loop runs along memory.
  double lanes;
  /// To start an innermost loop.
  double loopStart;
  /// What computing a value again must save for it to be kept: as a scalar, which stays in a
  /// register, as an array of which each element is read often, or as any array, which costs a
  /// store and a load.
  double worthAScalar, worthARow, worthAnArray;
  /// The share of its score that a later way to cut may have, to be taken instead.
  double clearlyLess;
  /// Where temporaries lie, for messages: "stack".
  const char *temporaryMemory;
};

/// Elements of a tensor that are read: one box, grown by every read.
struct Demand {
  bool any = false;
  llvm::SmallVector<BoxDim> box;
  double points = 0;
  unsigned reads = 0;
};

/// Chooses the nests, temporaries and units of one kernel. How units are cut, and which way is the
/// best, says the target.
class KernelTiler {
public:
  /// `kernel` is a function of tensors. `elements` has storages for the arguments; its builder
  /// stands where scrap code may refer to them. A unit's temporaries may take `stackLimit` bytes.
  /// `overwritten` are those results that lie where an argument does: a unit reads of it what it
  /// writes itself, and before.
  KernelTiler(mlir::func::FuncOp kernel, ElementEmitter &elements,
              llvm::ArrayRef<Storage> resultStorages, int64_t stackLimit,
              llvm::ArrayRef<const Storage *> overwritten, const TilingPrices &prices)
      : kernel(kernel), elements(elements), space(elements.space), resultStorages(resultStorages),
        stackLimit(stackLimit), overwritten(overwritten), prices(prices),
        terminator(llvm::cast<mlir::func::ReturnOp>(kernel.getBody().front().getTerminator())) {}
  virtual ~KernelTiler() = default;

  /// Fails if temporaries do not fit, or no way to cut the kernel reads before it overwrites.
  llvm::Expected<KernelTiling> run();

protected:
  /// The units of a kernel that is one nest; none: the nest is one unit. The nests are analysed
  /// for one unit, their dims joined.
  virtual llvm::SmallVector<UnitDim> unitsTogether() = 0;
  /// The ways to cut any other kernel; what is cut finest first.
  virtual llvm::SmallVector<llvm::SmallVector<UnitDim>> candidates() = 0;
  /// What the way that `tiling` holds costs; less is better.
  virtual double score() = 0;
  /// The scalar operations that a unit takes for a nest.
  virtual double costOf(const LoopNest &nest, const NestReport &report);
  /// Whether units may share the row dims of a nest of rows: each makes a part of the rows.
  virtual bool cutsRows(const LoopNest &nest) const { return false; }

  mlir::func::FuncOp kernel;
  ElementEmitter &elements;
  IndexSpace &space;
  llvm::ArrayRef<Storage> resultStorages;
  int64_t stackLimit;
  llvm::ArrayRef<const Storage *> overwritten;
  TilingPrices prices;
  mlir::func::ReturnOp terminator;
  KernelTiling tiling;

  bool analyse(llvm::ArrayRef<UnitDim> units);
  llvm::MutableArrayRef<LoopNest> resultNests();
  /// The shapes of the results, and how many leading dims all of them share.
  unsigned sharedDims(llvm::SmallVectorImpl<llvm::ArrayRef<int64_t>> &shapes);
  /// Into how many parts dim `dim` of the results, which share those before it, can be cut such
  /// that leading dims of a nest end there that sums up all elements of a result, the fewest first.
  /// Then a unit has all that it sums up: of 64 rows and 4 sums of 16 of them each, 4 parts.
  llvm::SmallVector<int64_t> partsOf(unsigned dim, llvm::ArrayRef<llvm::ArrayRef<int64_t>> shapes);

private:
  /// Elementwise values that get a temporary, and those that must not.
  llvm::DenseSet<mlir::Value> kept, refused;
  /// What was computed in place during the last analysis.
  llvm::DenseMap<mlir::Value, Demand> visits;
  /// A nest computes more in place than kMostVisits: then the last analysis knows its visits only.
  bool isTooMuch = false;
  /// Every nest read other nests at its own indices only.
  bool readsInPlace = true;
  /// What a unit writes at each pointer of `overwritten`, during an analysis: addresses from
  /// `least` to `greatest` behind `base`, which depends on unit loops only.
  struct Overwritten {
    mlir::AffineExpr base;
    int64_t least, greatest;
  };
  llvm::DenseMap<mlir::Value, Overwritten> writes;

  void makeNests();
  void openUnits(llvm::ArrayRef<UnitDim> units);
  bool looksUpOverwritten(mlir::Value value) const;
  void grow(Demand &demand, mlir::Value tensor, const Recorder::Read &read);
  bool place(LoopNest &nest, const Demand &demand);
  mlir::Value findWorthKeeping(bool isOneElement = false);
  mlir::Value findMostComputed();
  bool readsBeforeWrites(const LoopNest &nest, const NestReport &report);
  bool settle(llvm::ArrayRef<UnitDim> units);
  bool isElementwise();
  bool tileTogether();
  void joinDims();
};

} // namespace weft::kernels

#endif // WEFT_PASSES_KERNELS_KERNELTILER_H
