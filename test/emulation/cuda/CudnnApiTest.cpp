// What the runtime declares of cuDNN is what cudnn.h does, and the real library takes its graphs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Alike.h"
#include "device/cuda/libraries/AttentionPlans.h"

#include <gtest/gtest.h>

#ifdef WEFT_HAS_CUDNN_HEADER
#include <dlfcn.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <cudnn.h>

using namespace weft::runtime;

namespace weft::runtime::cuda {
struct DnnTable {
#define WEFT_FIELD(NAME, SYMBOL, PARAMETERS) cuda::DnnStatus(*NAME) PARAMETERS = nullptr;
  WEFT_CUDNN(WEFT_FIELD)
#undef WEFT_FIELD
};
} // namespace weft::runtime::cuda

namespace {

#define WEFT_EQUAL(NAME, THEIRS, NUMBER) static_assert(int(THEIRS) == cuda::NAME);
WEFT_CUDNN_STATUSES(WEFT_EQUAL)
WEFT_CUDNN_TYPES(WEFT_EQUAL)
WEFT_CUDNN_FUNCTIONS(WEFT_EQUAL)
WEFT_CUDNN_REDUCTIONS(WEFT_EQUAL)
WEFT_CUDNN_HEURISTICS(WEFT_EQUAL)
WEFT_CUDNN_VALUES(WEFT_EQUAL)
WEFT_CUDNN_KINDS(WEFT_EQUAL)
WEFT_CUDNN_ATTRIBUTES(WEFT_EQUAL)
#undef WEFT_EQUAL

#define WEFT_ALIKE(NAME, FUNCTION) WEFT_EXPECT_ALIKE(cuda::DnnTable::NAME, FUNCTION)
WEFT_ALIKE(create, cudnnCreate);
WEFT_ALIKE(destroy, cudnnDestroy);
WEFT_ALIKE(setStream, cudnnSetStream);
WEFT_ALIKE(createObject, cudnnBackendCreateDescriptor);
WEFT_ALIKE(destroyObject, cudnnBackendDestroyDescriptor);
WEFT_ALIKE(finalize, cudnnBackendFinalize);
WEFT_ALIKE(setAttribute, cudnnBackendSetAttribute);
WEFT_ALIKE(getAttribute, cudnnBackendGetAttribute);
WEFT_ALIKE(execute, cudnnBackendExecute);

/// The graph of heads that lie side by side in a token, as a linear layer writes them.
cuda::AttentionShape shapeOf(DType dtype, bool causal, bool isGradient, int64_t queryHeads,
                             int64_t keyHeads, int64_t depth) {
  constexpr int64_t batch = 4, tokens = 1024;
  cuda::AttentionShape shape{dtype,    causal, isGradient, batch, queryHeads,
                             keyHeads, tokens, tokens,     depth, {}};
  int64_t packed = (queryHeads + 2 * keyHeads) * depth, merged = queryHeads * depth;
  for (int64_t part = cuda::QueryPart; part <= cuda::ValueGradientPart; ++part) {
    bool isOutput = part == cuda::OutputPart || part == cuda::OutputGradientPart;
    int64_t token = isOutput ? merged : packed;
    shape.strides[size_t(part - cuda::QueryPart)] = {tokens * token, depth, token, 1};
  }
  return shape;
}

/// The library itself needs no GPU to be opened, and none to judge a graph.
TEST(CudnnApi, TheRealLibraryTakesTheGraphs) {
  void *library = dlopen(WEFT_CUDNN_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  if (!library)
    GTEST_SKIP() << dlerror();
  cuda::Cudnn cudnn;
  Status loaded = cudnn.load(library);
  ASSERT_TRUE(loaded.ok()) << loaded.text();
  for (DType dtype : {DType::BF16, DType::F16})
    for (bool causal : {false, true})
      for (bool isGradient : {false, true})
        for (auto [queryHeads, keyHeads, depth] :
             {std::array<int64_t, 3>{12, 12, 64}, {32, 8, 128}, {8, 1, 96}}) {
          cuda::CudnnGraph graph(cudnn);
          cuda::describeAttention(shapeOf(dtype, causal, isGradient, queryHeads, keyHeads, depth),
                                  graph);
          Status taken = graph.finish();
          EXPECT_TRUE(taken.ok()) << taken.text();
        }
  cuda::CudnnGraph wrong(cudnn);
  wrong.product(wrong.scalar(1), wrong.scalar(2),
                wrong.real(3, cuda::DnnF32, {1, 1, 2, 3}, {6, 6, 3, 1}));
  EXPECT_NE(wrong.finish().text().find("cuDNN failed at a product"), std::string::npos)
      << wrong.finish().text();
}

} // namespace
#else
TEST(CudnnApi, IsThatOfTheHeader) { GTEST_SKIP() << "cudnn.h was not found"; }
#endif
