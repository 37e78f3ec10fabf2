// Turns collectives into calls of NCCL.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/nccl/NcclPlan.h"

#include "device/cuda/nccl/ReduceKernels.h"

using namespace weft::runtime;
using namespace weft::runtime::cuda;

namespace {

struct NativeReduction {
  NcclType type;
  NcclReduction reduction;
};

const char *nameOf(Reduction reduction) {
  constexpr const char *kNames[kNumReductions] = {"sum",     "product", "maximum",
                                                  "minimum", "and",     "or"};
  return kNames[size_t(reduction)];
}

std::optional<NcclReduction> operationOf(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
    return NcclSum;
  case Reduction::Product:
    return NcclProduct;
  case Reduction::Max:
    return NcclMax;
  case Reduction::Min:
    return NcclMin;
  case Reduction::And:
  case Reduction::Or:
    break;
  }
  return std::nullopt;
}

std::optional<NativeReduction> nativeReduction(const Collective &params) {
  Reduction reduction = params.reduction;
  bool isMinMax = reduction == Reduction::Max || reduction == Reduction::Min;
  // Booleans are 0 or 1.
  if (params.dtype == DType::Bool && (reduction == Reduction::And || reduction == Reduction::Or))
    return NativeReduction{NcclU8, reduction == Reduction::And ? NcclMin : NcclMax};
  std::optional<NcclReduction> operation = operationOf(reduction);
  if (!operation || params.accumulator != params.dtype)
    return std::nullopt;
  switch (params.dtype) {
  case DType::F64:
  case DType::F32:
    if (isMinMax || params.inOrder != 0)
      return std::nullopt;
    return NativeReduction{params.dtype == DType::F64 ? NcclF64 : NcclF32, *operation};
  case DType::I8:
    return NativeReduction{NcclI8, *operation};
  case DType::U8:
    return NativeReduction{NcclU8, *operation};
  case DType::I32:
    return NativeReduction{NcclI32, *operation};
  case DType::I64:
    return NativeReduction{NcclI64, *operation};
  default:
    return std::nullopt;
  }
}

bool reduces(const Collective &params) {
  return params.kind == CollectiveKind::AllReduce || params.kind == CollectiveKind::ReduceScatter;
}

int64_t alignUp(int64_t bytes) { return (bytes + 255) / 256 * 256; }

class Planner {
public:
  Planner(const std::vector<NcclTensor> &tensors, int64_t members, int64_t me)
      : tensors(tensors), params(tensors[0].params), members(members), me(me),
        bytes(dtypeBytes(params.dtype)) {}

  NcclPlan run() {
    std::optional<NativeReduction> native =
        reduces(params) ? nativeReduction(params) : std::nullopt;
    if (reduces(params) && !native) {
      params.kind == CollectiveKind::AllReduce ? allReduceInOrder() : reduceScatterInOrder();
      return std::move(plan);
    }
    for (const NcclTensor &tensor : tensors)
      switch (params.kind) {
      case CollectiveKind::AllGather:
        allGather(tensor);
        break;
      case CollectiveKind::AllReduce:
        allReduce(tensor, *native);
        break;
      case CollectiveKind::ReduceScatter:
        reduceScatter(tensor, *native);
        break;
      case CollectiveKind::AllToAll:
        allToAll(tensor);
        break;
      case CollectiveKind::Send:
        plan.calls.push_back(
            {NcclPlan::Kind::Send, tensor.source, {}, wholeBytes(tensor), NcclU8, NcclSum, peer()});
        break;
      case CollectiveKind::Recv:
        plan.calls.push_back({NcclPlan::Kind::Recv,
                              {},
                              tensor.destination,
                              wholeBytes(tensor),
                              NcclU8,
                              NcclSum,
                              peer()});
        break;
      }
    return std::move(plan);
  }

private:
  //===--- Sizes ----------------------------------------------------------===//

