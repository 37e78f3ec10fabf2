// Programs as CUDA graphs: the bits of issued ones in all orders, and what becomes of failures.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomStreams.h"
#include "Restart.h"

#include "device/cuda/Driver.h"
#include "program/commands/Issued.h"
#include "session/Session.h"

using namespace weft::runtime;
using namespace weft::emulated;

namespace {

/// Kernels on three streams.
struct Mixed : Harness {
  explicit Mixed(uint64_t seed, unsigned count = 40) { RandomStreams(seed, count).build(*this); }
  void setInputs() { set("x", RandomStreams::inputs()); }
  std::vector<float> results() { return get<float>("y", RandomStreams::kResults); }
  std::string remark() { return session->ranks[0]->device().takeRemark(); }
};

struct Graphs : testing::Test {
  void SetUp() override { restart(1); }
  void TearDown() override {
    restart(1);
    unsetenv("WEFT_CUDA_GRAPH");
    unsetenv("WEFT_CUDA_SYNC");
  }
  static void expectIn(const std::string &text, const char *part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
};

TEST_F(Graphs, GiveTheBitsOfIssuedCommandsInAllOrders) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Mixed mixed(seed, 16 + 8 * unsigned(seed));
    ASSERT_OK(mixed.open());
    mixed.setInputs();
    ASSERT_OK(mixed.run());
    EXPECT_EQ(mixed.remark(), "");
    std::vector<float> issued = mixed.results();
    EXPECT_EQ(issued, RandomStreams(seed, 16 + 8 * unsigned(seed)).expected(1));
    for (uint64_t order = 0; order < 20; ++order) {
      restart(order);
      ASSERT_OK(mixed.run());
      if (order == 0)
        expectIn(mixed.remark(), "one CUDA graph of ");
      EXPECT_EQ(mixed.remark(), "");
      EXPECT_EQ(mixed.results(), issued);
    }
  }
}

TEST_F(Graphs, AreMadeUnlessTheUserSaysSo) {
  const std::pair<const char *, const char *> wishes[] = {{"WEFT_CUDA_GRAPH", "0"},
                                                          {"WEFT_CUDA_SYNC", "1"}};
  for (auto [name, value] : wishes) {
    setenv(name, value, 1);
    Mixed mixed(1);
    ASSERT_OK(mixed.open());
    mixed.setInputs();
    restart(1, "cuStreamBeginCapture", 1, 900);
    for (int i = 0; i < 3; ++i)
      ASSERT_OK(mixed.run());
    EXPECT_EQ(mixed.remark(), "");
    unsetenv(name);
  }
}

TEST_F(Graphs, WhatMakesNoneIsIssuedWithARemark) {
  const struct {
    const char *symbol;
    uint64_t call;
    int code;
    const char *told;
  } kFailures[] = {
      {"cuStreamBeginCapture", 1, 900, "at capturing a stream: "},
      {"cuStreamWaitEvent", 1, 905, "at letting a stream wait: "},
      {"cuStreamWaitEvent", 9, 905, "at letting a stream wait: "},
      {"cuEventRecordWithFlags", 2, 1, "at recording an event: "},
      {"cuLaunchKernel", 7, 900, "launching a kernel: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (900)"},
      {"cuStreamEndCapture", 1, 901, "at ending a capture: "},
      {"cuGraphInstantiate", 1, 2, "at making a graph: CUDA_ERROR_OUT_OF_MEMORY (2)"},
  };
  for (const auto &failure : kFailures) {
    Mixed mixed(3);
    ASSERT_OK(mixed.open());
    mixed.setInputs();
    ASSERT_OK(mixed.run());
    std::vector<float> issued = mixed.results();
    restart(1, failure.symbol, failure.call, failure.code);
    ASSERT_OK(mixed.run());
    std::string remark = mixed.remark();
    expectIn(remark, "commands are issued one by one, as they make no CUDA graph: ");
    expectIn(remark, failure.told);
    EXPECT_EQ(mixed.results(), issued);
    restart(1, "cuStreamBeginCapture", 1, 900); // it is not tried again
    ASSERT_OK(mixed.run());
    EXPECT_EQ(mixed.remark(), "");
    EXPECT_EQ(mixed.results(), issued);
  }
}

TEST_F(Graphs, AFailureInOneIsToldWithHowToFindTheCommand) {
  Mixed mixed(3);
  ASSERT_OK(mixed.open());
  mixed.setInputs();
  for (int i = 0; i < 2; ++i)
    ASSERT_OK(mixed.run());
  restart(1, "cuGraphLaunch", 1, 719);
  weft_status status = mixed.run();
  EXPECT_EQ(status.code, int(StatusCode::DeviceFailed));
  expectIn(status.text, "the CUDA driver failed at launching a graph: CUDA_ERROR_LAUNCH_FAILED");
  Mixed other(3);
  restart(1);
  ASSERT_OK(other.open());
  other.setInputs();
  for (int i = 0; i < 2; ++i)
    ASSERT_OK(other.run());
  restart(1, "cuStreamQuery", 1, 719);
  status = other.run();
  EXPECT_EQ(status.code, int(StatusCode::DeviceFailed));
  expectIn(status.text, "at running a graph (WEFT_CUDA_SYNC=1 names the command): ");
}

