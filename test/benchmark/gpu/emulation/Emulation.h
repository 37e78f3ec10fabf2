// A device that is the host: so that the kit's programs, and not their parts
// alone, run from end to end in tests without a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdlib>
#include <cstring>
#include <functional>

namespace weft::gpukit {

/// Whether the test asked for this fault: the kit must then call the result
/// wrong.
inline bool hasFault(const char *name) {
  const char *asked = std::getenv("WEFT_EMULATED_FAULT");
  return asked && std::strcmp(asked, name) == 0;
}

/// Runs `work`, or keeps it for the graph that is being captured.
void submit(std::function<void()> work);

} // namespace weft::gpukit
