// Counts what the algorithms of lib/comm/collectives give to whom.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/CollectiveFacts.h"

#include "weft/runtime/Placement.h"

#include <algorithm>

using namespace weft::runtime;

namespace {

/// A message if it has bytes.
Volume messageOf(int64_t bytes) { return {uint64_t(bytes > 0), uint64_t(bytes)}; }

class Group {
public:
  Group(const std::vector<int64_t> &axisSizes, const std::vector<CollectiveShape> &tensors,
        int64_t elementBytes)
      : sizes(axisSizes), tensors(tensors), bytes(elementBytes) {
    for (int64_t size : sizes)
      members *= size;
  }

  std::vector<Traffic> allGather() const {
    return fromEach([&](const CollectiveShape &t, const Shard &shard) {
      int64_t rows = t.outer == 1 ? shard.valid : t.outer * shard.extent;
      return rows * t.inner * bytes;
    });
  }
  std::vector<Traffic> reduceScatter() const {
    return swapped(fromEach([&](const CollectiveShape &t, const Shard &shard) {
      return t.outer * shard.valid * t.inner * bytes;
    }));
  }

  std::vector<Traffic> allToAll() const {
    const CollectiveShape &t = tensors.front();
    std::vector<Shard> kept = shardsOf(t.extent), held = shardsOf(t.otherExtent);
    int64_t each = t.outer * t.middle * t.inner * bytes;
    // Member m gives k what it holds of what k keeps.
    Volume toAll = messagesTo(kept), fromAll = messagesTo(held);
    std::vector<Traffic> result;
    for (int64_t m = 0; m < members; ++m) {
      int64_t holds = held[size_t(m)].valid * each, keeps = kept[size_t(m)].valid * each;
      result.push_back(
          {others(toAll, kept[size_t(m)], holds), others(fromAll, held[size_t(m)], keeps)});
    }
    return result;
  }

  std::vector<Traffic> allReduce() const {
    int64_t total = elements();
    if (total * bytes <= kSmallSumBytes)
      return std::vector<Traffic>(size_t(members), alike(messageOf(total * bytes)));
    int64_t chunk = (total + members - 1) / members;
    int64_t round = std::max<int64_t>(1, kRoundBytes / bytes);
    std::vector<Volume> pieces, chunks; // what each sums: in rounds, and at once
    for (int64_t m = 0; m < members; ++m) {
      int64_t size = std::min(total, (m + 1) * chunk) - std::min(total, m * chunk);
      pieces.push_back({uint64_t((size + round - 1) / round), uint64_t(size * bytes)});
      chunks.push_back(messageOf(size * bytes));
    }
    std::vector<Traffic> summed = swapped(given(pieces)), gathered = given(chunks);
    for (size_t m = 0; m < summed.size(); ++m) {
      summed[m].sent += gathered[m].sent;
      summed[m].received += gathered[m].received;
    }
    return summed;
  }

  std::vector<Traffic> oneWay(bool sends) const {
    Volume whole = messageOf(elements() * bytes);
    return std::vector<Traffic>(size_t(members), sends ? Traffic{whole, {}} : Traffic{{}, whole});
  }

private:
  int64_t elements() const {
    int64_t total = 0;
    for (const CollectiveShape &t : tensors)
      total += t.outer * t.extent * t.inner;
    return total;
  }

  std::vector<Shard> shardsOf(int64_t extent) const {
    std::vector<Shard> shards;
    std::vector<int64_t> at(sizes.size());
    for (int64_t m = 0; m < members; ++m) {
      int64_t rest = m;
      for (size_t i = sizes.size(); i-- > 0; rest /= sizes[i])
        at[i] = rest % sizes[i];
      shards.push_back(shardOf(extent, {sizes.data(), sizes.size()}, {at.data(), at.size()}));
    }
    return shards;
  }

  Traffic alike(const Volume &volume) const {
    return {uint64_t(members - 1) * volume, uint64_t(members - 1) * volume};
  }

  /// Each member gives all others the same.
  std::vector<Traffic> given(const std::vector<Volume> &gifts) const {
    Volume total;
    for (const Volume &gift : gifts)
      total += gift;
    std::vector<Traffic> result;
    for (const Volume &gift : gifts)
      result.push_back({uint64_t(members - 1) * gift, total - gift});
    return result;
  }
  /// The same of one message, whose bytes are `bytesOf` summed over the tensors.
  template <typename BytesOf> std::vector<Traffic> fromEach(BytesOf bytesOf) const {
    std::vector<int64_t> sums(static_cast<size_t>(members));
    for (const CollectiveShape &t : tensors) {
      std::vector<Shard> shards = shardsOf(t.extent);
      for (size_t m = 0; m < sums.size(); ++m)
        sums[m] += bytesOf(t, shards[m]);
    }
    std::vector<Volume> gifts;
    for (int64_t sum : sums)
      gifts.push_back(messageOf(sum));
    return given(gifts);
  }
  /// The other way round: each gets from all others what it would have given them.
  static std::vector<Traffic> swapped(std::vector<Traffic> traffic) {
    for (Traffic &member : traffic)
      std::swap(member.sent, member.received);
    return traffic;
  }

  /// A message of an element to each that has elements.
  static Volume messagesTo(const std::vector<Shard> &shards) {
    Volume volume;
    for (const Shard &shard : shards)
      volume += messageOf(shard.valid);
    return volume;
  }
  /// `bytes` an element to all but oneself; no message where there are none.
  static Volume others(const Volume &all, const Shard &own, int64_t bytes) {
    Volume volume = all - messageOf(own.valid);
    return {bytes > 0 ? volume.messages : 0, volume.bytes * uint64_t(bytes)};
  }

  const std::vector<int64_t> &sizes;
  const std::vector<CollectiveShape> &tensors;
  int64_t bytes, members = 1;
};

} // namespace

std::vector<Traffic> weft::runtime::trafficOf(CollectiveKind kind,
                                              const std::vector<int64_t> &axisSizes,
                                              const std::vector<CollectiveShape> &tensors,
                                              int64_t elementBytes) {
  Group group(axisSizes, tensors, elementBytes);
  switch (kind) {
  case CollectiveKind::AllGather:
    return group.allGather();
  case CollectiveKind::AllReduce:
    return group.allReduce();
  case CollectiveKind::ReduceScatter:
    return group.reduceScatter();
  case CollectiveKind::AllToAll:
    return group.allToAll();
  case CollectiveKind::Send:
  case CollectiveKind::Recv:
    return group.oneWay(kind == CollectiveKind::Send);
  }
  return {};
}

double weft::runtime::ringBytes(CollectiveKind kind, int64_t members, double operandBytes,
                                double resultBytes) {
  double share = double(members - 1) / double(members);
  switch (kind) {
  case CollectiveKind::AllGather:
    return share * resultBytes;
  case CollectiveKind::AllReduce:
    return 2 * share * operandBytes;
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
    return share * operandBytes;
  case CollectiveKind::Send:
    return operandBytes;
  case CollectiveKind::Recv:
    return 0;
  }
  return 0;
}

int64_t weft::runtime::ringSteps(CollectiveKind kind, int64_t members) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return 2 * (members - 1);
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
    return members - 1;
  case CollectiveKind::Send:
    return 1;
  case CollectiveKind::Recv:
    return 0;
  }
  return 0;
}