TEST_F(Graphs, ATraceSeesEachCommand) {
  Mixed mixed(3);
  mixed.options.trace_commands = 4096;
  ASSERT_OK(mixed.open());
  mixed.setInputs();
  for (int i = 0; i < 3; ++i)
    ASSERT_OK(mixed.run());
  expectIn(mixed.remark(), "commands are issued one by one, as a trace looks at each");
  const ProgramView &p = mixed.session->view();
  IssuedCommands commands(p, p.Bodies()[0]);
  size_t onFirst = 0; // without records, which are no work
  for (uint64_t i = 0; i < commands.size(); ++i)
    onFirst +=
        commands[i].command->stream == 0 && commands[i].command->opcode != Opcode::EventRecord;
  EXPECT_GT(onFirst, 10u);
  EXPECT_EQ(mixed.session->ranks[0]->device().timeline(0).trace.size(), 3 * onFirst);
}

/// y = the sum of all ranks' x, on a stream of its own, twice.
struct Sums : Harness {
  explicit Sums(const char *comm, DType accumulator = DType::F32) {
    builder.addMeshAxis("dp", 2);
    Id x = input("x", DType::F32, {64}), y = output("y", DType::F32, {64});
    begin(2, 2);
    Collective sum{};
    sum.kind = CollectiveKind::AllReduce;
    sum.dtype = DType::F32;
    sum.accumulator = accumulator;
    sum.communicator = builder.addCommunicator({0});
    sum.outer = sum.inner = sum.middle = sum.otherExtent = 1;
    sum.extent = 64;
    builder.add({0}, EventRecord{0}, {});
    builder.add({1}, EventWait{0}, {});
    builder.add({1, "first sum"}, sum, {builder.view(x), builder.view(y)});
    builder.add({1, "second sum"}, sum, {builder.view(y), builder.view(y)});
    builder.add({1}, EventRecord{1}, {});
    builder.add({0}, EventWait{1}, {});
    options.comm = comm;
    options.timeout_seconds = 20;
  }
  weft_status runTimes(int times) {
    weft_status status{};
    for (int i = 0; i < times && status.code == 0; ++i) {
      set("x", std::vector<float>(64, float(1 + i)));
      status = run();
      if (status.code == 0)
        EXPECT_EQ(get<float>("y", 64), std::vector<float>(64, float(4 * (1 + i))));
    }
    return status;
  }
  RankContext &rank() { return *session->ranks[0]; }
};

TEST_F(Graphs, NcclsWorkIsAPartOfThem) {
  Traffic traffic[2];
  const cuda::Driver *driver = nullptr;
  ASSERT_TRUE(cuda::Driver::open(driver).ok());
  for (bool isIssued : {true, false}) {
    setenv("WEFT_CUDA_GRAPH", isIssued ? "0" : "1", 1);
    Sums sums("nccl");
    ASSERT_OK(sums.open());
    ASSERT_OK(sums.runTimes(6));
    if (!isIssued)
      expectIn(sums.rank().device().takeRemark(), "one CUDA graph of ");
    traffic[isIssued] = sums.rank().trafficOver(0);
    EXPECT_GT(sums.rank().lastRun().communication, 0);
  }
  // Communicators were not left before graphs with their work were gone.
  EXPECT_EQ(driver->init(0), cuda::Success);
  EXPECT_EQ(traffic[0].sent.bytes, traffic[1].sent.bytes);
  EXPECT_EQ(traffic[0].sent.messages, traffic[1].sent.messages);
  EXPECT_GT(traffic[0].sent.bytes, 0u);
}

TEST_F(Graphs, WhatAFailedCaptureDidNotMoveIsNotCounted) {
  Traffic traffic[2];
  for (bool fails : {false, true}) {
    if (fails)
      restart(1, "cuGraphInstantiate", 1, 2);
    else
      restart(1);
    Sums sums("nccl");
    ASSERT_OK(sums.open());
    ASSERT_OK(sums.runTimes(4));
    traffic[fails].sent = sums.session->ranks[0]->trafficOver(0).sent;
    traffic[fails].received = sums.session->ranks[1]->trafficOver(0).sent;
  }
  EXPECT_GT(traffic[0].sent.bytes, 0u);
  EXPECT_EQ(traffic[0].sent.bytes, traffic[1].sent.bytes);
  EXPECT_EQ(traffic[0].received.bytes, traffic[1].received.bytes);
}

TEST_F(Graphs, CollectivesThroughTheHostAreNot) {
  Sums sums("inproc");
  ASSERT_OK(sums.open());
  ASSERT_OK(sums.runTimes(4));
  expectIn(sums.rank().device().takeRemark(),
           "commands are issued one by one, as some collectives go through memory of the host");
}

TEST_F(Graphs, WhatHangsOrFailsInOneIsNamed) {
  // Each run of a rank is two groups of calls; the fourth run is the second as a graph.
  for (const char *failure : {"hang:1:7", "error:1:7"}) {
    restart(1);
    setenv("WEFT_EMULATED_NCCL", failure, 1);
    Sums sums("nccl");
    sums.options.timeout_seconds = 1;
    ASSERT_OK(sums.open());
    ASSERT_OK(sums.runTimes(3));
    weft_status status = sums.run();
    unsetenv("WEFT_EMULATED_NCCL");
    EXPECT_EQ(status.code, int(*failure == 'h' ? StatusCode::Hang : StatusCode::RankFailed))
        << status.text;
    expectIn(status.text, "second sum");
  }
}

} // namespace
