// What the emulated driver makes of captures and graphs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Restart.h"

#include "device/cuda/Driver.h"

#include <thread>

using namespace weft::emulated;
using namespace weft::runtime;
using namespace weft::runtime::cuda;

namespace {

#define EXPECT_CUDA(CALL) EXPECT_EQ(driver->CALL, Success)

struct Capture : testing::Test {
  const Driver *driver = nullptr;
  Context context = nullptr;
  Stream a = nullptr, b = nullptr;
  Event event = nullptr;
  DevicePointer memory = 0;
  Graph graph = nullptr;
  GraphExec exec = nullptr;

  void SetUp() override {
    restart(1);
    ASSERT_TRUE(Driver::open(driver).ok());
    EXPECT_CUDA(retainContext(&context, 0));
    EXPECT_CUDA(setContext(context));
    EXPECT_CUDA(createStream(&a, StreamNonBlocking));
    EXPECT_CUDA(createStream(&b, StreamNonBlocking));
    EXPECT_CUDA(createEvent(&event, 0));
    EXPECT_CUDA(allocate(&memory, 64));
  }
  void TearDown() override {
    restart(1);
    if (exec)
      EXPECT_CUDA(destroyExec(exec));
    if (graph)
      EXPECT_CUDA(destroyGraph(graph));
    EXPECT_CUDA(synchronizeStream(a));
    EXPECT_CUDA(synchronizeStream(b));
    EXPECT_CUDA(destroyEvent(event));
    EXPECT_CUDA(destroyStream(a));
    EXPECT_CUDA(destroyStream(b));
    EXPECT_CUDA(free(memory));
  }

