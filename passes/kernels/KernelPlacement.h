// Where the values of a kernel lie, whatever machine the kernel is lowered for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_KERNELS_KERNELPLACEMENT_H
#define WEFT_PASSES_KERNELS_KERNELPLACEMENT_H

#include "KernelTiling.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Error.h"

namespace weft::kernels {

/// Tells `elements` where to read and write: arguments and results in the buffers of the function
/// that the kernel becomes, constants and temporaries in memory that the caller makes.
class KernelPlacement {
public:
  /// `buffers` are those of the arguments, then those of the results, each dense and row-major. An
  /// argument that a result overwrites (`rt.in_place`) lies in the buffer of the result, so that
  /// loads and stores are seen to be of one place.
  KernelPlacement(mlir::func::FuncOp kernel, mlir::ValueRange buffers, ElementEmitter &elements);
  KernelPlacement(const KernelPlacement &) = delete;

  /// Places constants that are not one number: `makeTable` gives the memory of the table with that
  /// number.
  void placeConstants(
      llvm::function_ref<mlir::Value(mlir::DenseElementsAttr table, unsigned number)> makeTable);

  /// What `plan` makes of the kernel and its results; where it finds nothing, of the kernel with
  /// the same leading dims for all results.
  using Plan = llvm::function_ref<llvm::Expected<KernelTiling>(
      llvm::ArrayRef<Storage> results, llvm::ArrayRef<const Storage *> overwritten)>;
  llvm::Expected<KernelTiling> tile(Plan plan);

  /// Gives the values of a nest their memory; `allocate` makes that of temporaries, as many
  /// elements of the type.
  void place(LoopNest &nest,
             llvm::function_ref<mlir::Value(mlir::Type element, int64_t count)> allocate);

  bool overwrites() const { return !overwritten.empty(); }

private:
  void placeResults();

  mlir::func::FuncOp kernel;
  mlir::ValueRange buffers;
  ElementEmitter &elements;
  llvm::SmallVector<Storage> results;
  llvm::SmallVector<const Storage *> overwritten;
};

/// Makes `unit`, a number in row-major order, the indices of the unit dims.
void setUnit(const KernelTiling &tiling, mlir::Value unit, ElementEmitter &elements);

} // namespace weft::kernels

#endif // WEFT_PASSES_KERNELS_KERNELPLACEMENT_H
