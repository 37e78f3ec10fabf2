// The account of a step from that of a model and a layout.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Planner/ModelAccount.h"

#include "weft/Pipeline/Generate.h"

#include <algorithm>
#include <numeric>
#include <utility>

using namespace weft;
using namespace weft::planner;
using cost::Communication;
using cost::Item;
using runtime::CollectiveKind;

namespace {

int64_t positionOf(const std::vector<cost::Axis> &axes, Role role) {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == nameOf(role))
      return int64_t(i);
  return -1;
}

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t sumOf(const std::vector<int64_t> &values) {
  return std::accumulate(values.begin(), values.end(), int64_t(0));
}

cost::Work partOf(cost::Work whole, int64_t parts) {
  whole.flops = ceilDiv(whole.flops, parts);
  whole.bytesRead = ceilDiv(whole.bytesRead, parts);
  whole.bytesWritten = ceilDiv(whole.bytesWritten, parts);
  return whole;
}

/// In messages of a bucket each.
Messages inBuckets(CollectiveKind kind, int64_t bytes, int64_t bucketBytes) {
  int64_t count = bytes == 0 ? 0 : bucketBytes > 0 ? ceilDiv(bytes, bucketBytes) : 1;
  return {kind, count == 0 ? 0 : ceilDiv(bytes, count), count};
}

class Assembler {
public:
  Assembler(const ModelAccount &model, const Layout &layout, const Assembly &options)
      : model(model), shared(sharedOf(model)), layout(layout), options(options),
        data(layout.size(Role::Data)),
        sharedGradient(shared.stateBytes[size_t(cost::StateClass::Gradient)]),
        accumulatesApart(layout.microbatches > 1 && (layout.zero < 2 || data == 1)) {}

  std::optional<cost::StepAccount> run(std::string &error) {
    for (Role role : layout.order)
      if (layout.size(role) > 1)
        account.axes.push_back({nameOf(role), layout.size(role)});
    dataAxis = int32_t(positionOf(account.axes, Role::Data));
    tensorAxis = int32_t(positionOf(account.axes, Role::Tensor));
    account.stages = int32_t(positionOf(account.axes, Role::Stages));
    int64_t stages = layout.size(Role::Stages);
    if (!setSchedule(stages, error))
      return std::nullopt;
    for (const pipeline::Action &action : account.schedule.ranks.front())
      putsOff |= action.kind == pipeline::Kind::Weight;
    std::vector<int64_t> counts = blocksOfChunks(model.blocks, layout, options);
    for (size_t number = 0; number < counts.size(); ++number)
      account.chunks.push_back(chunkOf(number, counts[number]));
    return std::move(account);
  }

private:
  bool setSchedule(int64_t stages, std::string &error) {
    if (stages == 1) {
      account.schedule = pipeline::withoutStages(layout.microbatches);
      return true;
    }
    std::optional<pipeline::Schedule> made =
        pipeline::makeSchedule(layout.schedule, stages, layout.microbatches, error);
    if (made)
      account.schedule = std::move(*made);
    return made.has_value();
  }

  /// A part of the chunk, so many times.
  struct Piece {
    const Share *share;
    int64_t count;
  };

  /// Whether the first chunk and the last are on one stage.
  bool isRound() const { return account.schedule.place.front() == account.schedule.place.back(); }

  cost::Chunk chunkOf(size_t number, int64_t count) {
    const std::vector<int32_t> &place = account.schedule.place;
    bool isFirst = number == 0, isLast = number + 1 == place.size();
    std::vector<Piece> pieces;
    if (isFirst)
      pieces.push_back({&model.before, 1});
    pieces.push_back({&model.block, count});
    if (isLast && !isRound())
      pieces.push_back({&shared, 1});
    if (isLast)
      pieces.push_back({&model.behind, 1});
    cost::Chunk chunk;
    for (const Piece &piece : pieces) {
      addPass(chunk.forward, piece, piece.share->forward, Part::All);
      addWork(chunk.update, piece);
      addState(chunk, piece);
    }
    std::reverse(pieces.begin(), pieces.end());
    for (const Piece &piece : pieces) {
      addPass(chunk.backward, piece, piece.share->backward, putsOff ? Part::Inputs : Part::All);
      if (putsOff)
        addPass(chunk.weight, piece, piece.share->backward, Part::Weights);
    }
    if (data > 1)
      addMessages(chunk);
    splitState(chunk);
    auto crossesTo = [&](size_t other) { return place[number] != place[other]; };
    chunk.forwardBytes = !isLast && crossesTo(number + 1) ? model.borderBytes : 0;
    chunk.backwardBytes = !isFirst && crossesTo(number - 1) ? model.borderBytes : 0;
    if (sharedGradient > 0)
      addShared(chunk, number);
    chunk.transientBytes = model.transientBytes;
    chunk.updateTransientBytes = model.updateTransientBytes * (count + 1) / (model.blocks + 1);
    // What is made for gradients of weights is alive for a block only, unless they are put off.
    if (!putsOff)
      chunk.transientBytes += model.block.madeForWeight;
    if (layout.zero == 3 && data > 1)
      chunk.transientBytes += 2 * sumOf(model.block.parameterBytes);
    // Results of all microbatches stay.
    if (isLast)
      chunk.stateBytes[size_t(cost::StateClass::Other)] += model.outputBytes * layout.microbatches;
    return chunk;
  }

