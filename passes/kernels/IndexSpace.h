// Index expressions over loops whose ranges are known.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_KERNELS_INDEXSPACE_H
#define WEFT_PASSES_KERNELS_INDEXSPACE_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"

#include <optional>

namespace weft::kernels {

/// A loop: dim `i` of every expression of the space is loop `i`.
struct LoopDim {
  int64_t extent;
  /// The induction variable where code is emitted now.
  mlir::Value iv;
  /// One of the loops that a unit of parallel work fixes.
  bool unit;
};

/// A value that is known at run time only.
struct Symbol {
  mlir::Value value;
  /// It is in [0, bound), if anything is known of it.
  std::optional<int64_t> bound;

  bool operator==(const Symbol &other) const {
    return value == other.value && bound == other.bound;
  }
};

/// The loops of a kernel, and sums of multiples of them. Expressions are kept
/// in one normal form, so that equal ones compare equal; `floordiv` and `mod`
/// vanish wherever the loops' ranges show it: with d1 in [0, 8),
/// `(d0 * 8 + d1) floordiv 8` is d0. Symbols are values known at run time only.
class IndexSpace {
public:
  explicit IndexSpace(mlir::MLIRContext *context) : context(context) {}

  llvm::SmallVector<LoopDim> dims;
  llvm::SmallVector<Symbol> symbols;
  /// Factors by which loops want to be split (loop -> inner extent), found
  /// when a division could not be simplified.
  llvm::SmallVector<std::pair<unsigned, int64_t>> wantedSplits;

  mlir::AffineExpr addDim(int64_t extent, bool unit, mlir::Value iv = nullptr);
  mlir::AffineExpr addSymbol(mlir::Value value, std::optional<int64_t> bound = std::nullopt);
  mlir::AffineExpr constant(int64_t value) const;

  mlir::AffineExpr add(mlir::AffineExpr a, mlir::AffineExpr b);
  mlir::AffineExpr multiply(mlir::AffineExpr a, int64_t factor);
  mlir::AffineExpr floorDiv(mlir::AffineExpr a, int64_t divisor);
  mlir::AffineExpr modulo(mlir::AffineExpr a, int64_t divisor);
  /// `expr` with its dims replaced.
  mlir::AffineExpr substitute(mlir::AffineExpr expr, llvm::ArrayRef<mlir::AffineExpr> dimValues);
  llvm::SmallVector<mlir::AffineExpr> compose(mlir::AffineMap map,
                                              llvm::ArrayRef<mlir::AffineExpr> dimValues);
  /// Row-major number of `indices` in `shape`, and back.
  mlir::AffineExpr linearize(llvm::ArrayRef<mlir::AffineExpr> indices,
                             llvm::ArrayRef<int64_t> shape);
  void delinearize(mlir::AffineExpr number, llvm::ArrayRef<int64_t> shape,
                   llvm::SmallVectorImpl<mlir::AffineExpr> &indices);

  /// Least and greatest value, if known.
  std::optional<std::pair<int64_t, int64_t>> range(mlir::AffineExpr expr) const;

  /// A sum: constant + sum of coefficient * atom; atoms are dims, symbols, and
  /// divisions that did not vanish, in a fixed order.
  struct Sum {
    llvm::SmallVector<std::pair<mlir::AffineExpr, int64_t>> terms;
    int64_t constant = 0;
  };
  Sum sumOf(mlir::AffineExpr expr) const;
  mlir::AffineExpr exprOf(const Sum &sum) const;
  /// The part of the sum that depends on unit loops only, and the rest; false
  /// if some atom mixes both.
  bool separate(mlir::AffineExpr expr, mlir::AffineExpr &unitPart, mlir::AffineExpr &rest) const;
  /// The factor of loop `dim` in the sum `expr`; nothing if not linear in it.
  std::optional<int64_t> coefficient(mlir::AffineExpr expr, unsigned dim) const;

  /// Emits the value of `expr` (type index).
  mlir::Value materialize(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::AffineExpr expr) const;

private:
  mlir::MLIRContext *context;
};

} // namespace weft::kernels

#endif // WEFT_PASSES_KERNELS_INDEXSPACE_H
