// The einsum-like index structure of an op: which factors index which dims.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_INTERFACES_FACTORRULE_H
#define WEFT_INTERFACES_FACTORRULE_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

#include "weft/Interfaces/ReduceKind.h.inc"

namespace weft {

/// A factor is one loop of the op's iteration space. Every dimension of every
/// operand and result is a product of factors (major to minor), so a reshape
/// or a split is exact: `(b)(s)(h d) -> (b)(s)(h)(d)`.
///
/// Worked example, a matrix product `C[m,n] = sum_k A[m,k] B[k,n]`:
///   factors  m: parallel, k: reduction(sum), n: parallel
///   operands A = (m)(k), B = (k)(n);   results C = (m)(n)
/// printed as `(m)(k), (k)(n) -> (m)(n) reduce k:sum`.
///
/// Splitting a factor over devices means: each operand and result that has the
/// factor holds only its piece of it. What that does to the result follows
/// from the kind:
struct Factor {
  enum class Kind {
    /// Independent along this factor. A piece of the operands gives that piece
    /// of the results. Tensors without the factor are used whole (broadcast).
    Parallel,
    /// In operands only; results of the pieces combine by `reduction`, so a
    /// split makes every result partial(reduction) on that mesh axis. Padding
    /// of an uneven split must hold the reduction's neutral element.
    Reduction,
    /// Needs its whole extent on every device (a sorted, scanned, normalised
    /// or convolved dimension): never split.
    Whole,
  };
  int64_t size = 1;
  Kind kind = Kind::Parallel;
  ReduceKind reduction = ReduceKind::Sum;
  /// If not -1: the values of this operand are indices into the factor (the
  /// vocabulary of an embedding lookup). When the factor is split, the
  /// partitioner makes them local to the shard (`dist.localize_index`); an
  /// index outside the shard then reads the neutral element or is dropped.
  int indexOperand = -1;
  /// Which component of the index vector (innermost dimension of the index
  /// operand) indexes this factor.
  int indexComponent = 0;
};

/// The factors of one dimension, major to minor. Their sizes multiply to the
/// dimension's size. A dimension of size 1 may have no factor.
using DimFactors = llvm::SmallVector<int, 2>;
/// One entry a dimension.
using TensorFactors = llvm::SmallVector<DimFactors, 4>;

struct FactorRule {
  llvm::SmallVector<Factor, 8> factors;
  llvm::SmallVector<TensorFactors, 4> operands, results;

  /// Appends a factor and returns its number.
  int add(int64_t size, Factor::Kind kind = Factor::Kind::Parallel,
          ReduceKind reduction = ReduceKind::Sum);

  /// Product of all factor sizes: the number of points of the iteration space,
  /// which may be beyond any integer.
  double points() const;

  /// True if operand/result `t` has factor `f` in some dimension.
  static bool contains(const TensorFactors &t, int f);

  /// Checks that sizes multiply to the dims of the given types; on failure
  /// says in `why` which one does not.
  bool verify(mlir::TypeRange operandTypes, mlir::TypeRange resultTypes,
              std::string *why = nullptr) const;

  /// `(a)(b c), (b) -> (a)(c) reduce b:sum whole c` with factor sizes.
  void print(llvm::raw_ostream &os) const;
};

/// Rule of an op whose operands and results all have one shape.
FactorRule elementwiseRule(mlir::TypeRange operandTypes, mlir::TypeRange resultTypes);

/// Finds the coarsest common refinement of two shapes with equal element
/// counts, as dims of factors: {8,6} and {4,2,6} share (4)(2)(6). Where sizes
/// interleave without a common factorisation (2x3 -> 3x2) common divisors at
/// either end are shared, and what lies between them gets factors of each side
/// alone that must stay Whole. The rule verifies in any case.
void refineShapes(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to, FactorRule &rule,
                  TensorFactors &fromFactors, TensorFactors &toFactors);

/// A set of operands that, when exactly they are partial(kind) on some axis and
/// all others are not, makes every result partial(kind): `add` has {0,1}, `mul`
/// {0} and {1}, `negate` {0}, `select` {1,2}.
using PartialRule = llvm::SmallVector<unsigned, 2>;

} // namespace weft

#endif // WEFT_INTERFACES_FACTORRULE_H
