// NCCL between emulated GPUs: transfers in any order, and what becomes of failures. What
// collectives compute is tested by test/conformance/runtime, which runs on it, too.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Harness.h"
#include "Restart.h"

#include "device/cuda/nccl/NcclPlan.h"
#include "session/Session.h"

#include <chrono>
#include <cstdlib>

using namespace weft::runtime;
using weft::emulated::restart;

namespace {

/// y = the sum of all ranks' x, twice.
struct Sum : Harness {
  explicit Sum(DType accumulator = DType::F32) {
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
    options.comm = "nccl";
    options.timeout_seconds = 20;
  }
  weft_status openAndRun() {
    weft_status status = open();
    if (status.code != 0)
      return status;
    set("x", std::vector<float>(64, 1.5));
    return run();
  }
};

struct Nccl : testing::Test {
  void SetUp() override { restart(1); }
  void TearDown() override { unsetenv("WEFT_EMULATED_NCCL"); }

  /// That a program ends so, and soon.
  static std::string failureOf(Sum &sum, StatusCode code) {
    auto start = std::chrono::steady_clock::now();
    weft_status status = sum.openAndRun();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(status.code, int(code)) << status.text;
    EXPECT_LT(seconds.count(), 15);
    return status.text;
  }
  static void expectIn(const std::string &text, const char *part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
};

TEST_F(Nccl, SumsInAllOrders) {
  Sum sum;
  ASSERT_OK(sum.open());
  sum.set("x", std::vector<float>(64, 1.5));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    restart(seed);
    ASSERT_OK(sum.run());
    EXPECT_EQ(sum.get<float>("y", 64), std::vector<float>(64, 6));
  }
}

TEST_F(Nccl, ARefusedCallIsNamedWithTheLibrarysWord) {
  restart(1, "ncclAllReduce", 2, 5);
  Sum sum;
  std::string text = failureOf(sum, StatusCode::UserError);
  expectIn(text, "rank ");
  expectIn(text, "sum'");
  expectIn(text, "NCCL failed at ncclAllReduce: invalid usage (5), of an emulated NCCL");
}

TEST_F(Nccl, WorkThatFailsLaterIsNamed) {
  setenv("WEFT_EMULATED_NCCL", "error:1:1", 1);
  Sum sum;
  std::string text = failureOf(sum, StatusCode::RankFailed);
  expectIn(text, "rank 1");
  expectIn(text, "second sum");
  expectIn(text, "NCCL failed at work of a group: remote process exited");
}

TEST_F(Nccl, WorkThatNeverEndsIsNamedInTime) {
  setenv("WEFT_EMULATED_NCCL", "hang:1:1", 1);
  Sum sum;
  sum.options.timeout_seconds = 1;
  std::string text = failureOf(sum, StatusCode::Hang);
  expectIn(text, "second sum");
  expectIn(text, "waited 1.0");
}

TEST_F(Nccl, AMeetingThatFailsEndsAll) {
  restart(1, "ncclCommInitRankConfig", 2, 2);
  Sum sum;
  sum.options.timeout_seconds = 5;
  std::string text = failureOf(sum, StatusCode::UserError);
  expectIn(text, "NCCL failed at joining a group: unhandled system error (2)");
}

TEST_F(Nccl, WhatItHasNotGoesThroughTheHost) {
  Sum sum(DType::F64);
  ASSERT_OK(sum.openAndRun());
  EXPECT_EQ(sum.get<float>("y", 64), std::vector<float>(64, 6));
  EXPECT_EQ(sum.session->ranks[0]->remark(), "2 of 2 collectives go through memory of the host: "
                                             "NCCL has no sum of f32 in f64");
  Sum native;
  ASSERT_OK(native.openAndRun());
  EXPECT_EQ(native.session->ranks[0]->remark(), "");
}

TEST_F(Nccl, WhatItHasNotIsTold) {
  Collective params{};
  params.kind = CollectiveKind::AllReduce;
  params.dtype = DType::F32;
  params.accumulator = DType::F64;
  EXPECT_EQ(cuda::whyNotNccl(params), "NCCL has no sum of f32 in f64");
  params.accumulator = DType::F32;
  EXPECT_EQ(cuda::whyNotNccl(params), "");
}

constexpr int kRanks = 4, kStreams = 3;

/// Transfers between random pairs, of any size, on several streams, as one order has them: each
/// rank has its part of it, and its streams are not ordered with each other.
/// Elsewhere it moves fewer bytes at a time.
TEST_F(Nccl, WhatIsAddedInOrderIsMovedFromMultiplesOf16) {
  for (int64_t members : {2, 3, 5, 8})
    for (CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter}) {
      std::vector<cuda::NcclTensor> tensors;
      int64_t at = 0;
      for (int64_t extent : {7, 1, 30}) {
        Collective sum{};
        sum.kind = kind;
        sum.dtype = DType::BF16;
        sum.accumulator = DType::F32;
        sum.outer = sum.middle = sum.otherExtent = 1;
        sum.inner = 3;
        sum.extent = extent * members;
        cuda::NcclTensor tensor{sum, {at, false}, {at + 4096, false}, {}, {}};
        for (int64_t m = 0; m < members; ++m)
          tensor.shards.push_back({m * extent, extent, extent});
        tensors.push_back(tensor);
        at += 1024;
      }
      for (int64_t me = 0; me < members; ++me) {
        cuda::NcclPlan plan = cuda::planNccl(tensors, members, me);
        plan.calls.insert(plan.calls.end(), plan.callsAfter.begin(), plan.callsAfter.end());
        ASSERT_FALSE(plan.calls.empty());
        for (const cuda::NcclPlan::Call &call : plan.calls) {
          EXPECT_EQ(call.from.offset % 16, 0);
          EXPECT_EQ(call.to.offset % 16, 0);
          EXPECT_EQ(call.count % 16, 0);
        }
      }
    }
}

