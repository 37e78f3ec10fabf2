// Functions by the arithmetic that a GPU has.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Those of f64 use addition, product, fma, quotient, square root, rounding to an integer and
// comparisons alone, which IEEE 754 defines to the bit: results are the same on every GPU, and on a
// CPU. Errors are a few units in the last place; limits and NaN are those of libm. Sine, cosine and
// tangent of numbers beyond 2^50 are those of a number nearby (three words of pi).
//
// The exponential and the hyperbolic tangent of f32 (Singles.cpp) are what training spends its time
// in beside memory. They stand on the GPU's approximate 2^x and 1/x (errors of 2^-22 and 1 unit,
// PTX ISA 9.7.3), as those of CUDA's own library do: errors of 2 and 4 units in the last place.
#ifndef WEFT_PASSES_CUDA_FUNCTIONS_H
#define WEFT_PASSES_CUDA_FUNCTIONS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"

namespace weft::cuda {

/// Builds arithmetic of one type.
struct Numbers {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::FloatType type;

  mlir::Type word() const { return builder.getIntegerType(type.getIntOrFloatBitWidth()); }

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

/// Of f32.
mlir::Value singleExpOf(Numbers n, mlir::Value x);
mlir::Value singleTanhOf(Numbers n, mlir::Value x);
mlir::Value oneAndTanhOf(Numbers n, mlir::Value x);

} // namespace weft::cuda

#endif // WEFT_PASSES_CUDA_FUNCTIONS_H
