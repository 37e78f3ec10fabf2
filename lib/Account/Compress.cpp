// The longest repeats first, then what is before and behind them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compress.h"

#include "weft/Support/Repeats.h"

#include <map>
#include <tuple>

using namespace weft;
using namespace weft::account;
using cost::Item;

namespace {

auto key(const cost::Shape &shape) {
  return std::make_tuple(shape.kind, shape.batch, shape.m, shape.n, shape.k, shape.isCausal);
}

auto key(const Item &item) {
  const cost::Work &work = item.work;
  const cost::Communication &communication = item.communication;
  return std::make_tuple(item.isWork, key(work.shape), work.arithmetic, work.flops, work.bytesRead,
                         work.bytesWritten, work.launches, communication.kind, communication.role,
                         communication.bytes, communication.axes, communication.targets, item.count,
                         item.purpose);
}

class Compressor {
public:
  explicit Compressor(std::vector<Item> given) : items(std::move(given)) {
    std::map<decltype(key(items.front())), unsigned> known;
    for (const Item &item : items)
      line.push_back(known.try_emplace(key(item), known.size()).first->second);
  }

  cost::Blocks run() {
    add(0, items.size());
    return std::move(blocks);
  }

private:
  void addOnce(size_t from, size_t to, int64_t count = 1) {
    if (from == to)
      return;
    cost::Block &block = blocks.emplace_back();
    block.items.assign(items.begin() + from, items.begin() + to);
    block.count = count;
  }

  void add(size_t from, size_t to) {
    Repeat repeat = longestRepeat(llvm::ArrayRef<unsigned>(line).slice(from, to - from));
    size_t count = repeat.length / repeat.period;
    if (count < 2)
      return addOnce(from, to);
    size_t begin = from + repeat.from, end = begin + count * repeat.period;
    add(from, begin);
    addOnce(begin, begin + repeat.period, int64_t(count));
    add(end, to);
  }

  std::vector<Item> items;
  std::vector<unsigned> line;
  cost::Blocks blocks;
};

} // namespace

cost::Blocks account::compress(std::vector<Item> items) {
  return Compressor(std::move(items)).run();
}
