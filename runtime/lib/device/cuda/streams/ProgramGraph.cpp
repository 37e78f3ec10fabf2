// Captures streams into a graph and launches it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/streams/ProgramGraph.h"

using namespace weft::runtime;
using namespace weft::runtime::cuda;

ProgramGraph::~ProgramGraph() {
  if (exec)
    (void)driver.destroyExec(exec);
  if (border)
    (void)driver.destroyEvent(border);
}

Status ProgramGraph::begin(std::vector<Stream> handles) {
  streams = std::move(handles);
  WEFT_CUDA_TRY(driver, createEvent(&border, EventDisableTiming), "making an event");
  // Other ranks of the process go on as they like, and so do threads that prepare data.
  WEFT_CUDA_TRY(driver, beginCapture(streams[0], CaptureThreadLocal), "capturing a stream");
  Status forked = fork();
  return forked.ok() ? forked : end(forked);
}

Status ProgramGraph::fork() {
  WEFT_CUDA_TRY(driver, recordEvent(border, streams[0]), "recording an event");
  for (size_t s = 1; s < streams.size(); ++s)
    WEFT_CUDA_TRY(driver, waitEvent(streams[s], border, 0), "letting a stream wait");
  return {};
}

Status ProgramGraph::join() {
  for (size_t s = 1; s < streams.size(); ++s) {
    WEFT_CUDA_TRY(driver, recordEvent(border, streams[s]), "recording an event");
    WEFT_CUDA_TRY(driver, waitEvent(streams[0], border, 0), "letting a stream wait");
  }
  return {};
}

Status ProgramGraph::end(Status made) {
  if (made.ok())
    made = join();
  Graph graph = nullptr;
  Result ended = driver.endCapture(streams[0], &graph);
  if (made.ok())
    made = driver.check(ended, "ending a capture");
  if (made.ok())
    made = driver.check(driver.graphNodes(graph, nullptr, &nodes), "counting a graph's nodes");
  if (made.ok())
    made = driver.check(driver.instantiate(&exec, graph, 0), "making a graph");
  if (graph)
    (void)driver.destroyGraph(graph);
  return made;
}

Status ProgramGraph::launch() const {
  return driver.check(driver.launchGraph(exec, streams[0]), "launching a graph");
}
