// The account of a step from that of a model and a layout.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Planner/ModelAccount.h"

#include "weft/Pipeline/Generate.h"

#include <algorithm>

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

  static int64_t sumOf(const std::vector<int64_t> &values) {
    int64_t sum = 0;
    for (int64_t value : values)
      sum += value;
    return sum;
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

  /// Matrices alone are read backward, where products have them as operands.
  void addGathers(cost::Block &block, const Share &share, bool isForward) const {
    int64_t largest = 0;
    for (int64_t bytes : share.parameterBytes)
      largest = std::max(largest, bytes);
    for (int64_t bytes : share.parameterBytes)
      if (isForward || bytes * 64 >= largest)
        block.items.push_back(
            Item::of(over(CollectiveKind::AllGather, cost::Role::ParameterGather, bytes)));
  }

  void addWork(cost::Blocks &update, const Piece &piece) const {
    cost::Block block;
    block.count = piece.count;
    int64_t parts = layout.zero >= 1 ? data : 1;
    for (Item item : piece.share->update) {
      item.work.flops = ceilDiv(item.work.flops, parts);
      item.work.bytesRead = ceilDiv(item.work.bytesRead, parts);
      item.work.bytesWritten = ceilDiv(item.work.bytesWritten, parts);
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
    int64_t parameters = std::max<int64_t>(1, sumOf(model.before.parameterBytes));
    double share = std::min(1.0, double(model.sharedBytes) / double(parameters));
    for (size_t i = 0; i < cost::kStateClassCount; ++i)
      if (cost::StateClass(i) != cost::StateClass::Other)
        chunk.stateBytes[i] += int64_t(share * double(model.before.stateBytes[i]));
  }

  /// In messages of a bucket each.
  void addBuckets(cost::Blocks &blocks, Communication whole) const {
    if (whole.bytes == 0)
      return;
    int64_t count = options.bucketBytes > 0 ? ceilDiv(whole.bytes, options.bucketBytes) : 1;
    whole.bytes = ceilDiv(whole.bytes, count);
    cost::Block block;
    block.items.push_back(Item::of(std::move(whole), count));
    blocks.push_back(std::move(block));
  }

  void addSums(cost::Chunk &chunk) const {
    int64_t gradients = chunk.stateBytes[size_t(cost::StateClass::Gradient)],
            parameters = chunk.stateBytes[size_t(cost::StateClass::Parameter)];
    CollectiveKind kind =
        layout.zero == 0 ? CollectiveKind::AllReduce : CollectiveKind::ReduceScatter;
    Communication sum = over(kind, cost::Role::GradientSum, gradients);
    cost::Blocks &last = chunk.weight.empty() ? chunk.backward : chunk.weight;
    addBuckets(layout.zero >= 2 ? last : chunk.sums, sum);
    if (layout.zero == 1 || layout.zero == 2)
      addBuckets(chunk.update, over(CollectiveKind::AllGather, cost::Role::Exposed, parameters));
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
