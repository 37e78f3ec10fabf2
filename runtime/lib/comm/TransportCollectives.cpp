// Collectives as exchanges of blocks, reduced in member order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All transports run these same algorithms, so their results agree bit for bit
// (Reduce.h). A command may carry many tensors, a bucket: they travel in the
// same exchanges, each from and to its own place, and no element's sum depends
// on what else is in the bucket.
#include "comm/TransportCollectives.h"

#include "comm/Reduce.h"

#include <algorithm>
#include <cstring>

using namespace weft::runtime;

namespace {

uint64_t alignUp(uint64_t value) { return (value + 63) / 64 * 64; }

/// Up to here a whole all_reduce is one exchange: latency rules.
constexpr int64_t kSmallBytes = 16 * 1024;
/// An all_reduce receives this much of a member at a time, so that the room for
/// what is received does not grow with the bucket.
constexpr int64_t kRoundBytes = 2 << 20;

/// One tensor of a collective; the others of its bucket travel with it.
struct Part {
  Collective params;
  int64_t whole = 0, part = 0, row = 0; // elements, elements, bytes
  std::vector<Shard> shards, others;    // by member, of extent and otherExtent
  ResolvedView source, destination;
  int64_t sourceBytes = 0, destinationBytes = 0;
  char *from = nullptr, *to = nullptr; // in this run: memory of the host
};

/// Elements [begin, end) of part `part`.
struct Piece {
  size_t part;
  int64_t begin, end;
};

/// Messages to or from all members, made anew for each exchange.
class Messages {
public:
  void reserve(size_t members, size_t most) {
    blocks.resize(members * most);
    messages.resize(members);
    capacity = most;
  }
  void clear() {
    for (size_t m = 0; m < messages.size(); ++m)
      messages[m] = {blocks.data() + m * capacity, 0};
  }
  void add(int64_t member, const void *data, int64_t bytes) {
    weft_message &message = messages[size_t(member)];
    blocks[size_t(member) * capacity + message.count++] = {data, uint64_t(bytes)};
  }
  const weft_message *data() const { return messages.data(); }
  const weft_message &operator[](int64_t member) const { return messages[size_t(member)]; }

private:
  std::vector<weft_block> blocks;
  std::vector<weft_message> messages;
  size_t capacity = 0;
};

class TransportCollective : public PreparedCollective {
public:
  TransportCollective(const PrepareContext &context, GroupTable &groups, Device &device,
                      const Command &command, Status &status)
      : device(device), params(context.program.Collectives()[command.params]) {
    const ProgramView &p = context.program;
    status = groups.get(p, params.communicator, context.stream, context.coordinates, group);
    if (!status.ok())
      return;
    members = group->members();
    bytes = dtypeBytes(params.dtype);
    reduce = reductionFor(params.dtype, params.accumulator);
    Table<View> views = p.Views().slice(command.views);
    parts.resize(std::max<size_t>(1, views.size() / 2));
    for (size_t i = 0; i < parts.size() && status.ok(); ++i) {
      Part &part = parts[i];
      part.params = p.Collectives()[command.params + i];
      cut(p, part);
      auto [first, second] = viewElements(part);
      part.sourceBytes = first * bytes;
      part.destinationBytes = isSingle() ? 0 : second * bytes;
      status = ResolvedView::make(context, views[2 * i], part.source, first);
      if (status.ok() && !isSingle())
        status = ResolvedView::make(context, views[2 * i + 1], part.destination, second);
      total += part.whole;
    }
    sends.reserve(size_t(members), parts.size());
    staging.reserve(size_t(members), parts.size());
    received.resize(size_t(members) * parts.size());
    sources.resize(size_t(members));
    chunk = (total + members - 1) / members;
    planScratch();
    if (!device.isHostMemory())
      makeCopies();
  }

  uint64_t scratchBytes() const override { return copies ? 0 : packBytes + stageBytes; }

