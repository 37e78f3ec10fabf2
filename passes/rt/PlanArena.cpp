// Gives every buffer its place in the arena.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/Lifetimes.h"
#include "passes/rt/Passes.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Target/Target.h"

#include "llvm/Support/MathExtras.h"

#include <set>

namespace weft::rt {
#define GEN_PASS_DEF_RTPLANARENA
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft::rt;

namespace {

int64_t alignedBytes(MemRefType type, int64_t alignment) {
  return llvm::alignTo(std::max<int64_t>(weft::bytesOf(type), 1), alignment);
}

struct Placed {
  int64_t offset, bytes, first, last;
};

/// Buffers that have a place, by offset. One pass over them finds a gap, so the
/// whole plan takes time quadratic in the number of buffers, with a small factor.
class Gaps {
public:
  explicit Gaps(int64_t base) : base(base) {}

  /// Places `bytes` into the smallest gap between those alive with
  /// [first, last], or at their end if no gap holds it.
  int64_t place(int64_t bytes, int64_t first, int64_t last) {
    int64_t cursor = base, best = -1, bestGap = INT64_MAX;
    for (const Placed &other : placed) {
      if (other.first > last || first > other.last)
        continue;
      int64_t gap = other.offset - cursor;
      if (gap >= bytes && gap < bestGap) {
        best = cursor;
        bestGap = gap;
      }
      cursor = std::max(cursor, other.offset + other.bytes);
    }
    Placed own{best >= 0 ? best : cursor, bytes, first, last};
    auto less = [](const Placed &a, const Placed &b) { return a.offset < b.offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), own, less), own);
    return own.offset;
  }

private:
  int64_t base;
  std::vector<Placed> placed;
};

void planProgram(ProgramOp program, int64_t base, int64_t alignment) {
  Builder builder(program.getContext());
  std::vector<BufferOp> buffers(program.getOps<BufferOp>().begin(),
                                program.getOps<BufferOp>().end());
  Lifetimes lifetimes(program);
  // Ports live as long as the program, so they simply stand first.
  auto isPort = [](BufferOp buffer) {
    return buffer.getKind() == BufferClass::Input || buffer.getKind() == BufferClass::Output;
  };
  auto place = [&](BufferOp buffer, int64_t offset, int64_t first, int64_t last) {
    buffer.setOffset(offset);
    buffer.setLives(SmallVector<int64_t>{first, last});
  };
  int64_t end = std::max<int64_t>(lifetimes.numCommands() - 1, 0);
  for (BufferOp buffer : buffers)
    if (isPort(buffer)) {
      place(buffer, base, 0, end);
      base += alignedBytes(cast<MemRefType>(buffer.getType()), alignment);
    }
  // Largest first: small buffers then fill the gaps that large ones leave.
  llvm::erase_if(buffers, isPort);
  std::vector<std::pair<int64_t, size_t>> bySize;
  for (auto [i, buffer] : llvm::enumerate(buffers))
    bySize.push_back({-alignedBytes(cast<MemRefType>(buffer.getType()), alignment), i});
  llvm::sort(bySize);
  Gaps gaps(base);
  int64_t peak = base;
  for (auto [negated, i] : bySize) {
    BufferOp buffer = buffers[i];
    auto [first, last] = lifetimes.of(buffer);
    int64_t bytes = -negated;
    int64_t offset = gaps.place(bytes, first, last);
    place(buffer, offset, first, last);
    peak = std::max(peak, offset + bytes);
  }
  program.setArena(peak);
}

struct PlanArena : weft::rt::impl::RtPlanArenaBase<PlanArena> {
  void runOnOperation() override {
    const weft::Target *target = weft::targetOf(getOperation());
    if (!target)
      return signalPassFailure();
    int64_t base = 0, alignment = target->traits().alignment;
    for (auto state : getOperation().getOps<StateOp>()) {
      state.setOffset(base);
      base += alignedBytes(cast<MemRefType>(state.getLocal()), alignment);
    }
    for (auto program : getOperation().getOps<ProgramOp>())
      planProgram(program, base, alignment);
  }
};

} // namespace
