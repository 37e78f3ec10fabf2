// Differences of programs with a few blocks, and lines through them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Planner/ModelAccount.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

using namespace weft;
using namespace weft::planner;
using cost::Item;

namespace {

auto keyOf(const Item &item) {
  const cost::Shape &shape = item.work.shape;
  const cost::Communication &sent = item.communication;
  return std::make_tuple(item.isWork, shape.kind, shape.batch, shape.m, shape.n, shape.k,
                         shape.isCausal, item.work.arithmetic, item.work.flops, item.work.bytesRead,
                         item.work.bytesWritten, item.work.launches, sent.kind, sent.role,
                         sent.bytes, sent.axes);
}

/// Items with how often they are there, in the order of their first place; the place is counted in
/// items.
class Bag {
public:
  explicit Bag(const cost::Blocks &blocks) {
    for (const cost::Block &block : blocks)
      for (int64_t i = 0; i < block.count; ++i)
        for (const Item &item : block.items)
          add(item);
  }

  int64_t countOf(const Item &item) const {
    auto found = number.find(keyOf(item));
    return found == number.end() ? 0 : entries[found->second].item.count;
  }

  struct Entry {
    Item item;
    std::vector<int64_t> places;
  };
  std::vector<Entry> entries;
  int64_t length = 0;

private:
  void add(const Item &item) {
    auto [found, isNew] = number.try_emplace(keyOf(item), entries.size());
    if (isNew) {
      entries.push_back({item, {}});
      entries.back().item.count = 0;
    }
    Entry &entry = entries[found->second];
    entry.item.count += item.count;
    for (int64_t i = 0; i < item.count; ++i)
      entry.places.push_back(length++);
  }

  std::map<decltype(keyOf(Item())), size_t> number;
};

Item times(Item item, int64_t count) {
  item.count = count;
  return item;
}

/// Sorts a list's items into those of one block and those before and behind all. `isReversed`: what
/// is before the blocks comes last.
void split(const cost::Blocks &fewer, const cost::Blocks &more, int64_t blocks, bool isReversed,
           std::vector<Item> &before, std::vector<Item> &block, std::vector<Item> &behind) {
  Bag some(fewer), next(more);
  for (const Bag::Entry &entry : next.entries)
    if (int64_t added = entry.item.count - some.countOf(entry.item); added > 0)
      block.push_back(times(entry.item, added));
  for (const Bag::Entry &entry : some.entries) {
    int64_t left = entry.item.count -
                   blocks * std::max<int64_t>(0, next.countOf(entry.item) - entry.item.count);
    if (left <= 0)
      continue;
    // Those at the ends of the list are not of blocks.
    int64_t early = 0;
    for (int64_t place : entry.places)
      early += place < some.length / 2;
    early = std::min(early, left);
    auto &first = isReversed ? behind : before, &last = isReversed ? before : behind;
    if (early > 0)
      first.push_back(times(entry.item, early));
    if (left > early)
      last.push_back(times(entry.item, left - early));
  }
}

std::vector<int64_t> without(std::vector<int64_t> more, std::vector<int64_t> fewer) {
  std::sort(more.begin(), more.end());
  std::sort(fewer.begin(), fewer.end());
  std::vector<int64_t> rest;
  std::set_difference(more.begin(), more.end(), fewer.begin(), fewer.end(),
                      std::back_inserter(rest));
  return rest;
}

int64_t sumOf(const std::vector<int64_t> &values) {
  int64_t sum = 0;
  for (int64_t value : values)
    sum += value;
  return sum;
}

int64_t positive(int64_t value) { return std::max<int64_t>(0, value); }

} // namespace