  Status run(const CommandFrame &frame, char *scratch) override {
    if (!copies) {
      WEFT_TRY(findOperands(frame));
      return move(scratch, scratch + packBytes);
    }
    WEFT_TRY(downloadSources(frame));
    WEFT_TRY(move(copies.get(), copies.get() + packBytes));
    return uploadResults(frame);
  }

private:
  /// Send and Recv have one view, which is the source's here.
  bool isSingle() const {
    return params.kind == CollectiveKind::Send || params.kind == CollectiveKind::Recv;
  }

  Status findOperands(const CommandFrame &frame) {
    for (Part &part : parts) {
      if (!(part.from = part.source.address(frame)))
        return part.source.leaves(frame);
      if (!isSingle() && !(part.to = part.destination.address(frame)))
        return part.destination.leaves(frame);
    }
    return {};
  }

  /// Memory of the host for scratch and operands.
  void makeCopies() {
    uint64_t size = packBytes + stageBytes;
    for (const Part &part : parts)
      size += alignUp(uint64_t(part.sourceBytes)) + alignUp(uint64_t(part.destinationBytes));
    copies.reset(new char[size]);
    char *at = copies.get() + packBytes + stageBytes;
    for (Part &part : parts) {
      part.from = at;
      at += alignUp(uint64_t(part.sourceBytes));
      part.to = at;
      at += alignUp(uint64_t(part.destinationBytes));
    }
  }
  Status downloadSources(const CommandFrame &frame) {
    for (const Part &part : parts) {
      int64_t place;
      if (!part.source.locate(frame.scalars, place))
        return part.source.leaves(frame);
      if (params.kind != CollectiveKind::Recv)
        WEFT_TRY(device.download(part.from, uint64_t(place), uint64_t(part.sourceBytes)));
    }
    return {};
  }
  Status uploadResults(const CommandFrame &frame) {
    for (const Part &part : parts) {
      const ResolvedView &view = isSingle() ? part.source : part.destination;
      const char *from = isSingle() ? part.from : part.to;
      int64_t place, size = isSingle() ? part.sourceBytes : part.destinationBytes;
      if (!view.locate(frame.scalars, place))
        return view.leaves(frame);
      if (params.kind != CollectiveKind::Send)
        WEFT_TRY(device.upload(uint64_t(place), from, uint64_t(size)));
    }
    return {};
  }

  /// Between memory of the host, on all members.
  Status move(char *pack, char *stage) {
    switch (params.kind) {
    case CollectiveKind::AllGather:
      return allGather(stage);
    case CollectiveKind::AllReduce:
      return small() ? allReduceAtOnce(pack, stage) : allReduce(stage);
    case CollectiveKind::ReduceScatter:
      return reduceScatter(pack, stage);
    case CollectiveKind::AllToAll:
      return allToAll(parts[0], pack, stage);
    case CollectiveKind::Shift:
      return shift(parts[0]);
    case CollectiveKind::Send:
      return commCall([&](weft_status *status) {
        return group->vtable->send(group->handle, peer(), parts[0].from, uint64_t(total * bytes),
                                   status);
      });
    case CollectiveKind::Recv:
      return commCall([&](weft_status *status) {
        return group->vtable->recv(group->handle, peer(), parts[0].from, uint64_t(total * bytes),
                                   status);
      });
    }
    return {};
  }

  /// Finds every member's shards.
  void cut(const ProgramView &p, Part &part) const {
    Table<uint32_t> axes = p.axes(p.Communicators()[params.communicator].axes);
    std::vector<int64_t> sizes;
    for (uint32_t axis : axes)
      sizes.push_back(p.MeshAxes()[axis].size);
    for (int64_t m = 0; m < members; ++m) {
      std::vector<int64_t> position(sizes.size());
      int64_t rest = m;
      for (size_t i = sizes.size(); i-- > 0; rest /= sizes[i])
        position[i] = rest % sizes[i];
      Table<int64_t> size(sizes.data(), sizes.size()), at(position.data(), position.size());
      part.shards.push_back(shardOf(part.params.extent, size, at));
      part.others.push_back(shardOf(part.params.otherExtent, size, at));
    }
    part.whole = part.params.outer * part.params.extent * part.params.inner;
    part.part = part.params.outer * part.shards[0].extent * part.params.inner;
    part.row = part.params.inner * bytes;
  }

