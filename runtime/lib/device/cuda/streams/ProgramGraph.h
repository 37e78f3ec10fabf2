// A program's commands as one CUDA graph, which the GPU does again at one call.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_STREAMS_PROGRAMGRAPH_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_STREAMS_PROGRAMGRAPH_H

#include "device/cuda/streams/StreamClock.h"

namespace weft::runtime::cuda {

/// Made of what is put on streams between `begin` and `end`. The other streams begin behind what
/// is on the first one at `fork`, and it waits for them at the end.
class ProgramGraph {
public:
  explicit ProgramGraph(const Driver &driver) : driver(driver) {}
  ~ProgramGraph();
  ProgramGraph(const ProgramGraph &) = delete;

  /// From here on nothing is done that is put on the streams. The GPU's context is the thread's.
  Status begin(std::vector<Stream> handles);
  /// If `made`, which is how that went, failed, there is no graph; the streams are as before.
  Status end(Status made);
  Status launch() const;
  size_t numNodes() const { return nodes; }

  /// What the host knows of a stream's commands: times and messages stand on it in every run.
  struct Notes {
    StreamClock::Notes times;
    std::vector<CommandPlace> waits; // as StreamProgress has it
  };
  std::vector<Notes> notes;
  /// Commands that are told of every run.
  std::vector<CudaCommand *> communicating;

private:
  Status fork();
  Status join();

  const Driver &driver;
  std::vector<Stream> streams;
  Event border = nullptr; // of streams, while they are captured
  GraphExec exec = nullptr;
  size_t nodes = 0;
};

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_STREAMS_PROGRAMGRAPH_H
