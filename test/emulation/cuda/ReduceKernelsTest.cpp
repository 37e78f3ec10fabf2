// The kernels that reduce in the order of members.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/nccl/ReduceKernels.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

using namespace weft::runtime;

namespace {

constexpr DType kTypes[] = {DType::F32, DType::BF16, DType::F16, DType::F64};
constexpr Reduction kReductions[] = {Reduction::Sum, Reduction::Product, Reduction::Max,
                                     Reduction::Min};

/// That they compute what they should is known of a GPU alone (test/benchmark/gpu); here NVIDIA's
/// assembler takes them.
TEST(ReduceKernels, AreAssembled) {
#ifdef WEFT_PTXAS
  std::string file = testing::TempDir() + "weft-reduce.ptx";
  for (DType type : kTypes)
    for (Reduction reduction : kReductions)
      for (const char *chip : {"sm_80", "sm_90", "sm_100"}) {
        std::FILE *text = std::fopen(file.c_str(), "w");
        ASSERT_NE(text, nullptr);
        std::fputs(cuda::reduceKernelText(type, reduction).c_str(), text);
        std::fclose(text);
        std::string command =
            std::string(WEFT_PTXAS) + " -arch=" + chip + " --warning-as-error -o /dev/null " + file;
        EXPECT_EQ(std::system(command.c_str()), 0) << cuda::reduceKernelName(type, reduction);
      }
#else
  GTEST_SKIP() << "ptxas was not found";
#endif
}

TEST(ReduceKernels, AreOfFloatsInF32AndOfDoubles) {
  using D = DType;
  using R = Reduction;
  EXPECT_TRUE(cuda::hasReduceKernel(D::BF16, D::F32, R::Sum));
  EXPECT_TRUE(cuda::hasReduceKernel(D::F16, D::F16, R::Max));
  EXPECT_FALSE(cuda::hasReduceKernel(D::BF16, D::F64, R::Sum));
  EXPECT_TRUE(cuda::hasReduceKernel(D::F64, D::F64, R::Max));
  EXPECT_FALSE(cuda::hasReduceKernel(D::F64, D::F32, R::Sum));
  EXPECT_FALSE(cuda::hasReduceKernel(D::I32, D::I32, R::And));
}

} // namespace
