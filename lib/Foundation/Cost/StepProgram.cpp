// Prices of an account's items.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StepProgram.h"

#include "weft/runtime/CollectiveFacts.h"

#include <algorithm>

using namespace weft;
using namespace weft::cost;

const Entries &ChunkProgram::of(pipeline::Kind kind) const {
  switch (kind) {
  case pipeline::Kind::Forward:
    return forward;
  case pipeline::Kind::Backward:
    return backward;
  case pipeline::Kind::Weight:
    return weight;
  case pipeline::Kind::Both:
    break;
  }
  return both;
}

namespace {

class Pricing {
public:
  Pricing(const StepAccount &account, const Cluster &cluster)
      : account(account), cluster(cluster) {}

  StepProgram run() {
    size_t stages = account.schedule.ranks.size();
    program.bytes.assign(stages, std::vector<double>(account.axes.size(), 0));
    if (account.stages >= 0)
      program.bytesBetweenStages.assign(stages, std::vector<double>(stages, 0));
    for (size_t c = 0; c < account.chunks.size(); ++c)
      program.chunks.push_back(priceChunk(c));
    program.remarks.assign(remarks.begin(), remarks.end());
    return std::move(program);
  }

private:
  ChunkProgram priceChunk(size_t c) {
    const Chunk &chunk = account.chunks[c];
    stage = size_t(account.schedule.place[c]);
    int64_t microbatches = account.schedule.microbatches;
    ChunkProgram priced;
    priced.forward = price(chunk.forward, microbatches);
    priced.backward = price(chunk.backward, microbatches);
    priced.weight = price(chunk.weight, microbatches);
    priced.both = priced.backward;
    priced.both.insert(priced.both.end(), priced.weight.begin(), priced.weight.end());
    priced.update = price(chunk.update, 1);
    priced.sums = price(chunk.sums, 1);
    if (c + 1 < account.chunks.size()) {
      size_t next = size_t(account.schedule.place[c + 1]);
      priced.forwardTransfer = transfer(stage, next, chunk.forwardBytes);
      priced.backwardTransfer = transfer(next, stage, account.chunks[c + 1].backwardBytes);
    }
    return priced;
  }

  int64_t transfer(size_t from, size_t to, int64_t bytes) {
    if (from == to)
      return 0;
    countSent(from, to, double(bytes) * account.schedule.microbatches);
    return picosecondsOf(secondsOfTransfer(account.axes, account.stages, int64_t(from), int64_t(to),
                                           double(bytes), cluster));
  }

  void countSent(size_t from, size_t to, double bytes) {
    program.bytes[from][size_t(account.stages)] += bytes;
    program.bytesBetweenStages[from][to] += bytes;
  }

  Entries price(const Blocks &blocks, int64_t times) {
    Entries entries;
    entries.reserve(size_t(countOf(blocks)));
    for (const Block &block : blocks) {
      if (block.count == 0)
        continue;
      size_t first = entries.size();
      for (const Item &item : block.items) {
        Entry entry = item.isWork
                          ? priceWork(item.work)
                          : priceCollective(item.communication, item.count * block.count * times);
        entries.insert(entries.end(), size_t(item.count), entry);
      }
      size_t end = entries.size();
      for (int64_t i = 1; i < block.count; ++i)
        for (size_t of = first; of < end; ++of)
          entries.push_back(entries[of]);
      if (end > first)
        entries[first].hostWaits = block.hostWaits;
    }
    return entries;
  }

  static int64_t countOf(const Blocks &blocks) {
    int64_t count = 0;
    for (const Block &block : blocks)
      for (const Item &item : block.items)
        count += block.count * item.count;
    return count;
  }

  Entry priceWork(const Work &work) {
    Entry entry;
    entry.kind = uint8_t(work.shape.kind);
    entry.launches = work.launches;
    entry.picoseconds = timeOf(work, cluster.device, remarks);
    return entry;
  }

  Entry priceCollective(const Communication &communication, int64_t times) {
    std::vector<int32_t> axes = communication.axes;
    std::sort(axes.begin(), axes.end());
    auto found = std::find(program.axesOf.begin(), program.axesOf.end(), axes);
    size_t number = size_t(found - program.axesOf.begin());
    if (found == program.axesOf.end()) {
      groups.emplace_back(account.axes, axes, cluster);
      program.axesOf.push_back(axes);
    }
    double bytes = double(communication.bytes);
    Entry entry;
    entry.isWork = false;
    entry.role = communication.role;
    entry.axes = uint32_t(number);
    entry.axis = uint16_t(axes.front());
    entry.picoseconds = picosecondsOf(groups[number].seconds(communication.kind, bytes, remarks));
    double each = double(times) *
                  runtime::ringBytes(communication.kind, groups[number].members(), bytes, bytes);
    if (communication.kind == runtime::CollectiveKind::Send)
      for (int32_t target : communication.targets)
        countSent(stage, size_t(target), each);
    else if (int32_t(entry.axis) == account.stages)
      countSent(stage, (stage + 1) % program.bytes.size(), each);
    else
      program.bytes[stage][entry.axis] += each;
    return entry;
  }

  const StepAccount &account;
  const Cluster &cluster;
  StepProgram program;
  std::vector<Groups> groups;
  Remarks remarks;
  size_t stage = 0;
};

} // namespace

StepProgram cost::priceStep(const StepAccount &account, const Cluster &cluster) {
  return Pricing(account, cluster).run();
}