  static int64_t whole(const NcclTensor &t) {
    return t.params.outer * t.params.extent * t.params.inner;
  }
  static int64_t part(const NcclTensor &t) {
    return t.params.outer * t.shards[0].extent * t.params.inner;
  }
  int64_t row(const NcclTensor &t) const { return t.params.inner * bytes; }
  int64_t wholeBytes(const NcclTensor &t) const { return whole(t) * bytes; }
  int64_t partBytes(const NcclTensor &t) const { return part(t) * bytes; }
  const Shard &mine(const NcclTensor &t) const { return t.shards[size_t(me)]; }

  int peer() const {
    return int(!params.peerRelative ? params.peer
                                    : ((me + params.peer % members) % members + members) % members);
  }

  /// Whether all shards have all their rows and each is one run of memory.
  static bool isEven(const NcclTensor &t) {
    for (const Shard &shard : t.shards)
      if (shard.valid != shard.extent)
        return false;
    return t.params.outer == 1;
  }
  /// Whether they share no byte.
  static bool areApart(Spot a, int64_t aBytes, Spot b, int64_t bBytes) {
    return a.isScratch != b.isScratch || a.offset + aBytes <= b.offset ||
           b.offset + bBytes <= a.offset;
  }
  static bool isSame(Spot a, Spot b) { return a.isScratch == b.isScratch && a.offset == b.offset; }

  //===--- Parts of plans -------------------------------------------------===//

  Spot room(int64_t size) {
    Spot begin{plan.scratchBytes, true};
    plan.scratchBytes += alignUp(size);
    return begin;
  }
  static void copy(std::vector<NcclPlan::Copy> &copies, Spot from, int64_t fromPitch, Spot to,
                   int64_t toPitch, int64_t width, int64_t height) {
    if (width > 0 && height > 0)
      copies.push_back({from, to, fromPitch, toPitch, width, height});
  }
  void call(NcclPlan::Kind kind, Spot from, Spot to, int64_t count, int member = 0) {
    if (count > 0)
      plan.calls.push_back({kind, from, to, count, NcclU8, NcclSum, member});
  }
  void callNative(NcclPlan::Kind kind, Spot from, Spot to, int64_t count, NativeReduction native) {
    if (count > 0)
      plan.calls.push_back({kind, from, to, count, native.type, native.reduction, 0});
  }
  /// Member m's rows of the source, to a block of the size of a shard.
  void packShard(const NcclTensor &t, const Shard &shard, Spot to) {
    copy(plan.packs, t.source + shard.start * row(t), t.params.extent * row(t), to,
         shard.extent * row(t), shard.valid * row(t), t.params.outer);
  }
  void fillPadding(const NcclTensor &t) {
    const Shard &shard = mine(t);
    if (shard.valid != shard.extent && row(t) > 0)
      plan.fills.push_back({t.destination + shard.valid * row(t), shard.extent * row(t),
                            (shard.extent - shard.valid) * t.params.inner, t.params.outer, bytes,
                            t.params.padBits});
  }

  //===--- NCCL's own -----------------------------------------------------===//

  void allGather(const NcclTensor &t) {
    Spot own = t.destination + mine(t).start * row(t);
    bool inPlace = isSame(t.source, own);
    bool isSafe = inPlace || areApart(t.source, partBytes(t), t.destination, wholeBytes(t));
    if (isSafe && isEven(t))
      return call(NcclPlan::Kind::AllGather, t.source, t.destination, partBytes(t));
    if (isSafe && t.params.outer == 1) {
      for (int64_t m = 0; m < members; ++m) {
        Spot to = t.destination + t.shards[size_t(m)].start * row(t);
        call(NcclPlan::Kind::Broadcast, m == me ? t.source : to, to,
             t.shards[size_t(m)].valid * row(t), int(m));
      }
      return;
    }
    Spot gathered = room(members * partBytes(t));
    call(NcclPlan::Kind::AllGather, t.source, gathered, partBytes(t));
    for (int64_t m = 0; m < members; ++m) {
      const Shard &shard = t.shards[size_t(m)];
      copy(plan.unpacks, gathered + m * partBytes(t), shard.extent * row(t),
           t.destination + shard.start * row(t), t.params.extent * row(t), shard.valid * row(t),
           t.params.outer);
    }
  }

