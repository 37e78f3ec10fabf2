// What follows from what is known of one layout.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Choosing/Evaluation.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace weft;
using namespace weft::choosing;

int64_t Evaluation::memoryBytes() const {
  return isScheduled ? document.memory.arena : prediction.memory[prediction.fullest].total();
}

int64_t Evaluation::leastDevices() const {
  return std::max<int64_t>(1,
                           int64_t(llvm::divideCeil(uint64_t(stateBytes), uint64_t(deviceBytes))));
}

int64_t Evaluation::leastDevicesOfLayout() const {
  // Each stage's devices hold alike.
  double held = double(stateBytes), stages = double(prediction.memory.size());
  for (const cost::Memory &memory : prediction.memory)
    held += double(memory.activations + memory.transient) * double(account.devices()) / stages;
  return std::max<int64_t>(leastDevices(), int64_t(std::ceil(held / double(deviceBytes))));
}
