// Which command a stream waits for other ranks in: what the host sees of it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stream counts in memory that both see, once before such a command and once behind it.
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_STREAMS_STREAMPROGRESS_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_STREAMS_STREAMPROGRESS_H

#include "device/Device.h"
#include "device/cuda/Driver.h"

namespace weft::runtime::cuda {

class StreamProgress {
public:
  /// Of at most `commands` in a run.
  StreamProgress(const Driver &driver, size_t commands) : driver(driver) {
    places.reserve(commands);
  }
  ~StreamProgress();
  StreamProgress(const StreamProgress &) = delete;

  Status open();
  /// The stream has nothing to do; a run begins.
  void begin();
  /// The same for a run that a graph does, with the commands of when it was captured.
  void repeat(const std::vector<CommandPlace> &commands);
  const std::vector<CommandPlace> &commands() const { return places; }
  Status enter(Stream stream, CommandPlace place);
  Status leave(Stream stream);

  /// The command that the stream is in; null if it is in none.
  const CommandPlace *current() const;

private:
  Status tell(Stream stream);

  const Driver &driver;
  uint32_t count = 0;       // of the run so far, as it is issued
  uint32_t *seen = nullptr; // the host's address of the number
  DevicePointer seenOnDevice = 0;
  std::vector<CommandPlace> places; // of the run's commands
};

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_STREAMS_STREAMPROGRESS_H
