// Gives every buffer its place in the arena.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/CommandBuilder.h"
#include "passes/rt/Lifetimes.h"
#include "passes/rt/Passes.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Target/Target.h"

#include "llvm/Support/MathExtras.h"

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

/// Bytes [first, second).
using Range = std::pair<int64_t, int64_t>;

/// Ranges of bytes that neither overlap nor touch, in order.
class Ranges {
public:
  ArrayRef<Range> list() const { return ranges; }

  /// False if all of it was there.
  bool insert(Range added) {
    // The first that does not end before it.
    auto *from = llvm::partition_point(
        ranges, [&](const Range &range) { return range.second < added.first; });
    if (from != ranges.end() && from->first <= added.first && added.second <= from->second)
      return false;
    auto *to = from;
    for (; to != ranges.end() && to->first <= added.second; ++to)
      added = {std::min(added.first, to->first), std::max(added.second, to->second)};
    if (from == to) {
      ranges.insert(from, added);
    } else {
      *from = added;
      ranges.erase(from + 1, to);
    }
    return true;
  }

private:
  SmallVector<Range, 1> ranges;
};

/// The bytes that buffers take over time, in a tree of intervals of commands. Each interval has the
/// bytes that some buffer takes throughout, and those that are taken at any moment of it. As what
/// lies side by side is one range, what is taken during a life is told by a few ranges of few
/// intervals, however many buffers are alive in it.
class Taken {
public:
  explicit Taken(int64_t commands) {
    while (leaves < commands)
      leaves *= 2;
    throughout.resize(2 * leaves);
    ever.resize(2 * leaves);
  }

  void insert(Range bytes, int64_t first, int64_t last) {
    forEachInterval(first, last, [&](int64_t interval) {
      throughout[interval].insert(bytes);
      // An interval has what is in its halves, so where all is known it is known further up.
      while (interval > 0 && ever[interval].insert(bytes))
        interval /= 2;
    });
  }

  /// What is taken at any moment of [first, last], by the first byte; ranges may overlap.
  std::vector<Range> during(int64_t first, int64_t last) const {
    std::vector<Range> found;
    forEachInterval(first, last,
                    [&](int64_t interval) { llvm::append_range(found, ever[interval].list()); });
    // Buffers that live on beyond the intervals of this life.
    for (int64_t l = first + leaves, r = last + leaves; r > 0; l /= 2, r /= 2) {
      llvm::append_range(found, throughout[r].list());
      if (l != r)
        llvm::append_range(found, throughout[l].list());
    }
    llvm::sort(found);
    return found;
  }

private:
  /// The fewest intervals that are [first, last].
  void forEachInterval(int64_t first, int64_t last, llvm::function_ref<void(int64_t)> each) const {
    for (int64_t l = first + leaves, r = last + leaves + 1; l < r; l /= 2, r /= 2) {
      if (l % 2 == 1)
        each(l++);
      if (r % 2 == 1)
        each(--r);
    }
  }

  int64_t leaves = 1;
  std::vector<Ranges> throughout, ever;
};

/// Gives buffers, one after the other, bytes that are free for their whole life.
class Gaps {
public:
  Gaps(int64_t base, int64_t commands) : base(base), taken(commands) {}

  /// Places `bytes` into the smallest gap between those taken during
  /// [first, last], or at their end if no gap holds it.
  int64_t place(int64_t bytes, int64_t first, int64_t last) {
    int64_t cursor = base, best = -1, bestGap = INT64_MAX;
    for (auto [begin, end] : taken.during(first, last)) {
      int64_t gap = begin - cursor;
      if (gap >= bytes && gap < bestGap) {
        best = cursor;
        bestGap = gap;
      }
      cursor = std::max(cursor, end);
    }
    int64_t offset = best >= 0 ? best : cursor;
    taken.insert({offset, offset + bytes}, first, last);
    return offset;
  }

private:
  int64_t base;
  Taken taken;
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
