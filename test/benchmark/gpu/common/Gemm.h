// A matrix product as a model writes it (row-major), its form for cuBLASLt
// (column-major), and its reference.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Kernels.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::gpukit {

/// The three products of a linear layer y[T,N] = x[T,K] w[N,K]^T, all
/// row-major.
enum class Pass {
  forward,    ///< y[T,N] = x[T,K] w[N,K]^T
  inputGrad,  ///< dx[T,K] = dy[T,N] w[N,K]
  weightGrad, ///< dw[N,K] = dy[T,N]^T x[T,K]
};

enum class Epilogue {
  none,
  bias,           ///< + bias[N], forward
  geluAuxBias,    ///< tanh GELU of (+ bias[N]), keeping its argument in aux,
                  ///< forward
  dgelu,          ///< times GELU's derivative at aux, input gradient
  dgeluBiasGrad,  ///< dgelu, and the sum of the result over T
  weightBiasGrad, ///< weight gradient, and the sum of dy over T
};

std::string toString(Pass pass);
std::string toString(Epilogue epilogue);

struct GemmShape {
  std::string name;        ///< such as "gpt2-124m/fc"
  int64_t tokens, in, out; ///< T, K and N above
  Pass pass = Pass::forward;
  Epilogue epilogue = Epilogue::none;

  double flops() const { return 2.0 * double(tokens) * double(in) * double(out); }
};

/// What cuBLASLt is told: column-major D[m,n] = op(A) op(B), with op the
/// transpose where its flag is set. A row-major [r,c] is a column-major [c,r]
/// with leading dimension c: each product computes its result's transpose.
struct LtForm {
  int64_t m, n, k;
  bool transposeA, transposeB;
  int64_t rowsA, colsA, rowsB, colsB; ///< as stored, column-major; the leading
                                      ///< dimension is the number of rows
  uint64_t elementsA() const { return uint64_t(rowsA) * uint64_t(colsA); }
  uint64_t elementsB() const { return uint64_t(rowsB) * uint64_t(colsB); }
  uint64_t elementsD() const { return uint64_t(m) * uint64_t(n); }
  /// Length of the bias or of its gradient: the rows of D, and for
  /// weightBiasGrad the columns.
  int64_t biasLength(Epilogue epilogue) const {
    return epilogue == Epilogue::weightBiasGrad ? n : m;
  }
};

LtForm ltForm(const GemmShape &shape);

/// Seeds and scales that fill the operands; element i of a buffer is
/// normalAt(seed, i, sigma) rounded to its type.
struct GemmData {
  Type type = Type::bf16;
  uint64_t seedA = 1, seedB = 2, seedBias = 3, seedAux = 4;
  float sigmaA = 1, sigmaB = 1, sigmaBias = 1, sigmaAux = 1;
};

/// Scales under which results have a standard deviation near one, so that GELU
/// is neither linear nor zero throughout.
GemmData gemmData(const LtForm &form, Type type);

/// Element i of the buffer that data describes.
double valueAt(uint64_t seed, uint64_t index, float sigma, Type type);

/// tanh form of GELU and its derivative.
double gelu(double x);
double geluDerivative(double x);

/// Element (row, col) of column-major D in double precision, epilogue applied.
/// `aux`, where given, receives the argument of GELU, which geluAuxBias stores.
double referenceAt(const LtForm &form, const GemmData &data, Epilogue epilogue, int64_t row,
                   int64_t col, double *aux = nullptr);

/// Element i of the bias gradient that weightBiasGrad writes, from the data
/// alone.
double referenceBiasGradAt(const LtForm &form, const GemmData &data, int64_t index);

/// Distinct places of D to compare: its corners, and others spread evenly with
/// a random offset.
std::vector<uint64_t> samplePlaces(const LtForm &form, size_t count, uint64_t seed);

} // namespace weft::gpukit
