// Collectives as exchanges of blocks, reduced in member order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All backends run these same algorithms, so their results agree bit for bit:
// every reduced element is ((v0 op v1) op v2) ... over members 0, 1, 2, ... in
// the accumulation dtype, rounded once at the end.
#include "Convert.h"
#include "Executor.h"
#include "Groups.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

using namespace weft::runtime;

namespace {

uint64_t alignUp(uint64_t value) { return (value + 63) / 64 * 64; }

/// Up to here a whole all_reduce is one exchange: latency rules.
constexpr int64_t kSmallBytes = 16 * 1024;

template <typename Acc> Acc combine(Reduction reduction, Acc a, Acc b) {
  switch (reduction) {
  case Reduction::Sum:
    return a + b;
  case Reduction::Product:
    return a * b;
  case Reduction::Max:
    return a > b || a != a ? a : b; // NaN wins on either side
  case Reduction::Min:
    return a < b || a != a ? a : b;
  case Reduction::And:
  case Reduction::Or:
    break;
  }
  return a;
}

template <typename Acc> struct Wrapping { using type = Acc; };
// Signed sums wrap like everyone's, without undefined behaviour.
template <> struct Wrapping<int8_t> { using type = uint8_t; };
template <> struct Wrapping<int16_t> { using type = uint32_t; };
template <> struct Wrapping<uint16_t> { using type = uint32_t; };
template <> struct Wrapping<int32_t> { using type = uint32_t; };
template <> struct Wrapping<int64_t> { using type = uint64_t; };

/// result[i] = sources[0][i] op sources[1][i] op ...; `result` may be one of
/// the sources. The switch over reductions stays out of the inner loops.
template <typename T, typename Acc>
void reduceSpan(Reduction reduction, const void *const *sources,
                int64_t members, int64_t begin, int64_t end, void *result) {
  constexpr int64_t kBlock = 512;
  Acc sum[kBlock];
  for (int64_t at = begin; at < end; at += kBlock) {
    int64_t count = std::min(kBlock, end - at);
    const T *first = static_cast<const T *>(sources[0]) + at;
    for (int64_t i = 0; i < count; ++i)
      sum[i] = Acc(first[i]);
    for (int64_t m = 1; m < members; ++m) {
      const T *next = static_cast<const T *>(sources[m]) + at;
      auto loop = [&](auto op) {
        for (int64_t i = 0; i < count; ++i)
          sum[i] = op(sum[i], Acc(next[i]));
      };
      using Wrap = typename Wrapping<Acc>::type;
      if (reduction == Reduction::Sum)
        loop([](Acc a, Acc b) { return Acc(Wrap(a) + Wrap(b)); });
      else if (reduction == Reduction::Product)
        loop([](Acc a, Acc b) { return Acc(Wrap(a) * Wrap(b)); });
      else if (reduction == Reduction::Max)
        loop([](Acc a, Acc b) { return combine(Reduction::Max, a, b); });
      else if (reduction == Reduction::Min)
        loop([](Acc a, Acc b) { return combine(Reduction::Min, a, b); });
      else if constexpr (std::is_integral_v<Acc>) {
        if (reduction == Reduction::And)
          loop([](Acc a, Acc b) { return Acc(a & b); });
        else
          loop([](Acc a, Acc b) { return Acc(a | b); });
      }
    }
    T *out = static_cast<T *>(result) + at;
    for (int64_t i = 0; i < count; ++i)
      if constexpr (std::is_same_v<T, Acc> || std::is_same_v<Acc, float>)
        out[i] = T(sum[i]);
      else
        out[i] = T(float(sum[i]));
  }
}

using ReduceFn = void (*)(Reduction, const void *const *, int64_t, int64_t,
                          int64_t, void *);

ReduceFn reducerFor(DType type, DType accumulator) {
  if (type == DType::Bool)
    return reduceSpan<uint8_t, uint8_t>;
  ReduceFn result = nullptr;
  withType(type, [&](auto value) {
    using T = decltype(value);
    if constexpr (!std::is_same_v<T, Boolean>) {
      if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>)
        result = accumulator == DType::F64 ? reduceSpan<T, double>
                                           : reduceSpan<T, float>;
      else if constexpr (std::is_same_v<T, float>)
        result = accumulator == DType::F64 ? reduceSpan<T, double>
                                           : reduceSpan<T, float>;
      else
        result = reduceSpan<T, T>;
    }
  });
  return result;
}

