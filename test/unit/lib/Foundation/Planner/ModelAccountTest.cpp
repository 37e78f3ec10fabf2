// Accounts of many blocks from those of a few.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Planner/ModelAccount.h"

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
  ModelAccount small = modelOf(sampleOf(2, 2), sampleOf(3, 2), 5),
               large = modelOf(sampleOf(2, 4), sampleOf(3, 4), 5);
  for (int64_t size : {1, 2, 8, 32}) {
    auto model = scaled(small, 2, large, 4, size);
    ASSERT_TRUE(model);
    std::string error;
    auto account = assemble(*model, {}, {}, error);
    EXPECT_EQ(flopsOf(account->chunks[0].forward), flopsOf(sampleOf(5, size).chunk.forward));
    EXPECT_EQ(flopsOf(account->chunks[0].backward), flopsOf(sampleOf(5, size).chunk.backward));
    EXPECT_EQ(account->chunks[0].keptForBackward, sampleOf(5, size).chunk.keptForBackward);
  }
  // Programs that do not do the same have no line.
  EXPECT_FALSE(scaled(small, 2, modelOf(sampleOf(2, 4)), 4, 8));
}

TEST(ModelAccounts, StagesShareTheBlocks) {
  EXPECT_EQ(blocksOfStages(8, 4, 0, 0), (std::vector<int64_t>{2, 2, 2, 2}));
  // What stands behind takes as long as two blocks.
  EXPECT_EQ(blocksOfStages(10, 4, 0, 2), (std::vector<int64_t>{3, 3, 3, 1}));
  ModelAccount model = modelOf(sampleOf(2), sampleOf(3), 8);
  model.sharedBytes = 60;
  Layout layout;
  layout.size(Role::Stages) = 2;
  layout.microbatches = 4;
  std::string error;
  auto account = assemble(model, layout, {}, error);
  ASSERT_TRUE(account) << error;
  const cost::Chunk &first = account->chunks[0], &last = account->chunks[1];
  EXPECT_EQ(flopsOf(first.forward), 10 + 4 * 7);
  EXPECT_EQ(flopsOf(last.forward), 20 + 4 * 7);
  EXPECT_EQ(flopsOf(first.backward), 26 + 4 * 6);
  EXPECT_EQ(flopsOf(last.backward), 11 + 4 * 6);
  EXPECT_EQ(first.forwardBytes, 16);
  EXPECT_EQ(last.forwardBytes, 0);
  EXPECT_EQ(last.backwardBytes, 16);
  // Both hold the tied embedding.
  EXPECT_EQ(state(first, cost::StateClass::Parameter), 60 + 40);
  EXPECT_EQ(state(last, cost::StateClass::Parameter), 40 + 40 + 60);
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