  std::pair<int64_t, int64_t> viewElements(const Part &p) const {
    switch (params.kind) {
    case CollectiveKind::AllGather:
      return {p.part, p.whole};
    case CollectiveKind::ReduceScatter:
      return {p.whole, p.part};
    case CollectiveKind::AllToAll:
      return {p.whole * params.middle * p.others[0].extent,
              p.part * params.middle * params.otherExtent};
    default:
      return {p.whole, p.whole};
    }
  }

  int64_t peer() const {
    if (!params.peerRelative)
      return params.peer;
    return modulo(group->me + params.peer % members);
  }
  int64_t modulo(int64_t value) const { return ((value % members) + members) % members; }
  const Shard &mine(const Part &part) const { return part.shards[size_t(group->me)]; }

  bool small() const { return total * bytes <= kSmallBytes; }

  /// What a member keeps of part `p` while it exchanges; 0: received in place.
  int64_t stagedBytes(const Part &p) const {
    bool inPlace = params.kind == CollectiveKind::AllGather && p.params.outer == 1;
    return inPlace ? 0 : int64_t(alignUp(uint64_t(p.part * bytes)));
  }

  void planScratch() {
    slotBytes = 0;
    switch (params.kind) {
    case CollectiveKind::AllGather:
      for (const Part &part : parts)
        slotBytes += stagedBytes(part);
      break;
    case CollectiveKind::AllReduce:
      if (small())
        packBytes = alignUp(uint64_t(total * bytes));
      slotBytes = int64_t(alignUp(small() ? total * bytes : std::min(chunk * bytes, kRoundBytes)));
      break;
    case CollectiveKind::ReduceScatter:
      for (const Part &part : parts) {
        slotBytes += stagedBytes(part);
        packBytes += alignUp(uint64_t(part.part * bytes));
        if (part.params.outer != 1)
          packBytes += alignUp(uint64_t(part.whole * bytes));
      }
      break;
    case CollectiveKind::AllToAll:
      slotBytes = int64_t(alignUp(uint64_t(boxBytes(parts[0].part, parts[0].others[0].extent))));
      packBytes = uint64_t(members * slotBytes);
      break;
    default:
      break;
    }
    // What this member gives itself stays where it is.
    stageBytes = uint64_t((members - 1) * slotBytes);
  }

  int64_t boxBytes(int64_t elements, int64_t other) const {
    return elements * params.middle * other * bytes;
  }
  char *slot(char *stage, int64_t member) const {
    return stage + (member - (member > group->me)) * slotBytes;
  }

  Status exchange(bool begin) {
    return commCall([&](weft_status *status) {
      return begin ? group->vtable->exchange_begin(group->handle, sends.data(), staging.data(),
                                                   received.data(), status)
                   : group->vtable->exchange_end(group->handle, status);
    });
  }
  void clearMessages() {
    sends.clear();
    staging.clear();
  }

  /// Copies boxes [outer][count][inner] between arrays of different extents.
  static void copyRows(const Part &part, const char *from, int64_t fromExtent, int64_t fromStart,
                       char *to, int64_t toExtent, int64_t toStart, int64_t count) {
    if (count == 0 || part.row == 0)
      return;
    for (int64_t o = 0; o < part.params.outer; ++o)
      std::memcpy(to + (o * toExtent + toStart) * part.row,
                  from + (o * fromExtent + fromStart) * part.row, size_t(count * part.row));
  }

  void pad(const Part &part, int64_t valid, int64_t extent) const {
    int64_t inner = part.params.inner;
    for (int64_t o = 0; o < part.params.outer; ++o)
      for (int64_t i = valid * inner; i < extent * inner; ++i)
        std::memcpy(part.to + (o * extent * inner + i) * bytes, &part.params.padBits,
                    size_t(bytes));
  }