  void allReduce(const NcclTensor &t, NativeReduction native) {
    Spot from = t.source;
    if (!isSame(from, t.destination) &&
        !areApart(from, wholeBytes(t), t.destination, wholeBytes(t))) {
      from = room(wholeBytes(t));
      copy(plan.packs, t.source, wholeBytes(t), from, wholeBytes(t), wholeBytes(t), 1);
    }
    callNative(NcclPlan::Kind::AllReduce, from, t.destination, whole(t), native);
  }

  void reduceScatter(const NcclTensor &t, NativeReduction native) {
    Spot from = t.source;
    bool isSafe = isSame(t.source + me * partBytes(t), t.destination) ||
                  areApart(t.source, wholeBytes(t), t.destination, partBytes(t));
    if (!isSafe || !isEven(t)) {
      from = room(members * partBytes(t));
      for (int64_t m = 0; m < members; ++m)
        packShard(t, t.shards[size_t(m)], from + m * partBytes(t));
    }
    callNative(NcclPlan::Kind::ReduceScatter, from, t.destination, part(t), native);
    fillPadding(t);
  }

  //===--- Reduced here, in the order of members --------------------------===//

  /// NCCL moves 16 bytes at a time only where both ends begin at a multiple of that.
  static int64_t blockOf(int64_t size) { return (size + 15) / 16 * 16; }

  /// Exchanges blocks of `block` bytes: packed[m] goes to member m, and what all gave for this one
  /// is reduced to packed[me].
  void reduceBlocks(Spot packed, int64_t block) {
    if (block == 0)
      return;
    Spot given = room(members * block);
    for (int64_t m = 0; m < members; ++m) {
      if (m == me) {
        copy(plan.packs, packed + m * block, block, given + m * block, block, block, 1);
        continue;
      }
      call(NcclPlan::Kind::Send, packed + m * block, {}, block, int(m));
      call(NcclPlan::Kind::Recv, {}, given + m * block, block, int(m));
    }
    plan.reduce = {given, packed + me * block, block / bytes,   bytes,
                   block, params.dtype,        params.reduction};
  }

  void allReduceInOrder() {
    int64_t total = 0;
    for (const NcclTensor &t : tensors)
      total += whole(t);
    int64_t block = blockOf((total + members - 1) / members * bytes);
    Spot packed = room(members * block);
    int64_t at = 0;
    for (const NcclTensor &t : tensors) {
      copy(plan.packs, t.source, wholeBytes(t), packed + at, wholeBytes(t), wholeBytes(t), 1);
      copy(plan.unpacks, packed + at, wholeBytes(t), t.destination, wholeBytes(t), wholeBytes(t),
           1);
      at += wholeBytes(t);
    }
    reduceBlocks(packed, block);
    if (block > 0)
      plan.callsAfter.push_back(
          {NcclPlan::Kind::AllGather, packed + me * block, packed, block, NcclU8, NcclSum, 0});
  }

  void reduceScatterInOrder() {
    int64_t block = 0;
    for (const NcclTensor &t : tensors)
      block += partBytes(t);
    block = blockOf(block);
    Spot packed = room(members * block);
    int64_t at = 0;
    for (const NcclTensor &t : tensors) {
      for (int64_t m = 0; m < members; ++m)
        packShard(t, t.shards[size_t(m)], packed + (m * block + at));
      const Shard &shard = mine(t);
      fillPadding(t);
      copy(plan.unpacks, packed + (me * block + at), shard.extent * row(t), t.destination,
           shard.extent * row(t), shard.valid * row(t), t.params.outer);
      at += partBytes(t);
    }
    reduceBlocks(packed, block);
  }

  //===--- Boxes ----------------------------------------------------------===//

