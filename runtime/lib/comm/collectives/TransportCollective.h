// What collectives over a transport have in common.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_COMM_COLLECTIVES_TRANSPORTCOLLECTIVE_H
#define WEFT_RUNTIME_LIB_COMM_COLLECTIVES_TRANSPORTCOLLECTIVE_H

#include "comm/Groups.h"
#include "comm/Reduce.h"
#include "comm/collectives/CollectiveProvider.h"
#include "comm/collectives/Messages.h"
#include "device/Device.h"

namespace weft::runtime {

inline uint64_t alignUp(uint64_t value) { return (value + 63) / 64 * 64; }

/// One tensor of a collective; the others of its bucket travel with it.
struct Part {
  Collective params;
  int64_t whole = 0, part = 0, row = 0; // elements, elements, bytes
  std::vector<Shard> shards, others;    // by member, of extent and otherExtent
  ResolvedView source, destination;
  int64_t sourceBytes = 0, destinationBytes = 0;
  char *from = nullptr, *to = nullptr; // in this run: memory of the host
};

/// Memory of the host for the collectives of one stream, of which one runs at a time.
struct HostRoom {
  uint64_t bytes = 0; // the most that one of them needs
  std::unique_ptr<char[]> memory;
};

/// What a collective is made of. Operands that the host cannot touch, and the scratch with them,
/// are in `room` while it runs.
struct TransportContext {
  const PrepareContext &prepare;
  const Group &group;
  Device &device;
  HostRoom &room;
  const Command &command;
};

/// A collective as exchanges of blocks between memory of the host. Its scratch is `pack`, what
/// this member makes ready, and a room for what each other member gives.
class TransportCollective : public PreparedCollective {
public:
  explicit TransportCollective(const TransportContext &context);

  uint64_t scratchBytes() const override { return device.isHostMemory() ? ownBytes() : 0; }
  Status run(const CommandFrame &frame, char *scratch) override;
  Volume sent() const override { return lastSent; }

  /// Of the stream's HostRoom; 0 where the host touches the operands.
  uint64_t hostBytes() const;

protected:
  /// Between memory of the host, on all members; the rooms begin at `base`.
  virtual Status move(char *pack, char *base) = 0;
  /// Elements of a part's source and destination.
  virtual std::pair<int64_t, int64_t> viewElements(const Part &part) const = 0;
  virtual bool readsSource() const { return true; }
  virtual bool writesResult() const { return true; }
  /// Sets `packBytes` and `roomBytes`.
  virtual void planScratch() {}
  /// What is known only when the derived class is there; called once.
  void plan();
  friend class TransportCollectives;

  const Shard &mine(const Part &part) const { return part.shards[size_t(group.me)]; }
  /// Where what a member gives is received. What this member gives itself stays where it is.
  char *roomOf(char *base, int64_t member) const {
    return base + (member - (member > group.me)) * roomBytes;
  }
  Status exchange(bool begin);
  void clearMessages();
  /// Copies boxes [outer][count][inner] between arrays of different extents.
  static void copyRows(const Part &part, const char *from, int64_t fromExtent, int64_t fromStart,
                       char *to, int64_t toExtent, int64_t toStart, int64_t count);

  Collective params; // of all parts alike: kind, types, communicator
  const Group &group;
  int64_t members = 1, bytes = 1, total = 0;
  std::vector<Part> parts;
  Messages sends, rooms; // rooms: where what arrives is wanted
  std::vector<const void *> received;
  int64_t roomBytes = 0; // of what one member gives
  uint64_t packBytes = 0;

private:
  void cut(const ProgramView &program, Part &part) const;
  uint64_t ownBytes() const { return packBytes + uint64_t((members - 1) * roomBytes); }
  Status runOnHost(const CommandFrame &frame, char *scratch);
  void findOperands(const CommandFrame &frame);
  void placeOperands(char *at);
  Status downloadSources();
  Status uploadResults();

  Device &device;
  HostRoom &room;
  Volume lastSent;
};

/// Sums over what members gave, in their order.
class MemberSums {
public:
  MemberSums(const Collective &params, int64_t members)
      : reduction(params.reduction), reduce(reductionFor(params.dtype, params.accumulator)),
        sources(size_t(members)) {}

  /// result = the sum over members of block `block` of the `blocks` that each gave.
  void operator()(const std::vector<const void *> &received, size_t block, size_t blocks,
                  int64_t elements, void *result) {
    for (size_t m = 0; m < sources.size(); ++m)
      sources[m] = received[m * blocks + block];
    reduce(reduction, sources.data(), int64_t(sources.size()), 0, elements, result);
  }

private:
  Reduction reduction;
  ReduceSpan reduce;
  std::vector<const void *> sources;
};

using TransportCollectivePtr = std::unique_ptr<TransportCollective>;
TransportCollectivePtr makeAllGather(const TransportContext &context);
TransportCollectivePtr makeAllReduce(const TransportContext &context);
TransportCollectivePtr makeReduceScatter(const TransportContext &context);
TransportCollectivePtr makeAllToAll(const TransportContext &context);
TransportCollectivePtr makeSendOrRecv(const TransportContext &context);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_COMM_COLLECTIVES_TRANSPORTCOLLECTIVE_H
