// What is pruned is never among the best.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Planner/Search.h"
#include "lib/Foundation/Planner/Bounds.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>

using namespace weft;
using namespace weft::planner;
using cost::Item;

namespace {

/// A made-up model of equal blocks: products that weights' axes divide, norms that sequence
/// parallelism divides, an all_reduce behind each product.
class MadeUp : public Models {
public:
  explicit MadeUp(std::mt19937_64 &random) {
    auto draw = [&](int64_t least, int64_t most) {
      return std::uniform_int_distribution<int64_t>(least, most)(random);
    };
    blocks = draw(1, 6) * 4;
    hidden = int64_t(64) << draw(2, 6);
    sequence = int64_t(64) << draw(0, 4);
    vocabulary = hidden * draw(1, 8);
    mostTensor = int64_t(1) << draw(0, 4);
    isTied = draw(0, 1) == 1;
  }

  MadeUp(std::mt19937_64 &random, int64_t mostTensor) : MadeUp(random) {
    this->mostTensor = mostTensor;
  }
  /// The same model, of which nothing was asked.
  MadeUp(const MadeUp &other)
      : blocks(other.blocks), hidden(other.hidden), sequence(other.sequence),
        vocabulary(other.vocabulary), mostTensor(other.mostTensor), isTied(other.isTied) {}

  int64_t blockCount() const { return blocks; }

  const ModelAccount *of(const Group &group, int64_t samples) override {
    ++asked;
    groups.insert(group);
    auto [found, isNew] = known.try_emplace({group, samples});
    if (isNew && group.tensor <= mostTensor)
      found->second = std::make_unique<ModelAccount>(make(group, samples));
    return found->second.get();
  }

  int64_t asked = 0;
  std::set<Group> groups; // asked for

private:
  static Item product(int64_t m, int64_t n, int64_t k) {
    cost::Work work;
    work.shape = {cost::Shape::Kind::Gemm, 1, m, n, k, false};
    work.arithmetic = Arithmetic::BF16;
    work.flops = 2 * m * n * k;
    work.bytesRead = 2 * (m * k + k * n);
    work.bytesWritten = 2 * m * n;
    return Item::of(work);
  }
  static Item stream(int64_t bytes) {
    cost::Work work;
    work.bytesRead = work.bytesWritten = bytes;
    return Item::of(work);
  }
  static Item sum(int64_t bytes) {
    cost::Communication communication;
    communication.bytes = bytes;
    communication.axes = {0};
    return Item::of(communication);
  }

  static Item exchange(runtime::CollectiveKind kind, cost::Role role, int64_t bytes) {
    cost::Communication communication;
    communication.kind = kind;
    communication.role = role;
    communication.bytes = bytes;
    return Item::of(communication);
  }
  static Item gather(int64_t bytes) {
    return exchange(runtime::CollectiveKind::AllGather, cost::Role::ParameterGather, bytes);
  }
  /// The gradient of so many parameters, added to those of other microbatches.
  static void addGradient(std::vector<Item> &items, Item product, int64_t parameters) {
    product.purpose = cost::Purpose::WeightGradient;
    Item sums =
        exchange(runtime::CollectiveKind::ReduceScatter, cost::Role::GradientSum, 4 * parameters);
    sums.purpose = cost::Purpose::WeightGradient;
    Item addition = stream(6 * parameters);
    addition.purpose = cost::Purpose::Accumulation;
    items.insert(items.end(), {product, sums, addition});
  }

