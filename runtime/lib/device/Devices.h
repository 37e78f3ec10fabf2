// The kinds of device that this program can open.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_DEVICES_H
#define WEFT_RUNTIME_LIB_DEVICE_DEVICES_H

#include "device/Device.h"

#include <string>

namespace weft::runtime {

/// A kind beside the host's. A file that is linked in adds its own by a static
/// object of this class; none is added later.
class DeviceKind {
public:
  using Make = Status (*)(const DeviceOptions &options, std::unique_ptr<Device> &device);

  DeviceKind(const char *name, Make make) noexcept;
  static const DeviceKind *find(const std::string &name, std::string &known);

  const char *const name;
  const Make make;

private:
  const DeviceKind *const next;
};

/// Makes a device of the kind `name`; the host's is called "host".
Status makeDevice(const std::string &name, const DeviceOptions &options,
                  std::unique_ptr<Device> &device);

/// "1.25 GiB", for messages.
std::string gibibytes(uint64_t bytes);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_DEVICE_DEVICES_H
