// A collective as NCCL's calls, and copies before and behind them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In this order on a stream: packs; calls as one group; a reduction; calls; fills; unpacks.
//
// A reduction is NCCL's own where that has the types, and results that do not depend on its order
// but for rounding: sums and products of f32 and f64, all of integers, and and or of booleans. A
// sum of bf16 or f16 in f32, a maximum or minimum of floats, and whatever is to be added in order
// are moved by NCCL and reduced by kernels, in the order of members (ReduceKernels.h): bits are
// those of the host's.
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_NCCL_NCCLPLAN_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_NCCL_NCCLPLAN_H

#include "device/Resolved.h"
#include "device/cuda/libraries/NcclApi.h"

#include <optional>
#include <string>

namespace weft::runtime::cuda {

/// Bytes from the arena's start, or from that of the stream's scratch.
struct Spot {
  int64_t offset = 0;
  bool isScratch = false;
  Spot operator+(int64_t bytes) const { return {offset + bytes, isScratch}; }
};

struct NcclPlan {
  /// `height` rows of `width` bytes; pitches are bytes from row to row.
  struct Copy {
    Spot from, to;
    int64_t fromPitch, toPitch, width, height;
  };
  /// `height` rows of `count` elements.
  struct Fill {
    Spot to;
    int64_t pitch, count, height, bytes;
    uint64_t bits;
  };
  enum class Kind { AllReduce, Broadcast, AllGather, ReduceScatter, Send, Recv };
  struct Call {
    Kind kind;
    Spot from, to;
    int64_t count; // as NCCL's functions have it
    NcclType type = NcclU8;
    NcclReduction reduction = NcclSum; // of AllReduce, ReduceScatter
    int peer = 0;                      // of Send, Recv; Broadcast: the root
  };
  struct Reduce {
    Spot members, result;
    int64_t count, bytes, stride; // elements, bytes of one, bytes from member to member
    DType type;
    Reduction reduction;
  };

  std::vector<Copy> packs, unpacks;
  std::vector<Call> calls, callsAfter;
  std::optional<Reduce> reduce;
  std::vector<Fill> fills;
  int64_t scratchBytes = 0;
};

/// A tensor of a collective, as one member has it.
struct NcclTensor {
  Collective params;
  Spot source, destination;
  std::vector<Shard> shards, others; // by member, of extent and otherExtent
};

/// Why NCCL does not do the collective, for the user; empty if it does.
std::string whyNotNccl(const Collective &params);

/// `members` ranks, of which this is number `me`; all tensors are of one kind and type.
NcclPlan planNccl(const std::vector<NcclTensor> &tensors, int64_t members, int64_t me);

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_NCCL_NCCLPLAN_H
