// What the CUDA target refuses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Target/Cuda/CudaTarget.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace weft;

namespace {

TEST(CudaTarget, LinksOnlyItsOwnImages) {
  KernelImages kernels;
  kernels.kernels.push_back({"k", {}, {'e', 'l', 'f'}});
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const std::unique_ptr<Target> &target : cuda::createCudaTargets()) {
    std::string error = llvm::toString(target->link({}, kernels, {}, out));
    EXPECT_EQ(error, "kernel 'k' is no image of a GPU's kernel: it was compiled for another "
                     "target than '" +
                         target->name().str() + "'");
  }
  EXPECT_EQ(text, "");
}

TEST(CudaTarget, HasNoAttentionYet) {
  for (const std::unique_ptr<Target> &target : cuda::createCudaTargets())
    EXPECT_FALSE(target->traits().hasAttention) << target->name().str();
}

} // namespace