  ModelAccount make(const Group &group, int64_t samples) const {
    int64_t tokens = samples * sequence, split = group.tensor;
    int64_t whole = 2 * tokens * hidden, part = group.sequenceParallel ? whole / split : whole;
    ModelAccount model;
    model.blocks = blocks;
    Share &block = model.block;
    int64_t matrix = 4 * hidden * hidden / split;
    block.forward = {gather(2 * matrix), stream(part), product(tokens, 4 * hidden / split, hidden),
                     gather(2 * matrix), product(tokens, hidden, 4 * hidden / split)};
    block.backward = {gather(2 * matrix), stream(2 * part),
                      product(tokens, 4 * hidden / split, hidden), gather(2 * matrix),
                      product(tokens, hidden, 4 * hidden / split)};
    if (split > 1) {
      block.forward.push_back(sum(whole));
      block.backward.push_back(sum(whole));
    }
    if (group.recompute != Recompute::None)
      block.backward.insert(block.backward.begin(), block.forward.begin(),
                            group.recompute == Recompute::Full ? block.forward.end()
                                                               : block.forward.begin() + 1);
    addGradient(block.backward, product(hidden, 4 * hidden / split, tokens), matrix);
    addGradient(block.backward, product(4 * hidden / split, hidden, tokens), matrix);
    fill(block, 2 * matrix);
    int64_t kept = group.recompute == Recompute::Full        ? part
                   : group.recompute == Recompute::Selective ? 2 * whole / split + part
                                                             : 4 * whole / split + part;
    block.keptForWeight = kept;
    model.before.forward = {gather(2 * vocabulary * hidden / split), stream(whole)};
    addGradient(model.before.backward, stream(2 * whole), vocabulary * hidden / split);
    fill(model.before, vocabulary * hidden / split);
    model.sharedBytes = isTied ? 2 * vocabulary * hidden / split : 0;
    model.behind.forward = {product(tokens, vocabulary / split, hidden)};
    model.behind.backward = {product(tokens, hidden, vocabulary / split)};
    addGradient(model.behind.backward, product(vocabulary / split, hidden, tokens), 1);
    model.behind.keptForBackward = 2 * tokens * vocabulary / split;
    fill(model.behind, 1);
    model.borderBytes = part;
    model.transientBytes = 4 * whole;
    return model;
  }

  static void fill(Share &share, int64_t parameters) {
    share.parameterBytes = {2 * parameters, 2};
    share.stateBytes = {2 * parameters, 4 * parameters, 0, 12 * parameters, 0};
    share.update = {stream(10 * parameters)};
  }

  int64_t blocks, hidden, sequence, vocabulary, mostTensor;
  bool isTied;
  std::map<std::pair<Group, int64_t>, std::unique_ptr<ModelAccount>> known;
};

Cluster clusterOf(std::mt19937_64 &random) {
  auto draw = [&](double least, double most) {
    return std::exp(
        std::uniform_real_distribution<double>(std::log(least), std::log(most))(random));
  };
  Cluster cluster;
  cluster.device.memoryBytes = draw(2e8, 8e10);
  cluster.device.memoryBandwidth = draw(1e11, 3e12);
  cluster.device.gapSeconds = draw(1e-7, 1e-5);
  for (ComputeRate &rate : cluster.device.rates)
    rate.flops = rate.vectorFlops = draw(1e12, 1e15);
  LinkLevel near{"near", int64_t(1) << int(draw(1, 9)), draw(1e9, 1e12), 1, draw(1e-7, 1e-4), 0};
  LinkLevel far{"far", 0, draw(1e8, 1e11), 1, draw(1e-7, 1e-4), 0};
  cluster.levels = {near, far};
  return cluster;
}

/// What fits into a cache is ten times as fast, as in what was measured on processors; memory is so
/// slow that it decides.
Cluster cachedOf(std::mt19937_64 &random) {
  Cluster cluster = clusterOf(random);
  double perByte = 1e3 / cluster.device.memoryBandwidth;
  cluster.device.streamPoints = {{1e5, 1e4 * perByte}, {1e6, 1e6 * perByte}};
  return cluster;
}

TEST(Search, PrunedIsExhaustive) {
  int found = 0, spared = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    Cluster cluster = seed % 3 == 1 ? cachedOf(random) : clusterOf(random);
    Space space;
    space.devices = int64_t(1) << (random() % 5);
    space.batch = int64_t(1) << (random() % 6 + 1);
    MadeUp pruned(random);
    MadeUp all = [&] {
      std::mt19937_64 again(seed);
      clusterOf(again);
      again();
      again();
      return MadeUp(again);
    }();
    space.blocks = pruned.blockCount();
    ASSERT_EQ(all.blockCount(), pruned.blockCount());
    Options options;
    options.deviceBytes = int64_t(cluster.device.usableBytes());
    options.wanted = 1 + random() % 8;
    options.objective = seed % 5 == 0 ? Objective::Memory : Objective::Time;
    Result fast = search(space, cluster, pruned, options);
    options.isExhaustive = true;
    Result slow = search(space, cluster, all, options);
    ASSERT_EQ(fast.best.size(), slow.best.size()) << seed;
    for (size_t i = 0; i < fast.best.size(); ++i) {
      EXPECT_EQ(fast.best[i].layout.text(), slow.best[i].layout.text()) << seed << " " << i;
      EXPECT_EQ(fast.best[i].prediction.picoseconds, slow.best[i].prediction.picoseconds) << seed;
    }
    EXPECT_TRUE(fast.isComplete);
    EXPECT_TRUE(slow.unpriced.empty()) << seed << ": " << slow.unpriced.begin()->first;
    EXPECT_LE(fast.simulated, slow.simulated);
    found += !fast.best.empty();
    spared += fast.simulated * 2 < slow.simulated;
  }
  // Not of problems without an answer, or without pruning.
  EXPECT_GT(found, 35);
  EXPECT_GT(spared, 20);
}

