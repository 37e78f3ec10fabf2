// Precompiled header of unit tests above the dialects.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convenience of the build only: every file still includes what it uses.
#include "dialects/Pch.h"

#include <gtest/gtest.h>
