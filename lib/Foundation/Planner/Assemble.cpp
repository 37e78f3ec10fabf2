// The account of a step from that of a model and a layout.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Planner/ModelAccount.h"

#include "weft/Pipeline/Generate.h"

#include <algorithm>
#include <numeric>

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

/// In messages of a bucket each.
Messages inBuckets(CollectiveKind kind, int64_t bytes, int64_t bucketBytes) {
  int64_t count = bytes == 0 ? 0 : bucketBytes > 0 ? ceilDiv(bytes, bucketBytes) : 1;
  return {kind, count == 0 ? 0 : ceilDiv(bytes, count), count};
}

class Assembler {
public:
  Assembler(const ModelAccount &model, const Layout &layout, const Assembly &options)
      : model(model), layout(layout), options(options), data(layout.size(Role::Data)) {}

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
    std::vector<int64_t> counts =
        blocksOfStages(model.blocks, stages, options.before, options.behind);
    for (int64_t stage = 0; stage < stages; ++stage)
      account.chunks.push_back(chunkOf(stage, stages, counts[size_t(stage)]));
    return std::move(account);
  }

private:
  bool setSchedule(int64_t stages, std::string &error) {
    if (stages == 1) {
      account.schedule = pipeline::withoutStages(layout.microbatches);
      return true;
    }
    const pipeline::Generator *generator = pipeline::findGenerator(layout.schedule);
    if (!generator)
      error = "there is no schedule '" + layout.schedule + "'";
    else if (pipeline::fits(*generator, stages, 1, layout.microbatches, error))
      account.schedule = generator->make(int32_t(stages), 1, int32_t(layout.microbatches));
    return error.empty();
  }

  /// A part of the stage, so many times.
  struct Piece {
    const Share *share;
    int64_t count;
  };

  cost::Chunk chunkOf(int64_t stage, int64_t stages, int64_t count) {
    bool isFirst = stage == 0, isLast = stage + 1 == stages;
    std::vector<Piece> pieces;
    if (isFirst)
      pieces.push_back({&model.before, 1});
    pieces.push_back({&model.block, count});
    if (isLast)
      pieces.push_back({&model.behind, 1});
    cost::Chunk chunk;
    for (const Piece &piece : pieces) {
      addPass(chunk.forward, piece, &Share::forward, true);
      addWork(chunk.update, piece);
      addState(chunk, piece);
    }
    std::reverse(pieces.begin(), pieces.end());
    for (const Piece &piece : pieces) {
      addPass(chunk.backward, piece, &Share::backward, true);
      addPass(chunk.weight, piece, &Share::weight, false);
    }
    if (isLast && !isFirst)
      addShared(chunk);
    if (data > 1)
      addSums(chunk);
    splitState(chunk);
    chunk.forwardBytes = isLast ? 0 : model.borderBytes;
    chunk.backwardBytes = isFirst ? 0 : model.borderBytes;
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

  Communication over(CollectiveKind kind, cost::Role role, int64_t bytes) const {
    Communication communication;
    communication.kind = kind;
    communication.role = role;
    communication.bytes = bytes;
    communication.axes = {dataAxis};
    return communication;
  }

  Item mapped(Item item) const {
    if (!item.isWork)
      item.communication.axes = {tensorAxis};
    return item;
  }

  void addPass(cost::Blocks &blocks, const Piece &piece, std::vector<Item> Share::*list,
               bool gathers) const {
    cost::Block block;
    block.count = piece.count;
    if (gathers && layout.zero == 3 && data > 1)
      addGathers(block, *piece.share, list == &Share::forward);
    for (const Item &item : piece.share->*list)
      block.items.push_back(mapped(item));
    if (!block.items.empty() && block.count > 0)
      blocks.push_back(std::move(block));
  }

  void addGathers(cost::Block &block, const Share &share, bool isForward) const {
    for (int64_t bytes : gatheredBytes(share, isForward))
      block.items.push_back(
          Item::of(over(CollectiveKind::AllGather, cost::Role::ParameterGather, bytes)));
  }

  void addWork(cost::Blocks &update, const Piece &piece) const {
    cost::Block block;
    block.count = piece.count;
    for (Item item : piece.share->update) {
      item.work = updateOf(item.work, layout);
      block.items.push_back(mapped(item));
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

  /// A second copy of what the first stage has, with all that belongs to it.
  void addShared(cost::Chunk &chunk) const {
    std::array<int64_t, cost::kStateClassCount> shared = sharedState(model);
    for (size_t i = 0; i < cost::kStateClassCount; ++i)
      chunk.stateBytes[i] += shared[i];
  }

  void addMessages(cost::Blocks &blocks, cost::Role role, const Messages &messages) const {
    if (messages.count == 0)
      return;
    cost::Block block;
    block.items.push_back(Item::of(over(messages.kind, role, messages.bytes), messages.count));
    blocks.push_back(std::move(block));
  }

  void addSums(cost::Chunk &chunk) const {
    cost::Blocks &last = chunk.weight.empty() ? chunk.backward : chunk.weight;
    addMessages(
        layout.zero >= 2 ? last : chunk.sums, cost::Role::GradientSum,
        sumsOf(layout, chunk.stateBytes[size_t(cost::StateClass::Gradient)], options.bucketBytes));
    addMessages(chunk.update, cost::Role::Exposed,
                gathersBehindUpdate(layout, chunk.stateBytes[size_t(cost::StateClass::Parameter)],
                                    options.bucketBytes));
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
  const Layout &layout;
  const Assembly &options;
  int64_t data;
  int32_t dataAxis = -1, tensorAxis = -1;
  bool putsOff = false; // gradients of weights
  cost::StepAccount account;
};

} // namespace

Messages planner::sumsOf(const Layout &layout, int64_t gradientBytes, int64_t bucketBytes) {
  return inBuckets(layout.zero == 0 ? CollectiveKind::AllReduce : CollectiveKind::ReduceScatter,
                   layout.size(Role::Data) > 1 ? gradientBytes : 0, bucketBytes);
}

Messages planner::gathersBehindUpdate(const Layout &layout, int64_t parameterBytes,
                                      int64_t bucketBytes) {
  bool gathers = layout.size(Role::Data) > 1 && (layout.zero == 1 || layout.zero == 2);
  return inBuckets(CollectiveKind::AllGather, gathers ? parameterBytes : 0, bucketBytes);
}

std::vector<int64_t> planner::gatheredBytes(const Share &share, bool isForward) {
  constexpr int64_t kVectorShare = 64; // of the largest matrix, a vector has less
  int64_t largest = 0;
  for (int64_t bytes : share.parameterBytes)
    largest = std::max(largest, bytes);
  std::vector<int64_t> gathered;
  for (int64_t bytes : share.parameterBytes)
    if (isForward || bytes * kVectorShare >= largest)
      gathered.push_back(bytes);
  return gathered;
}

cost::Work planner::updateOf(cost::Work whole, const Layout &layout) {
  int64_t parts = layout.zero >= 1 ? layout.size(Role::Data) : 1;
  whole.flops = ceilDiv(whole.flops, parts);
  whole.bytesRead = ceilDiv(whole.bytesRead, parts);
  whole.bytesWritten = ceilDiv(whole.bytesWritten, parts);
  return whole;
}

std::array<int64_t, cost::kStateClassCount> planner::sharedState(const ModelAccount &model) {
  int64_t parameters = std::max<int64_t>(1, sumOf(model.before.parameterBytes));
  double share = std::min(1.0, double(model.sharedBytes) / double(parameters));
  std::array<int64_t, cost::kStateClassCount> shared = {};
  for (size_t i = 0; i < shared.size(); ++i)
    if (cost::StateClass(i) != cost::StateClass::Other)
      shared[i] = int64_t(share * double(model.before.stateBytes[i]));
  return shared;
}

std::vector<int64_t> planner::blocksOfStages(int64_t blocks, int64_t stages, double before,
                                             double behind) {
  // Whoever has least gets the next block, the first of equals.
  std::vector<int64_t> counts(size_t(stages), 0);
  std::vector<double> load(size_t(stages), 0);
  load.front() += before;
  load.back() += behind;
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
