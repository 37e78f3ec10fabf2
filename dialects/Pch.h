// Precompiled header: the dialects, which nearly every file above them includes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convenience of the build only: every file still includes what it uses.
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/Nn.h"
#include "dialects/rt/IR/Rt.h"
#include "weft/Support/Pch.h"