  /// Copies what was received to where `staging` wanted it.
  void place() {
    size_t next = 0;
    for (int64_t m = 0; m < members; ++m)
      for (uint64_t b = 0; b < staging[m].count; ++b, ++next) {
        const weft_block &block = staging[m].blocks[b];
        if (received[next] != block.data && block.bytes != 0)
          std::memcpy(const_cast<void *>(block.data), received[next], block.bytes);
      }
  }

  // Whole padded shards travel where shards are not one run, so that the source
  // need not be packed.
  Status allGather(char *stage) {
    clearMessages();
    for (int64_t m = 0; m < members; ++m) {
      char *room = slot(stage, m);
      for (const Part &part : parts) {
        bool direct = part.params.outer == 1;
        int64_t size = part.part * bytes;
        sends.add(m, part.from, direct ? mine(part).valid * part.row : size);
        if (direct)
          staging.add(m, part.to + part.shards[m].start * part.row,
                      part.shards[m].valid * part.row);
        else
          staging.add(m, m == group->me ? part.from : room, size);
        room += stagedBytes(part);
      }
    }
    WEFT_TRY(exchange(true));
    size_t next = 0;
    for (int64_t m = 0; m < members; ++m)
      for (const Part &part : parts) {
        const char *data = static_cast<const char *>(received[next++]);
        const Shard &shard = part.shards[m];
        char *to = part.to + shard.start * part.row;
        if (part.params.outer != 1)
          copyRows(part, data, shard.extent, 0, part.to, part.params.extent, shard.start,
                   shard.valid);
        else if (data != to && shard.valid * part.row != 0)
          std::memcpy(to, data, size_t(shard.valid * part.row));
      }
    return exchange(false);
  }

  /// Everyone gets everything and reduces it.
  Status allReduceAtOnce(char *pack, char *stage) {
    clearMessages();
    for (int64_t m = 0; m < members; ++m) {
      char *room = slot(stage, m);
      for (const Part &part : parts) {
        sends.add(m, part.from, part.whole * bytes);
        staging.add(m, m == group->me ? part.from : room, part.whole * bytes);
        room += part.whole * bytes;
      }
    }
    WEFT_TRY(exchange(true));
    // In place, others still read the source: reduce beside it first.
    char *reduced = pack;
    for (size_t i = 0; i < parts.size(); ++i) {
      reduceBlock(i, parts.size(), parts[i].whole, reduced);
      reduced += parts[i].whole * bytes;
    }
    WEFT_TRY(exchange(false));
    reduced = pack;
    for (const Part &part : parts) {
      std::memcpy(part.to, reduced, size_t(part.whole * bytes));
      reduced += part.whole * bytes;
    }
    return {};
  }

  /// result = the sum over members of block `block` of `blocks` received.
  void reduceBlock(size_t block, size_t blocks, int64_t elements, void *result) {
    for (size_t m = 0; m < size_t(members); ++m)
      sources[m] = received[m * blocks + block];
    reduce(params.reduction, sources.data(), members, 0, elements, result);
  }

  /// Calls `visit` with the pieces of parts that are elements [begin, end) of
  /// all parts behind each other.
  template <typename Visit> void pieces(int64_t begin, int64_t end, Visit visit) const {
    int64_t at = 0;
    for (size_t i = 0; i < parts.size() && at < end; ++i) {
      int64_t first = std::max<int64_t>(0, begin - at);
      int64_t last = std::min(parts[i].whole, end - at);
      if (first < last)
        visit(Piece{i, first, last});
      at += parts[i].whole;
    }
  }
  int64_t startOf(int64_t member) const { return std::min(total, member * chunk); }

