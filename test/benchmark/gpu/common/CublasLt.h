// cuBLASLt, opened at run time, and one matrix product planned with it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Device.h"
#include "Gemm.h"
#include "Library.h"

#include <cublasLt.h>

namespace weft::gpukit {

/// The symbols used, each under its own name and checked type.
struct CublasLt {
  CublasLt();
  ~CublasLt();
  CublasLt(const CublasLt &) = delete;

  void check(cublasStatus_t status, const char *call, const char *file, int line) const;

  Library library;
  cublasLtHandle_t handle = nullptr;

  decltype(&cublasLtCreate) create;
  decltype(&cublasLtDestroy) destroy;
  decltype(&cublasLtGetVersion) getVersion;
  decltype(&cublasLtGetStatusString) statusString;
  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulAlgoGetHeuristic) getHeuristic;
  decltype(&cublasLtMatmulDescCreate) descCreate;
  decltype(&cublasLtMatmulDescDestroy) descDestroy;
  decltype(&cublasLtMatmulDescSetAttribute) descSet;
  decltype(&cublasLtMatrixLayoutCreate) layoutCreate;
  decltype(&cublasLtMatrixLayoutDestroy) layoutDestroy;
  decltype(&cublasLtMatmulPreferenceCreate) preferenceCreate;
  decltype(&cublasLtMatmulPreferenceDestroy) preferenceDestroy;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preferenceSet;
};
#define LT_CALL(lt, call) (lt).check((lt).call, #call, __FILE__, __LINE__)

/// How the product is computed; tf32 is f32 data on the matrix units.
struct Precision {
  Type type;
  cudaDataType_t dataType;
  cublasComputeType_t computeType;
  cudaDataType_t scaleType;
};
Precision precisionBf16();
Precision precisionTf32();
Precision precisionF32();
Precision precisionF64();

/// Operands (several sets, to rotate past the L2 cache), descriptors and
/// workspace of one product.
class GemmPlan {
public:
  GemmPlan(const CublasLt &lt, const GemmShape &shape, Precision precision, cudaStream_t stream);
  ~GemmPlan();
  GemmPlan(const GemmPlan &) = delete;

  /// Up to `count` algorithms, best guess first. Throws when cuBLASLt has none.
  std::vector<cublasLtMatmulHeuristicResult_t> heuristics(int count);

  /// Enqueues one run into the `index`-th output set.
  void run(const cublasLtMatmulAlgo_t &algorithm, size_t index);

  /// Poisons every output, runs once, and compares samples with the reference
  /// and scans all of it for poison.
  Check checkOnce(const cublasLtMatmulAlgo_t &algorithm, Tolerance tolerance, size_t samples);

  size_t sets() const { return outputs.size(); }

private:
  void setOutputs(size_t set);

  const CublasLt &lt;
  GemmShape shape;
  Precision precision;
  cudaStream_t stream;
  LtForm form;
  GemmData data;
  size_t current = 0;
  std::vector<Buffer> operandsA, operandsB, outputs;
  Buffer vector, aux, workspace; ///< `vector` is the bias or its gradient
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t layoutA = nullptr, layoutB = nullptr, layoutD = nullptr;
};

/// The first heuristic's time against the best of `candidates`, both timed with
/// at least 20 samples.
struct Tuned {
  Stats first, best;
  size_t tried = 0, usable = 0, bestIndex = 0;
  Check check; ///< of the best; the first is checked too and its failure throws
};
Tuned tuneGemm(GemmPlan &plan, cudaStream_t stream, int candidates, Tolerance tolerance,
               size_t samples);

} // namespace weft::gpukit
