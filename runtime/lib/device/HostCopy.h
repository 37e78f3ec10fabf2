// A part of the arena as memory of the host, for as long as it is worked on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_HOSTCOPY_H
#define WEFT_RUNTIME_LIB_DEVICE_HOSTCOPY_H

#include "device/Device.h"

namespace weft::runtime {

/// The arena itself where the host can touch it: then nothing is allocated,
/// copied or able to fail. Else memory of its own, undefined until `download`.
class HostCopy {
public:
  HostCopy(Device &device, uint64_t offset, uint64_t bytes)
      : device(&device), offset(offset), bytes(bytes) {
    if (device.isHostMemory()) {
      memory = device.hostView() + offset;
    } else {
      own.reset(new char[bytes]);
      memory = own.get();
    }
  }

  char *data() const { return memory; }
  /// Brings what the arena holds.
  Status download() { return own ? device->download(memory, offset, bytes) : Status(); }
  /// Takes all bytes to the arena.
  Status upload() { return own ? device->upload(offset, memory, bytes) : Status(); }

private:
  Device *device;
  uint64_t offset, bytes;
  std::unique_ptr<char[]> own;
  char *memory;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_DEVICE_HOSTCOPY_H