  /// What is read before the blocks and behind them has its gradient from both. Over microbatches
  /// these addends are accumulated apart and added once a step
  /// (passes/dist/partition/FarAddends.h), unless their sum is reduced in every microbatch. To the
  /// stage of the first chunk goes what the last one's has, if that is another, and back what the
  /// sum comes to; once a step all stages come to that, as to a collective.
  void addShared(cost::Chunk &chunk, size_t number) const {
    const std::vector<int32_t> &place = account.schedule.place;
    bool isFirst = number == 0, isLast = number + 1 == place.size();
    auto here = place.begin() + std::ptrdiff_t(number);
    bool isFirstOfStage = std::find(place.begin(), here, *here) == here;
    std::vector<Item> once;
    auto send = [&](int64_t bytes, int32_t from, int32_t to) {
      if (!isFirstOfStage)
        return;
      Communication sum;
      sum.kind = CollectiveKind::Send;
      sum.bytes = bytes;
      sum.axes = {account.stages};
      if (place[number] == from)
        sum.targets = {to};
      once.push_back(Item::of(std::move(sum)));
    };
    bool isWhole = isRound();
    if (accumulatesApart && isLast) {
      cost::Blocks &gradients = putsOff ? chunk.weight : chunk.backward;
      gradients.insert(gradients.begin(), {{Item::of(accumulationOf(sharedGradient))}, 1, false});
    }
    if (accumulatesApart && isWhole && isLast)
      chunk.stateBytes[size_t(cost::StateClass::Gradient)] += sharedGradient;
    if (accumulatesApart && !isWhole)
      send(sharedGradient, place.back(), place.front());
    if (accumulatesApart && isFirst)
      once.push_back(Item::of(accumulationOf(sharedGradient)));
    if (!accumulatesApart && isLast && !isWhole)
      chunk.backwardBytes += sharedGradient;
    if (!isWhole)
      send(layout.zero >= 1 ? ceilDiv(sharedGradient, data) : sharedGradient, place.front(),
           place.back());
    if (!once.empty())
      chunk.update.insert(chunk.update.begin(), {std::move(once), 1, false});
  }

  Communication over(CollectiveKind kind, cost::Role role, int64_t bytes) const {
    Communication communication;
    communication.kind = kind;
    communication.role = role;
    communication.bytes = bytes;
    communication.axes = {dataAxis};
    return communication;
  }

  /// Items of a pass: all, or gradients of inputs and of weights apart.
  enum class Part { All, Inputs, Weights };

  void addPass(cost::Blocks &blocks, const Piece &piece, const std::vector<Item> &items,
               Part part) const {
    EachSum sums;
    bool sumsEach = layout.zero >= 2 && data > 1 && part != Part::Inputs;
    if (sumsEach)
      sums = eachSumOf(items, options.bucketBytes);
    cost::Block block;
    size_t sum = 0;
    for (const Item &item : items) {
      bool isOfWeights = item.purpose != cost::Purpose::Pass;
      if (part != Part::All && isOfWeights != (part == Part::Weights))
        continue;
      if (!isOfReplicas(item))
        addItem(block, item);
      else if (item.communication.role == cost::Role::ParameterGather)
        addGather(block, item);
      else
        for (int64_t i = 0; i < item.count && sumsEach; ++i) {
          if (sum < sums.within.size())
            addSum(block, sums.within[sum++]);
          if (layout.microbatches > 1)
            block.items.push_back(Item::of(partOf(accumulationOf(item.communication.bytes), data)));
        }
    }
    for (int64_t left = piece.count; left > 0; left -= block.count) {
      block.count = sums.passes > 0 ? std::min(left, sums.passes) : left;
      if (!block.items.empty())
        blocks.push_back(block);
      if (sums.passes > 0)
        addSum(blocks.emplace_back(), sums.bytesOfPass * block.count);
    }
  }

