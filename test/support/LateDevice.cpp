// A device for tests whose communication begins and ends late, each time by another while.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// It is linked into a test and chosen by WEFT_DEVICE=late; WEFT_LATE_SEED draws other delays. It
// is the host, but a command that communicates starts up to 3 ms after its stream has come to it,
// or the stream goes on as much later. The delays of a rank follow from the seed, the number of
// the device in its process and how many such commands it has issued before.
#include "device/Devices.h"
#include "device/host/HostDevice.h"

#include <cstdlib>
#include <thread>

using namespace weft::runtime;

namespace {

class LateDevice : public HostDevice {
public:
  static Status make(const DeviceOptions &options, std::unique_ptr<Device> &device) {
    static std::atomic<uint64_t> devices{0};
    std::unique_ptr<LateDevice> made(new LateDevice(options));
    WEFT_TRY(made->chooseLibraries());
    const char *seed = std::getenv("WEFT_LATE_SEED");
    made->key = (seed ? std::strtoull(seed, nullptr, 10) : 0) * 0x10001 + ++devices;
    device = std::move(made);
    return {};
  }

  Status issue(unsigned stream, CommandPlace place, PreparedCommand &command) override {
    if (!command.communicates())
      return HostDevice::issue(stream, place, command);
    uint64_t draw = next(stream);
    bool before = draw >> 63 != 0;
    if (before)
      pause(draw);
    WEFT_TRY(HostDevice::issue(stream, place, command));
    if (!before)
      pause(draw);
    return {};
  }

private:
  explicit LateDevice(const DeviceOptions &options) : HostDevice(options) {}

  /// Of the stream's own thread.
  uint64_t next(unsigned stream) {
    uint64_t x = (key << 8 | stream) * 0x9e3779b97f4a7c15ull + ++counts[stream % kStreams];
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  }
  static void pause(uint64_t draw) {
    uint64_t most = draw % 8 == 0 ? 3000 : draw % 8 < 4 ? 300 : 0; // microseconds
    if (most > 0)
      std::this_thread::sleep_for(std::chrono::microseconds(draw / 8 % most));
  }

  static constexpr unsigned kStreams = 8;
  uint64_t key = 0;
  uint64_t counts[kStreams] = {}; // commands that communicate, by stream
};

const DeviceKind kind("late", LateDevice::make);

} // namespace
