// The tests of products, once for each instruction set that this machine executes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/Libraries.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <unistd.h>

namespace weft::runtime {

static bool wasStartedFor(const std::string &variant) {
  const char *chosen = std::getenv("WEFT_KERNELS");
  return chosen && chosen == variant;
}

TEST(KernelVariants, AllAgreeWithPlainLoops) {
  std::vector<std::string> variants = Libraries::executable();
  ASSERT_GE(variants.size(), 1u);
  EXPECT_EQ(variants.front(), "baseline");
  for (const std::string &variant : variants) {
    ASSERT_FALSE(wasStartedFor(variant)) << "this test starts itself";
    std::string command = "WEFT_KERNELS=" + variant + " /proc/" + std::to_string(getpid()) +
                          "/exe --gtest_brief=1 --gtest_filter='Gemm.*:"
                          "Attention.*:AttentionGradient.*:Convolution.*'";
    EXPECT_EQ(std::system(command.c_str()), 0) << variant;
    std::printf("products by %s kernels\n", variant.c_str());
  }
}

TEST(KernelVariants, WhatThisMachineLacksIsToldByName) {
  Libraries libraries;
  Status status = libraries.choose("sse9");
  EXPECT_EQ(status.code(), StatusCode::Usage);
  EXPECT_NE(status.text().find("there are baseline"), std::string::npos) << status.text();
}

} // namespace weft::runtime
