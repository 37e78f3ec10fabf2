// A matrix product as a model writes it (row-major), its form for cuBLASLt
// (column-major), and its reference.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Gemm.h"
#include "Random.h"

#include <algorithm>
#include <cmath>

namespace weft::gpukit {

std::string toString(Pass pass) {
  switch (pass) {
  case Pass::forward:
    return "forward";
  case Pass::inputGrad:
    return "input gradient";
  case Pass::weightGrad:
    return "weight gradient";
  }
  return "?";
}

std::string toString(Epilogue epilogue) {
  switch (epilogue) {
  case Epilogue::none:
    return "none";
  case Epilogue::bias:
    return "bias";
  case Epilogue::geluAuxBias:
    return "gelu_aux_bias";
  case Epilogue::dgelu:
    return "dgelu";
  case Epilogue::dgeluBiasGrad:
    return "dgelu_bgrad";
  case Epilogue::weightBiasGrad:
    return "bgradb";
  }
  return "?";
}

LtForm ltForm(const GemmShape &shape) {
  int64_t t = shape.tokens, k = shape.in, n = shape.out;
  switch (shape.pass) {
  case Pass::forward: // y^T[N,T] = w^T^T x^T: A = w as [K,N] transposed, B = x
                      // as [K,T].
    return {n, t, k, true, false, k, n, k, t};
  case Pass::inputGrad: // dx^T[K,T] = w^T dy^T: A = w as [K,N], B = dy as
                        // [N,T].
    return {k, t, n, false, false, k, n, n, t};
  case Pass::weightGrad: // dw^T[K,N] = x^T dy: A = x as [K,T], B = dy as [N,T]
                         // transposed.
    return {k, n, t, false, true, k, t, n, t};
  }
  return {};
}

GemmData gemmData(const LtForm &form, Type type) {
  GemmData data;
  data.type = type;
  data.sigmaB = float(1 / std::sqrt(double(form.k)));
  return data;
}

double valueAt(uint64_t seed, uint64_t index, float sigma, Type type) {
  float value = normalAt(seed, index, sigma);
  return type == Type::bf16 ? double(bf16Value(bf16Bits(value))) : double(value);
}

namespace {
const double geluScale = std::sqrt(2 / M_PI);
constexpr double geluCubic = 0.044715;
} // namespace

double gelu(double x) { return 0.5 * x * (1 + std::tanh(geluScale * (x + geluCubic * x * x * x))); }

double geluDerivative(double x) {
  double t = std::tanh(geluScale * (x + geluCubic * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * geluScale * (1 + 3 * geluCubic * x * x);
}

double referenceAt(const LtForm &form, const GemmData &data, Epilogue epilogue, int64_t row,
                   int64_t col, double *aux) {
  double sum = 0;
  for (int64_t k = 0; k < form.k; ++k) {
    int64_t a = form.transposeA ? k + row * form.rowsA : row + k * form.rowsA;
    int64_t b = form.transposeB ? col + k * form.rowsB : k + col * form.rowsB;
    sum += valueAt(data.seedA, uint64_t(a), data.sigmaA, data.type) *
           valueAt(data.seedB, uint64_t(b), data.sigmaB, data.type);
  }
  uint64_t place = uint64_t(row) + uint64_t(col) * uint64_t(form.m);
  switch (epilogue) {
  case Epilogue::none:
  case Epilogue::weightBiasGrad:
    return sum;
  case Epilogue::bias:
    return sum + valueAt(data.seedBias, uint64_t(row), data.sigmaBias, data.type);
  case Epilogue::geluAuxBias:
    sum += valueAt(data.seedBias, uint64_t(row), data.sigmaBias, data.type);
    if (aux)
      *aux = sum;
    return gelu(sum);
  case Epilogue::dgelu:
  case Epilogue::dgeluBiasGrad:
    return sum * geluDerivative(valueAt(data.seedAux, place, data.sigmaAux, data.type));
  }
  return sum;
}

double referenceBiasGradAt(const LtForm &form, const GemmData &data, int64_t index) {
  // B is dy as column-major [N,T]: the sum runs over its columns.
  double sum = 0;
  for (int64_t t = 0; t < form.k; ++t)
    sum += valueAt(data.seedB, uint64_t(index + t * form.rowsB), data.sigmaB, data.type);
  return sum;
}

std::vector<uint64_t> samplePlaces(const LtForm &form, size_t count, uint64_t seed) {
  uint64_t total = form.elementsD(), m = uint64_t(form.m);
  std::vector<uint64_t> places = {0, m - 1, total - m, total - 1};
  uint64_t step = std::max<uint64_t>(1, total / std::max<size_t>(count, 1));
  for (uint64_t start = 0; start < total; start += step)
    places.push_back(std::min(total - 1, start + mixBits(seed, start) % step));
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

} // namespace weft::gpukit
