// When a stream of a GPU did what, by events on it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_STREAMS_STREAMCLOCK_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_STREAMS_STREAMCLOCK_H

#include "device/cuda/commands/CudaCommand.h"

namespace weft::runtime::cuda {

/// Times count from the session's epoch; a run's are known when it is over. Errors are about one
/// microsecond, with the host's clock where the run begins.
class StreamClock {
public:
  StreamClock(const Driver &driver, bool isFirst, size_t waits, size_t traceCapacity);
  ~StreamClock();
  Status open();

  /// What waits is not computation, and what communicates is both; other commands are noted for the
  /// trace alone.
  enum class Kind { Computes, Waits, Communicates };
  struct Span {
    size_t begin, end; // events
    CommandPlace place;
    Kind kind;
    const PreparedCommand *command;
  };
  /// What a run has put on the stream for the clock.
  struct Notes {
    std::vector<Span> spans;
    size_t end = 0; // the event behind all
  };

  /// The stream has nothing to do now, `seconds` after the epoch. If it `isCaptured`, what follows
  /// becomes a part of a graph.
  Status begin(Stream stream, double seconds, bool isCaptured);
  /// The same for a run that a graph does, with what was noted when it was captured.
  void repeat(const Notes &noted, double seconds);
  const Notes &noted() const { return notes; }
  /// Around what is put on the stream in between.
  Status start(Stream stream, Kind kind);
  Status stop(Stream stream, CommandPlace place, Kind kind, const PreparedCommand *command);
  /// Behind all that the run puts on the stream.
  Status end(Stream stream);
  /// The stream has come to the end.
  Status read();
  const Timeline &timeline() const { return times; }

private:
  bool isNoted(Kind kind) const {
    return kind != Kind::Computes ||
           times.trace.size() + notes.spans.size() < times.trace.capacity();
  }
  void restart(double seconds);
  Status mark(Stream stream, size_t &event);
  Status secondsOf(size_t event, double &seconds) const;

  const Driver &driver;
  const bool isFirst;
  Timeline times;
  std::vector<Event> events; // events[0]: the run's begin
  size_t used = 0;
  double origin = 0;
  bool captured = false;
  Notes notes;
};

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_STREAMS_STREAMCLOCK_H