  // Member m reduces chunk m of all parts behind each other, then all gather
  // the chunks. In place this is safe: nobody but member m reads chunk m while
  // it is written.
  Status allReduce(char *stage) {
    int64_t round = std::max<int64_t>(1, kRoundBytes / bytes);
    for (int64_t done = 0; done < chunk; done += round)
      WEFT_TRY(reduceRound(done, round, stage));
    clearMessages();
    for (int64_t m = 0; m < members; ++m) {
      pieces(startOf(group->me), startOf(group->me + 1), [&](Piece piece) {
        sends.add(m, parts[piece.part].to + piece.begin * bytes, (piece.end - piece.begin) * bytes);
      });
      pieces(startOf(m), startOf(m + 1), [&](Piece piece) {
        staging.add(m, parts[piece.part].to + piece.begin * bytes,
                    (piece.end - piece.begin) * bytes);
      });
    }
    WEFT_TRY(exchange(true));
    place();
    return exchange(false);
  }

  /// Elements [done, done + round) of every member's chunk.
  Status reduceRound(int64_t done, int64_t round, char *stage) {
    clearMessages();
    auto begin = [&](int64_t m) { return std::min(startOf(m + 1), startOf(m) + done); };
    auto end = [&](int64_t m) { return std::min(startOf(m + 1), startOf(m) + done + round); };
    for (int64_t m = 0; m < members; ++m) {
      char *room = slot(stage, m);
      pieces(begin(m), end(m), [&](Piece piece) {
        sends.add(m, parts[piece.part].from + piece.begin * bytes,
                  (piece.end - piece.begin) * bytes);
      });
      pieces(begin(group->me), end(group->me), [&](Piece piece) {
        int64_t size = (piece.end - piece.begin) * bytes;
        staging.add(m, m == group->me ? parts[piece.part].from + piece.begin * bytes : room, size);
        room += size;
      });
    }
    WEFT_TRY(exchange(true));
    size_t next = 0, blocks = staging[group->me].count;
    pieces(begin(group->me), end(group->me), [&](Piece piece) {
      reduceBlock(next++, blocks, piece.end - piece.begin,
                  parts[piece.part].to + piece.begin * bytes);
    });
    return exchange(false);
  }

  Status reduceScatter(char *pack, char *stage) {
    clearMessages();
    char *packed = pack;
    for (const Part &part : parts)
      packed += alignUp(uint64_t(part.part * bytes));
    for (const Part &part : parts) {
      char *at = packed;
      for (int64_t m = 0; m < members; ++m) {
        const Shard &shard = part.shards[m];
        int64_t size = part.params.outer * shard.valid * part.row;
        if (part.params.outer == 1) {
          sends.add(m, part.from + shard.start * part.row, size);
          continue;
        }
        copyRows(part, part.from, part.params.extent, shard.start, at, shard.valid, 0, shard.valid);
        sends.add(m, at, size);
        at += size;
      }
      if (part.params.outer != 1)
        packed += alignUp(uint64_t(part.whole * bytes));
    }
    for (int64_t m = 0; m < members; ++m) {
      char *room = slot(stage, m);
      for (size_t i = 0; i < parts.size(); ++i) {
        staging.add(m, m == group->me ? sends[m].blocks[i].data : room,
                    parts[i].params.outer * mine(parts[i]).valid * parts[i].row);
        room += stagedBytes(parts[i]);
      }
    }
    WEFT_TRY(exchange(true));
    // The destination may lie inside the source, so write it last.
    char *reduced = pack;
    for (size_t i = 0; i < parts.size(); ++i) {
      const Part &part = parts[i];
      reduceBlock(i, parts.size(), part.params.outer * mine(part).valid * part.params.inner,
                  reduced);
      reduced += alignUp(uint64_t(part.part * bytes));
    }
    WEFT_TRY(exchange(false));
    reduced = pack;
    for (const Part &part : parts) {
      const Shard &me = mine(part);
      copyRows(part, reduced, me.valid, 0, part.to, me.extent, 0, me.valid);
      pad(part, me.valid, me.extent);
      reduced += alignUp(uint64_t(part.part * bytes));
    }
    return {};
  }