  void addItem(cost::Block &block, Item item) const {
    if (!item.isWork)
      item.communication.axes = {tensorAxis};
    // Who has a part of each sum adds that up instead.
    if (item.purpose == cost::Purpose::Accumulation &&
        (layout.microbatches == 1 || layout.zero >= 2))
      return;
    block.items.push_back(std::move(item));
  }

  void addGather(cost::Block &block, const Item &gather) const {
    if (layout.zero == 3 && data > 1)
      block.items.push_back(Item::of(
          over(CollectiveKind::AllGather, cost::Role::ParameterGather, gather.communication.bytes),
          gather.count));
  }

  void addSum(cost::Block &block, int64_t bytes) const {
    if (bytes > 0)
      block.items.push_back(
          Item::of(over(CollectiveKind::ReduceScatter, cost::Role::GradientSum, bytes)));
  }

  void addWork(cost::Blocks &update, const Piece &piece) const {
    cost::Block block;
    block.count = piece.count;
    for (Item item : piece.share->update) {
      item.work = updateOf(item.work, layout);
      addItem(block, std::move(item));
    }
    if (!block.items.empty() && block.count > 0)
      update.push_back(std::move(block));
  }

  static void addState(cost::Chunk &chunk, const Piece &piece) {
    for (size_t i = 0; i < cost::kStateClassCount; ++i)
      chunk.stateBytes[i] += piece.count * piece.share->stateBytes[i];
    chunk.keptForBackward += piece.count * piece.share->keptForBackward;
    chunk.keptForWeight += piece.count * piece.share->keptForWeight;
    chunk.madeForWeight += piece.count * piece.share->madeForWeight;
  }

  void addMessages(cost::Blocks &blocks, cost::Role role, const Messages &messages) const {
    if (messages.count == 0)
      return;
    cost::Block block;
    block.items.push_back(Item::of(over(messages.kind, role, messages.bytes), messages.count));
    blocks.push_back(std::move(block));
  }

  /// Once a step.
  void addMessages(cost::Chunk &chunk) const {
    auto bytesOf = [&](cost::StateClass kind) { return chunk.stateBytes[size_t(kind)]; };
    addMessages(chunk.sums, cost::Role::GradientSum,
                sumsOf(layout, bytesOf(cost::StateClass::Gradient), options.bucketBytes));
    addMessages(
        chunk.update, cost::Role::Exposed,
        gathersBehindUpdate(layout, bytesOf(cost::StateClass::Parameter), options.bucketBytes));
  }

  void splitState(cost::Chunk &chunk) const {
    auto divide = [&](cost::StateClass kind, int64_t from) {
      if (layout.zero >= from)
        chunk.stateBytes[size_t(kind)] = ceilDiv(chunk.stateBytes[size_t(kind)], data);
    };
    // Inputs, of the whole batch.
    divide(cost::StateClass::Other, 0);
    divide(cost::StateClass::Optimizer, 1);
    divide(cost::StateClass::Master, 1);
    divide(cost::StateClass::Gradient, 2);
    divide(cost::StateClass::Parameter, 3);
  }

  const ModelAccount &model;
  Share shared;
  const Layout &layout;
  const Assembly &options;
  int64_t data;
  int64_t sharedGradient; // bytes
  bool accumulatesApart;  // its addends
  int32_t dataAxis = -1, tensorAxis = -1;
  bool putsOff = false; // gradients of weights
  cost::StepAccount account;
};

} // namespace

bool planner::isOfReplicas(const Item &item) {
  return !item.isWork && item.communication.axes.empty();
}

Messages planner::sumsOf(const Layout &layout, int64_t gradientBytes, int64_t bucketBytes) {
  bool areLast = layout.size(Role::Data) > 1 && layout.zero < 2;
  return inBuckets(layout.zero == 0 ? CollectiveKind::AllReduce : CollectiveKind::ReduceScatter,
                   areLast ? gradientBytes : 0, bucketBytes);
}

