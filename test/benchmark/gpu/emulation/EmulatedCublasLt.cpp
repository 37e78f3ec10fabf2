// cuBLASLt on the host: column-major products and epilogues as its
// documentation describes them, written without a look at the kit's reference.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulation.h"
#include "common/Random.h"

#include <algorithm>
#include <cmath>
#include <cublasLt.h>
#include <map>
#include <vector>

using namespace weft::gpukit;

namespace {

struct Layout {
  cudaDataType_t type;
  uint64_t rows, cols;
  int64_t leading;
};

using Attributes = std::map<int, std::vector<char>>;

template <typename Value> Value attribute(const Attributes &attributes, int name, Value fallback) {
  auto found = attributes.find(name);
  if (found != attributes.end() && found->second.size() >= sizeof(Value))
    std::memcpy(&fallback, found->second.data(), sizeof(Value));
  return fallback;
}

double load(const void *data, cudaDataType_t type, int64_t i) {
  if (type == CUDA_R_16BF)
    return bf16Value(static_cast<const uint16_t *>(data)[i]);
  if (type == CUDA_R_32F)
    return static_cast<const float *>(data)[i];
  return static_cast<const double *>(data)[i];
}

void store(void *data, cudaDataType_t type, int64_t i, double value) {
  if (type == CUDA_R_16BF)
    static_cast<uint16_t *>(data)[i] = bf16Bits(float(value));
  else if (type == CUDA_R_32F)
    static_cast<float *>(data)[i] = float(value);
  else
    static_cast<double *>(data)[i] = value;
}

double tanhArgument(double x) { return 0.7978845608028654 * (x + 0.044715 * x * x * x); }

template <typename To, typename From> To *as(From from) { return reinterpret_cast<To *>(from); }

} // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  *handle = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
size_t cublasLtGetVersion() { return 0; }
const char *cublasLtGetStatusString(cublasStatus_t) { return "emulated"; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t,
                                        cudaDataType_t) {
  *desc = as<cublasLtMatmulDescOpaque_t>(new Attributes);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete as<Attributes>(desc);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t name,
                                              const void *value, size_t bytes) {
  const char *begin = static_cast<const char *>(value);
  (*as<Attributes>(desc))[name].assign(begin, begin + bytes);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t leading) {
  if (leading < int64_t(rows))
    return CUBLAS_STATUS_INVALID_VALUE;
  *layout = as<cublasLtMatrixLayoutOpaque_t>(new Layout{type, rows, cols, leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete as<Layout>(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t,
                                                    const void *, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

/// Three algorithms: two that work and one that is offered and then refused.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int *found) {
  *found = std::min(wanted, 3);
  for (int i = 0; i < *found; ++i) {
    results[i] = {};
    results[i].algo.data[0] = uint64_t(i);
    results[i].state = CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void *,
                              const void *a, cublasLtMatrixLayout_t layoutA, const void *b,
                              cublasLtMatrixLayout_t layoutB, const void *, const void *,
                              cublasLtMatrixLayout_t, void *d, cublasLtMatrixLayout_t layoutD,
                              const cublasLtMatmulAlgo_t *algorithm, void *, size_t, cudaStream_t) {
  if (algorithm->data[0] == 2)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const Attributes &attributes = *as<Attributes>(desc);
  const Layout &la = *as<Layout>(layoutA), &lb = *as<Layout>(layoutB), &ld = *as<Layout>(layoutD);
  bool ta = attribute(attributes, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N) == CUBLAS_OP_T;
  bool tb = attribute(attributes, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N) == CUBLAS_OP_T;
  uint64_t m = ld.rows, n = ld.cols, k = ta ? la.rows : la.cols;
  if ((ta ? la.cols : la.rows) != m || (tb ? lb.rows : lb.cols) != n ||
      (tb ? lb.cols : lb.rows) != k)
    return CUBLAS_STATUS_INVALID_VALUE;
  auto epilogue = attribute(attributes, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
  void *vector = attribute<void *>(attributes, CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr);
  void *aux = attribute<void *>(attributes, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, nullptr);
  int64_t auxLeading = attribute<int64_t>(attributes, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 0);

  std::vector<double> left(m * k), right(k * n), rowSums(m, 0.0);
  for (uint64_t r = 0; r < la.rows; ++r)
    for (uint64_t c = 0; c < la.cols; ++c)
      left[ta ? c * k + r : r * k + c] = load(a, la.type, int64_t(r) + int64_t(c) * la.leading);
  for (uint64_t r = 0; r < lb.rows; ++r)
    for (uint64_t c = 0; c < lb.cols; ++c)
      right[tb ? r * k + c : c * k + r] = load(b, lb.type, int64_t(r) + int64_t(c) * lb.leading);
  if (hasFault("gemm-operand"))
    std::swap(left[0], left[m * k - 1]);
  uint64_t written = hasFault("gemm-tail") ? n - 1 : n;
  for (uint64_t j = 0; j < written; ++j)
    for (uint64_t i = 0; i < m; ++i) {
      double sum = 0;
      for (uint64_t x = 0; x < k; ++x)
        sum += left[i * k + x] * right[j * k + x];
      if (epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS)
        sum += hasFault("gemm-bias") ? 0 : load(vector, ld.type, int64_t(i));
      if (epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS) {
        store(aux, ld.type, int64_t(i) + int64_t(j) * auxLeading, sum);
        sum = 0.5 * sum * (1 + std::tanh(tanhArgument(sum)));
      }
      if (epilogue == CUBLASLT_EPILOGUE_DGELU || epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD) {
        double x = load(aux, ld.type, int64_t(i) + int64_t(j) * auxLeading);
        double t = std::tanh(tanhArgument(x));
        sum *=
            0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
      }
      rowSums[i] += sum;
      store(d, ld.type, int64_t(i) + int64_t(j) * ld.leading, sum);
    }
  if (epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD)
    for (uint64_t i = 0; i < m; ++i)
      store(vector, ld.type, int64_t(i), rowSums[i]);
  if (epilogue == CUBLASLT_EPILOGUE_BGRADB)
    for (uint64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (uint64_t x = 0; x < k; ++x)
        sum += right[j * k + x];
      store(vector, ld.type, int64_t(j), hasFault("gemm-bgrad") ? -sum : sum);
    }
  return CUBLAS_STATUS_SUCCESS;
}

} // extern "C"
