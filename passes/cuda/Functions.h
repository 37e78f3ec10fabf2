// Functions of f64 by arithmetic alone.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of what a GPU has only addition, product, fma, quotient, square root, rounding to an integer and
// comparisons of f64 are
// used, which IEEE 754 defines to the bit: results are the same on every GPU, and on a CPU. Errors
// are a few units
// in the last place of f64; limits and NaN are those of libm. Sine, cosine and tangent of numbers
// beyond 2^50 are those of a
// number nearby (three words of pi).
#ifndef WEFT_PASSES_CUDA_FUNCTIONS_H
#define WEFT_PASSES_CUDA_FUNCTIONS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"

namespace weft::cuda {

/// Builds arithmetic of f64.
struct Numbers {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Value number(double value) const;
  mlir::Value integer(int64_t value) const;
  mlir::Value add(mlir::Value a, mlir::Value b) const;
  mlir::Value sub(mlir::Value a, mlir::Value b) const;
  mlir::Value mul(mlir::Value a, mlir::Value b) const;
  mlir::Value div(mlir::Value a, mlir::Value b) const;
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c) const;
  mlir::Value abs(mlir::Value a) const;
  mlir::Value sqrt(mlir::Value a) const;
  mlir::Value nearest(mlir::Value a) const; // even where two are
  mlir::Value floor(mlir::Value a) const;
  /// The magnitude of one number with the sign of another.
  mlir::Value withSign(mlir::Value magnitude, mlir::Value sign) const;
  mlir::Value bits(mlir::Value a) const;
  mlir::Value ofBits(mlir::Value a) const;
  mlir::Value less(mlir::Value a, double b) const;    // ordered
  mlir::Value greater(mlir::Value a, double b) const; // ordered
  mlir::Value equal(mlir::Value a, mlir::Value b) const;
  mlir::Value isNan(mlir::Value a) const;
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) const;
  /// c0 + x c1 + x^2 c2 ..
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> coefficients) const;
};

mlir::Value acosOf(Numbers n, mlir::Value x);
mlir::Value acoshOf(Numbers n, mlir::Value x);
mlir::Value asinOf(Numbers n, mlir::Value x);
mlir::Value asinhOf(Numbers n, mlir::Value x);
mlir::Value atanOf(Numbers n, mlir::Value x);
mlir::Value atan2Of(Numbers n, mlir::Value y, mlir::Value x);
mlir::Value atanhOf(Numbers n, mlir::Value x);
mlir::Value cosOf(Numbers n, mlir::Value x);
mlir::Value coshOf(Numbers n, mlir::Value x);
mlir::Value erfOf(Numbers n, mlir::Value x);
mlir::Value expOf(Numbers n, mlir::Value x);
mlir::Value expm1Of(Numbers n, mlir::Value x);
mlir::Value logOf(Numbers n, mlir::Value x);
mlir::Value log1pOf(Numbers n, mlir::Value x);
mlir::Value powOf(Numbers n, mlir::Value x, mlir::Value y);
mlir::Value sinOf(Numbers n, mlir::Value x);
mlir::Value sinhOf(Numbers n, mlir::Value x);
mlir::Value tanOf(Numbers n, mlir::Value x);
mlir::Value tanhOf(Numbers n, mlir::Value x);
/// x - y trunc(x / y), exactly.
mlir::Value remainderOf(Numbers n, mlir::Value x, mlir::Value y);

} // namespace weft::cuda

#endif // WEFT_PASSES_CUDA_FUNCTIONS_H