TEST_F(Nccl, TransfersComeInOneOrder) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    restart(seed);
    std::mt19937_64 random(seed);
    ProgramBuilder builder;
    uint32_t axis = builder.addMeshAxis("pp", kRanks);
    builder.info().stageAxes = builder.axes({axis});
    Id communicator = builder.addCommunicator({axis});
    struct Transfer {
      int64_t from, to, elements;
      unsigned stream;
      uint64_t source, target; // offsets in the arena, elements
    };
    constexpr int64_t kRoom = 70000, kTransfers = 24;
    const int64_t sizes[] = {1, 3, 64, 1000, 70000};
    Id all = builder.addPlacement({{{kRanks, {axis}}}, {{kTransfers * kRoom, {}}}});
    auto port = [&](const char *name, BufferClass kind, uint64_t offset, Id &buffer) {
      buffer = builder.addBuffer(name, kind, DType::I32, offset, 4 * kTransfers * kRoom,
                                 {1, kTransfers * kRoom});
      return builder.addPort(name, DType::I32, {kRanks, kTransfers * kRoom}, all,
                             ProgramBuilder::HomeList::everywhere(buffer, kRanks));
    };
    Id inBuffer, outBuffer;
    Id in = port("in", BufferClass::Input, 0, inBuffer),
       out = port("out", BufferClass::Output, 4 * kTransfers * kRoom, outBuffer);
    std::vector<Transfer> transfers;
    for (int64_t t = 0; t < kTransfers; ++t) {
      auto from = int64_t(random() % kRanks);
      auto to = (from + 1 + int64_t(random() % (kRanks - 1))) % kRanks;
      transfers.push_back({from, to, sizes[random() % std::size(sizes)],
                           unsigned(random() % kStreams), uint64_t(t * kRoom),
                           uint64_t(t * kRoom)});
    }
    builder.beginProgram("p", {in}, {out});
    for (int64_t rank = 0; rank < kRanks; ++rank) {
      builder.beginBody(kStreams, 0);
      for (const Transfer &t : transfers) {
        if (t.from != rank && t.to != rank)
          continue;
        bool sends = t.from == rank;
        Collective params{};
        params.kind = sends ? CollectiveKind::Send : CollectiveKind::Recv;
        params.dtype = params.accumulator = DType::I32;
        params.communicator = communicator;
        params.peer = sends ? t.to : t.from;
        params.outer = params.inner = params.middle = params.otherExtent = 1;
        params.extent = t.elements;
        View view = builder.view(sends ? inBuffer : outBuffer, DType::I32,
                                 int64_t(4 * (sends ? t.source : t.target)), {t.elements}, {1});
        builder.add({t.stream, "transfer"}, params, {view});
      }
      builder.endBody();
    }
    builder.endProgram();
    for (int64_t rank = 0; rank < kRanks; ++rank)
      builder.addStage({8 * kTransfers * kRoom, {}});
    std::vector<uint8_t> blob = builder.finish();

    weft_options options;
    weft_options_init(&options);
    options.comm = "nccl";
    options.timeout_seconds = 60;
    weft_session *session = nullptr;
    weft_status status{};
    ASSERT_EQ(weft_open(blob.data(), blob.size(), nullptr, 0, &options, &session, &status), 0)
        << status.text;
    std::vector<int32_t> given(kRanks * kTransfers * kRoom), got(given.size());
    for (size_t i = 0; i < given.size(); ++i)
      given[i] = int32_t(i * 2654435761u + seed);
    ASSERT_EQ(weft_set_input(session, "p", "in", given.data(), given.size() * 4, &status), 0)
        << status.text;
    ASSERT_EQ(weft_run(session, "p", &status), 0) << status.text;
    ASSERT_EQ(weft_get_output(session, "p", "out", got.data(), got.size() * 4, &status), 0)
        << status.text;
    weft_close(session);
    for (const Transfer &t : transfers)
      EXPECT_TRUE(
          std::equal(got.begin() + t.to * kTransfers * kRoom + int64_t(t.target),
                     got.begin() + t.to * kTransfers * kRoom + int64_t(t.target) + t.elements,
                     given.begin() + t.from * kTransfers * kRoom + int64_t(t.source)))
          << "of " << t.elements << " elements from " << t.from << " to " << t.to;
  }
}

} // namespace
