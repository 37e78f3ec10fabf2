// Finds a kind of device by its name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/Devices.h"

#include "comm/collectives/TransportCollectives.h"
#include "device/host/HostDevice.h"

#include <cstdio>

using namespace weft::runtime;

// Before any constructor runs, so that kinds may be added in any order.
static const DeviceKind *kinds = nullptr;

std::unique_ptr<CollectiveProvider> Device::makeCollectives(GroupTable &groups) {
  return std::make_unique<TransportCollectives>(groups, *this);
}

DeviceKind::DeviceKind(const char *name, Make make) noexcept : name(name), make(make), next(kinds) {
  kinds = this;
}

const DeviceKind *DeviceKind::find(const std::string &name, std::string &known) {
  for (const DeviceKind *kind = kinds; kind; kind = kind->next) {
    if (kind->name == name)
      return kind;
    known += std::string(", ") + kind->name;
  }
  return nullptr;
}

std::string weft::runtime::gibibytes(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GiB", double(bytes) / (1024.0 * 1024 * 1024));
  return text;
}

Status weft::runtime::makeDevice(const std::string &name, const DeviceOptions &options,
                                 std::unique_ptr<Device> &device) {
  if (name == HostDevice::kName)
    return HostDevice::make(options, device);
  std::string known = HostDevice::kName;
  const DeviceKind *kind = DeviceKind::find(name, known);
  if (kind && options.pretended)
    return {StatusCode::Usage, "--pretend lets the host's threads sleep; a device '" + name +
                                   "' has none: unset WEFT_DEVICE"};
  if (kind)
    return kind->make(options, device);
  return {StatusCode::Usage,
          "WEFT_DEVICE: there is no kind of device '" + name + "'; there is " + known};
}
