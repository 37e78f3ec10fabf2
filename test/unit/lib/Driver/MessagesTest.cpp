// What is told when nothing was told.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Driver/Messages.h"

#include "gtest/gtest.h"

using namespace weft;

TEST(Messages, WhatFailsWithoutAWordIsOurBug) {
  mlir::MLIRContext context;
  driver::Options options;
  driver::Messages messages(context, options);
  testing::internal::CaptureStderr();
  EXPECT_EQ(messages.failed(/*compilerIsToBlame=*/false), driver::OurBug);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "weft-compile: error: internal error: compilation failed without a message; please "
            "report it with the command line and the model\n");
}
