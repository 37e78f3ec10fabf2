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

int64_t positive(int64_t value) { return std::max<int64_t>(0, value); }

auto keyOf(const Item &item) {
  const cost::Shape &shape = item.work.shape;
  const cost::Communication &sent = item.communication;
  return std::make_tuple(item.isWork, shape.kind, shape.batch, shape.m, shape.n, shape.k,
                         shape.isCausal, item.work.arithmetic, item.work.flops, item.work.bytesRead,
                         item.work.bytesWritten, item.work.launches, sent.kind, sent.role,
                         sent.bytes, sent.axes, item.purpose);
}

/// All items one by one, in their order.
std::vector<Item> lineOf(const cost::Blocks &blocks) {
  std::vector<Item> line;
  for (const cost::Block &block : blocks)
    for (int64_t i = 0; i < block.count; ++i)
      for (const Item &item : block.items) {
        line.insert(line.end(), size_t(item.count), item);
        for (auto same = line.end() - item.count; same != line.end(); ++same)
          same->count = 1;
      }
  return line;
}

/// Items with how often they are there, in the order of their first place; the place is counted in
/// items.
class Bag {
public:
  explicit Bag(const std::vector<Item> &line) {
    for (const Item &item : line)
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
    ++entry.item.count;
    entry.places.push_back(length++);
  }

  std::map<decltype(keyOf(Item())), size_t> number;
};

/// Items by their places.
class Line {
public:
  void add(int64_t place, Item item) {
    item.count = 1;
    items.emplace(place, std::move(item));
  }
  std::vector<Item> finish() {
    std::vector<Item> line;
    for (auto &[place, item] : items)
      if (!line.empty() && keyOf(line.back()) == keyOf(item))
        ++line.back().count;
      else
        line.push_back(std::move(item));
    return line;
  }

private:
  std::map<int64_t, Item> items;
};

/// What `next` has more, by the middle places of what is there several times.
std::vector<Item> addedTo(const Bag &some, const Bag &next) {
  Line block;
  for (const Bag::Entry &entry : next.entries) {
    int64_t added = entry.item.count - some.countOf(entry.item);
    for (int64_t i = 0; i < added; ++i)
      block.add(entry.places[size_t((entry.item.count - added) / 2 + i)], entry.item);
  }
  return block.finish();
}

/// How many items two lists have in common at their ends.
struct Ends {
  size_t front = 0, back = 0;
};

/// Of a list with one block more: what is not at its ends is a block, and in its order. Items that
/// a block has several times would not tell by their numbers alone whose they are.
Ends endsOf(const std::vector<Item> &some, const std::vector<Item> &next, bool isFrontFirst) {
  Ends ends;
  size_t most = std::min(some.size(), next.size());
  auto areAlike = [](const Item &a, const Item &b) { return keyOf(a) == keyOf(b); };
  auto takeFront = [&] {
    while (ends.front + ends.back < most && areAlike(some[ends.front], next[ends.front]))
      ++ends.front;
  };
  auto takeBack = [&] {
    while (ends.front + ends.back < most &&
           areAlike(*(some.rbegin() + long(ends.back)), *(next.rbegin() + long(ends.back))))
      ++ends.back;
  };
  if (isFrontFirst)
    takeFront();
  takeBack();
  takeFront();
  return ends;
}

std::vector<Item> between(const std::vector<Item> &line, const Ends &ends) {
  return {line.begin() + long(ends.front), line.end() - long(ends.back)};
}

/// Sorts a list's items into those of one block and those before and behind all. `isReversed`: what
/// is before the blocks comes last.
void split(const cost::Blocks &fewer, const cost::Blocks &more, int64_t blocks, bool isReversed,
           std::vector<Item> &before, std::vector<Item> &block, std::vector<Item> &behind) {
  std::vector<Item> line = lineOf(fewer), longer = lineOf(more);
  // First the end that is behind the blocks: then what is left begins where a block does.
  Ends ends = endsOf(line, longer, isReversed);
  block = addedTo(Bag(between(line, ends)), Bag(between(longer, ends)));
  Bag some(line), next(longer);
  auto inBlock = [&](const Bag::Entry &entry) {
    return positive(next.countOf(entry.item) - entry.item.count);
  };
  auto inFront = [&](const Bag::Entry &entry) {
    auto end = std::lower_bound(entry.places.begin(), entry.places.end(), int64_t(ends.front));
    return int64_t(end - entry.places.begin());
  };
  // Blocks that are in front of the one that was found.
  int64_t earlier = blocks;
  for (const Bag::Entry &entry : some.entries)
    if (int64_t each = inBlock(entry); each > 0)
      earlier = std::min(earlier, inFront(entry) / each);
  Line first, last;
  for (const Bag::Entry &entry : some.entries) {
    int64_t each = inBlock(entry), left = positive(entry.item.count - blocks * each);
    int64_t early = std::min(left, positive(inFront(entry) - earlier * each));
    for (int64_t i = 0; i < early; ++i)
      first.add(entry.places[size_t(i)], entry.item);
    for (int64_t i = early; i < left; ++i)
      last.add(entry.places[size_t(entry.item.count - left + i)], entry.item);
  }
  (isReversed ? behind : before) = first.finish();
  (isReversed ? before : behind) = last.finish();
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

  /// Items one by one: of two sizes not the same need be alike.
  bool operator()(cost::Blocks &blocks, const cost::Blocks &atLarge) const {
    std::vector<Item> items = lineOf(blocks), others = lineOf(atLarge);
    if (items.size() != others.size())
      return false;
    for (size_t i = 0; i < items.size(); ++i)
      if (!scale(items[i], others[i]))
        return false;
    blocks = {{std::move(items), 1, false}};
    return true;
  }

  bool operator()(cost::Chunk &chunk, const cost::Chunk &atLarge) const {
    for (int64_t cost::Chunk::*field :
         {&cost::Chunk::keptForBackward, &cost::Chunk::keptForWeight, &cost::Chunk::madeForWeight,
          &cost::Chunk::transientBytes, &cost::Chunk::updateTransientBytes})
      chunk.*field = (*this)(chunk.*field, atLarge.*field);
    for (size_t i = 0; i < cost::kStateClassCount; ++i)
      chunk.stateBytes[i] = (*this)(chunk.stateBytes[i], atLarge.stateBytes[i]);
    return (*this)(chunk.forward, atLarge.forward) && (*this)(chunk.backward, atLarge.backward) &&
           (*this)(chunk.update, atLarge.update);
  }

private:
  bool scale(Item &item, const Item &atLarge) const {
    cost::Work &work = item.work;
    const cost::Work &other = atLarge.work;
    cost::Communication &sent = item.communication;
    if (item.isWork != atLarge.isWork || item.purpose != atLarge.purpose ||
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

std::optional<Sample> planner::scaled(const Sample &small, int64_t smallSize, const Sample &large,
                                      int64_t largeSize, int64_t size) {
  Scaling scale(smallSize, largeSize, size);
  Sample sample = small;
  if (small.before != large.before || small.within != large.within ||
      small.behind != large.behind || !scale(sample.chunk, large.chunk))
    return std::nullopt;
  for (int64_t Sample::*field : {&Sample::borderBytes, &Sample::outputBytes})
    sample.*field = scale(small.*field, large.*field);
  return sample;
}
