// Streams, launches, failures; no allocation, no thread too many.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Harness.h"

#include "session/Session.h"

#include <algorithm>
#include <atomic>
#include <dirent.h>
#include <thread>

using namespace weft::runtime;

/// Allocations of this process through C++ (Allocations.cpp).
long countAllocations();

namespace {

void addKernel(int64_t begin, int64_t end, void *const *pointers, const int64_t *scalars) {
  auto *to = static_cast<int64_t *>(pointers[0]);
  for (int64_t i = begin; i < end; ++i)
    to[i] += scalars[0];
}
// Marks the iteration range, so that a test sees how a launch was cut.
void rangeKernel(int64_t begin, int64_t end, void *const *pointers, const int64_t *) {
  auto *to = static_cast<int64_t *>(pointers[0]);
  for (int64_t i = begin; i < end; ++i)
    to[i] = begin;
}
void sleepKernel(int64_t, int64_t, void *const *, const int64_t *) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

std::atomic<bool> stuck{true};
void stuckKernel(int64_t, int64_t, void *const *, const int64_t *scalars) {
  while (scalars[0] == 1 && stuck)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

TEST(Executor, LaunchesGetConstantsAndCoordinates) {
  Harness h;
  h.kernels = {{"add", addKernel}};
  ProgramBuilder &b = h.builder;
  Id tp = b.addMeshAxis("tp", 2), dp = b.addMeshAxis("dp", 3);
  Id out =
      h.output("out", DType::I64, {1, 4}, {6, 4}, b.addPlacement({{{6, {tp, dp}}}, {{4, {}}}}));
  h.begin();
  b.launch({0, "first"}, b.addKernel("add"), 1, 1, {b.view(out, DType::I64, 0, {1})},
           {b.coordinate({tp, dp}, 10, 1)});
  b.launch({0, "last"}, b.addKernel("add"), 1, 1, {b.view(out, DType::I64, 24, {1})},
           {b.constant(7)});
  ASSERT_OK(h.open());
  ASSERT_OK(h.run());
  auto values = h.get<int64_t>("out", 24);
  for (int64_t rank = 0; rank < 6; ++rank)
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(values[rank * 4 + i], i == 0 ? 10 * rank + 1 : i == 3 ? 7 : 0);
}

// Stream 1 works on what stream 0 made, repeatedly, and back: without the
// events the sums would be torn.
TEST(Executor, EventsOrderStreams) {
  Harness h;
  h.kernels = {{"add", addKernel}, {"sleep", sleepKernel}};
  ProgramBuilder &b = h.builder;
  Id a = h.output("a", DType::I64, {1000}), c = h.output("c", DType::I64, {1000});
  Id d = h.output("d", DType::I64, {1000});
  h.begin(2, 2);
  for (int round = 0; round < 20; ++round) {
    b.launch({0}, b.addKernel("add"), 1000, 1000, {b.view(a)}, {b.constant(1)});
    b.add({0}, EventRecord{0}, {});
    b.add({1}, EventWait{0}, {});
    b.add({1}, Copy{}, {b.view(a), b.view(c)});
    b.launch({1}, b.addKernel("add"), 1000, 1000, {b.view(c)}, {b.constant(1)});
    b.add({1}, EventRecord{1}, {});
    b.add({0}, EventWait{1}, {});
    b.add({0}, Copy{}, {b.view(c), b.view(a)});
  }
  b.launch({1}, b.addKernel("sleep"), 1, 1, {}, {}); // all streams are joined
  b.launch({1}, b.addKernel("add"), 1000, 1000, {b.view(d)}, {b.constant(5)});
  ASSERT_OK(h.open());
  ASSERT_OK(h.run());
  EXPECT_EQ(h.get<int64_t>("a", 1000), std::vector<int64_t>(1000, 40));
  EXPECT_EQ(h.get<int64_t>("c", 1000), std::vector<int64_t>(1000, 40));
  EXPECT_EQ(h.get<int64_t>("d", 1000), std::vector<int64_t>(1000, 5));
}

TEST(Executor, LaunchesAreCutOverThreadsByGrain) {
  Harness h;
  h.kernels = {{"range", rangeKernel}};
  h.options.threads_per_rank = 3;
  Id a = h.output("a", DType::I64, {90}), b = h.output("b", DType::I64, {90});
  h.begin();
  ProgramBuilder &p = h.builder;
  p.launch({}, p.addKernel("range"), 90, 1, {p.view(a)}, {});
  p.launch({}, p.addKernel("range"), 90, 50, {p.view(b)}, {});
  ASSERT_OK(h.open());
  ASSERT_OK(h.run());
  auto first = h.get<int64_t>("a", 90), second = h.get<int64_t>("b", 90);
  for (int i = 0; i < 90; ++i) {
    EXPECT_EQ(first[i], i / 30 * 30);
    EXPECT_EQ(second[i], i / 45 * 45);
  }
}

TEST(Executor, SlicesFollowThePlacement) {
  Harness h;
  ProgramBuilder &b = h.builder;
  Id a = b.addMeshAxis("a", 2), c = b.addMeshAxis("b", 2);
  Id all = b.addPlacement({{{4, {a, c}}}, {{2, {}}}, {{3, {}}}});
  Id in = h.input("in", DType::I32, {2, 10});
  Id out = h.output("out", DType::I32, {1, 2, 3}, {4, 2, 3}, all);
  h.begin();
  b.add({}, Slice{b.axes({a, c}), 2, 10, 1, uint64_t(-7)}, {b.view(in), b.view(out)});
  ASSERT_OK(h.open());
  std::vector<int32_t> values(20);
  for (int i = 0; i < 20; ++i)
    values[i] = i;
  h.set("in", values);
  ASSERT_OK(h.run());
  EXPECT_EQ(h.get<int32_t>("out", 24),
            (std::vector<int32_t>{0, 1, 2, 10, 11, 12, 3, 4, -7, 13, 14, -7,
                                  5, 6, 7, 15, 16, 17, 8, 9, -7, 18, 19, -7}));
}

TEST(Executor, CopiesBetweenStridedViews) {
  Harness h;
  ProgramBuilder &b = h.builder;
  Id in = h.input("in", DType::U8, {4, 5, 6}), out = h.output("out", DType::U8, {6, 4, 5});
  Id wide = h.output("wide", DType::U8, {3, 6});
  h.begin();
  b.add({}, Copy{}, {b.view(in, DType::U8, 0, {6, 4, 5}, {1, 30, 6}), b.view(out)});
  b.add({}, Copy{}, {b.view(in, DType::U8, 5, {3, 6}, {0, -1}), b.view(wide)}); // backwards
  ASSERT_OK(h.open());
  std::vector<uint8_t> values(120);
  for (int i = 0; i < 120; ++i)
    values[i] = uint8_t(i);
  h.set("in", values);
  ASSERT_OK(h.run());
  auto found = h.get<uint8_t>("out", 120);
  for (int x = 0; x < 6; ++x)
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(found[x * 20 + i], i * 6 + x);
  EXPECT_EQ(h.get<uint8_t>("wide", 18),
            (std::vector<uint8_t>{5, 4, 3, 2, 1, 0, 5, 4, 3, 2, 1, 0, 5, 4, 3, 2, 1, 0}));
}

/// A routine that sums a block over ranks on stream 1, by way of its scratch.
Id addSum(ProgramBuilder &b, const Collective &sum) {
  auto block = [&](const char *name, Id number) {
    return b.view(
        b.addBuffer(name, BufferClass::Activation, DType::F32, 0, 16384, {64, 64}, number));
  };
  View from = block("from", 0), to = block("to", 1), scratch = block("scratch", 2);
  Id routine = b.beginRoutine("sum", {16384, 16384, 16384}, 1, 2, 2);
  b.add({0}, Copy{}, {from, scratch});
  b.add({0}, EventRecord{0}, {});
  b.add({1}, EventWait{0}, {});
  b.add({1, "sum"}, sum, {scratch, to});
  b.add({1}, EventRecord{1}, {});
  b.add({0}, EventWait{1}, {});
  b.endRoutine();
  return routine;
}

/// A program with every kind of work on 4 ranks and 2 streams.
void fillWithWork(Harness &h, int64_t ranks) {
  h.kernels = {{"add", addKernel}};
  ProgramBuilder &b = h.builder;
  Id tp = b.addMeshAxis("tp", ranks);
  Id x = h.input("x", DType::F32, {64, 64}), y = h.output("y", DType::F32, {64, 64});
  Id w = h.input("w", DType::F32, {8, 8, 3, 3}), n = h.output("n", DType::I64, {64});
  Collective c{};
  c.kind = CollectiveKind::AllReduce;
  c.dtype = c.accumulator = DType::F32;
  c.communicator = b.addCommunicator({tp});
  c.outer = 1, c.extent = 64, c.inner = 64, c.middle = c.otherExtent = 1;
  Id sum = addSum(b, c), z = h.buffer("z", DType::F32, {64, 64});
  Id room = h.buffer("room", DType::I8, {16384}, BufferClass::Workspace);
  h.begin(2, 2);
  Gemm gemm{};
  gemm.accumulator = DType::F32;
  b.add({0, "gemm"}, gemm, {b.view(x), b.view(x), b.view(y)});
  Convolution conv{};
  conv.groups = 1;
  conv.strides = conv.dilations = conv.padsBegin = b.ints({1, 1});
  conv.inputDilations = conv.strides;
  View image = b.view(x, DType::F32, 0, {1, 8, 16, 32});
  b.add({0, "conv"}, conv, {image, b.view(w), b.view(y, DType::F32, 0, {1, 8, 16, 32})});
  Attention attention{};
  attention.scale = 0.125;
  attention.causal = 1;
  View heads = b.view(x, DType::F32, 0, {1, 4, 16, 64});
  b.add({0, "attention"}, attention,
        {heads, heads, heads, b.view(y, DType::F32, 0, {1, 4, 16, 64})});
  b.launch({0, "launch"}, b.addKernel("add"), 64, 1, {b.view(n)}, {b.coordinate({tp})});
  b.add({}, Copy{}, {b.view(x, DType::F32, 0, {64, 64}, {1, 64}), b.view(y)});
  b.add({0}, EventRecord{0}, {});
  b.add({1}, EventWait{0}, {});
  b.add({1, "sum"}, c, {b.view(x), b.view(y)});
  b.add({1}, EventRecord{1}, {});
  b.add({0}, EventWait{1}, {});
  b.invoke({}, sum, {b.view(y), b.view(z), b.view(room)}, "up", 0);
  b.invoke({}, sum, {b.view(z), b.view(y), b.view(room)}, "down", 0);
}

TEST(Executor, RunningAllocatesNothing) {
  Harness h;
  fillWithWork(h, 4);
  ASSERT_OK(h.open());
  weft_status status{};
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(weft_run(h.session, "p", &status), 0) << status.text;
  long before = countAllocations();
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(weft_run(h.session, "p", &status), 0) << status.text;
  EXPECT_EQ(countAllocations() - before, 0);
}

size_t threadsOfProcess() {
  size_t count = 0;
  DIR *tasks = opendir("/proc/self/task");
  while (dirent *entry = readdir(tasks))
    count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

TEST(Executor, EightRanksDoNotMultiplyThreads) {
  size_t before = threadsOfProcess();
  Harness h;
  fillWithWork(h, 8);
  ASSERT_OK(h.open());
  ASSERT_OK(h.run());
  weft_statistics statistics;
  weft_get_statistics(h.session, &statistics);
  // One thread a rank for compute if there are at most 8 cores, one to
  // communicate; library teams must not add to that.
  size_t cores = std::max(1u, std::thread::hardware_concurrency());
  EXPECT_LE(statistics.threads_per_rank, std::max<size_t>(1, cores / 8));
  EXPECT_EQ(statistics.num_threads, 8 * (statistics.threads_per_rank + 1));
  EXPECT_LE(threadsOfProcess() - before, statistics.num_threads);
}

TEST(Executor, AFailingRankEndsAllWithItsName) {
  for (int64_t rank : {0, 2, 3}) {
    Harness h;
    h.options.inject_rank = rank;
    h.options.inject_command = 1;
    h.options.timeout_seconds = 30;
    fillWithWork(h, 4);
    ASSERT_OK(h.open());
    auto start = std::chrono::steady_clock::now();
    weft_status status = h.run();
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
    EXPECT_EQ(status.code, 3);
    EXPECT_EQ(std::string(status.text), "rank " + std::to_string(rank) +
                                            ": command 1 (convolution of node "
                                            "'conv'): failure injected by --inject");
  }
}

TEST(Executor, AStallingRankIsNamed) {
  Harness h;
  h.options.inject_rank = 2;
  h.options.inject_command = 2;
  h.options.inject_stall = 1;
  h.options.timeout_seconds = 0.5;
  fillWithWork(h, 4);
  ASSERT_OK(h.open());
  weft_status status = h.run();
  EXPECT_EQ(status.code, 4);
  EXPECT_NE(std::string(status.text)
                .find("no progress for 0.5 s: rank 2 does not come in command 2 "
                      "(attention of node 'attention') of program 'p'; rank "),
            std::string::npos)
      << status.text;
}

TEST(Executor, RanksThatAreDoneLosePatienceWithTheOthers) {
  Harness h;
  h.kernels = {{"stuck", stuckKernel}};
  h.options.inject_rank = 1;
  h.options.inject_command = 0;
  h.options.inject_stall = 1;
  h.options.timeout_seconds = 0.3;
  ProgramBuilder &b = h.builder;
  b.addMeshAxis("tp", 2);
  h.begin();
  b.launch({0, "last"}, b.addKernel("stuck"), 1, 1, {}, {b.constant(0)});
  ASSERT_OK(h.open());
  weft_status status = h.run();
  EXPECT_EQ(status.code, 4);
  EXPECT_STREQ(status.text, "no progress for 0.3 s: rank 1 does not come in command 0 (launch of "
                            "node 'last') of program 'p'; rank 0 noticed it");
}

// A kernel cannot be interrupted, but the caller gets its session back, with
// the name of the kernel's node.
TEST(Executor, ARankThatNeverComesBackIsNamed) {
  Harness h;
  h.kernels = {{"stuck", stuckKernel}};
  h.options.timeout_seconds = 0.3;
  ProgramBuilder &b = h.builder;
  Id tp = b.addMeshAxis("tp", 2);
  Id x = h.output("x", DType::F32, {4});
  h.begin();
  b.launch({0, "endless"}, b.addKernel("stuck"), 1, 1, {}, {b.coordinate({tp})});
  Collective c{};
  c.kind = CollectiveKind::AllReduce;
  c.dtype = c.accumulator = DType::F32;
  c.communicator = b.addCommunicator({tp});
  c.outer = 1, c.extent = 4, c.inner = 1, c.middle = c.otherExtent = 1;
  b.add({0, "sum"}, c, {b.view(x), b.view(x)});
  ASSERT_OK(h.open());
  weft_status status = h.run();
  EXPECT_EQ(status.code, 4);
  EXPECT_STREQ(status.text, "no progress for 0.3 s: rank 1 does not come in command 0 "
                            "(launch of node 'endless') of program 'p'; rank 0 noticed it "
                            "in command 1 (collective all_reduce of node 'sum') of program "
                            "'p'; rank 1 does not react in command 0 (launch of node "
                            "'endless') of program 'p'");
  EXPECT_EQ(h.run().code, 4); // nor is it used again
  stuck = false;
  for (const std::unique_ptr<RankContext> &rank : h.session->ranks)
    EXPECT_TRUE(rank->thread().waitFor(30));
}

TEST(Executor, AProcessEndsWithTheCodeOfTheFailureThatItTold) {
  Harness h;
  h.begin();
  ASSERT_OK(h.open());
  EXPECT_EQ(exitCodeOf(*h.session, 3), 3);
  // As by the thread that watches.
  ASSERT_TRUE(h.session->shared.board.put(0, 4, "no progress", false));
  EXPECT_EQ(exitCodeOf(*h.session, 3), 4);
}

TEST(Executor, WhatDoesNotFitIsSaidBeforeItIsTried) {
  Harness h;
  Id huge =
      h.builder.addBuffer("huge", BufferClass::Activation, DType::F32, 0, uint64_t(1) << 50, {1});
  (void)huge;
  h.arena = uint64_t(1) << 50;
  h.begin();
  weft_status status = h.open();
  EXPECT_EQ(status.code, 5);
  EXPECT_NE(std::string(status.text).find("needs 1048576.00 GiB for each of 1 ranks"),
            std::string::npos)
      << status.text;
}

TEST(Executor, MistakesOfTheCallerAreNamed) {
  Harness h;
  h.input("x", DType::F32, {2, 3});
  h.begin();
  ASSERT_OK(h.open());
  weft_status status{};
  float data[6] = {};
  EXPECT_EQ(weft_run(h.session, "q", &status), 1);
  EXPECT_STREQ(status.text, "there is no program 'q'; there is 'p'");
  EXPECT_EQ(weft_set_input(h.session, "p", "z", data, 24, &status), 1);
  EXPECT_STREQ(status.text, "program 'p' has no input 'z'; it has 'x'");
  EXPECT_EQ(weft_set_input(h.session, "p", "x", data, 20, &status), 1);
  EXPECT_STREQ(status.text, "'x' has 24 bytes, the caller's buffer 20");
  EXPECT_EQ(weft_get_output(h.session, "p", "x", data, 24, &status), 1);
  EXPECT_STREQ(status.text, "program 'p' has no output 'x'; it has none");
}

TEST(Executor, AMissingKernelIsOurFault) {
  Harness h;
  Id x = h.output("x", DType::I64, {1});
  h.begin();
  ProgramBuilder &b = h.builder;
  b.launch({}, b.addKernel("lost"), 1, 1, {b.view(x)}, {});
  weft_status status = h.open();
  EXPECT_EQ(status.code, 70);
  EXPECT_STREQ(status.text, "the executable has no kernel 'lost'");
}

} // namespace
