// Steps by hand, published bubbles, and ranks that are simulated as one or one by one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/SimulateStep.h"
#include "../Pipeline/Published.h"

#include "weft/Pipeline/Generate.h"
#include "weft/Pipeline/Simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

using namespace weft;
using namespace weft::cost;
using runtime::CollectiveKind;

namespace {

/// An operation and a byte take a picosecond each; messages have no latency.
Cluster picoseconds() {
  Cluster cluster;
  cluster.device.memoryBandwidth = 1e12;
  cluster.device.rates.fill({1e12, 1, 1, 1e12});
  LinkLevel links;
  links.name = "links";
  links.bandwidth = 1e12;
  cluster.levels = {links};
  return cluster;
}

Item work(int64_t picoseconds, Shape::Kind kind = Shape::Kind::Gemm) {
  Work work;
  work.shape.kind = kind;
  work.flops = picoseconds;
  return Item::of(work);
}

/// An all_gather between two: half of the bytes each.
Item gather(int64_t picoseconds, int32_t axis, Role role = Role::Exposed) {
  Communication communication;
  communication.kind = CollectiveKind::AllGather;
  communication.role = role;
  communication.bytes = 2 * picoseconds;
  communication.axes = {axis};
  return Item::of(communication);
}

StepAccount pipelineOf(const char *kind, int stages, int chunksPerRank, int microbatches,
                       const std::vector<Axis> &others = {}) {
  StepAccount account;
  account.axes = {{"pp", stages}};
  account.axes.insert(account.axes.end(), others.begin(), others.end());
  account.stages = 0;
  account.schedule = pipeline::findGenerator(kind)->make(stages, chunksPerRank, microbatches);
  account.chunks.resize(size_t(stages) * size_t(chunksPerRank));
  return account;
}

/// One chunk, without stages.
StepAccount alone(int microbatches, const std::vector<Axis> &axes) {
  StepAccount account;
  account.axes = axes;
  account.schedule = pipeline::findGenerator("1f1b")->make(1, 1, microbatches);
  account.chunks.resize(1);
  return account;
}

Prediction predict(const StepAccount &account, const Cluster &cluster = picoseconds(),
                   const Simulation &options = {}) {
  std::string error;
  std::optional<Prediction> prediction = simulateStep(account, cluster, options, error);
  EXPECT_TRUE(prediction) << error;
  EXPECT_EQ(prediction->picoseconds, prediction->causes.total());
  EXPECT_TRUE(account.stages >= 0 || prediction->causes.bubble == 0);
  return *prediction;
}

TEST(SimulateStep, CausesOfOneDevice) {
  StepAccount account = alone(3, {{"dp", 2}, {"tp", 2}});
  Chunk &chunk = account.chunks[0];
  chunk.forward = {{{work(10), gather(4, 1), work(1, Shape::Kind::Stream)}, 2}};
  chunk.backward = {{{work(20)}, 1}};
  chunk.update = {{{gather(7, 0), work(5)}, 1}};
  Prediction prediction = predict(account);
  EXPECT_EQ(prediction.causes.compute[size_t(Shape::Kind::Gemm)], 3 * (20 + 20));
  EXPECT_EQ(prediction.causes.compute[size_t(Shape::Kind::Stream)], 3 * 2);
  EXPECT_EQ(prediction.causes.exposed, (std::vector<int64_t>{7, 3 * 2 * 4}));
  EXPECT_EQ(prediction.causes.optimizer, 5);
  EXPECT_EQ(prediction.causes.bubble, 0);
  // Between two, a gather sends half of the result, a picosecond a byte.
  EXPECT_EQ(prediction.bytesByAxis, (std::vector<int64_t>{7, 3 * 2 * 4}));
}

TEST(SimulateStep, OneDeviceNeedsNoAxes) {
  StepAccount account = alone(2, {});
  account.chunks[0].forward = {{{work(10)}, 1}};
  account.chunks[0].update = {{{work(5)}, 1}};
  Prediction prediction = predict(account);
  EXPECT_EQ(prediction.picoseconds, 25);
  EXPECT_EQ(prediction.causes.optimizer, 5);
  EXPECT_TRUE(prediction.causes.exposed.empty());
}

TEST(SimulateStep, SumsRunBesideTheLastBackward) {
  StepAccount account = alone(2, {{"dp", 2}});
  Chunk &chunk = account.chunks[0];
  chunk.backward = {{{work(100)}, 1}};
  // Ready at 50 and 100 of the last backward.
  chunk.sums = {{{gather(60, 0, Role::GradientSum)}, 2}};
  chunk.update = {{{work(5)}, 1}};
  Prediction prediction = predict(account);
  // 100 + 50 + 60 + 60 + 5
  EXPECT_EQ(prediction.picoseconds, 275);
  EXPECT_EQ(prediction.causes.exposed[0], 70);
  EXPECT_EQ(prediction.causes.optimizer, 5);
}

TEST(SimulateStep, GradientsOfEachMicrobatchHideBehindTheNext) {
  StepAccount account = alone(3, {{"dp", 2}});
  account.chunks[0].backward = {{{work(100), gather(60, 0, Role::GradientSum)}, 1}};
  Prediction prediction = predict(account);
  EXPECT_EQ(prediction.picoseconds, 360);
  EXPECT_EQ(prediction.causes.exposed[0], 60);
}

TEST(SimulateStep, ParametersAreGatheredOneAhead) {
  StepAccount account = alone(1, {{"dp", 2}});
  account.chunks[0].forward = {{{gather(30, 0, Role::ParameterGather), work(100)}, 3}};
  Prediction prediction = predict(account);
  EXPECT_EQ(prediction.picoseconds, 330);
  EXPECT_EQ(prediction.causes.exposed[0], 30);
  // Gathers that take longer than what they run beside: one after the other.
  account.chunks[0].forward = {{{gather(100, 0, Role::ParameterGather), work(30)}, 3}};
  EXPECT_EQ(predict(account).picoseconds, 330);
}

TEST(SimulateStep, WaitingBehindWhatWasSentBeforeIsOfItsAxis) {
  StepAccount account = alone(1, {{"dp", 2}, {"tp", 2}});
  account.chunks[0].backward = {
      {{work(10), gather(50, 0, Role::GradientSum), work(10), gather(3, 1)}, 1}};
  Prediction prediction = predict(account);
  // The links are free at 60, the kernels were done at 20.
  EXPECT_EQ(prediction.picoseconds, 63);
  EXPECT_EQ(prediction.causes.exposed, (std::vector<int64_t>{40, 3}));
}

TEST(SimulateStep, TheHostStartsKernels) {
  Cluster slow = picoseconds();
  slow.device.hostSeconds = 10e-12;
  StepAccount account = alone(1, {{"tp", 2}});
  // Short kernels wait for the host; it gets ahead during the long one.
  account.chunks[0].forward = {{{work(1), work(1), work(25), work(1), work(1), work(1)}, 1}};
  EXPECT_EQ(predict(account, slow).picoseconds, 61);
  account.chunks[0].forward = {{{work(1), gather(50, 0), work(1), work(1)}, 1}};
  EXPECT_EQ(predict(account, slow).picoseconds, 20 + 50 + 2);
}

TEST(SimulateStep, TransfersBlockOrNot) {
  StepAccount account = pipelineOf("gpipe", 2, 1, 2);
  for (Chunk &chunk : account.chunks) {
    chunk.forward = {{{work(10)}, 1}};
    chunk.backward = {{{work(20)}, 1}};
    chunk.forwardBytes = chunk.backwardBytes = 3;
  }
  // 10 + 3 + 10 10 + 20 20 + 3 + 20: the first stage is the last to end.
  Prediction prediction = predict(account);
  EXPECT_EQ(prediction.picoseconds, 96);
  EXPECT_EQ(prediction.causes.bubble, 96 - 60);
  EXPECT_EQ(prediction.bytesByAxis[0], 6);
  // The second F of stage 0 begins after the first's transfer, the second D of stage 1 likewise.
  account.transfersBlock = true;
  EXPECT_EQ(predict(account).picoseconds, 10 + 3 + 10 + 3 + 10 + 20 + 3 + 20 + 3 + 20);
}

TEST(SimulateStep, StagesTellWhatTheySendToEachOther) {
  StepAccount account = pipelineOf("interleaved", 3, 2, 3);
  for (size_t chunk = 0; chunk < account.chunks.size(); ++chunk) {
    account.chunks[chunk].forwardBytes = chunk < 5 ? 10 : 0;
    account.chunks[chunk].backwardBytes = chunk > 0 ? 1 : 0;
  }
  // All stages come to what the last sends to the others once a step, and to a sum.
  Communication once;
  once.kind = CollectiveKind::Send;
  once.bytes = 100;
  once.axes = {0};
  Communication sum = once;
  sum.kind = CollectiveKind::AllReduce;
  sum.bytes = 3000;
  for (size_t stage = 0; stage < 3; ++stage) {
    once.targets = stage == 2 ? std::vector<int32_t>{0, 1} : std::vector<int32_t>();
    account.chunks[stage].update = {{{Item::of(once), Item::of(sum)}, 1}};
  }
  Prediction prediction = predict(account);
  // Of three microbatches, two chunks a stage; the sum in a ring.
  EXPECT_EQ(prediction.bytesBetweenStages,
            (std::vector<std::vector<int64_t>>{
                {0, 60 + 4000, 3}, {6, 0, 60 + 4000}, {30 + 100 + 4000, 6 + 100, 0}}));
  EXPECT_EQ(prediction.bytesByAxis[0], 30 + 100 + 4000 + 6 + 100);
}

TEST(SimulateStep, AgreesWithTheScheduleLibrary) {
  for (const char *kind : {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v", "dualpipev"}) {
    const pipeline::Generator &generator = *pipeline::findGenerator(kind);
    int chunksPerRank = generator.leastChunksPerRank, stages = 4, microbatches = 12;
    StepAccount account = pipelineOf(kind, stages, chunksPerRank, microbatches);
    pipeline::Costs costs = pipeline::evenCosts(stages, chunksPerRank, {});
    uint64_t state = 88172645463325252u;
    auto random = [&state](uint64_t most) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      return int64_t(1 + state % most);
    };
    for (size_t c = 0; c < costs.chunks.size(); ++c) {
      pipeline::ChunkCosts &chunk = costs.chunks[c];
      int64_t forward = random(100), backward = random(100), weight = random(100);
      account.chunks[c].forward = {{{work(forward)}, 1}};
      account.chunks[c].backward = {{{work(backward)}, 1}};
      account.chunks[c].weight = {{{work(weight)}, 1}};
      account.chunks[c].keptForBackward = random(100);
      account.chunks[c].keptForWeight = random(100);
      account.chunks[c].madeForWeight = random(100);
      chunk.forward = double(forward), chunk.backward = double(backward);
      chunk.weight = double(weight);
      chunk.transfer = double(random(20));
      account.chunks[c].forwardBytes = int64_t(chunk.transfer);
      if (c + 1 < costs.chunks.size())
        account.chunks[c + 1].backwardBytes = int64_t(chunk.transfer);
    }
    pipeline::Timing timing = *pipeline::simulate(account.schedule, costs);
    EXPECT_EQ(predict(account).picoseconds, int64_t(timing.wall)) << kind;
  }
}

TEST(SimulateStep, PublishedBubbles) {
  using namespace pipeline;
  for (const PublishedRow &row : kPublished)
    for (auto [kind, rate] : {std::pair<const char *, double>{"1f1b", row.oneForwardOneBackward},
                              {"zb-h1", row.zeroBubble1},
                              {"zb-h2", row.zeroBubble2}}) {
      StepAccount account = pipelineOf(kind, kPublishedRanks, 1, row.microbatches);
      auto ps = [](double milliseconds) { return picosecondsOf(milliseconds * 1e-3); };
      for (Chunk &chunk : account.chunks) {
        chunk.forward = {{{work(ps(row.forward))}, 1}};
        chunk.backward = {{{work(ps(row.backward))}, 1}};
        chunk.weight = {{{work(ps(row.weight))}, 1}};
        chunk.forwardBytes = chunk.backwardBytes = ps(row.transfer);
      }
      std::vector<Event> events;
      Simulation options;
      options.events = &events;
      predict(account, picoseconds(), options);
      // Of the rank that takes longest from its first start to its last end.
      int64_t span = 0;
      std::vector<int64_t> first(kPublishedRanks, -1);
      for (const Event &event : events) {
        int64_t &start = first[size_t(event.rank)];
        start = start < 0 ? event.start : std::min(start, event.start);
        span = std::max(span, event.end - start);
      }
      double busy =
          double(row.microbatches) * double(ps(row.forward) + ps(row.backward) + ps(row.weight));
      EXPECT_NEAR(1 - busy / double(span), rate, 0.00005) << kind << " " << row.microbatches;
    }
}

TEST(SimulateStep, MemoryOverTime) {
  StepAccount account = pipelineOf("1f1b", 2, 1, 4);
  for (Chunk &chunk : account.chunks) {
    chunk.forward = chunk.backward = {{{work(1)}, 1}};
    chunk.keptForBackward = 100;
    chunk.keptForWeight = 10;
    chunk.transientBytes = 7;
    chunk.updateTransientBytes = 1000;
    chunk.stateBytes = {1, 2, 3, 4, 5};
  }
  account.chunks[0].updateTransientBytes = 50;
  account.fixedBytes = 20;
  Prediction prediction = predict(account);
  ASSERT_EQ(prediction.memory.size(), 2u);
  // The first stage holds two microbatches; the second needs most for its update.
  EXPECT_EQ(prediction.memory[0].activations, 220);
  EXPECT_EQ(prediction.memory[0].transient, 7);
  EXPECT_EQ(prediction.memory[0].total(), 15 + 220 + 7 + 20);
  EXPECT_EQ(prediction.memory[1].activations, 0);
  EXPECT_EQ(prediction.memory[1].transient, 1000);
  EXPECT_EQ(prediction.fullest, 1u);
}

/// A pipeline with everything: layers of several collectives, gathers, sums, an update that all
/// stages meet in, transfers between nodes.
StepAccount rich(int stages, int chunksPerRank, int microbatches, int dp, int tp) {
  StepAccount account = pipelineOf(chunksPerRank > 1 ? "interleaved" : "1f1b", stages,
                                   chunksPerRank, microbatches, {{"dp", dp}, {"tp", tp}});
  int64_t number = 0;
  for (Chunk &chunk : account.chunks) {
    ++number;
    Block layer{{gather(11, 1, Role::ParameterGather), work(100 + 7 * number), gather(13, 2),
                 work(50, Shape::Kind::Stream), work(3)},
                4};
    chunk.forward = chunk.backward = {layer};
    chunk.backward.push_back({{work(90), gather(40, 1, Role::GradientSum)}, 3});
    chunk.sums = {{{gather(500, 1, Role::GradientSum)}, 3}};
    chunk.update = {{{gather(5, 0), work(70 * number), gather(31, 1)}, 1}};
    chunk.forwardBytes = chunk.backwardBytes = 40;
  }
  return account;
}

Cluster levels() {
  Cluster cluster = picoseconds();
  cluster.levels[0].devices = 8;
  LinkLevel outer;
  outer.name = "outer";
  outer.bandwidth = 1e11;
  outer.sharedBandwidth = 4e11;
  outer.latency = 17e-12;
  cluster.levels.push_back(outer);
  cluster.device.hostSeconds = 9e-12;
  return cluster;
}

TEST(SimulateStep, SumsAreAmongTheEvents) {
  std::vector<Event> events;
  Simulation options;
  options.events = &events;
  predict(rich(2, 1, 4, 2, 2), levels(), options);
  for (int chunk : {0, 1}) {
    std::string number = std::to_string(chunk);
    auto sums = std::find_if(events.begin(), events.end(), [&](const Event &event) {
      return event.name == "sums of chunk " + number;
    });
    auto update = std::find_if(events.begin(), events.end(), [&](const Event &event) {
      return event.name == "update of chunk " + number;
    });
    ASSERT_NE(sums, events.end());
    ASSERT_NE(update, events.end());
    EXPECT_LT(sums->start, sums->end);
    EXPECT_EQ(sums->end, update->start);
  }
}

TEST(SimulateStep, RanksOneByOneAreTheSame) {
  struct Layout {
    int stages, chunksPerRank, microbatches, dp, tp;
  };
  for (Layout layout : {Layout{4, 1, 8, 4, 4},
                        {4, 2, 8, 8, 2},
                        {8, 3, 16, 2, 4},
                        {2, 1, 5, 32, 1},
                        {1, 1, 3, 8, 8},
                        {64, 1, 64, 1, 1}}) {
    StepAccount account =
        rich(layout.stages, layout.chunksPerRank, layout.microbatches, layout.dp, layout.tp);
    ASSERT_EQ(account.devices(), 64);
    Prediction folded = predict(account, levels());
    Simulation options;
    options.everyRank = true;
    Prediction unfolded = predict(account, levels(), options);
    EXPECT_EQ(folded.picoseconds, unfolded.picoseconds);
    EXPECT_EQ(folded.causes, unfolded.causes);
    EXPECT_EQ(folded.bytesByAxis, unfolded.bytesByAxis);
    ASSERT_EQ(unfolded.memory.size(), 64u);
    for (size_t rank = 0; rank < 64; ++rank)
      EXPECT_EQ(unfolded.memory[rank], folded.memory[rank / (64 / size_t(layout.stages))]);
  }
}

TEST(SimulateStep, ManyRanksTakeLittleTime) {
  auto secondsOf = [](auto &&run) {
    // Of the processor: others may be at work on the machine.
    std::clock_t start = std::clock();
    run();
    return double(std::clock() - start) / CLOCKS_PER_SEC;
  };
  StepAccount large = rich(64, 4, 512, 32, 8);
  ASSERT_EQ(large.devices(), 16384);
  EXPECT_LT(secondsOf([&] { predict(large, levels()); }), 2);
  StepAccount each = rich(16, 2, 64, 8, 8);
  ASSERT_EQ(each.devices(), 1024);
  Simulation options;
  options.everyRank = true;
  EXPECT_LT(secondsOf([&] { predict(each, levels(), options); }), 30);
}

TEST(SimulateStep, TracesAreJson) {
  EXPECT_EQ(
      writeTrace({{1, 2500000, 3500001, "F0.1"}, {0, 0, 1, "update of chunk 0"}}),
      "{\"traceEvents\": [\n"
      "{\"name\": \"F0.1\", \"ph\": \"X\", \"pid\": 0, \"tid\": 1, \"ts\": 2.500000, \"dur\": "
      "1.000001},\n"
      "{\"name\": \"update of chunk 0\", \"ph\": \"X\", \"pid\": 0, \"tid\": 0, \"ts\": "
      "0.000000, \"dur\": 0.000001}\n]}\n");
}

TEST(SimulateStep, ContradictionsAreErrors) {
  auto errorOf = [](const StepAccount &account) {
    std::string error;
    EXPECT_FALSE(simulateStep(account, picoseconds(), {}, error));
    return error;
  };
  StepAccount account = pipelineOf("1f1b", 2, 1, 4);
  account.axes[0].size = 3;
  EXPECT_EQ(errorOf(account),
            "a schedule of 2 chunks on 2 ranks does not fit 2 chunks on 3 stages");
  account = pipelineOf("1f1b", 2, 1, 4);
  account.axes.push_back({"dp", 0});
  EXPECT_EQ(errorOf(account), "axis 'dp' of size 0 makes no mesh of 1 to 16777216 devices");
  account = pipelineOf("1f1b", 2, 1, 4);
  account.schedule.ranks[0].pop_back();
  EXPECT_NE(errorOf(account), "");
  // A collective over stages to which only one comes.
  account = pipelineOf("1f1b", 2, 1, 4);
  account.chunks[0].update = {{{gather(1, 0)}, 1}};
  EXPECT_EQ(errorOf(account),
            "ranks wait for each other forever: not all members come to a collective");
}

} // namespace