class CollectiveStep : public Step {
public:
  CollectiveStep(const PrepareContext &context, const Command &command,
                 Status &status)
      : params(context.program.Collectives()[command.params]) {
    const ProgramView &p = context.program;
    status = context.groups.get(p, params.communicator, context.stream,
                                context.coordinates, group);
    if (!status.ok())
      return;
    members = group->members();
    bytes = dtypeBytes(params.dtype);
    reduce = reducerFor(params.dtype, params.accumulator);
    Table<uint32_t> axes = p.axes(p.Communicators()[params.communicator].axes);
    std::vector<int64_t> sizes;
    for (uint32_t axis : axes)
      sizes.push_back(p.MeshAxes()[axis].size);
    for (int64_t m = 0; m < members; ++m) {
      std::vector<int64_t> position(sizes.size());
      int64_t rest = m;
      for (size_t i = sizes.size(); i-- > 0; rest /= sizes[i])
        position[i] = rest % sizes[i];
      shards.push_back(shardOf(params.extent, {sizes.data(), sizes.size()},
                               {position.data(), position.size()}));
      others.push_back(shardOf(params.otherExtent, {sizes.data(), sizes.size()},
                               {position.data(), position.size()}));
    }
    whole = params.outer * params.extent * params.inner;
    part = params.outer * shards[0].extent * params.inner;
    auto [first, second] = viewElements();
    Table<View> views = p.Views().slice(command.views);
    status = ResolvedView::make(context, views[0], source, first);
    if (status.ok() && views.size() > 1)
      status = ResolvedView::make(context, views[1], destination, second);
    sends.resize(members);
    staging.resize(members);
    received.resize(members);
    planScratch();
  }

  bool communicates() const override { return true; }
  uint64_t scratchBytes() const override { return packBytes + stageBytes; }

  Status run(StreamContext &stream) override {
    char *from = source.address(stream);
    if (!from)
      return source.leaves(stream);
    char *to = nullptr;
    bool single = params.kind == CollectiveKind::Send ||
                  params.kind == CollectiveKind::Recv;
    if (!single && !(to = destination.address(stream)))
      return destination.leaves(stream);
    char *pack = stream.scratch, *stage = stream.scratch + packBytes;
    switch (params.kind) {
    case CollectiveKind::AllGather:
      return allGather(from, to, pack, stage);
    case CollectiveKind::AllReduce:
      return allReduce(from, to, pack, stage);
    case CollectiveKind::ReduceScatter:
      return reduceScatter(from, to, pack, stage);
    case CollectiveKind::AllToAll:
      return allToAll(from, to, pack, stage);
    case CollectiveKind::Shift:
      return shift(from, to);
    case CollectiveKind::Send:
      return commCall([&](weft_status *status) {
        return group->vtable->send(group->handle, peer(), from,
                                   uint64_t(whole * bytes), status);
      });
    case CollectiveKind::Recv:
      return commCall([&](weft_status *status) {
        return group->vtable->recv(group->handle, peer(), from,
                                   uint64_t(whole * bytes), status);
      });
    }
    return {};
  }

private:
  std::pair<int64_t, int64_t> viewElements() const {
    switch (params.kind) {
    case CollectiveKind::AllGather:
      return {part, whole};
    case CollectiveKind::ReduceScatter:
      return {whole, part};
    case CollectiveKind::AllToAll:
      return {whole * params.middle * others[0].extent,
              part * params.middle * params.otherExtent};
    default:
      return {whole, whole};
    }
  }

  int64_t peer() const {
    if (!params.peerRelative)
      return params.peer;
    return modulo(group->me + params.peer % members);
  }
  int64_t modulo(int64_t value) const {
    return ((value % members) + members) % members;
  }

  bool small() const { return whole * bytes <= kSmallBytes; }

  void planScratch() {
    switch (params.kind) {
    case CollectiveKind::AllGather:
      // Received straight into place if each shard is one run there.
      if (params.outer != 1)
        stageBytes = members * alignUp(part * bytes);
      break;
    case CollectiveKind::AllReduce:
      if (small()) {
        stageBytes = members * alignUp(whole * bytes);
        packBytes = alignUp(whole * bytes);
      } else {
        stageBytes = members * alignUp(chunk() * bytes);
      }
      break;
    case CollectiveKind::ReduceScatter:
      stageBytes = members * alignUp(part * bytes);
      if (params.outer != 1)
        packBytes = alignUp(whole * bytes);
      packBytes += alignUp(part * bytes);
      break;
    case CollectiveKind::AllToAll: {
      packBytes = members * alignUp(boxBytes(part, others[0].extent));
      stageBytes = packBytes;
      break;
    }
    default:
      break;
    }
  }

  int64_t chunk() const { return (whole + members - 1) / members; }
  int64_t boxBytes(int64_t elements, int64_t other) const {
    return elements * params.middle * other * bytes;
  }

  Status exchange(bool begin) {
    return commCall([&](weft_status *status) {
      return begin ? group->vtable->exchange_begin(group->handle, sends.data(),
                                                   staging.data(),
                                                   received.data(), status)
                   : group->vtable->exchange_end(group->handle, status);
    });
  }

