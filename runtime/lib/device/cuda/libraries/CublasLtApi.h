// What of cuBLASLt's interface the device uses, so that it builds without CUDA's toolkit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and numbers are those of cublasLt.h (CUDA 12 and 13), which a test holds them to where it
// is installed.
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_CUBLASLTAPI_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_CUBLASLTAPI_H

#include "device/cuda/DriverApi.h"

namespace weft::runtime::cuda {

using LtHandle = struct LtHandleTag *;
using LtProduct = struct LtProductTag *;       // cublasLtMatmulDesc_t
using LtLayout = struct LtLayoutTag *;         // cublasLtMatrixLayout_t
using LtPreference = struct LtPreferenceTag *; // cublasLtMatmulPreference_t

enum LtStatus : int { LtSuccess = 0, LtNoMemory = 3, LtInvalidValue = 7, LtNotSupported = 15 };
enum LtType : int { LtF32 = 0, LtF64 = 1, LtF16 = 2, LtBF16 = 14 };
enum LtCompute : int { LtComputeF32 = 68, LtComputeF64 = 70 };
enum LtTurn : int { LtAsIs = 0, LtTurned = 1 };
enum LtProductAttribute : int { LtTurnLhs = 3, LtTurnRhs = 4 };
enum LtLayoutAttribute : int { LtBatchCount = 5, LtBatchStride = 6 };
/// How parts of a sum that are made beside each other are added up: of these, bit by bit.
enum LtReductionScheme : uint32_t { LtReduceInComputeType = 2 };
enum LtPreferenceAttribute : int {
  LtMostWorkspace = 1,
  LtReductionSchemes = 3,
  LtAlignmentOfLhs = 5,
  LtAlignmentOfRhs = 6,
  LtAlignmentOfAddend = 7,
  LtAlignmentOfResult = 8
};

/// cublasLtMatmulAlgo_t.
struct LtAlgorithm {
  uint64_t data[8];
};
/// cublasLtMatmulHeuristicResult_t.
struct LtChoice {
  LtAlgorithm algorithm;
  size_t workspaceBytes;
  LtStatus status;
  float waves;
  int reserved[4];
};

/// X(name in the table, symbol, parameters). All return LtStatus.
#define WEFT_CUBLASLT(X)                                                                           \
  X(create, "cublasLtCreate", (LtHandle * handle))                                                 \
  X(destroy, "cublasLtDestroy", (LtHandle handle))                                                 \
  X(createProduct, "cublasLtMatmulDescCreate",                                                     \
    (LtProduct * product, LtCompute compute, LtType scale))                                        \
  X(destroyProduct, "cublasLtMatmulDescDestroy", (LtProduct product))                              \
  X(setProduct, "cublasLtMatmulDescSetAttribute",                                                  \
    (LtProduct product, LtProductAttribute attribute, const void *value, size_t bytes))            \
  X(createLayout, "cublasLtMatrixLayoutCreate",                                                    \
    (LtLayout * layout, LtType type, uint64_t rows, uint64_t columns, int64_t leading))            \
  X(destroyLayout, "cublasLtMatrixLayoutDestroy", (LtLayout layout))                               \
  X(setLayout, "cublasLtMatrixLayoutSetAttribute",                                                 \
    (LtLayout layout, LtLayoutAttribute attribute, const void *value, size_t bytes))               \
  X(createPreference, "cublasLtMatmulPreferenceCreate", (LtPreference * preference))               \
  X(destroyPreference, "cublasLtMatmulPreferenceDestroy", (LtPreference preference))               \
  X(setPreference, "cublasLtMatmulPreferenceSetAttribute",                                         \
    (LtPreference preference, LtPreferenceAttribute attribute, const void *value, size_t bytes))   \
  X(choose, "cublasLtMatmulAlgoGetHeuristic",                                                      \
    (LtHandle handle, LtProduct product, LtLayout lhs, LtLayout rhs, LtLayout addend,              \
     LtLayout result, LtPreference preference, int wanted, LtChoice choices[], int *found))        \
  X(multiply, "cublasLtMatmul",                                                                    \
    (LtHandle handle, LtProduct product, const void *alpha, const void *lhs, LtLayout lhsLayout,   \
     const void *rhs, LtLayout rhsLayout, const void *beta, const void *addend,                    \
     LtLayout addendLayout, void *result, LtLayout resultLayout, const LtAlgorithm *algorithm,     \
     void *workspace, size_t workspaceBytes, Stream stream))

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_CUBLASLTAPI_H
