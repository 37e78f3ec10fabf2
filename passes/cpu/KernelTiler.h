// The search for a kernel's nests and units, in its parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_CPU_KERNELTILER_H
#define WEFT_PASSES_CPU_KERNELTILER_H

#include "KernelTiling.h"

namespace weft::cpu {

/// Elements of a tensor that are read: one box, grown by every read.
struct Demand {
  bool any = false;
  llvm::SmallVector<kernels::BoxDim> box;
  double points = 0;
};

/// Chooses the nests, temporaries and units of one kernel.
class KernelTiler {
public:
  KernelTiler(mlir::func::FuncOp kernel, kernels::ElementEmitter &elements,
              llvm::ArrayRef<kernels::Storage> resultStorages, int64_t stackLimit,
              bool mustBeTogether)
      : kernel(kernel), elements(elements), space(elements.space), resultStorages(resultStorages),
        stackLimit(stackLimit), mustBeTogether(mustBeTogether),
        terminator(llvm::cast<mlir::func::ReturnOp>(kernel.getBody().front().getTerminator())) {}

  llvm::Expected<KernelTiling> run();

private:
  mlir::func::FuncOp kernel;
  kernels::ElementEmitter &elements;
  kernels::IndexSpace &space;
  llvm::ArrayRef<kernels::Storage> resultStorages;
  int64_t stackLimit;
  bool mustBeTogether;
  mlir::func::ReturnOp terminator;
  /// Elementwise values that get a temporary, and those that must not.
  llvm::DenseSet<mlir::Value> kept, refused;
  KernelTiling tiling;
  /// What was computed in place during the last analysis.
  llvm::DenseMap<mlir::Value, Demand> visits;
  /// Every nest read other nests at its own indices only.
  bool readsInPlace = true;

  void makeNests();
  void grow(Demand &demand, mlir::Value tensor, const kernels::Recorder::Read &read);
  bool place(kernels::LoopNest &nest, const Demand &demand);
  bool analyse(llvm::ArrayRef<UnitDim> units);
  mlir::Value findWorthKeeping(bool isOneElement = false);
  bool settle(llvm::ArrayRef<UnitDim> units);
  llvm::MutableArrayRef<kernels::LoopNest> resultNests();
  bool isElementwise();
  bool tileTogether();
  void joinDims();
  llvm::SmallVector<UnitDim> elementwiseUnits();
  llvm::SmallVector<UnitDim> tileUnits();
  llvm::SmallVector<llvm::SmallVector<UnitDim>> candidates();
};

} // namespace weft::cpu

#endif // WEFT_PASSES_CPU_KERNELTILER_H