  void begin() { EXPECT_CUDA(beginCapture(a, CaptureThreadLocal)); }
  Result end() { return driver->endCapture(a, &graph); }
  /// Byte `at` of the memory becomes `value`.
  void fill(Stream stream, unsigned at, unsigned char value) {
    EXPECT_CUDA(fill8(memory + at, 1, value, 1, 1, stream));
  }
  void order(Stream first, Stream second) {
    EXPECT_CUDA(recordEvent(event, first));
    EXPECT_CUDA(waitEvent(second, event, 0));
  }
  void makeExec() {
    EXPECT_EQ(end(), Success);
    EXPECT_CUDA(instantiate(&exec, graph, 0));
  }
  std::string bytes() {
    std::string found(4, 0);
    EXPECT_CUDA(download(found.data(), memory, found.size(), a));
    EXPECT_CUDA(synchronizeStream(a));
    return found;
  }
};

TEST_F(Capture, NothingIsDoneBeforeAGraphIsLaunchedAndAllIsEachTime) {
  fill(a, 0, 'x');
  begin();
  fill(a, 0, 'a');
  makeExec();
  EXPECT_EQ(bytes()[0], 'x');
  for (int i = 0; i < 3; ++i) {
    fill(a, 0, 'x');
    EXPECT_CUDA(launchGraph(exec, a));
    EXPECT_EQ(bytes()[0], 'a');
  }
  size_t count = 0;
  EXPECT_CUDA(graphNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 1u);
}

TEST_F(Capture, EventsOrderTheNodesOfStreams) {
  begin();
  fill(a, 0, 'a');
  order(a, b);
  EXPECT_CUDA(copy(memory + 1, memory, 1, b));
  fill(a, 2, 'c'); // beside the other stream
  order(b, a);
  EXPECT_CUDA(copy(memory + 3, memory + 1, 1, a));
  makeExec();
  for (uint64_t seed = 0; seed < 20; ++seed) {
    restart(seed);
    EXPECT_CUDA(launchGraph(exec, a));
    EXPECT_EQ(bytes(), "aaca");
  }
}

TEST_F(Capture, NodesThatMeetUnorderedAreFound) {
  begin();
  order(a, b);
  fill(a, 0, 'a');
  fill(b, 0, 'b');
  order(b, a);
  makeExec();
  EXPECT_CUDA(launchGraph(exec, a));
  EXPECT_EQ(driver->synchronizeStream(a), LaunchFailed);
  const char *text = nullptr;
  EXPECT_CUDA(errorText(LaunchFailed, &text));
  EXPECT_NE(std::string(text).find("nothing orders the two"), std::string::npos) << text;
}

TEST_F(Capture, AStreamThatDoesNotComeBackIsRefused) {
  begin();
  order(a, b);
  fill(b, 0, 'b');
  EXPECT_EQ(end(), CaptureUnjoined);
  EXPECT_EQ(graph, nullptr);
}

TEST_F(Capture, WhatIsOutsideOrdersNothing) {
  EXPECT_CUDA(recordEvent(event, b));
  begin();
  EXPECT_EQ(driver->waitEvent(a, event, 0), CaptureIsolation);
  EXPECT_EQ(end(), CaptureInvalidated);
}

TEST_F(Capture, CallsThatCannotBeCapturedEndIt) {
  DevicePointer more = 0;
  void *host = nullptr;
  Module module = nullptr;
  begin();
  EXPECT_EQ(driver->allocate(&more, 64), CaptureUnsupported);
  EXPECT_EQ(end(), CaptureInvalidated);
  begin();
  EXPECT_EQ(driver->hostAllocate(&host, 64, 0), CaptureUnsupported);
  EXPECT_EQ(driver->fill8(memory, 1, 'a', 1, 1, a), CaptureInvalidated);
  EXPECT_EQ(end(), CaptureInvalidated);
  begin();
  EXPECT_EQ(driver->synchronizeStream(a), CaptureUnsupported);
  EXPECT_EQ(end(), CaptureInvalidated);
  begin();
  EXPECT_EQ(driver->loadModule(&module, "no image"), CaptureUnsupported);
  EXPECT_EQ(end(), CaptureInvalidated);
  // Who is not forbidden it may go on.
  EXPECT_CUDA(beginCapture(a, CaptureRelaxed));
  EXPECT_CUDA(allocate(&more, 64));
  EXPECT_EQ(end(), Success);
  EXPECT_CUDA(free(more));
}

TEST_F(Capture, OnlyGlobalOnesForbidOtherThreads) {
  for (CaptureMode mode : {CaptureThreadLocal, CaptureGlobal}) {
    EXPECT_CUDA(beginCapture(a, mode));
    Result result = Success;
    std::thread([&] {
      void *host = nullptr;
      result = driver->hostAllocate(&host, 64, 0);
      if (host)
        EXPECT_CUDA(hostFree(host));
    }).join();
    EXPECT_EQ(result, mode == CaptureGlobal ? CaptureUnsupported : Success);
    EXPECT_EQ(end(), mode == CaptureGlobal ? CaptureInvalidated : Success);
    if (graph)
      EXPECT_CUDA(destroyGraph(graph));
    graph = nullptr;
  }
}

TEST_F(Capture, ItsEventsTellTheHostNothing) {
  begin();
  fill(a, 0, 'a');
  EXPECT_CUDA(recordEvent(event, a));
  EXPECT_EQ(end(), Success);
  EXPECT_EQ(driver->queryEvent(event), CapturedEvent);
  EXPECT_EQ(driver->waitEvent(b, event, 0), CapturedEvent);
}

TEST_F(Capture, ExternalRecordsTellOfEachLaunch) {
  Event after = nullptr;
  EXPECT_CUDA(createEvent(&after, 0));
  EXPECT_EQ(driver->recordEventWithFlags(event, a, EventRecordExternal), InvalidValue);
  begin();
  EXPECT_CUDA(recordEventWithFlags(event, a, EventRecordExternal));
  fill(a, 0, 'a');
  EXPECT_CUDA(recordEventWithFlags(after, a, EventRecordExternal));
  makeExec();
  for (int i = 0; i < 3; ++i) {
    EXPECT_CUDA(launchGraph(exec, a));
    float milliseconds = -1;
    EXPECT_EQ(driver->elapsed(&milliseconds, event, after), NotReady);
    EXPECT_CUDA(synchronizeStream(a));
    EXPECT_CUDA(elapsed(&milliseconds, event, after));
    EXPECT_GE(milliseconds, 0);
  }
  EXPECT_CUDA(destroyEvent(after));
}

TEST_F(Capture, CapturesDoNotMix) {
  begin();
  EXPECT_CUDA(beginCapture(b, CaptureRelaxed));
  EXPECT_CUDA(recordEvent(event, b));
  EXPECT_EQ(driver->waitEvent(a, event, 0), CaptureMerge);
  EXPECT_EQ(driver->endCapture(b, &graph), CaptureInvalidated);
  EXPECT_EQ(end(), CaptureInvalidated);
  begin();
  order(a, b);
  EXPECT_EQ(driver->endCapture(b, &graph), CaptureUnmatched);
  EXPECT_EQ(end(), CaptureInvalidated);
}

} // namespace
