// A product as cuBLASLt computes it, or why it does not: for the compiler, which asks before it
// makes the command, and for the CUDA device, which makes the calls.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_CUBLASPRODUCT_H
#define WEFT_RUNTIME_CUBLASPRODUCT_H

#include "weft/runtime/Types.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::runtime {

/// An operand, result or addend of a product (Gemm of Commands.h): [batch.., rows, columns], in
/// elements.
struct ProductTensor {
  DType dtype;
  std::vector<int64_t> sizes, strides;
};

/// A matrix that lies by columns: column c begins at c * `leading` elements. If it is `turned`, the
/// product takes its transpose.
struct ColumnMatrix {
  bool turned = false;
  int64_t leading = 1;
  int64_t batchStride = 0;
  std::vector<int64_t> outerStrides; // of the dims that calls are repeated over
};

/// result = lhs * rhs [+ addend], every matrix by columns. Where the command's result lies by rows,
/// the product is that of the turned operands the other way around (`isSwapped`): then lhs is the
/// command's second operand.
struct CublasProduct {
  bool isSwapped = false;
  int64_t m = 1, n = 1, k = 1;
  int64_t batch = 1;               // in a call
  std::vector<int64_t> outerSizes; // a call for each of their positions
  int64_t calls = 1;
  ColumnMatrix lhs, rhs, result, addend;
};

/// Of a product whose command is valid. "" and the product; else what cuBLASLt does not do.
std::string planCublasProduct(const ProductTensor &lhs, const ProductTensor &rhs,
                              const ProductTensor &result,
                              const std::vector<ProductTensor> &addends, CublasProduct &product);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUBLASPRODUCT_H