  /// Copies boxes [outer][count][inner] between arrays of different extents.
  void copyRows(const char *from, int64_t fromExtent, int64_t fromStart,
                char *to, int64_t toExtent, int64_t toStart,
                int64_t count) const {
    int64_t row = params.inner * bytes;
    if (count == 0 || row == 0)
      return;
    for (int64_t o = 0; o < params.outer; ++o)
      std::memcpy(to + (o * toExtent + toStart) * row,
                  from + (o * fromExtent + fromStart) * row,
                  size_t(count * row));
  }

  void pad(char *to, int64_t valid, int64_t extent) const {
    for (int64_t o = 0; o < params.outer; ++o)
      for (int64_t i = valid * params.inner; i < extent * params.inner; ++i)
        std::memcpy(to + (o * extent * params.inner + i) * bytes,
                    &params.padBits, size_t(bytes));
  }

  // Whole padded shards travel, so that all blocks have one size and the
  // source need not be packed.
  Status allGather(const char *from, char *to, char *, char *stage) {
    int64_t local = shards[0].extent, size = part * bytes;
    bool direct = params.outer == 1;
    for (int64_t m = 0; m < members; ++m) {
      int64_t valid = shards[m].valid * params.inner * bytes;
      int64_t mine = shards[group->me].valid * params.inner * bytes;
      sends[m] = {from, uint64_t(direct ? mine : size)};
      staging[m] = direct
                       ? weft_block{to + shards[m].start * params.inner * bytes,
                                    uint64_t(valid)}
                       : weft_block{stage + m * alignUp(size), uint64_t(size)};
    }
    WEFT_TRY(exchange(true));
    for (int64_t m = 0; m < members; ++m) {
      const char *data = static_cast<const char *>(received[m]);
      if (direct) {
        if (data != staging[m].data && staging[m].bytes != 0)
          std::memcpy(const_cast<void *>(staging[m].data), data,
                      staging[m].bytes);
      } else {
        copyRows(data, local, 0, to, params.extent, shards[m].start,
                 shards[m].valid);
      }
    }
    return exchange(false);
  }

  Status allReduce(char *from, char *to, char *pack, char *stage) {
    if (small()) {
      for (int64_t m = 0; m < members; ++m) {
        sends[m] = {from, uint64_t(whole * bytes)};
        staging[m] = {stage + m * alignUp(whole * bytes),
                      uint64_t(whole * bytes)};
      }
      WEFT_TRY(exchange(true));
      // In place, others still read the source: reduce beside it first.
      reduce(params.reduction, received.data(), members, 0, whole, pack);
      WEFT_TRY(exchange(false));
      std::memcpy(to, pack, size_t(whole * bytes));
      return {};
    }
    // Member m reduces chunk m, then all gather the chunks. In place this is
    // safe: nobody but member m reads chunk m while it is written.
    int64_t size = chunk();
    auto start = [&](int64_t m) { return std::min(whole, m * size); };
    auto length = [&](int64_t m) {
      return uint64_t((start(m + 1) - start(m)) * bytes);
    };
    for (int64_t m = 0; m < members; ++m) {
      sends[m] = {from + start(m) * bytes, length(m)};
      staging[m] = {stage + m * alignUp(size * bytes), length(group->me)};
    }
    WEFT_TRY(exchange(true));
    char *mine = to + start(group->me) * bytes;
    reduce(params.reduction, received.data(), members, 0,
           start(group->me + 1) - start(group->me), mine);
    WEFT_TRY(exchange(false));
    for (int64_t m = 0; m < members; ++m) {
      sends[m] = {mine, length(group->me)};
      staging[m] = {to + start(m) * bytes, length(m)};
    }
    WEFT_TRY(exchange(true));
    for (int64_t m = 0; m < members; ++m)
      if (received[m] != staging[m].data && staging[m].bytes != 0)
        std::memcpy(const_cast<void *>(staging[m].data), received[m],
                    staging[m].bytes);
    return exchange(false);
  }

  Status reduceScatter(const char *from, char *to, char *pack, char *stage) {
    int64_t row = params.inner * bytes;
    char *reduced = pack;
    char *packed = pack + alignUp(part * bytes);
    int64_t at = 0;
    const Shard &me = shards[group->me];
    for (int64_t m = 0; m < members; ++m) {
      int64_t size = params.outer * shards[m].valid * row;
      const char *data = from + shards[m].start * row;
      if (params.outer != 1) {
        copyRows(from, params.extent, shards[m].start, packed + at,
                 shards[m].valid, 0, shards[m].valid);
        data = packed + at;
        at += size;
      }
      sends[m] = {data, uint64_t(size)};
      staging[m] = {stage + m * alignUp(part * bytes),
                    uint64_t(params.outer * me.valid * row)};
    }
    WEFT_TRY(exchange(true));
    // The destination may lie inside the source, so write it last.
    reduce(params.reduction, received.data(), members, 0,
           params.outer * me.valid * params.inner, reduced);
    WEFT_TRY(exchange(false));
    copyRows(reduced, me.valid, 0, to, me.extent, 0, me.valid);
    pad(to, me.valid, me.extent);
    return {};
  }