TEST(Search, BoundsAreBelowWhatIsSimulated) {
  int64_t close = 0, all = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    Cluster cluster = seed % 3 == 1 ? cachedOf(random) : clusterOf(random);
    Space space;
    space.devices = 8;
    space.batch = 16;
    MadeUp models(random);
    space.blocks = models.blockCount();
    Options options;
    options.deviceBytes = std::numeric_limits<int64_t>::max();
    options.wanted = size_t(space.layouts().size());
    options.isExhaustive = true;
    Bounds bounds(cluster, options);
    Result result = search(space, cluster, models, options);
    Unpriced unpriced;
    // There is none of groups that the model cannot have, and of schedules that do not fit.
    for (const Layout &layout : space.layouts())
      if (layout.schedule == "1f1b" && models.of(groupOf(layout), 1))
        ASSERT_TRUE(simulate(space, layout, cluster, models, options, unpriced))
            << seed << layout.text();
    EXPECT_TRUE(unpriced.empty());
    for (const Candidate &candidate : result.best) {
      const Layout &layout = candidate.layout;
      Known known;
      known.model =
          models.of(groupOf(layout), space.batch / layout.size(Role::Data) / layout.microbatches);
      int64_t time = bounds.time(layout, known), bytes = bounds.bytes(layout, known);
      ASSERT_LE(time, candidate.prediction.picoseconds) << seed << ' ' << layout.text();
      ASSERT_LE(bytes, candidate.bytes()) << seed << ' ' << layout.text();
      close += double(time) > 0.9 * double(candidate.prediction.picoseconds);
      ++all;
    }
  }
  // Not by being far below: links are slow in many of these clusters.
  EXPECT_GT(close * 4, all) << close << " of " << all;
}

Space spaceOf(const MadeUp &models, int64_t devices) {
  Space space;
  space.devices = devices;
  space.batch = 16;
  space.blocks = models.blockCount();
  return space;
}

/// Accounts take long to make. What two devices of a group send tells that many would send too
/// much.
TEST(Search, AsksOfFewDevicesFirst) {
  std::mt19937_64 random(1);
  Cluster cluster = clusterOf(random);
  cluster.levels = {{"near", 4, 1e12, 1, 1e-7, 0}, {"far", 0, 1e8, 1, 1e-4, 0}};
  auto isFar = [](const Group &group) { return group.tensor > 4; };
  for (int seed = 0; seed < 8; ++seed) {
    MadeUp models(random, /*mostTensor=*/16), same(models);
    Space space = spaceOf(models, 16);
    Options options;
    options.deviceBytes = int64_t(1) << 50;
    options.wanted = 4;
    Result found = search(space, cluster, models, options);
    EXPECT_TRUE(std::none_of(models.groups.begin(), models.groups.end(), isFar)) << seed;
    options.isExhaustive = true;
    Result slow = search(space, cluster, same, options);
    EXPECT_TRUE(std::any_of(same.groups.begin(), same.groups.end(), isFar)) << seed;
    ASSERT_FALSE(found.best.empty());
    EXPECT_EQ(found.best.front().layout.text(), slow.best.front().layout.text());
  }
}

