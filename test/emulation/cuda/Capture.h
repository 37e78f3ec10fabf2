// Streams that are captured, and the graphs that this makes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch of a graph puts its nodes on lanes, which are streams like any other: nodes that do not
// depend on each other are on different ones. So they are done in drawn orders, and what touches
// the same bytes is held to an order, as for streams. All is called with the GPU's lock.
#ifndef WEFT_TEST_EMULATION_CUDA_CAPTURE_H
#define WEFT_TEST_EMULATION_CUDA_CAPTURE_H

#include "Gpu.h"

namespace weft::emulated {

/// What one call puts on a stream, and the nodes behind which it comes.
struct Node {
  Put put;
  std::vector<size_t> after;
};

/// A capture that is under way, or was.
struct Capture {
  StreamState *origin = nullptr;
  std::vector<StreamState *> streams; // that take part
  std::vector<Node> nodes;
  bool isValid = true, isOver = false;

  /// A call that ends it.
  Result refuse(Result why) {
    isValid = false;
    return why;
  }
  /// The stream takes part from here on, behind `after`.
  void join(const std::shared_ptr<Capture> &self, StreamState &stream,
            const std::vector<size_t> &after);
  /// The numbers of all nodes that `last` stand behind, and `last`.
  std::vector<bool> before(const std::vector<size_t> &last) const;
};

struct CapturedGraph {
  std::vector<Node> nodes;
};

/// A graph that can be launched.
class Exec {
public:
  Exec(const CapturedGraph &graph, int gpu);
  ~Exec();
  Result launch(StreamState &stream);

private:
  std::vector<Node> nodes;
  std::vector<size_t> laneOf; // by node
  std::vector<size_t> tails;  // by lane: its last node
  std::vector<StreamState *> lanes;
};

/// Of the calling thread.
Result beginCapture(StreamState &stream, runtime::cuda::CaptureMode mode);
/// `graph` stays null if it fails.
Result endCapture(StreamState &stream, std::unique_ptr<CapturedGraph> &graph);
/// Success, or why the thread may not make a call now that could not be captured; `stream` is the
/// one that it is about, if any.
Result checkUncaptured(const StreamState *stream = nullptr);

/// A record of the event on the stream, and a stream that waits for it.
Result record(EventState &event, StreamState &stream, unsigned flags);
Result wait(StreamState &stream, const EventState &event);

} // namespace weft::emulated

#endif // WEFT_TEST_EMULATION_CUDA_CAPTURE_H
