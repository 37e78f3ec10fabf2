// Makes limits of files errors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/FailedWrites.h"

#include <csignal>

void weft::runtime::surviveFailedWrites() { std::signal(SIGXFSZ, SIG_IGN); }