  /// Dims [outer][X][middle][Y][inner] of an array, and where a box begins in X and Y.
  struct Box {
    Spot begin;
    int64_t x, xStart, y, yStart;
  };
  void copyBox(std::vector<NcclPlan::Copy> &copies, const NcclTensor &t, const Box &from,
               const Box &to, int64_t countX, int64_t countY) const {
    int64_t middle = t.params.middle, outer = t.params.outer;
    auto place = [&](const Box &box, int64_t o) {
      return box.begin + ((o * box.x + box.xStart) * middle * box.y + box.yStart) * row(t);
    };
    int64_t width = countY * row(t), height = countX * middle;
    if (from.x == countX && to.x == countX)
      return copy(copies, place(from, 0), from.y * row(t), place(to, 0), to.y * row(t), width,
                  outer * height);
    if (from.y == countY && to.y == countY)
      return copy(copies, place(from, 0), from.x * middle * width, place(to, 0),
                  to.x * middle * width, height * width, outer);
    for (int64_t o = 0; o < outer; ++o)
      copy(copies, place(from, o), from.y * row(t), place(to, o), to.y * row(t), width, height);
  }
  /// The box [a, a + countA) x [b, b + countB) of an array whose dims are a and b.
  void copyBox(std::vector<NcclPlan::Copy> &copies, const NcclTensor &t, Box from, Box to,
               int64_t countA, int64_t countB, bool swap) const {
    if (swap) {
      std::swap(from.x, from.y), std::swap(from.xStart, from.yStart);
      std::swap(to.x, to.y), std::swap(to.xStart, to.yStart);
      std::swap(countA, countB);
    }
    copyBox(copies, t, from, to, countA, countB);
  }

  void allToAll(const NcclTensor &t) {
    bool swap = t.params.gatherFirst != 0;
    const Shard &myPart = mine(t), &myOther = t.others[size_t(me)];
    int64_t each = t.params.outer * t.params.middle * row(t);
    int64_t roomBytes = alignUp(each * myPart.extent * t.others[0].extent);
    Spot packed = room(members * roomBytes), received = room(members * roomBytes);
    if (myPart.valid != myPart.extent)
      plan.fills.push_back({t.destination, 0, part(t) * t.params.middle * t.params.otherExtent, 1,
                            bytes, t.params.padBits});
    for (int64_t m = 0; m < members; ++m) {
      const Shard &their = t.shards[size_t(m)], &theirOther = t.others[size_t(m)];
      Spot out = packed + m * roomBytes, in = m == me ? out : received + m * roomBytes;
      copyBox(plan.packs, t, {t.source, t.params.extent, their.start, t.others[0].extent, 0},
              {out, their.valid, 0, myOther.valid, 0}, their.valid, myOther.valid, swap);
      if (m != me) {
        call(NcclPlan::Kind::Send, out, {}, each * their.valid * myOther.valid, int(m));
        call(NcclPlan::Kind::Recv, {}, in, each * myPart.valid * theirOther.valid, int(m));
      }
      copyBox(plan.unpacks, t, {in, myPart.valid, 0, theirOther.valid, 0},
              {t.destination, myPart.extent, 0, t.params.otherExtent, theirOther.start},
              myPart.valid, theirOther.valid, swap);
    }
  }

  const std::vector<NcclTensor> &tensors;
  const Collective params; // of all alike: kind, types, peer
  const int64_t members, me, bytes;
  NcclPlan plan;
};

} // namespace

std::string cuda::whyNotNccl(const Collective &params) {
  if (!reduces(params) || nativeReduction(params) ||
      hasReduceKernel(params.dtype, params.accumulator, params.reduction))
    return {};
  return std::string("NCCL has no ") + nameOf(params.reduction) + " of " + dtypeName(params.dtype) +
         " in " + dtypeName(params.accumulator);
}

NcclPlan cuda::planNccl(const std::vector<NcclTensor> &tensors, int64_t members, int64_t me) {
  return Planner(tensors, members, me).run();
}
