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
  /// Which devices the process sees.
  using Look = Status (*)(UnitReport &report);

  /// `comm`: the `--comm` that its ranks take where nobody says one; null: as they were started.
  /// `look`: null where ranks need not have devices of their own.
  DeviceKind(const char *name, Make make, const char *comm = nullptr, Look look = nullptr) noexcept;
  static const DeviceKind *find(const std::string &name, std::string &known);

  const char *const name;
  const Make make;
  const char *const comm;
  const Look look;

private:
  const DeviceKind *const next;
};

/// The kind of device that runs the program; WEFT_DEVICE names another one that was linked in, for
/// tests.
std::string deviceOf(const ProgramView &program);
/// The `--comm` of a kind's ranks where nobody says one; empty: as they were started.
std::string commOf(const std::string &device);

/// What the process sees of the kind `name`; nothing where that needs no devices.
Status lookForUnits(const std::string &name, UnitReport &report);

/// Makes a device of the kind `name`; the host's is called "host".
Status makeDevice(const std::string &name, const DeviceOptions &options,
                  std::unique_ptr<Device> &device);

/// "1.25 GiB", for messages.
std::string gibibytes(uint64_t bytes);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_DEVICE_DEVICES_H
