// Lets a stream count, and reads how far it is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/streams/StreamProgress.h"

using namespace weft::runtime;
using namespace weft::runtime::cuda;

StreamProgress::~StreamProgress() {
  if (seen)
    (void)driver.hostFree(seen);
}

Status StreamProgress::open() {
  void *memory = nullptr;
  WEFT_CUDA_TRY(driver, hostAllocate(&memory, sizeof *seen, HostAllocDeviceMap),
                "allocating memory that host and GPU share");
  seen = static_cast<uint32_t *>(memory);
  *seen = 0;
  return driver.check(driver.hostDevicePointer(&seenOnDevice, memory, 0),
                      "asking where the GPU sees memory of the host");
}

void StreamProgress::begin() {
  places.clear();
  count = 0;
  __atomic_store_n(seen, 0, __ATOMIC_RELEASE);
}

void StreamProgress::repeat(const std::vector<CommandPlace> &commands) {
  begin();
  places = commands;
}

Status StreamProgress::tell(Stream stream) {
  return driver.check(driver.writeValue(stream, seenOnDevice, ++count, 0),
                      "letting a stream tell how far it is");
}

Status StreamProgress::enter(Stream stream, CommandPlace place) {
  places.push_back(place);
  return tell(stream);
}

Status StreamProgress::leave(Stream stream) { return tell(stream); }

const CommandPlace *StreamProgress::current() const {
  // Odd within a command: they are two counts each.
  uint32_t told = __atomic_load_n(seen, __ATOMIC_ACQUIRE);
  return told % 2 == 1 && told / 2 < places.size() ? &places[told / 2] : nullptr;
}