ModelAccount planner::modelOf(const Sample &fewer, const Sample &more, int64_t blocks) {
  const cost::Chunk &some = fewer.chunk, &next = more.chunk;
  ModelAccount model;
  model.blocks = blocks;
  Share &before = model.before, &block = model.block, &behind = model.behind;
  int64_t count = fewer.blocks;
  split(some.forward, next.forward, count, false, before.forward, block.forward, behind.forward);
  split(some.backward, next.backward, count, true, before.backward, block.backward,
        behind.backward);
  split(some.weight, next.weight, count, true, before.weight, block.weight, behind.weight);
  split(some.update, next.update, count, false, before.update, block.update, behind.update);
  before.parameterBytes = fewer.before;
  block.parameterBytes = without(more.within, fewer.within);
  behind.parameterBytes = fewer.behind;
  // What is not of a block stands with the parameters that it belongs to.
  double ends = double(sumOf(fewer.before) + sumOf(fewer.behind));
  double early = ends > 0 ? double(sumOf(fewer.before)) / ends : 0;
  for (size_t i = 0; i < cost::kStateClassCount; ++i) {
    block.stateBytes[i] = positive(next.stateBytes[i] - some.stateBytes[i]);
    int64_t rest = positive(some.stateBytes[i] - count * block.stateBytes[i]);
    before.stateBytes[i] = int64_t(std::llround(double(rest) * early));
    behind.stateBytes[i] = rest - before.stateBytes[i];
  }
  auto keep = [&](auto member, int64_t fewerBytes, int64_t moreBytes) {
    block.*member = positive(moreBytes - fewerBytes);
    behind.*member = positive(fewerBytes - count * (block.*member));
  };
  keep(&Share::keptForBackward, some.keptForBackward, next.keptForBackward);
  keep(&Share::keptForWeight, some.keptForWeight, next.keptForWeight);
  keep(&Share::madeForWeight, some.madeForWeight, next.madeForWeight);
  model.sharedBytes = fewer.sharedBytes;
  model.borderBytes = fewer.borderBytes;
  model.transientBytes = std::max(some.transientBytes, next.transientBytes);
  model.updateTransientBytes =
      some.updateTransientBytes +
      positive(next.updateTransientBytes - some.updateTransientBytes) * positive(blocks - count);
  model.outputBytes = fewer.outputBytes;
  return model;
}

ModelAccount planner::modelOf(const Sample &whole) { return modelOf(whole, whole, 0); }

//===----------------------------------------------------------------------===//
// Microbatches of other sizes
//===----------------------------------------------------------------------===//

namespace {

class Scaling {
public:
  Scaling(int64_t small, int64_t large, int64_t size) : small(small), large(large), size(size) {}

  int64_t operator()(int64_t atSmall, int64_t atLarge) const {
    if (atSmall == atLarge || small == large)
      return atSmall;
    double slope = double(atLarge - atSmall) / double(large - small);
    return positive(std::llround(double(atSmall) + slope * double(size - small)));
  }

  bool scale(std::vector<Item> &items, const std::vector<Item> &atLarge) const {
    if (items.size() != atLarge.size())
      return false;
    for (size_t i = 0; i < items.size(); ++i)
      if (!scale(items[i], atLarge[i]))
        return false;
    return true;
  }

  bool scale(Share &share, const Share &atLarge) const {
    share.keptForBackward = (*this)(share.keptForBackward, atLarge.keptForBackward);
    share.keptForWeight = (*this)(share.keptForWeight, atLarge.keptForWeight);
    share.madeForWeight = (*this)(share.madeForWeight, atLarge.madeForWeight);
    for (size_t i = 0; i < cost::kStateClassCount; ++i)
      share.stateBytes[i] = (*this)(share.stateBytes[i], atLarge.stateBytes[i]);
    return share.parameterBytes == atLarge.parameterBytes &&
           scale(share.forward, atLarge.forward) && scale(share.backward, atLarge.backward) &&
           scale(share.weight, atLarge.weight) && scale(share.update, atLarge.update);
  }

private:
  bool scale(Item &item, const Item &atLarge) const {
    cost::Work &work = item.work;
    const cost::Work &other = atLarge.work;
    cost::Communication &sent = item.communication;
    if (item.isWork != atLarge.isWork || item.count != atLarge.count ||
        work.shape.kind != other.shape.kind || work.arithmetic != other.arithmetic ||
        sent.kind != atLarge.communication.kind || sent.role != atLarge.communication.role ||
        sent.axes != atLarge.communication.axes)
      return false;
    for (int64_t cost::Shape::*field :
         {&cost::Shape::batch, &cost::Shape::m, &cost::Shape::n, &cost::Shape::k})
      work.shape.*field = (*this)(work.shape.*field, other.shape.*field);
    for (int64_t cost::Work::*field : {&cost::Work::flops, &cost::Work::bytesRead,
                                       &cost::Work::bytesWritten, &cost::Work::launches})
      work.*field = (*this)(work.*field, other.*field);
    sent.bytes = (*this)(sent.bytes, atLarge.communication.bytes);
    return true;
  }

  int64_t small, large, size;
};

} // namespace

std::optional<ModelAccount> planner::scaled(const ModelAccount &small, int64_t smallSize,
                                            const ModelAccount &large, int64_t largeSize,
                                            int64_t size) {
  Scaling scale(smallSize, largeSize, size);
  ModelAccount model = small;
  if (!scale.scale(model.before, large.before) || !scale.scale(model.block, large.block) ||
      !scale.scale(model.behind, large.behind))
    return std::nullopt;
  for (int64_t ModelAccount::*field :
       {&ModelAccount::borderBytes, &ModelAccount::transientBytes,
        &ModelAccount::updateTransientBytes, &ModelAccount::outputBytes})
    model.*field = scale(small.*field, large.*field);
  return model;
}
