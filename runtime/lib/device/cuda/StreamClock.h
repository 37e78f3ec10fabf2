// When a stream of a GPU did what, by events on it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_STREAMCLOCK_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_STREAMCLOCK_H

#include "device/cuda/commands/CudaCommand.h"

namespace weft::runtime::cuda {

/// Times count from the session's epoch; a run's are known when it is over. Errors are about one
/// microsecond, with the host's clock where the run begins.
class StreamClock {
public:
  StreamClock(const Driver &driver, bool isFirst, size_t waits, size_t traceCapacity);
  ~StreamClock();
  Status open();

  /// The stream has nothing to do now, `seconds` after the epoch.
  Status begin(Stream stream, double seconds);
  /// Around what is put on the stream in between. What waits is not computation, and what
  /// communicates is both; other commands are noted for the trace alone.
  enum class Kind { Computes, Waits, Communicates };
  Status start(Stream stream, Kind kind);
  Status stop(Stream stream, CommandPlace place, Kind kind, const PreparedCommand *command);
  /// Behind all that the run puts on the stream.
  Status end(Stream stream);
  /// The stream has come to the end.
  Status read();
  const Timeline &timeline() const { return times; }

private:
  struct Span {
    size_t begin, end; // events
    CommandPlace place;
    Kind kind;
    const PreparedCommand *command;
  };
  bool isNoted(Kind kind) const {
    return kind != Kind::Computes || times.trace.size() + spans.size() < times.trace.capacity();
  }
  Status mark(Stream stream, size_t &event);
  Status secondsOf(size_t event, double &seconds) const;

  const Driver &driver;
  const bool isFirst;
  Timeline times;
  std::vector<Event> events; // events[0]: the run's begin
  size_t used = 0;
  size_t last = 0;
  double origin = 0;
  std::vector<Span> spans;
};

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_STREAMCLOCK_H
