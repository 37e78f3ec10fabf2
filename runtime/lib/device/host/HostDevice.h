// The processor and its memory as a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_HOST_HOSTDEVICE_H
#define WEFT_RUNTIME_LIB_DEVICE_HOST_HOSTDEVICE_H

#include "device/host/EventTable.h"
#include "device/host/HostCommand.h"
#include "device/host/Libraries.h"

namespace weft::runtime {

/// Stream 0 has the rank's threads, every other one runs on the thread that
/// issues its commands. Commands are done when `issue` returns.
class HostDevice : public Device {
public:
  static constexpr const char *kName = "host";

  /// WEFT_KERNELS names the instruction set whose kernels multiply matrices.
  static Status make(const DeviceOptions &options, std::unique_ptr<Device> &device);
  ~HostDevice() override;

  PreparedCommandPtr prepare(const PrepareContext &context, const Command &command,
                             Status &status) override;
  Status allocate(const DevicePlan &plan) override;
  Status upload(uint64_t to, const void *from, uint64_t bytes) override;
  Status download(void *to, uint64_t from, uint64_t bytes) override;
  Status makeResident() override;
  bool isHostMemory() const override { return true; }
  char *hostView() const override { return arena; }

  bool blocks() const override { return true; }
  unsigned numThreads() const override { return pool.size() - 1; }
  bool begin(const Run &run) override;
  Status issue(unsigned stream, CommandPlace place, PreparedCommand &command) override;
  Status record(unsigned stream, uint32_t event, uint64_t count) override;
  Status wait(unsigned stream, CommandPlace place, uint32_t event, uint64_t count) override;
  Status synchronize(unsigned) override { return {}; }
  Status finish(unsigned stream) override;
  const Timeline &timeline(unsigned stream) const override { return streams[stream].timeline; }

protected:
  explicit HostDevice(const DeviceOptions &options);
  Status chooseLibraries();

  DeviceOptions options;
  char *arena = nullptr;
  uint64_t bytes = 0; // mapped at `arena`

private:
  class Measurement;
  Status map(uint64_t wanted);
  Status pretend(HostStream &stream, double seconds) const;
  double now() const { return std::chrono::duration<double>(Clock::now() - options.epoch).count(); }

  Libraries libraries;
  ThreadPool pool, serial;
  EventTable events;
  std::vector<HostStream> streams;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_DEVICE_HOST_HOSTDEVICE_H
