// Shared by the files that build gradients (DifferentiableOpInterface).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_NN_IR_NNGRADIENT_H
#define WEFT_DIALECTS_NN_IR_NNGRADIENT_H

#include "dialects/nn/IR/Nn.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace weft::nn {

/// A tensor in a formula. Operators build `nn` ops of one shape and element
/// type; a number stands for a splat of the other side's type.
struct Term {
  mlir::OpBuilder *builder = nullptr;
  mlir::Location loc;
  mlir::Value value;

  Term(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value)
      : builder(&builder), loc(loc), value(value) {}

  mlir::RankedTensorType type() const {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  }
  llvm::ArrayRef<int64_t> shape() const { return type().getShape(); }
  int64_t rank() const { return type().getRank(); }
  mlir::Type element() const { return type().getElementType(); }

  /// An op built at this term's place, and its first result.
  template <typename Op, typename... Args> Term make(Args &&...args) const {
    return {*builder, loc, Op::create(*builder, loc, std::forward<Args>(args)...)->getResult(0)};
  }
  template <typename Op> Term unary() const { return make<Op>(value); }
  template <typename Op> Term binary(Term other) const { return make<Op>(value, other.value); }
  Term with(mlir::Value other) const { return {*builder, loc, other}; }
  /// A splat of this shape and type, and of another.
  Term splat(double number) const { return splat(number, type()); }
  Term splat(double number, mlir::RankedTensorType type) const;

  Term cast(mlir::Type element) const;
  /// Formulas are computed in f32 where the type is smaller.
  Term wide() const;
  Term is(CompareKind kind, Term other) const { return make<CompareOp>(kind, value, other.value); }
  Term is(CompareKind kind, double other) const { return is(kind, splat(other)); }
  /// On a bool: `onTrue` where it holds.
  Term choose(Term onTrue, Term onFalse) const {
    return make<SelectOp>(value, onTrue.value, onFalse.value);
  }
  Term choose(Term onTrue, double onFalse) const { return choose(onTrue, onTrue.splat(onFalse)); }

  Term reshape(llvm::ArrayRef<int64_t> shape) const;
  /// This term's dim i becomes dim `dims[i]` of `shape`.
  Term broadcast(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims) const;
  Term transpose(llvm::ArrayRef<int64_t> permutation) const;
  Term reverse(llvm::ArrayRef<int64_t> dims) const;
  Term slice(llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> sizes,
             llvm::ArrayRef<int64_t> strides) const;
  /// `size` elements of one dim, all of the others.
  Term sliceDim(int64_t dim, int64_t start, int64_t size, int64_t stride = 1) const;
  /// Adds zeros around, or cuts where `low` or `high` is negative.
  Term padOrCut(llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high) const;
  /// Zeros between the elements: size n becomes (n - 1) * strides + 1.
  Term dilate(llvm::ArrayRef<int64_t> strides) const;
  Term reduce(ReduceKind kind, llvm::ArrayRef<int64_t> dims) const;
  Term sum(llvm::ArrayRef<int64_t> dims) const { return reduce(ReduceKind::Sum, dims); }
  /// A reduction of `like` over `dims`, repeated to `like`'s shape.
  Term repeatLike(Term like, llvm::ArrayRef<int64_t> dims) const;
  /// 0, 1, 2, ... of i64 along `dim` of this shape.
  Term iotaAlong(int64_t dim) const;
};

Term operator+(Term a, Term b);
Term operator-(Term a, Term b);
Term operator*(Term a, Term b);
Term operator/(Term a, Term b);
Term operator-(Term a);
inline Term operator+(Term a, double b) { return a + a.splat(b); }
inline Term operator-(Term a, double b) { return a - a.splat(b); }
inline Term operator-(double a, Term b) { return b.splat(a) - b; }
inline Term operator+(double a, Term b) { return b.splat(a) + b; }
inline Term operator*(Term a, double b) { return a * a.splat(b); }
inline Term operator*(double a, Term b) { return b.splat(a) * b; }
inline Term operator/(Term a, double b) { return a / a.splat(b); }

/// The dims of [0, rank) that are not in `dims`.
llvm::SmallVector<int64_t> otherDims(int64_t rank, llvm::ArrayRef<int64_t> dims);
/// [begin, end).
llvm::SmallVector<int64_t> dimRange(int64_t begin, int64_t end);

/// The arguments of one buildGradient.
struct Gradient {
  mlir::Operation *op;
  mlir::OpBuilder &builder;
  mlir::ValueRange results;
  llvm::ArrayRef<bool> wanted;
  llvm::MutableArrayRef<mlir::Value> operands;

  Term term(mlir::Value value) const { return {builder, op->getLoc(), value}; }
  Term operand(unsigned index) const { return term(op->getOperand(index)); }
  Term result() const { return term(op->getResult(0)); }
  /// The gradient of the first result.
  Term upper() const { return term(results[0]); }
  /// Keeps the gradient of an operand, rounded to its type.
  void set(unsigned index, Term gradient) const;
  /// The same if it is wanted.
  void set(unsigned index, llvm::function_ref<Term()> gradient) const {
    if (wanted[index])
      set(index, gradient());
  }
};

/// Of factors `x` whose products (each element's own group, told by `spread`)
/// are wanted, what every factor's gradient is multiplied with, without
/// dividing by zero. `zeros` counts the zeros of each factor's group and
/// `others` is the product of its factors that are not zero, both in x's shape.
Term productOfOthers(Term x, Term zeros, Term others);

} // namespace weft::nn

#endif // WEFT_DIALECTS_NN_IR_NNGRADIENT_H
