// Which attention cuDNN does, and what is told where it does not.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/CudnnAttention.h"

#include "device/cuda/libraries/AttentionPlans.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace weft::runtime;

namespace {

using Ints = std::vector<int64_t>;

AttentionTensor tensor(Ints sizes, Ints strides, DType dtype = DType::BF16) {
  return {dtype, std::move(sizes), std::move(strides)};
}

/// Heads side by side in tokens; output by heads.
AttentionCall call() {
  AttentionTensor packed = tensor({2, 4, 16, 64}, {16 * 768, 64, 768, 1}),
                  dense = tensor({2, 4, 16, 64}, {4096, 1024, 64, 1});
  return {{packed, packed, packed, dense}, true, false, 0};
}

TEST(CudnnAttention, IsDoneInTypesAndLayoutsThatItReads) {
  EXPECT_EQ(whyNotCudnn(call()), "");
  AttentionCall halves = call();
  for (AttentionTensor &each : halves.tensors)
    each.dtype = DType::F16;
  EXPECT_EQ(whyNotCudnn(halves), "");
  AttentionCall one = call();
  for (AttentionTensor &each : one.tensors)
    each.sizes[0] = 1, each.strides[0] = 3;
  EXPECT_EQ(whyNotCudnn(one), "");
}

TEST(CudnnAttention, WhatTheLibraryDoesNotDoIsSaid) {
  auto whyNot = [](auto change) {
    AttentionCall changed = call();
    change(changed);
    return whyNotCudnn(changed);
  };
  auto ofAll = [](auto change) {
    return [change](AttentionCall &changed) {
      for (AttentionTensor &each : changed.tensors)
        change(each);
    };
  };
  EXPECT_EQ(whyNot([](AttentionCall &c) { c.hasMask = true; }),
            "cuDNN is used for attention without a mask, or with a causal one that the model says "
            "by constants");
  EXPECT_EQ(whyNot([](AttentionCall &c) { c.softcap = 30; }),
            "cuDNN is used for attention without a softcap");
  EXPECT_EQ(whyNot(ofAll([](AttentionTensor &t) { t.dtype = DType::F32; })),
            "cuDNN does attention in bf16 and f16");
  const char *depth = "cuDNN does attention of heads whose depth is a multiple of 8, at most 128, "
                      "and the same for values";
  EXPECT_EQ(whyNot(ofAll([](AttentionTensor &t) { t.sizes[3] = 20; })), depth);
  EXPECT_EQ(whyNot(ofAll([](AttentionTensor &t) { t.sizes[3] = 136; })), depth);
  EXPECT_EQ(whyNot([](AttentionCall &c) { c.tensors[2].sizes[3] = 32; }), depth);
  auto lessQueries = [](AttentionCall &c) { c.tensors[0].sizes[2] = c.tensors[3].sizes[2] = 8; };
  EXPECT_EQ(whyNot(lessQueries), "cuDNN is used for causal attention of as many keys as queries");
  EXPECT_EQ(whyNot([&](AttentionCall &c) { lessQueries(c), c.causal = false; }), "");
  EXPECT_EQ(whyNot(ofAll([](AttentionTensor &t) { t.sizes[2] = 1; })),
            "cuDNN is used for attention of two queries and keys or more");
  EXPECT_EQ(whyNot(ofAll([](AttentionTensor &t) { t.sizes[0] = 0; })),
            "cuDNN takes 1 to 2147483647 elements of a dim");
  EXPECT_EQ(whyNot([](AttentionCall &c) { c.tensors[1].strides = {4096, 1024, 1, 16}; }),
            "cuDNN needs the elements of a head side by side");
  const char *rows = "cuDNN needs rows that begin at multiples of 16 bytes";
  EXPECT_EQ(whyNot([](AttentionCall &c) { c.tensors[1].strides[2] = 772; }), rows);
  EXPECT_EQ(whyNot([](AttentionCall &c) { c.tensors[1].strides[1] = 0; }), rows);
}

/// Heads side by side in tokens.
cuda::AttentionShape shapeOf(int64_t depth, bool isGradient) {
  cuda::AttentionShape shape{DType::BF16, true, isGradient, 2, 4, 2, 16, 16, depth, {}};
  shape.strides.fill({16 * 4 * depth, depth, 4 * depth, 1});
  return shape;
}

std::string refusalOf(const cuda::AttentionShape &shape) {
  cuda::AttentionPlans plans;
  const cuda::CudnnPlan *plan = nullptr;
  Status status = plans.find(shape, plan);
  EXPECT_EQ(status.ok(), plan != nullptr);
  return status.text();
}

/// What whyNotCudnn lets pass may be refused on another GPU, or by another version.
TEST(CudnnAttention, WhatIsNotPlannedIsToldWithItsShape) {
  EXPECT_EQ(refusalOf(shapeOf(128, false)), "");
  EXPECT_EQ(refusalOf(shapeOf(128, true)), "");
  EXPECT_EQ(
      refusalOf(shapeOf(136, false)),
      "cuDNN 9.19.0 does not do causal attention in bf16 of 2 sequences, 4 heads of 136 (2 of "
      "keys), 16 queries and 16 keys on this GPU; compile the model with --attention "
      "decomposed: cuDNN failed at planning a graph: CUDNN_STATUS_NOT_SUPPORTED (3000)");
  EXPECT_EQ(
      refusalOf(shapeOf(20, true)).rfind("cuDNN 9.19.0 does not do the gradient of causal", 0), 0u);
}

TEST(CudnnAttention, AdviceThatCannotBeFollowedLeavesTheNext) {
  setenv("WEFT_EMULATED_CUDNN_REFUSES", "1", 1);
  EXPECT_EQ(refusalOf(shapeOf(64, true)), "");
  setenv("WEFT_EMULATED_CUDNN_REFUSES", "2", 1);
  EXPECT_NE(refusalOf(shapeOf(64, true)), "");
  unsetenv("WEFT_EMULATED_CUDNN_REFUSES");
}

TEST(CudnnAttention, PlansAreKeptByAllThatTheyDependOn) {
  const cuda::AttentionShape shape;
  auto differs = [&](auto change) {
    cuda::AttentionShape other = shape;
    change(other);
    return shape < other || other < shape;
  };
  EXPECT_FALSE(differs([](cuda::AttentionShape &) {}));
  EXPECT_TRUE(differs([](cuda::AttentionShape &s) { s.dtype = DType::F16; }));
  EXPECT_TRUE(differs([](cuda::AttentionShape &s) { s.causal = true; }));
  EXPECT_TRUE(differs([](cuda::AttentionShape &s) { s.isGradient = true; }));
  for (int64_t cuda::AttentionShape::*size :
       {&cuda::AttentionShape::batch, &cuda::AttentionShape::queryHeads,
        &cuda::AttentionShape::keyHeads, &cuda::AttentionShape::queries,
        &cuda::AttentionShape::keys, &cuda::AttentionShape::depth})
    EXPECT_TRUE(differs([&](cuda::AttentionShape &s) { s.*size = 2; }));
  EXPECT_TRUE(differs([](cuda::AttentionShape &s) { s.strides[7][2] = 8; }));
}

} // namespace
