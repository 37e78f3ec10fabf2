// Finds a kind of device by its name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/Devices.h"

#include "comm/collectives/TransportCollectives.h"
#include "device/host/HostDevice.h"

#include <cstdio>
#include <cstdlib>

using namespace weft::runtime;

// Before any constructor runs, so that kinds may be added in any order.
static const DeviceKind *kinds = nullptr;

Status Device::makeCollectives(CollectivesBy by, GroupTable &groups,
                               std::unique_ptr<CollectiveProvider> &collectives) {
  if (by == CollectivesBy::Nccl)
    return {StatusCode::Usage, "--comm nccl moves between GPUs, and the program runs on another "
                               "device; use --comm inproc, tcp or mpi, or compile it with --target "
                               "cuda"};
  collectives = std::make_unique<TransportCollectives>(groups, *this);
  return {};
}

DeviceKind::DeviceKind(const char *name, Make make, const char *comm, Look look) noexcept
    : name(name), make(make), comm(comm), look(look), next(kinds) {
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

std::string weft::runtime::deviceOf(const ProgramView &program) {
  const char *wanted = std::getenv("WEFT_DEVICE");
  std::string device(wanted ? wanted : program.string(program.info().device));
  return device.empty() ? HostDevice::kName : device;
}

std::string weft::runtime::commOf(const std::string &device) {
  std::string known;
  const DeviceKind *kind = DeviceKind::find(device, known);
  return kind && kind->comm ? kind->comm : "";
}

std::string weft::runtime::gibibytes(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GiB", double(bytes) / (1024.0 * 1024 * 1024));
  return text;
}

Status weft::runtime::lookForUnits(const std::string &name, UnitReport &report) {
  std::string known;
  const DeviceKind *kind = DeviceKind::find(name, known);
  return kind && kind->look ? kind->look(report) : Status();
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