  /// Copies a box of the dimensions scattered (a) and gathered (b) between
  /// arrays [outer][A][middle][B][inner] (order by gatherFirst).
  void copyBox(const char *from, int64_t fromA, int64_t fromAStart,
               int64_t fromB, int64_t fromBStart, char *to, int64_t toA,
               int64_t toAStart, int64_t toB, int64_t toBStart, int64_t countA,
               int64_t countB) const {
    int64_t row = params.inner * bytes;
    bool swap = params.gatherFirst != 0;
    // Exterior dimension x, interior dimension y.
    int64_t fromX = swap ? fromB : fromA,
            fromXStart = swap ? fromBStart : fromAStart;
    int64_t fromY = swap ? fromA : fromB,
            fromYStart = swap ? fromAStart : fromBStart;
    int64_t toX = swap ? toB : toA, toXStart = swap ? toBStart : toAStart;
    int64_t toY = swap ? toA : toB, toYStart = swap ? toAStart : toBStart;
    int64_t countX = swap ? countB : countA, countY = swap ? countA : countB;
    if (countY == 0 || row == 0)
      return;
    for (int64_t o = 0; o < params.outer; ++o)
      for (int64_t x = 0; x < countX; ++x)
        for (int64_t m = 0; m < params.middle; ++m)
          std::memcpy(
              to + (((o * toX + toXStart + x) * params.middle + m) * toY +
                    toYStart) *
                       row,
              from +
                  (((o * fromX + fromXStart + x) * params.middle + m) * fromY +
                   fromYStart) *
                      row,
              size_t(countY * row));
  }

  Status allToAll(const char *from, char *to, char *pack, char *stage) {
    const Shard &myPart = shards[group->me], &myOther = others[group->me];
    uint64_t slot = alignUp(boxBytes(part, others[0].extent));
    int64_t each = params.outer * params.middle * params.inner * bytes;
    for (int64_t m = 0; m < members; ++m) {
      char *packed = pack + m * slot;
      copyBox(from, params.extent, shards[m].start, others[0].extent, 0, packed,
              shards[m].valid, 0, myOther.valid, 0, shards[m].valid,
              myOther.valid);
      sends[m] = {packed, uint64_t(each * shards[m].valid * myOther.valid)};
      staging[m] = {stage + m * slot,
                    uint64_t(each * myPart.valid * others[m].valid)};
    }
    WEFT_TRY(exchange(true));
    if (myPart.valid != myPart.extent)
      for (int64_t i = 0, n = part * params.middle * params.otherExtent; i < n;
           ++i)
        std::memcpy(to + i * bytes, &params.padBits, size_t(bytes));
    for (int64_t m = 0; m < members; ++m)
      copyBox(static_cast<const char *>(received[m]), myPart.valid, 0,
              others[m].valid, 0, to, myPart.extent, 0, params.otherExtent,
              others[m].start, myPart.valid, others[m].valid);
    return exchange(false);
  }

  Status shift(const char *from, char *to) {
    int64_t distance = params.peer % members;
    int64_t next = modulo(group->me + distance);
    int64_t previous = modulo(group->me - distance);
    uint64_t size = uint64_t(whole * bytes);
    for (int64_t m = 0; m < members; ++m) {
      sends[m] = {from, m == next ? size : 0};
      staging[m] = {to, m == previous ? size : 0};
    }
    WEFT_TRY(exchange(true));
    if (received[previous] != to && size != 0)
      std::memcpy(to, received[previous], size);
    return exchange(false);
  }

  Collective params;
  const Group *group = nullptr;
  int64_t members = 1, bytes = 1, whole = 0, part = 0;
  ReduceFn reduce = nullptr;
  std::vector<Shard> shards, others; // by member, of extent and otherExtent
  ResolvedView source, destination;
  std::vector<weft_block> sends, staging;
  std::vector<const void *> received;
  uint64_t packBytes = 0, stageBytes = 0;
};

} // namespace

StepPtr weft::runtime::makeCollective(const PrepareContext &context,
                                      const Command &command, Status &status) {
  StepPtr step = std::make_unique<CollectiveStep>(context, command, status);
  return status.ok() ? std::move(step) : nullptr;
}