EachSum planner::eachSumOf(const std::vector<Item> &pass, int64_t bucketBytes) {
  std::vector<int64_t> gradients;
  for (const Item &item : pass)
    if (isOfReplicas(item) && item.communication.role == cost::Role::GradientSum)
      gradients.insert(gradients.end(), size_t(item.count), item.communication.bytes);
  EachSum sums;
  int64_t all = sumOf(gradients);
  if (all < bucketBytes) {
    sums.bytesOfPass = all;
    sums.passes = all > 0 ? ceilDiv(bucketBytes, all) : 0;
    return sums;
  }
  int64_t open = 0;
  std::optional<size_t> first;
  for (int64_t bytes : gradients) {
    open += bytes;
    sums.within.push_back(open >= bucketBytes ? std::exchange(open, 0) : 0);
    if (!first && sums.within.back() > 0)
      first = sums.within.size() - 1;
  }
  // What the pass before has left goes with what is first.
  if (first)
    sums.within[*first] += open;
  return sums;
}

Messages planner::gathersBehindUpdate(const Layout &layout, int64_t parameterBytes,
                                      int64_t bucketBytes) {
  bool gathers = layout.size(Role::Data) > 1 && (layout.zero == 1 || layout.zero == 2);
  return inBuckets(CollectiveKind::AllGather, gathers ? parameterBytes : 0, bucketBytes);
}

cost::Work planner::updateOf(cost::Work whole, const Layout &layout) {
  return partOf(whole, layout.zero >= 1 ? layout.size(Role::Data) : 1);
}

cost::Work planner::accumulationOf(int64_t gradientBytes) {
  constexpr int64_t kElementBytes = 4;
  cost::Work work;
  work.flops = ceilDiv(gradientBytes, kElementBytes);
  work.bytesRead = 2 * gradientBytes;
  work.bytesWritten = gradientBytes;
  return work;
}

Share planner::sharedOf(const ModelAccount &model) {
  Share shared;
  if (model.sharedBytes == 0)
    return shared;
  int64_t parameters = std::max<int64_t>(1, sumOf(model.before.parameterBytes));
  double part = std::min(1.0, double(model.sharedBytes) / double(parameters));
  for (size_t i = 0; i < shared.stateBytes.size(); ++i)
    if (cost::StateClass(i) != cost::StateClass::Other)
      shared.stateBytes[i] = int64_t(part * double(model.before.stateBytes[i]));
  // Where a sequence is split, what is before the blocks also accumulates addends that its devices
  // have yet to add up; what crosses is as large as gradients within blocks are.
  if (int64_t within = sumOf(model.block.parameterBytes); within > 0)
    shared.stateBytes[size_t(cost::StateClass::Gradient)] =
        int64_t(double(model.sharedBytes) / double(within) *
                double(model.block.stateBytes[size_t(cost::StateClass::Gradient)]));
  auto add = [](std::vector<Item> &items, CollectiveKind kind, cost::Role role, int64_t bytes,
                cost::Purpose purpose) {
    items.push_back(Item::of(Communication{kind, role, bytes, {}}));
    items.back().purpose = purpose;
  };
  for (std::vector<Item> *items : {&shared.forward, &shared.backward})
    add(*items, CollectiveKind::AllGather, cost::Role::ParameterGather, model.sharedBytes,
        cost::Purpose::Pass);
  add(shared.backward, CollectiveKind::ReduceScatter, cost::Role::GradientSum,
      shared.stateBytes[size_t(cost::StateClass::Gradient)], cost::Purpose::WeightGradient);
  return shared;
}

std::vector<int64_t> planner::blocksOfChunks(int64_t blocks, const Layout &layout,
                                             const Assembly &assembly) {
  // Whoever has least gets the next block, the first of equals.
  std::vector<int64_t> counts(size_t(layout.chunks()), 0);
  std::vector<double> load(counts.size(), 0);
  load.front() += assembly.before;
  load.back() += assembly.behind;
  for (int64_t block = 0; block < blocks; ++block) {
    size_t least = size_t(std::min_element(load.begin(), load.end()) - load.begin());
    ++counts[least];
    load[least] += 1;
  }
  return counts;
}

std::optional<cost::StepAccount> planner::assemble(const ModelAccount &model, const Layout &layout,
                                                   const Assembly &options, std::string &error) {
  return Assembler(model, layout, options).run(error);
}
