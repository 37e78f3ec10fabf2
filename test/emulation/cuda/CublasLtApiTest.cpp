// What the runtime declares of cuBLASLt is what cublasLt.h does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/libraries/CublasLtApi.h"
#include "Alike.h"

#include <gtest/gtest.h>

#ifdef WEFT_HAS_CUDA_HEADER
#include <cublasLt.h>
#include <dlfcn.h>

using namespace weft::runtime;

namespace weft::runtime::cuda {
struct LtTable {
#define WEFT_FIELD(NAME, SYMBOL, PARAMETERS) cuda::LtStatus(*NAME) PARAMETERS = nullptr;
  WEFT_CUBLASLT(WEFT_FIELD)
#undef WEFT_FIELD
};
} // namespace weft::runtime::cuda

namespace {

static_assert(int(CUBLAS_STATUS_SUCCESS) == cuda::LtSuccess);
static_assert(int(CUBLAS_STATUS_INVALID_VALUE) == cuda::LtInvalidValue);
static_assert(int(CUBLAS_STATUS_NOT_SUPPORTED) == cuda::LtNotSupported);
static_assert(int(CUDA_R_32F) == cuda::LtF32 && int(CUDA_R_64F) == cuda::LtF64);
static_assert(int(CUDA_R_16F) == cuda::LtF16 && int(CUDA_R_16BF) == cuda::LtBF16);
static_assert(int(CUBLAS_COMPUTE_32F) == cuda::LtComputeF32);
static_assert(int(CUBLAS_COMPUTE_64F) == cuda::LtComputeF64);
static_assert(int(CUBLAS_OP_N) == cuda::LtAsIs && int(CUBLAS_OP_T) == cuda::LtTurned);
static_assert(int(CUBLASLT_MATMUL_DESC_TRANSA) == cuda::LtTurnLhs);
static_assert(int(CUBLASLT_MATMUL_DESC_TRANSB) == cuda::LtTurnRhs);
static_assert(int(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) == cuda::LtBatchCount);
static_assert(int(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) == cuda::LtBatchStride);
static_assert(int(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) == cuda::LtMostWorkspace);
static_assert(int(CUBLAS_STATUS_ALLOC_FAILED) == cuda::LtNoMemory);
static_assert(int(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) == cuda::LtReductionSchemes);
static_assert(unsigned(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) == cuda::LtReduceInComputeType);
static_assert(int(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES) == cuda::LtAlignmentOfLhs);
static_assert(int(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES) == cuda::LtAlignmentOfRhs);
static_assert(int(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES) == cuda::LtAlignmentOfAddend);
static_assert(int(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES) == cuda::LtAlignmentOfResult);

static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(cuda::LtAlgorithm));
static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == sizeof(cuda::LtChoice));
static_assert(offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) ==
              offsetof(cuda::LtChoice, workspaceBytes));
static_assert(offsetof(cublasLtMatmulHeuristicResult_t, state) == offsetof(cuda::LtChoice, status));

#define WEFT_ALIKE(NAME, FUNCTION) WEFT_EXPECT_ALIKE(cuda::LtTable::NAME, FUNCTION)
WEFT_ALIKE(create, cublasLtCreate);
WEFT_ALIKE(destroy, cublasLtDestroy);
WEFT_ALIKE(createProduct, cublasLtMatmulDescCreate);
WEFT_ALIKE(destroyProduct, cublasLtMatmulDescDestroy);
WEFT_ALIKE(setProduct, cublasLtMatmulDescSetAttribute);
WEFT_ALIKE(createLayout, cublasLtMatrixLayoutCreate);
WEFT_ALIKE(destroyLayout, cublasLtMatrixLayoutDestroy);
WEFT_ALIKE(setLayout, cublasLtMatrixLayoutSetAttribute);
WEFT_ALIKE(createPreference, cublasLtMatmulPreferenceCreate);
WEFT_ALIKE(destroyPreference, cublasLtMatmulPreferenceDestroy);
WEFT_ALIKE(setPreference, cublasLtMatmulPreferenceSetAttribute);
WEFT_ALIKE(choose, cublasLtMatmulAlgoGetHeuristic);
WEFT_ALIKE(multiply, cublasLtMatmul);

/// The library itself needs no GPU to be opened.
TEST(CublasLtApi, ResolvesInTheRealLibrary) {
  void *library = dlopen("libcublasLt.so.13", RTLD_LAZY | RTLD_LOCAL);
  if (!library)
    GTEST_SKIP() << dlerror();
#define WEFT_FIND(NAME, SYMBOL, PARAMETERS) EXPECT_NE(dlsym(library, SYMBOL), nullptr) << SYMBOL;
  WEFT_CUBLASLT(WEFT_FIND)
#undef WEFT_FIND
  EXPECT_NE(dlsym(library, "cublasLtGetStatusName"), nullptr);
}

} // namespace
#else
TEST(CublasLtApi, IsThatOfTheToolkit) { GTEST_SKIP() << "cublasLt.h was not found"; }
#endif
