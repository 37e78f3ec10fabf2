// Fused clusters: chains around norms, softmax, reshapes and broadcasts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelRunner.h"

#include <gtest/gtest.h>
