// Messages and bytes of collectives: of our algorithms, member by member, and of rings.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whoever says or asks what a collective sends takes it from here: `--explain`, the prices of
// plans, and tests, which hold these figures to what transports count (Communicator.h). The limits
// by which our algorithms (lib/comm/collectives) choose are here, too.
#ifndef WEFT_RUNTIME_COLLECTIVEFACTS_H
#define WEFT_RUNTIME_COLLECTIVEFACTS_H

#include "weft/runtime/Commands.h"

#include <vector>

namespace weft::runtime {

/// Payloads: what a transport adds of its own is not counted, nor is a message without bytes.
struct Volume {
  uint64_t messages = 0, bytes = 0;

  Volume &operator+=(const Volume &other) {
    messages += other.messages;
    bytes += other.bytes;
    return *this;
  }
  bool operator==(const Volume &other) const {
    return messages == other.messages && bytes == other.bytes;
  }
};
inline Volume operator-(const Volume &a, const Volume &b) {
  return {a.messages - b.messages, a.bytes - b.bytes};
}
inline Volume operator*(uint64_t times, const Volume &volume) {
  return {times * volume.messages, times * volume.bytes};
}

/// Of one member of a group, with all others.
struct Traffic {
  Volume sent, received;
};

//===----------------------------------------------------------------------===//
// Our algorithms, over any transport
//===----------------------------------------------------------------------===//

/// Up to so many bytes a whole all_reduce, of all tensors of its bucket, is one exchange: latency
/// rules.
constexpr int64_t kSmallSumBytes = 16 * 1024;
/// An all_reduce receives so much of a member at a time, so that the room for what is received
/// does not grow with the bucket.
constexpr int64_t kRoundBytes = 2 << 20;

/// One tensor of a collective, as in Collective (Commands.h).
struct CollectiveShape {
  int64_t outer = 1, extent = 1, inner = 1;
  int64_t middle = 1, otherExtent = 1; // AllToAll
};

/// What each member of a group sends and receives, in the order of members. The group is over mesh
/// axes of these sizes, major to minor; tensors of a bucket share messages. n members:
///
///   all_gather      a member gives its shard to n-1 others: what exists of it if shards are runs
///                   of memory (`outer` is 1), else with its padding
///   reduce_scatter  it gives each other what exists of that one's shard
///   all_to_all      the same, of the part that both have
///   all_reduce      up to kSmallSumBytes all give all to n-1 others; else each sums a chunk of all
///                   elements behind each other, which it gets from the others in rounds of
///                   kRoundBytes and gives to them at once
///   send, recv      whole tensors to, or from, one other
std::vector<Traffic> trafficOf(CollectiveKind kind, const std::vector<int64_t> &axisSizes,
                               const std::vector<CollectiveShape> &tensors, int64_t elementBytes);

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

/// What each of `members` devices sends if it is a ring (NCCL's; Patarasu and Yuan, 2009), which
/// no algorithm undercuts in bytes, or, for all_to_all, a pairwise exchange; operand and result,
/// padding included, have so many bytes on a device. Plans are priced by it: it depends neither on
/// what else is in a bucket, which nobody knows before commands are scheduled, nor on a transport.
double ringBytes(CollectiveKind kind, int64_t members, double operandBytes, double resultBytes);
/// Messages that follow one another.
int64_t ringSteps(CollectiveKind kind, int64_t members);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COLLECTIVEFACTS_H
