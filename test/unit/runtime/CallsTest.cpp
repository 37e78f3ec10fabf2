// Calls of routines: what they compute, how often they are prepared, what is said of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Contains.h"
#include "Harness.h"

#include "program/commands/Issued.h"
#include "session/Session.h"

#include <fstream>
#include <thread>
#include <unistd.h>

using namespace weft::runtime;

namespace {

/// out = (lhs + rhs) / 2
void mixKernel(int64_t begin, int64_t end, void *const *pointers, const int64_t *) {
  const float *lhs = static_cast<float *>(pointers[0]), *rhs = static_cast<float *>(pointers[1]);
  auto *out = static_cast<float *>(pointers[2]);
  for (int64_t i = begin; i < end; ++i)
    out[i] = (lhs[i] + rhs[i]) * 0.5f;
}
void sleepKernel(int64_t, int64_t, void *const *, const int64_t *) {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Layers over microbatches, written out or as calls. A layer multiplies what it began with by
/// what its rank has, sums that over ranks on stream 1, and overwrites what it began with by the
/// mean of the sum and its weight.
class Layers {
public:
  static constexpr int64_t kSize = 8, kBytes = kSize * kSize * 4, kLayerCommands = 7;

  Layers(int64_t layers, int64_t microbatches, bool calls)
      : layers(layers), microbatches(microbatches), calls(calls) {
    h.kernels = {{"mix", mixKernel}};
    tp = b.addMeshAxis("tp", 2);
    group = b.addCommunicator({tp});
    Id rows = b.addPlacement({{{2 * kSize, {tp}}}, {{kSize, {}}}}); // each rank has its own
    w = h.input("w", DType::F32, {layers, kSize, kSize});
    x = h.input("x", DType::F32, {microbatches * kSize, kSize});
    y = h.output("y", DType::F32, {microbatches * kSize, kSize});
    other = h.input("other", DType::F32, {kSize, kSize}, {2 * kSize, kSize}, rows);
    state = h.buffer("h", DType::F32, {kSize, kSize});
    scratch = h.buffer("scratch", DType::I8, {2 * kBytes}, BufferClass::Workspace);
    if (calls)
      addRoutines();
    h.begin(2, 2);
    for (int64_t m = 0; m < microbatches; ++m)
      addMicrobatch(m);
  }

  weft_status run() {
    weft_status status = h.open();
    if (status.code != 0)
      return status;
    h.set("w", randomValues<float>(size_t(layers * kSize * kSize), 1));
    h.set("x", randomValues<float>(size_t(microbatches * kSize * kSize), 2));
    h.set("other", randomValues<float>(2 * kSize * kSize, 3));
    return h.run();
  }
  std::vector<float> result() { return h.get<float>("y", size_t(microbatches * kSize * kSize)); }

  Harness h;

private:
  View rows(Id buffer, int64_t index) {
    return b.view(buffer, DType::F32, index * kBytes, {kSize, kSize});
  }
  Id argument(const char *name, int64_t offset, Id block) {
    return b.addBuffer(name, BufferClass::Activation, DType::F32, uint64_t(offset), kBytes,
                       {kSize, kSize}, block);
  }

  void addRoutines() {
    load = b.beginRoutine("load", {kBytes, kBytes}, 1, 1, 0);
    View from = b.view(argument("from", 0, 0)), to = b.view(argument("to", 0, 1));
    b.add({0, "/load"}, Copy{}, {from, to});
    b.endRoutine();
    layer = b.beginRoutine("F.block", {kBytes, kBytes, kBytes, kBytes, 2 * kBytes}, 3, 2, 2);
    View before = b.view(argument("before", 0, 0)), weight = b.view(argument("weight", 0, 1));
    View more = b.view(argument("more", 0, 2)), after = b.view(argument("after", 0, 3));
    View product = b.view(argument("product", 0, 4)), sum = b.view(argument("sum", kBytes, 4));
    addLayer("/h.{}/", before, weight, more, after, product, sum);
    b.endRoutine();
  }

  void addLayer(const std::string &name, View before, View weight, View more, View after,
                View product, View sum) {
    Gemm gemm{};
    gemm.accumulator = DType::F32;
    b.add({0, name + "up"}, gemm, {more, before, product});
    b.add({0}, EventRecord{0}, {});
    b.add({1}, EventWait{0}, {});
    Collective c{};
    c.kind = CollectiveKind::AllReduce;
    c.dtype = c.accumulator = DType::F32;
    c.communicator = group;
    c.outer = 1, c.extent = kSize, c.inner = kSize, c.middle = c.otherExtent = 1;
    b.add({1, name + "sum"}, c, {product, sum});
    b.add({1}, EventRecord{1}, {});
    b.add({0}, EventWait{1}, {});
    b.launch({0, name + "mix"}, b.addKernel("mix"), kSize * kSize, 16, {sum, weight, after}, {}, 2);
  }

  void addMicrobatch(int64_t m) {
    View own = b.view(state);
    if (calls)
      b.invoke({}, load, {rows(x, m), own}, {}, uint32_t(m));
    else
      b.add({0, "/load"}, Copy{}, {rows(x, m), own});
    for (int64_t l = 0; l < layers; ++l) {
      if (calls)
        b.invoke({}, layer, {own, rows(w, l), b.view(other), own, b.view(scratch)},
                 std::to_string(l), uint32_t(m));
      else
        addLayer("/h." + std::to_string(l) + "/", own, rows(w, l), b.view(other), own,
                 rows(scratch, 0), rows(scratch, 1));
    }
    b.add({0, "/store"}, Copy{}, {own, rows(y, m)});
  }

  ProgramBuilder &b = h.builder;
  int64_t layers, microbatches;
  bool calls;
  Id tp, group, w, x, y, other, state, scratch, load = kNone, layer = kNone;
};

TEST(Calls, GiveTheBitsOfWhatTheyStandFor) {
  Layers flat(3, 4, false), called(3, 4, true);
  ASSERT_OK(flat.run());
  ASSERT_OK(called.run());
  EXPECT_EQ(flat.result(), called.result());
  EXPECT_NE(called.result()[0], 0.0f);
  for (int round = 0; round < 3; ++round) // what a run leaves behind does not change the next one
    ASSERT_OK(called.h.run());
  EXPECT_EQ(flat.result(), called.result());
}

// So marks, messages and --inject mean the same command either way.
TEST(Calls, CommandsAreNumberedAsIfTheyWereWrittenOut) {
  Layers flat(2, 2, false), called(2, 2, true);
  ASSERT_OK(flat.h.open());
  ASSERT_OK(called.h.open());
  const ProgramView &p = flat.h.session->view(), &q = called.h.session->view();
  IssuedCommands expected(p, p.Bodies()[0]), found(q, q.Bodies()[0]);
  ASSERT_EQ(expected.size(), found.size());
  for (uint64_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(expected[i].command->opcode, found[i].command->opcode);
    EXPECT_EQ(expected[i].node(p), found[i].node(q));
  }
  EXPECT_EQ(found[8].describe(q),
            "command 0 (gemm of node '/h.1/up') in call 2 of F.block (1, microbatch 0)");
  EXPECT_EQ(found[found.size() - 1].describe(q), "command 7 (copy of node '/store')");
}

// 24 layers with a weight each, 256 microbatches in the same memory.
TEST(Calls, ARoutineIsPreparedOnceForEachListOfPlaces) {
  Layers called(24, 256, true);
  ASSERT_OK(called.h.open());
  const RankContext &rank = *called.h.session->ranks[0];
  // Loads have rows of their own, as stores have, which are no calls.
  EXPECT_EQ(rank.numPrepared(), size_t(24 * Layers::kLayerCommands + 256 + 256));
  const ProgramView &p = called.h.session->view();
  EXPECT_EQ(IssuedCommands(p, p.Bodies()[0]).size(),
            uint64_t(256 * (24 * Layers::kLayerCommands + 2)));
}

TEST(Calls, FailuresNameRoutineCallAndNode) {
  Layers called(2, 3, true);
  called.h.options.inject_rank = 1;
  called.h.options.inject_command = 24; // of microbatch 1: load, 7 of layer 0, gemm of layer 1
  ASSERT_OK(called.h.open());
  weft_status status = called.h.run();
  EXPECT_EQ(status.code, 3);
  EXPECT_STREQ(status.text, "rank 1: command 0 (gemm of node '/h.1/up') in call 6 of F.block (1, "
                            "microbatch 1): failure injected by --inject");
}

TEST(Calls, StallsNameRoutineCallAndNode) {
  Layers called(2, 3, true);
  called.h.options.inject_rank = 1;
  called.h.options.inject_command = 24;
  called.h.options.inject_stall = 1;
  called.h.options.timeout_seconds = 0.5;
  ASSERT_OK(called.h.open());
  weft_status status = called.h.run();
  EXPECT_EQ(status.code, 4);
  expectPart(status.text,
             "rank 1 does not come in command 0 (gemm of node '/h.1/up') in call 6 of "
             "F.block (1, microbatch 1) of program 'p'; rank 0 noticed it in command ");
  expectPart(status.text, ") in call 6 of F.block (1, microbatch 1) of program 'p'");
}

TEST(Calls, TracesTellTheCallOfACommand) {
  Layers called(2, 2, true);
  called.h.options.trace_commands = 1000;
  ASSERT_OK(called.run());
  std::string path = testing::TempDir() + "weft-calls-trace-" + std::to_string(getpid());
  weft_status status{};
  ASSERT_EQ(weft_write_trace(called.h.session, path.c_str(), &status), 0) << status.text;
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  unlink(path.c_str());
  expectPart(text,
             "\"node\":\"/h.1/mix\",\"command\":6,\"bytes\":768,\"call\":6,\"routine\":\"F.block\","
             "\"label\":\"1\",\"microbatch\":1}");
}

/// What a kernel leaves, and that of all before it.
void countKernel(int64_t, int64_t, void *const *pointers, const int64_t *) {
  auto *from = static_cast<int64_t *>(pointers[0]), *to = static_cast<int64_t *>(pointers[1]);
  *to = *from + 1;
}

// Stream 1 is slow, and the calls on it are of one routine with one event, so that stream 0 runs
// many calls ahead. Every wait must mean the record of its own call.
TEST(Calls, StreamsMayBeManyCallsApart) {
  constexpr int kRounds = 30;
  Harness h;
  h.kernels = {{"count", countKernel}, {"sleep", sleepKernel}};
  ProgramBuilder &b = h.builder;
  Id first = h.output("first", DType::I64, {kRounds + 1}),
     second = h.output("second", DType::I64, {kRounds});
  auto at = [&](Id buffer, int i) { return b.view(buffer, DType::I64, 8 * i, {1}); };
  View from = b.view(b.addBuffer("from", BufferClass::Activation, DType::I64, 0, 8, {1}, 0));
  View to = b.view(b.addBuffer("to", BufferClass::Activation, DType::I64, 0, 8, {1}, 1));
  Id make = b.beginRoutine("make", {8, 8}, 1, 1, 1);
  b.launch({0}, b.addKernel("count"), 1, 1, {from, to}, {}, 1);
  b.add({0}, EventRecord{0}, {});
  b.add({0}, EventWait{0}, {});
  b.endRoutine();
  Id send = b.beginRoutine("send", {8, 8}, 1, 2, 1);
  b.launch({1}, b.addKernel("sleep"), 1, 1, {}, {});
  b.add({1}, Copy{}, {from, to});
  b.endRoutine();
  h.begin(2, 1);
  for (int i = 0; i < kRounds; ++i) {
    b.invoke({0}, make, {at(first, i), at(first, i + 1)});
    b.add({0}, EventRecord{0}, {});
    b.add({1}, EventWait{0}, {});
    b.invoke({1}, send, {at(first, i + 1), at(second, i)});
  }
  ASSERT_OK(h.open());
  ASSERT_OK(h.run());
  std::vector<int64_t> expected;
  for (int64_t i = 1; i <= kRounds; ++i)
    expected.push_back(i);
  EXPECT_EQ(h.get<int64_t>("second", kRounds), expected);
}

// Each routine records its event 0, on streams that do not wait for each other. A record of the one
// is none of the other.
TEST(Calls, RoutinesHaveEventsOfTheirOwn) {
  constexpr int kRounds = 30;
  Harness h;
  h.kernels = {{"count", countKernel}, {"sleep", sleepKernel}};
  ProgramBuilder &b = h.builder;
  Id first = h.output("first", DType::I64, {kRounds + 1}),
     second = h.output("second", DType::I64, {kRounds});
  Id x = h.buffer("x", DType::I64, {1}), y = h.buffer("y", DType::I64, {1});
  auto at = [&](Id buffer, int i) { return b.view(buffer, DType::I64, 8 * i, {1}); };
  auto block = [&](Id number) {
    return b.view(b.addBuffer("", BufferClass::Activation, DType::I64, 0, 8, {1}, number));
  };
  View from = block(0), to = block(1), copied = block(2);
  Id slow = b.beginRoutine("slow", {8, 8, 8}, 1, 3, 2);
  b.launch({0}, b.addKernel("sleep"), 1, 1, {}, {});
  b.launch({0}, b.addKernel("count"), 1, 1, {from, to}, {}, 1);
  b.add({0}, EventRecord{0}, {});
  b.add({2}, EventWait{0}, {});
  b.add({2}, Copy{}, {to, copied});
  b.add({2}, EventRecord{1}, {});
  b.add({0}, EventWait{1}, {});
  b.endRoutine();
  Id quick = b.beginRoutine("quick", {8, 8}, 1, 2, 1);
  b.add({1}, Copy{}, {from, to});
  b.add({1}, EventRecord{0}, {});
  b.add({1}, EventWait{0}, {});
  b.endRoutine();
  h.begin(3, 0);
  for (int i = 0; i < kRounds; ++i) {
    b.invoke({0}, slow, {at(first, i), at(first, i + 1), at(second, i)});
    b.invoke({1}, quick, {b.view(x), b.view(y)});
  }
  ASSERT_OK(h.open());
  ASSERT_OK(h.run());
  std::vector<int64_t> expected;
  for (int64_t i = 1; i <= kRounds; ++i)
    expected.push_back(i);
  EXPECT_EQ(h.get<int64_t>("second", kRounds), expected);
}

// A stage calls what sends, the other one what receives.
TEST(Calls, SendFromStageToStage) {
  Harness h;
  ProgramBuilder &b = h.builder;
  Id pp = b.addMeshAxis("pp", 2);
  b.info().stageAxes = b.axes({pp});
  h.stages = 2;
  Id rows = b.addPlacement({{{2, {pp}}}});
  Id x = h.input("x", DType::I64, {1}, {2}, rows), y = h.output("y", DType::I64, {1}, {2}, rows);
  View block = b.view(b.addBuffer("block", BufferClass::Activation, DType::I64, 0, 8, {1}, 0));
  Collective c{};
  c.dtype = c.accumulator = DType::I64;
  c.communicator = b.addCommunicator({pp});
  c.outer = c.extent = c.inner = c.middle = c.otherExtent = 1;
  Id routines[2];
  for (int64_t stage : {0, 1}) {
    c.kind = stage == 0 ? CollectiveKind::Send : CollectiveKind::Recv;
    c.peer = 1 - stage;
    routines[stage] = b.beginRoutine(stage == 0 ? "send" : "receive", {8}, stage == 0, 2, 0);
    b.add({1, "/transfer"}, c, {block});
    b.endRoutine();
  }
  h.begin(2, 0);
  b.invoke({1}, routines[0], {b.view(x)});
  b.endBody();
  b.addStage({h.arena, {}});
  b.beginBody(2, 0);
  b.invoke({1}, routines[1], {b.view(y)});
  ASSERT_OK(h.open());
  h.set("x", std::vector<int64_t>{5, 6});
  ASSERT_OK(h.run());
  EXPECT_EQ(h.get<int64_t>("y", 2), (std::vector<int64_t>{0, 5}));
}

// What is unset is not read, whatever its bytes are: here those of what is no number.
TEST(Calls, AProductIsTheFirstAddendOfASum) {
  Harness h;
  ProgramBuilder &b = h.builder;
  Id x = h.input("x", DType::F32, {2, 2}), before = h.input("before", DType::F32, {2, 2}),
     y = h.output("y", DType::F32, {2, 2});
  View factor = b.view(b.addBuffer("x", BufferClass::Activation, DType::F32, 0, 16, {2, 2}, 0)),
       sum = b.view(b.addBuffer("sum", BufferClass::Gradient, DType::F32, 0, 16, {2, 2}, 1));
  Id add = b.beginRoutine("add", {16, 16}, 1, 1, 0);
  Gemm product{};
  product.accumulator = DType::F32;
  b.add({0, "/product"}, product, {factor, factor, sum, sum});
  b.endRoutine();
  h.begin(1, 0);
  b.add({}, Copy{}, {b.view(before), b.view(y)});
  b.invoke({}, add, {b.view(x), b.view(y)}, {}, 0, {1});
  b.invoke({}, add, {b.view(x), b.view(y)}, {}, 1);
  ASSERT_OK(h.open());
  h.set("x", std::vector<float>{1, 2, 3, 4});
  h.set("before", std::vector<float>(4, std::nanf("")));
  for (int round = 0; round < 2; ++round) {
    ASSERT_OK(h.run());
    EXPECT_EQ(h.get<float>("y", 4), (std::vector<float>{14, 20, 30, 44}));
  }
  std::string text = dump(h.session->view());
  EXPECT_NE(text.find("invoke add microbatch 0 unset [1]"), std::string::npos) << text;
}

} // namespace