TEST(Search, SaysWhatCannotBeSimulated) {
  constexpr int64_t kTooMany = int64_t(1) << 25;
  std::mt19937_64 random(5);
  Cluster cluster = clusterOf(random);
  MadeUp models(random);
  Space space = spaceOf(models, kTooMany);
  space.batch = kTooMany;
  space.allowedSizes[size_t(Role::Data)] = {kTooMany};
  Options options;
  options.deviceBytes = std::numeric_limits<int64_t>::max();
  Result result = search(space, cluster, models, options);
  EXPECT_TRUE(result.best.empty());
  ASSERT_EQ(result.unpriced.size(), 1u);
  EXPECT_NE(result.unpriced.begin()->first.find("of size 33554432 makes no mesh"),
            std::string::npos);
  EXPECT_EQ(result.unpriced.begin()->second.size(Role::Data), kTooMany);
  Unpriced unpriced;
  EXPECT_FALSE(
      simulate(space, result.unpriced.begin()->second, cluster, models, options, unpriced));
  EXPECT_EQ(unpriced, result.unpriced);
}

TEST(Search, SaysWhatNeedsLeast) {
  std::mt19937_64 random(3);
  Cluster cluster = clusterOf(random);
  MadeUp models(random);
  Space space = spaceOf(models, 4);
  Options options;
  options.deviceBytes = 1000;
  Result result = search(space, cluster, models, options);
  EXPECT_TRUE(result.best.empty());
  ASSERT_TRUE(result.smallest);
  EXPECT_GT(result.smallest->bytes(), 1000);
}

TEST(Search, OnlyASearchThatIsExhaustiveHasNoBudgetOfItsOwn) {
  Options options;
  EXPECT_EQ(options.mostSimulated(), Options::kBudget);
  options.isExhaustive = true;
  EXPECT_EQ(options.mostSimulated(), std::numeric_limits<int64_t>::max());
  options.budget = 3;
  EXPECT_EQ(options.mostSimulated(), 3);
}

TEST(Search, ABudgetThatEndsIsSaid) {
  std::mt19937_64 random(4);
  Cluster cluster = clusterOf(random);
  MadeUp models(random);
  Space space = spaceOf(models, 8);
  Options options;
  options.deviceBytes = int64_t(1) << 50;
  options.budget = 3;
  Result result = search(space, cluster, models, options);
  EXPECT_FALSE(result.isComplete);
  EXPECT_EQ(result.simulated, 3);
}

TEST(MemoryScales, WhatOneNeedsIsHeldAgainstThoseAlike) {
  Layout known, sameMesh, other, kind;
  known.sizes = sameMesh.sizes = other.sizes = {2, 1, 4};
  known.microbatches = sameMesh.microbatches = 8;
  sameMesh.schedule = "interleaved:2";
  other.microbatches = 4;
  kind.sizes = {1, 1, 8};
  MemoryScales scales;
  EXPECT_TRUE(scales.isEmpty());
  scales.note(known, 1.4);
  scales.note(known, 1.2);
  EXPECT_EQ(scales.of(known), 1.4);
  EXPECT_EQ(scales.of(sameMesh), 1.4);
  EXPECT_EQ(scales.of(other), 1);
  EXPECT_EQ(scales.of(kind), 1);
  // Where nothing else helped, against all of its kind.
  scales.isSpread = true;
  EXPECT_EQ(scales.of(other), 1.4);
  EXPECT_EQ(scales.of(kind), 1);
}

} // namespace
