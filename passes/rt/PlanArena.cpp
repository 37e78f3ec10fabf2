// Gives every buffer its place in the arena.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/CommandBuilder.h"
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

/// Buffers that have a place, found by when they are alive: those alive at a moment in a tree of
/// intervals of commands, each in the fewest intervals that are its life; those that begin in an
/// interval by their beginning. So a buffer is placed in time linear in those alive with it.
class Alive {
public:
  explicit Alive(int64_t commands) {
    while (leaves < commands)
      leaves *= 2;
    intervals.resize(2 * leaves);
    begins.resize(commands);
  }

  void insert(const Placed &placed) {
    begins[placed.first].push_back(all.size());
    starts.insert(placed.first);
    for (int64_t l = placed.first + leaves, r = placed.last + leaves + 1; l < r; l /= 2, r /= 2) {
      if (l % 2 == 1)
        intervals[l++].push_back(all.size());
      if (r % 2 == 1)
        intervals[--r].push_back(all.size());
    }
    all.push_back(placed);
  }

  /// Those alive with [first, last], by offset.
  std::vector<Placed> with(int64_t first, int64_t last) const {
    std::vector<Placed> found;
    auto add = [&](ArrayRef<uint32_t> numbers) {
      for (uint32_t number : numbers)
        found.push_back(all[number]);
    };
    for (int64_t interval = first + leaves; interval > 0; interval /= 2)
      add(intervals[interval]);
    for (auto it = starts.upper_bound(first); it != starts.end() && *it <= last; ++it)
      add(begins[*it]);
    llvm::sort(found, [](const Placed &a, const Placed &b) { return a.offset < b.offset; });
    return found;
  }

private:
  int64_t leaves = 1;
  std::vector<Placed> all;
  std::vector<SmallVector<uint32_t, 2>> intervals, begins;
  std::set<int64_t> starts; // where some buffer begins
};

/// Gives buffers, one after the other, bytes that are free for their whole life.
class Gaps {
public:
  Gaps(int64_t base, int64_t commands) : base(base), placed(commands) {}

  /// Places `bytes` into the smallest gap between those alive with
  /// [first, last], or at their end if no gap holds it.
  int64_t place(int64_t bytes, int64_t first, int64_t last) {
    int64_t cursor = base, best = -1, bestGap = INT64_MAX;
    for (const Placed &other : placed.with(first, last)) {
      int64_t gap = other.offset - cursor;
      if (gap >= bytes && gap < bestGap) {
        best = cursor;
        bestGap = gap;
      }
      cursor = std::max(cursor, other.offset + other.bytes);
    }
    Placed own{best >= 0 ? best : cursor, bytes, first, last};
    placed.insert(own);
    return own.offset;
  }

private:
  int64_t base;
  Alive placed;
};

/// Calls get memory of their own for what their routine needs besides its blocks.
void giveScratch(ProgramOp program, const SymbolTable &symbols) {
  for (auto invoke : program.getOps<InvokeOp>()) {
    OpBuilder builder(invoke);
    auto routine = symbols.lookup<ProgramOp>(invoke.getRoutine());
    if (Value scratch = createScratch(builder, invoke.getLoc(), routine))
      invoke.getScratchMutable().assign(scratch);
  }
}

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
  Gaps gaps(base, end + 1);
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
    // What routines need is a part of what their callers need.
    SymbolTable symbols(getOperation());
    for (auto program : getOperation().getOps<ProgramOp>())
      if (program.isRoutine())
        planProgram(program, 0, alignment);
    for (auto program : getOperation().getOps<ProgramOp>())
      if (!program.isRoutine()) {
        giveScratch(program, symbols);
        planProgram(program, base, alignment);
      }
  }
};

} // namespace
