// Accounts of many blocks from those of a few.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Planner/ModelAccount.h"
#include "weft/Cost/SimulateStep.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::planner;
using cost::Item;

namespace {

Item work(int64_t flops) {
  cost::Work work;
  work.flops = flops;
  return Item::of(work);
}

/// An embedding, `blocks` blocks of two kernels, a head; for microbatches of `size`.
Sample sampleOf(int64_t blocks, int64_t size = 1) {
  Sample sample;
  sample.blocks = blocks;
  auto list = [](std::vector<Item> items) { return cost::Blocks{{std::move(items), 1, false}}; };
  cost::Chunk &chunk = sample.chunk;
  std::vector<Item> forward{work(10 * size)}, backward{work(11 * size)}, update{work(7)};
  for (int64_t i = 0; i < blocks; ++i) {
    forward.push_back(work(3 * size));
    forward.push_back(work(4 * size));
    backward.push_back(work(6 * size));
    update.push_back(work(2));
  }
  forward.push_back(work(20 * size));
  backward.push_back(work(21 * size + 5));
  chunk.forward = list(forward);
  chunk.backward = list(backward);
  chunk.update = list(update);
  chunk.stateBytes[size_t(cost::StateClass::Parameter)] = 100 + 10 * blocks;
  chunk.stateBytes[size_t(cost::StateClass::Gradient)] = 200 + 20 * blocks;
  chunk.stateBytes[size_t(cost::StateClass::Optimizer)] = 400 + 40 * blocks;
  chunk.keptForBackward = size * (8 + 5 * blocks);
  sample.before = {60};
  sample.behind = {40};
  sample.within.assign(size_t(blocks), 10);
  sample.borderBytes = 16 * size;
  sample.outputBytes = 2 * size;
  return sample;
}

int64_t flopsOf(const cost::Blocks &blocks) {
  int64_t flops = 0;
  for (const cost::Block &block : blocks)
    for (const Item &item : block.items)
      flops += block.count * item.count * item.work.flops;
  return flops;
}

int64_t state(const cost::Chunk &chunk, cost::StateClass kind) {
  return chunk.stateBytes[size_t(kind)];
}

TEST(ModelAccounts, OfManyBlocksAreThoseOfAll) {
  ModelAccount model = modelOf(sampleOf(2), sampleOf(3), 12);
  std::string error;
  auto account = assemble(model, {}, {}, error);
  ASSERT_TRUE(account) << error;
  const cost::Chunk &whole = account->chunks.front(), &expected = sampleOf(12).chunk;
  EXPECT_EQ(flopsOf(whole.forward), flopsOf(expected.forward));
  EXPECT_EQ(flopsOf(whole.backward), flopsOf(expected.backward));
  EXPECT_EQ(flopsOf(whole.update), flopsOf(expected.update));
  EXPECT_EQ(whole.stateBytes[0], expected.stateBytes[0]);
  EXPECT_EQ(whole.keptForBackward, expected.keptForBackward);
}

TEST(ModelAccounts, OfOtherMicrobatchesAreLines) {
  for (int64_t size : {1, 2, 8, 32}) {
    auto fewer = scaled(sampleOf(2, 2), 2, sampleOf(2, 4), 4, size),
         more = scaled(sampleOf(3, 2), 2, sampleOf(3, 4), 4, size);
    ASSERT_TRUE(fewer && more);
    std::string error;
    auto account = assemble(modelOf(*fewer, *more, 5), {}, {}, error);
    EXPECT_EQ(flopsOf(account->chunks[0].forward), flopsOf(sampleOf(5, size).chunk.forward));
    EXPECT_EQ(flopsOf(account->chunks[0].backward), flopsOf(sampleOf(5, size).chunk.backward));
    EXPECT_EQ(account->chunks[0].keptForBackward, sampleOf(5, size).chunk.keptForBackward);
  }
  // Programs that do not do the same have no line.
  EXPECT_FALSE(scaled(sampleOf(2, 2), 2, sampleOf(3, 4), 4, 8));
}

/// Two equal matrices a block, each gathered in front of its product; gradients of 100 bytes each
/// behind theirs, which are added up.
Sample replicasOf(int64_t blocks) {
  auto exchange = [](runtime::CollectiveKind kind, cost::Role role) {
    return Item::of(cost::Communication{kind, role, 100, {}});
  };
  auto of = [](Item item, cost::Purpose purpose) {
    item.purpose = purpose;
    return item;
  };
  Item gather = exchange(runtime::CollectiveKind::AllGather, cost::Role::ParameterGather),
       sum = of(exchange(runtime::CollectiveKind::ReduceScatter, cost::Role::GradientSum),
                cost::Purpose::WeightGradient);
  cost::Block forward, backward;
  for (int64_t flops : {3, 4})
    forward.items.insert(forward.items.end(), {gather, work(flops)});
  for (int64_t flops : {6, 8})
    backward.items.insert(backward.items.end(),
                          {gather, work(flops), of(work(flops + 1), cost::Purpose::WeightGradient),
                           sum, of(work(80), cost::Purpose::Accumulation)});
  forward.count = backward.count = blocks;
  Sample sample;
  sample.blocks = blocks;
  sample.chunk.forward = {forward};
  sample.chunk.backward = {backward};
  sample.within.assign(size_t(2 * blocks), 100);
  sample.chunk.stateBytes[size_t(cost::StateClass::Gradient)] = 200 * blocks;
  return sample;
}

/// `G` a gather, `S100` a sum of so many bytes, else operations.
std::string lineOf(const cost::Blocks &blocks) {
  std::string line;
  for (const cost::Block &block : blocks) {
    line += std::to_string(block.count) + "(";
    for (const Item &item : block.items)
      for (int64_t i = 0; i < item.count; ++i)
        line += (line.back() == '(' ? "" : " ") +
                (item.isWork ? std::to_string(item.work.flops)
                 : item.communication.role == cost::Role::ParameterGather
                     ? "G"
                     : "S" + std::to_string(item.communication.bytes));
    line += ")";
  }
  return line;
}

cost::Chunk replicas(int64_t zero, int64_t microbatches, int64_t bucketBytes = 100,
                     const char *schedule = nullptr) {
  Layout layout;
  layout.size(Role::Data) = 4;
  layout.zero = zero;
  layout.microbatches = microbatches;
  if (schedule) {
    layout.size(Role::Stages) = 2;
    layout.schedule = schedule;
  }
  std::string error;
  auto account = assemble(modelOf(replicasOf(2), replicasOf(3), 8), layout, {bucketBytes}, error);
  EXPECT_TRUE(account) << error;
  return account ? account->chunks.front() : cost::Chunk();
}

TEST(ModelAccounts, ReplicasExchangeWhereTheirProgramDoes) {
  // A gather in front of each product, a sum behind each gradient, of which each adds up its part.
  cost::Chunk three = replicas(3, 2);
  EXPECT_EQ(lineOf(three.forward), "8(G 3 G 4)");
  EXPECT_EQ(lineOf(three.backward), "8(G 6 7 S100 7 G 8 9 S100 7)");
  EXPECT_EQ(lineOf(replicas(2, 2).backward), "8(6 7 S100 7 8 9 S100 7)");
  // Of one microbatch nothing is added up; with less of ZeRO all of it by everybody.
  EXPECT_EQ(lineOf(replicas(2, 1).backward), "8(6 7 S100 8 9 S100)");
  EXPECT_EQ(lineOf(replicas(1, 2).backward), "8(6 7 80 8 9 80)");
  EXPECT_EQ(lineOf(replicas(0, 1).backward), "8(6 7 8 9)");
  // Messages of a block, of several blocks, and what is left.
  EXPECT_EQ(lineOf(replicas(2, 1, 150).backward), "8(6 7 8 9 S200)");
  EXPECT_EQ(lineOf(replicas(2, 1, 500).backward),
            "3(6 7 8 9)1(S600)3(6 7 8 9)1(S600)2(6 7 8 9)1(S400)");
  // A schedule may put gradients of weights off, with their sums.
  cost::Chunk apart = replicas(3, 4, 100, "zb-h1");
  EXPECT_EQ(lineOf(apart.backward), "4(G 6 G 8)");
  EXPECT_EQ(lineOf(apart.weight), "4(7 S100 7 9 S100 7)");
  EXPECT_EQ(lineOf(replicas(3, 4, 100, "1f1b").backward), "4(G 6 7 S100 7 G 8 9 S100 7)");
}

TEST(ModelAccounts, BlocksAreInTheirOrderHoweverManyThereAre) {
  // Behind the blocks, and so first on the way back, is one more of what each block has twice.
  auto sampleOf = [](int64_t blocks) {
    Sample sample = replicasOf(blocks);
    cost::Chunk &chunk = sample.chunk;
    cost::Block head{{chunk.forward.front().items.front(), work(9)}, 1, false};
    chunk.forward.push_back(head);
    chunk.backward.insert(chunk.backward.begin(), head);
    return sample;
  };
  Layout layout;
  layout.size(Role::Data) = 4;
  layout.zero = 3;
  std::string error;
  for (int64_t blocks : {2, 3, 4}) {
    auto account =
        assemble(modelOf(sampleOf(blocks), sampleOf(blocks + 1), 8), layout, {100}, error);
    ASSERT_TRUE(account) << error;
    const cost::Chunk &chunk = account->chunks.front();
    EXPECT_NE(lineOf(chunk.forward).find("8(G 3 G 4)"), std::string::npos) << lineOf(chunk.forward);
    EXPECT_NE(lineOf(chunk.backward).find("8(G 6 7 S100 G 8 9 S100)"), std::string::npos)
        << lineOf(chunk.backward);
  }
}

/// Operations that add a gradient of 120 bytes to another.
constexpr int64_t kAdding = 30;

ModelAccount tiedModel() {
  ModelAccount model = modelOf(sampleOf(2), sampleOf(3), 8);
  model.sharedBytes = 60;
  return model;
}

Layout twoStages() {
  Layout layout;
  layout.size(Role::Stages) = 2;
  layout.microbatches = 4;
  return layout;
}

TEST(ModelAccounts, StagesShareTheBlocks) {
  Layout four;
  four.size(Role::Stages) = 4;
  EXPECT_EQ(blocksOfChunks(8, four, {}), (std::vector<int64_t>{2, 2, 2, 2}));
  // What stands behind takes as long as two blocks.
  EXPECT_EQ(blocksOfChunks(10, four, {0, 0, 2}), (std::vector<int64_t>{3, 3, 3, 1}));
  four.schedule = "zb-v";
  EXPECT_EQ(blocksOfChunks(10, four, {0, 1, 0}), (std::vector<int64_t>{1, 2, 2, 1, 1, 1, 1, 1}));
  ModelAccount model = tiedModel();
  Layout layout = twoStages();
  std::string error;
  auto account = assemble(model, layout, {}, error);
  ASSERT_TRUE(account) << error;
  const cost::Chunk &first = account->chunks[0], &last = account->chunks[1];
  EXPECT_EQ(flopsOf(first.forward), 10 + 4 * 7);
  EXPECT_EQ(flopsOf(last.forward), 20 + 4 * 7);
  EXPECT_EQ(flopsOf(first.backward), 26 + 4 * 6);
  EXPECT_EQ(flopsOf(last.backward), 11 + 4 * 6 + kAdding);
  EXPECT_EQ(first.forwardBytes, 16);
  EXPECT_EQ(last.forwardBytes, 0);
  // Of more stages those between have a part in it, too: nobody waits for ever.
  layout.size(Role::Stages) = 4;
  auto longer = assemble(model, layout, {}, error);
  ASSERT_TRUE(longer) << error;
  EXPECT_TRUE(cost::simulateStep(*longer, Cluster::standard(), {}, error)) << error;
  // Both hold the tied embedding.
  EXPECT_EQ(state(first, cost::StateClass::Parameter), 60 + 40);
  EXPECT_EQ(state(last, cost::StateClass::Parameter), 40 + 40 + 60);
}

TEST(ModelAccounts, ChunksShareTheBlocks) {
  ModelAccount model = tiedModel();
  Layout layout = twoStages();
  std::string error;
  auto chunksOf = [&](const char *schedule) {
    layout.schedule = schedule;
    auto account = assemble(model, layout, {}, error);
    EXPECT_TRUE(account) << error;
    EXPECT_TRUE(cost::simulateStep(*account, Cluster::standard(), {}, error)) << error;
    return account->chunks;
  };
  auto onceOf = [](const cost::Chunk &chunk) { return lineOf({chunk.update.front()}); };
  // Round and round: from stage to stage between all of them, and the table is on both.
  std::vector<cost::Chunk> chunks = chunksOf("interleaved:2");
  ASSERT_EQ(chunks.size(), 4u);
  EXPECT_EQ(flopsOf(chunks[0].forward), 10 + 2 * 7);
  EXPECT_EQ(flopsOf(chunks[1].forward), 2 * 7);
  EXPECT_EQ(flopsOf(chunks[3].forward), 20 + 2 * 7);
  for (int chunk : {0, 1, 2, 3}) {
    EXPECT_EQ(chunks[chunk].forwardBytes, chunk < 3 ? 16 : 0) << chunk;
    EXPECT_EQ(chunks[chunk].backwardBytes, chunk > 0 ? 16 : 0) << chunk;
  }
  EXPECT_EQ(state(chunks[3], cost::StateClass::Parameter), 20 + 40 + 60);
  // Once a step each stage comes to what crosses, whatever chunks it has.
  EXPECT_EQ(onceOf(chunks[0]), "1(S120 30 S120)");
  EXPECT_EQ(onceOf(chunks[1]), "1(S120 S120)");
  for (int chunk : {2, 3})
    EXPECT_EQ(lineOf(chunks[chunk].update).find('S'), std::string::npos) << chunk;
  // There and back: what turns does not cross, and the stage that has both ends has one table.
  chunks = chunksOf("dualpipev");
  EXPECT_EQ(chunks[0].forwardBytes, 16);
  EXPECT_EQ(chunks[1].forwardBytes, 0);
  EXPECT_EQ(chunks[2].forwardBytes, 16);
  EXPECT_EQ(chunks[2].backwardBytes, 0);
  EXPECT_EQ(chunks[3].backwardBytes, 16);
  EXPECT_EQ(state(chunks[3], cost::StateClass::Parameter), 20 + 40);
  EXPECT_EQ(onceOf(chunks[0]), "1(30)");
  for (int chunk : {1, 2, 3})
    EXPECT_EQ(lineOf(chunks[chunk].update).find('S'), std::string::npos) << chunk;
}

TEST(ModelAccounts, WhatTheFirstAndTheLastReadHasTwoSums) {
  ModelAccount model = modelOf(sampleOf(2), sampleOf(3), 8), alone = model;
  model.sharedBytes = 60;
  auto chunksOf = [](const ModelAccount &model, int64_t stages, int64_t microbatches,
                     int64_t zero = 0) {
    Layout layout;
    layout.size(Role::Stages) = stages;
    layout.size(Role::Data) = 2;
    layout.microbatches = microbatches;
    layout.zero = zero;
    std::string error;
    auto account = assemble(model, layout, {}, error);
    EXPECT_TRUE(account) << error;
    return account->chunks;
  };
  auto onceOf = [](const cost::Chunk &chunk) { return lineOf({chunk.update.front()}); };
  auto gradientOf = [](const cost::Chunk &chunk) {
    return state(chunk, cost::StateClass::Gradient);
  };
  // Each adds its own up, and once a step the last one's is added to the first one's.
  std::vector<cost::Chunk> two = chunksOf(model, 2, 4), apart = chunksOf(alone, 2, 4);
  EXPECT_EQ(two[1].backwardBytes, 16);
  EXPECT_EQ(onceOf(two[0]), "1(S120 30 S120)");
  EXPECT_EQ(onceOf(two[1]), "1(S120 S120)");
  EXPECT_EQ(flopsOf(two[1].backward) - flopsOf(apart[1].backward), kAdding);
  EXPECT_EQ(gradientOf(two[1]) - gradientOf(apart[1]), 120);
  // What is before the blocks may accumulate more, such as what devices have yet to add up: that
  // does not cross.
  ModelAccount more = model;
  more.before.stateBytes[size_t(cost::StateClass::Gradient)] *= 3;
  EXPECT_EQ(onceOf(chunksOf(more, 2, 4)[1]), "1(S120 S120)");
  // One stage has both sums, of which replicas add up one.
  cost::Chunk whole = chunksOf(model, 1, 4).front(), one = chunksOf(alone, 1, 4).front();
  EXPECT_EQ(onceOf(whole), "1(30)");
  EXPECT_EQ(flopsOf(whole.backward) - flopsOf(one.backward), kAdding);
  EXPECT_EQ(gradientOf(whole) - gradientOf(one), 120);
  EXPECT_EQ(lineOf(whole.sums), lineOf(one.sums));
  // In one microbatch, or reduced in each, it is one sum: what the last one makes goes with that.
  for (auto [microbatches, zero, sent] : {std::tuple(1, 0, 120), std::tuple(4, 2, 60)}) {
    two = chunksOf(model, 2, microbatches, zero);
    EXPECT_EQ(two[1].backwardBytes, 16 + 120);
    for (const cost::Chunk &chunk : two)
      EXPECT_EQ(onceOf(chunk), "1(S" + std::to_string(sent) + ")");
    EXPECT_EQ(gradientOf(chunksOf(model, 1, microbatches, zero).front()),
              gradientOf(chunksOf(alone, 1, microbatches, zero).front()));
  }
}

TEST(ModelAccounts, ZeroSplitsState) {
  ModelAccount model = modelOf(sampleOf(2), sampleOf(3), 8);
  Layout layout;
  layout.size(Role::Data) = 4;
  std::string error;
  struct Expected {
    int64_t parameters, gradients, optimizer;
    size_t sums;
  };
  // 180 bytes of parameters, 360 of gradients, 720 of the optimizer.
  const Expected expected[] = {
      {180, 360, 720, 1}, {180, 360, 180, 1}, {180, 90, 180, 0}, {45, 90, 180, 0}};
  for (layout.zero = 0; layout.zero <= 3; ++layout.zero) {
    auto account = assemble(model, layout, {}, error);
    ASSERT_TRUE(account) << error;
    const cost::Chunk &chunk = account->chunks.front();
    const Expected &is = expected[layout.zero];
    EXPECT_EQ(state(chunk, cost::StateClass::Parameter), is.parameters) << layout.zero;
    EXPECT_EQ(state(chunk, cost::StateClass::Gradient), is.gradients) << layout.zero;
    EXPECT_EQ(state(chunk, cost::StateClass::Optimizer), is.optimizer) << layout.zero;
    EXPECT_EQ(chunk.sums.size(), is.sums) << layout.zero;
  }
}

} // namespace
