// Notes what captured streams are asked for, and does it as often as graphs are launched.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Capture.h"

#include <thread>

using namespace weft::emulated;
using namespace weft::runtime::cuda;

namespace {

thread_local std::shared_ptr<Capture> ofThread; // that forbids it what cannot be captured
std::shared_ptr<Capture> ofAllThreads;

/// Both, each once.
std::vector<size_t> joined(std::vector<size_t> nodes, const std::vector<size_t> &others) {
  nodes.insert(nodes.end(), others.begin(), others.end());
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

Work waitFor(const std::shared_ptr<Recording> &recording) {
  Work work;
  work.label = "wait for an event";
  work.after = recording;
  return work;
}

std::shared_ptr<Recording> makeRecording(int gpu) {
  auto recording = std::make_shared<Recording>();
  recording->gpu = gpu;
  return recording;
}

Work recordingOf(const std::shared_ptr<Recording> &recording) {
  Work work;
  work.label = "record of an event";
  work.sets = recording;
  return work;
}

} // namespace

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

void Capture::join(const std::shared_ptr<Capture> &self, StreamState &stream,
                   const std::vector<size_t> &after) {
  stream.capture = self;
  stream.last = after;
  streams.push_back(&stream);
}

std::vector<bool> Capture::before(const std::vector<size_t> &last) const {
  std::vector<bool> found(nodes.size());
  for (size_t node : last)
    found[node] = true;
  for (size_t node = nodes.size(); node-- > 0;)
    for (size_t other : nodes[node].after)
      found[other] = found[other] || found[node];
  return found;
}

Result Gpu::put(StreamState &stream, Put put) {
  if (!stream.capture)
    return put(stream);
  Capture &capture = *stream.capture;
  if (!capture.isValid)
    return CaptureInvalidated;
  capture.nodes.push_back({std::move(put), stream.last});
  stream.last = {capture.nodes.size() - 1};
  return Success;
}

Result Gpu::put(StreamState &stream, Work work) {
  return put(stream, [this, work = std::move(work)](StreamState &to) { return push(to, work); });
}

Result weft::emulated::beginCapture(StreamState &stream, CaptureMode mode) {
  if (stream.capture)
    return InvalidValue;
  auto capture = std::make_shared<Capture>();
  capture->origin = &stream;
  capture->join(capture, stream, {});
  if (mode != CaptureRelaxed)
    ofThread = capture;
  if (mode == CaptureGlobal)
    ofAllThreads = capture;
  return Success;
}

Result weft::emulated::endCapture(StreamState &stream, std::unique_ptr<CapturedGraph> &graph) {
  std::shared_ptr<Capture> capture = stream.capture;
  if (!capture)
    return InvalidValue;
  if (capture->origin != &stream)
    return capture->refuse(CaptureUnmatched);
  std::vector<bool> known = capture->before(stream.last);
  bool isJoined = true;
  for (StreamState *member : capture->streams) {
    for (size_t node : member->last)
      isJoined = isJoined && known[node];
    member->capture = nullptr;
    member->last.clear();
  }
  capture->isOver = true;
  if (ofThread == capture)
    ofThread = nullptr;
  if (ofAllThreads == capture)
    ofAllThreads = nullptr;
  if (!capture->isValid)
    return CaptureInvalidated;
  if (!isJoined)
    return CaptureUnjoined;
  graph = std::make_unique<CapturedGraph>(CapturedGraph{std::move(capture->nodes)});
  return Success;
}

Result weft::emulated::checkUncaptured(const StreamState *stream) {
  if (stream && stream->capture)
    return stream->capture->refuse(CaptureUnsupported);
  for (const std::shared_ptr<Capture> &capture : {ofThread, ofAllThreads})
    if (capture)
      return capture->refuse(CaptureUnsupported);
  return Success;
}

Result weft::emulated::record(EventState &event, StreamState &stream, unsigned flags) {
  if (stream.capture && flags == EventRecordExternal)
    // Each launch is a record of its own.
    return Gpu::get().put(stream, [&event](StreamState &to) {
      event.latest = makeRecording(to.gpu);
      return Gpu::get().push(to, recordingOf(event.latest));
    });
  if (flags != 0)
    return InvalidValue;
  event.capture = stream.capture;
  event.nodes = stream.last;
  if (stream.capture)
    return stream.capture->isValid ? Success : CaptureInvalidated;
  event.latest = makeRecording(stream.gpu);
  return Gpu::get().push(stream, recordingOf(event.latest));
}

Result weft::emulated::wait(StreamState &stream, const EventState &event) {
  if (!event.capture)
    return stream.capture ? stream.capture->refuse(CaptureIsolation)
                          : Gpu::get().push(stream, waitFor(event.latest));
  if (event.capture->isOver)
    return CapturedEvent;
  if (!stream.capture) {
    event.capture->join(event.capture, stream, event.nodes);
    return Success;
  }
  if (stream.capture != event.capture) {
    event.capture->refuse(CaptureMerge);
    return stream.capture->refuse(CaptureMerge);
  }
  stream.last = joined(stream.last, event.nodes);
  return Success;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

Exec::Exec(const CapturedGraph &graph, int gpu) : nodes(graph.nodes) {
  for (size_t node = 0; node < nodes.size(); ++node) {
    size_t lane = tails.size();
    for (size_t other : nodes[node].after)
      if (tails[laneOf[other]] == other)
        lane = laneOf[other];
    if (lane == tails.size()) {
      tails.push_back(node);
      lanes.push_back(Gpu::get().makeStream(gpu));
    }
    tails[lane] = node;
    laneOf.push_back(lane);
  }
}

Exec::~Exec() {
  for (StreamState *lane : lanes)
    Gpu::get().destroyStream(lane);
}

Result Exec::launch(StreamState &stream) {
  if (stream.capture)
    return stream.capture->refuse(CaptureUnsupported); // a graph in a graph is not emulated
  Gpu &gpu = Gpu::get();
  std::vector<std::shared_ptr<Recording>> ends(nodes.size());
  for (size_t tail : tails)
    ends[tail] = makeRecording(stream.gpu);
  for (size_t node = 0; node < nodes.size(); ++node)
    for (size_t other : nodes[node].after)
      if (laneOf[other] != laneOf[node] && !ends[other])
        ends[other] = makeRecording(stream.gpu);
  auto begin = makeRecording(stream.gpu);
  Result result = gpu.push(stream, recordingOf(begin));
  for (StreamState *lane : lanes)
    if (result == Success)
      result = gpu.push(*lane, waitFor(begin));
  for (size_t node = 0; node < nodes.size() && result == Success; ++node) {
    StreamState &lane = *lanes[laneOf[node]];
    for (size_t other : nodes[node].after)
      if (laneOf[other] != laneOf[node])
        gpu.push(lane, waitFor(ends[other]));
    result = nodes[node].put(lane);
    if (ends[node])
      gpu.push(lane, recordingOf(ends[node]));
  }
  for (size_t tail : tails)
    if (result == Success)
      result = gpu.push(stream, waitFor(ends[tail]));
  return result;
}