  /// Copies a box of the dimensions scattered (a) and gathered (b) between
  /// arrays [outer][A][middle][B][inner] (order by gatherFirst).
  void copyBox(const char *from, int64_t fromA, int64_t fromAStart, int64_t fromB,
               int64_t fromBStart, char *to, int64_t toA, int64_t toAStart, int64_t toB,
               int64_t toBStart, int64_t countA, int64_t countB) const {
    int64_t row = params.inner * bytes;
    bool swap = params.gatherFirst != 0;
    // Exterior dimension x, interior dimension y.
    int64_t fromX = swap ? fromB : fromA, fromXStart = swap ? fromBStart : fromAStart;
    int64_t fromY = swap ? fromA : fromB, fromYStart = swap ? fromAStart : fromBStart;
    int64_t toX = swap ? toB : toA, toXStart = swap ? toBStart : toAStart;
    int64_t toY = swap ? toA : toB, toYStart = swap ? toAStart : toBStart;
    int64_t countX = swap ? countB : countA, countY = swap ? countA : countB;
    if (countY == 0 || row == 0)
      return;
    for (int64_t o = 0; o < params.outer; ++o)
      for (int64_t x = 0; x < countX; ++x)
        for (int64_t m = 0; m < params.middle; ++m)
          std::memcpy(
              to + (((o * toX + toXStart + x) * params.middle + m) * toY + toYStart) * row,
              from +
                  (((o * fromX + fromXStart + x) * params.middle + m) * fromY + fromYStart) * row,
              size_t(countY * row));
  }

  Status allToAll(const Part &p, char *pack, char *stage) {
    const Shard &myPart = mine(p), &myOther = p.others[size_t(group->me)];
    int64_t each = params.outer * params.middle * p.row;
    clearMessages();
    for (int64_t m = 0; m < members; ++m) {
      char *packed = pack + m * slotBytes;
      copyBox(p.from, params.extent, p.shards[m].start, p.others[0].extent, 0, packed,
              p.shards[m].valid, 0, myOther.valid, 0, p.shards[m].valid, myOther.valid);
      sends.add(m, packed, each * p.shards[m].valid * myOther.valid);
      staging.add(m, m == group->me ? packed : slot(stage, m),
                  each * myPart.valid * p.others[m].valid);
    }
    WEFT_TRY(exchange(true));
    if (myPart.valid != myPart.extent)
      for (int64_t i = 0, n = p.part * params.middle * params.otherExtent; i < n; ++i)
        std::memcpy(p.to + i * bytes, &params.padBits, size_t(bytes));
    for (int64_t m = 0; m < members; ++m)
      copyBox(static_cast<const char *>(received[m]), myPart.valid, 0, p.others[m].valid, 0, p.to,
              myPart.extent, 0, params.otherExtent, p.others[m].start, myPart.valid,
              p.others[m].valid);
    return exchange(false);
  }

  Status shift(const Part &p) {
    int64_t distance = params.peer % members;
    int64_t next = modulo(group->me + distance);
    int64_t previous = modulo(group->me - distance);
    int64_t size = p.whole * bytes;
    clearMessages();
    for (int64_t m = 0; m < members; ++m) {
      sends.add(m, p.from, m == next ? size : 0);
      staging.add(m, p.to, m == previous ? size : 0);
    }
    WEFT_TRY(exchange(true));
    place();
    return exchange(false);
  }

  Device &device;
  Collective params; // of all parts alike: kind, types, communicator
  const Group *group = nullptr;
  int64_t members = 1, bytes = 1, total = 0, chunk = 0;
  ReduceSpan reduce = nullptr;
  std::vector<Part> parts;
  Messages sends, staging;
  std::vector<const void *> received, sources;
  int64_t slotBytes = 0; // of what one member gives
  uint64_t packBytes = 0, stageBytes = 0;
  std::unique_ptr<char[]> copies; // memory of the host where the device's is not
};

} // namespace

std::unique_ptr<PreparedCollective> TransportCollectives::prepare(const PrepareContext &context,
                                                                  const Command &command,
                                                                  Status &status) {
  auto collective = std::make_unique<TransportCollective>(context, groups, device, command, status);
  return status.ok() ? std::move(collective) : nullptr;
}
