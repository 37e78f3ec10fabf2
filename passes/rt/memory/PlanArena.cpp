// Gives every buffer its place in the arena.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/Passes.h"
#include "passes/rt/commands/CommandBuilder.h"
#include "passes/rt/memory/Lifetimes.h"
#include "passes/rt/memory/TakenBytes.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Target/Target.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
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

/// A routine whose buffers lie at the same bytes in all its calls.
struct RoutinePlan {
  explicit RoutinePlan(ProgramOp routine)
      : routine(routine), lifetimes(routine), own(lifetimes.order().size()),
        callers(lifetimes.order().size()) {}

  int64_t size() const { return lifetimes.order().size(); }

  /// Forgets what was placed.
  void clear() {
    own = TakenBytes(size());
    callers = TakenBytes(size());
  }

  ProgramOp routine;
  Lifetimes lifetimes;
  TakenBytes own;     // by its buffers, over its commands
  TakenBytes callers; // by what is in use in its callers during a call, be it any of them
  int64_t low = INT64_MAX, high = 0;
};

/// From the first to the last command, or moment, both within.
using Life = std::pair<int64_t, int64_t>;

/// Commands of a routine that run while something of its caller is in use.
struct Called {
  RoutinePlan *routine;
  Life commands;
};

/// A program, and when it calls which routine.
struct ProgramPlan {
  ProgramPlan(ProgramOp program) : program(program), lifetimes(program), taken(0) {}

  /// Forgets what was placed.
  void clear() { taken = TakenBytes(moments.size()); }

  /// Of the moments at which lives begin and end, those within one: lives meet where these do.
  Life momentsIn(Life life) const {
    return {llvm::lower_bound(moments, life.first) - moments.begin(),
            llvm::upper_bound(moments, life.second) - moments.begin() - 1};
  }

  /// The commands of routines that run in calls within `life`.
  SmallVector<Called, 0> calledIn(Life life) const {
    SmallVector<Called, 0> called;
    for (auto &[routine, starts] : calls) {
      int64_t size = routine->size();
      auto *begin =
          llvm::partition_point(starts, [&](int64_t start) { return start + size <= life.first; });
      auto *end =
          llvm::partition_point(starts, [&](int64_t start) { return start <= life.second; });
      // Of those between the first and the last all is within.
      if (end - begin > 2) {
        called.push_back({routine, {0, size - 1}});
        continue;
      }
      for (auto *start = begin; start < end; ++start)
        called.push_back({routine,
                          {std::max<int64_t>(life.first - *start, 0),
                           std::min(life.second - *start, size - 1)}});
    }
    return called;
  }

  ProgramOp program;
  Lifetimes lifetimes;
  std::vector<int64_t> moments; // at which its own buffers' lives begin and end, ascending
  TakenBytes taken;             // by these, over the moments
  llvm::MapVector<RoutinePlan *, SmallVector<int64_t>> calls; // where they start
  int64_t portsEnd = 0;                                       // they stand first
  Life portMoments;
  SmallVector<Called, 0> portCalled;
  int64_t peak = 0;
};

/// Places the buffers of programs and of what they call together. A routine's lie at the same bytes
/// in every call, so that its calls need no places of their own; what its callers have in use then
/// is elsewhere, and else they share the arena as if the calls were written out.
class ArenaPlan {
public:
  ArenaPlan(ModuleOp module, int64_t base, int64_t alignment)
      : module(module), symbols(module), base(base), alignment(alignment) {}

  void make() {
    placeOpaque();
    for (auto program : module.getOps<ProgramOp>())
      if (program.isRoutine() && !opaque.contains(program))
        routines[program] = std::make_unique<RoutinePlan>(program);
    for (auto program : module.getOps<ProgramOp>())
      if (!program.isRoutine())
        addProgram(program);
    for (auto &[op, routine] : routines)
      for (auto buffer : ProgramOp(routine->routine).getOps<BufferOp>())
        items.push_back({bytesOf(buffer),
                         buffer,
                         live(buffer, routine->lifetimes),
                         routine.get(),
                         nullptr,
                         0,
                         {},
                         {}});
    for (auto &program : programs)
      addBuffers(*program);
    for (Item &item : items)
      if (item.program) {
        item.moments = item.program->momentsIn(item.life);
        item.called = item.program->calledIn(item.life);
      }
    placeAll();
    finish();
  }

private:
  struct Item {
    int64_t bytes;
    BufferOp buffer;
    Life life;
    RoutinePlan *routine; // of one of them
    ProgramPlan *program;
    int64_t offset = 0;
    // Where it lives in a program: while which of its moments, and beside which commands.
    Life moments;
    SmallVector<Called, 0> called;

    int64_t end() const { return offset + bytes; }
  };

  /// What is placed first: what is large; what takes many bytes for long; what lives long; what is
  /// needed first; what lies at the same bytes in many calls, and of that what is large. Of equals,
  /// what is needed first.
  enum class Order { Bytes, Area, Life, Use, Calls };
  static constexpr Order kOrders[] = {Order::Bytes, Order::Area, Order::Life, Order::Use,
                                      Order::Calls};
  /// An order is good enough if its arena is larger than what is alive at once by so small a part.
  static constexpr int64_t kSlack = 200;
  /// From each order on so many others are tried, fewer where there is much to place, and none of
  /// more items than that: there are gaps of all sizes then, and of GPT-2 124M and Llama-3-8B in 2
  /// to 8 stages no other one was better.
  static constexpr size_t kMostRounds = 64, kMostPlacements = 12000, kMostItems = 2000;
  size_t rounds() const {
    if (items.empty() || items.size() > kMostItems)
      return 0;
    return std::min(kMostRounds, kMostPlacements / items.size());
  }

  /// In which program, and by which command.
  std::pair<size_t, int64_t> firstUse(const Item &item) const {
    for (auto [i, program] : llvm::enumerate(programs)) {
      if (item.program == program.get())
        return {i, item.life.first};
      if (auto found = program->calls.find(item.routine); found != program->calls.end())
        return {i, found->second.front() + item.life.first};
    }
    return {programs.size(), item.life.first};
  }

  /// At how many places of the programs it is alive.
  size_t callsOf(const Item &item) const {
    size_t calls = item.program ? 1 : 0;
    for (const auto &program : programs)
      if (auto found = program->calls.find(item.routine); found != program->calls.end())
        calls += found->second.size();
    return calls;
  }

  std::vector<size_t> inOrder(Order order) const {
    std::vector<std::tuple<double, std::pair<size_t, int64_t>, size_t>> keys;
    for (auto [i, item] : llvm::enumerate(items)) {
      double bytes = double(item.bytes), life = double(item.life.second - item.life.first + 1);
      double weight = order == Order::Bytes  ? bytes
                      : order == Order::Area ? bytes * life
                      : order == Order::Life ? life
                      : order == Order::Use  ? 0
                                             : bytes * double(callsOf(item));
      keys.push_back({-weight, firstUse(item), i});
    }
    llvm::sort(keys);
    std::vector<size_t> indices;
    for (const auto &[weight, use, i] : keys)
      indices.push_back(i);
    return indices;
  }

  /// Tries orders until one is good enough, and keeps the best. An order is given up at the first
  /// item that ends where the best arena does or beyond; from each order on, what ended highest is
  /// placed earlier, halfway to the first, a number of times.
  void placeAll() {
    const int64_t least = leastBytes();
    int64_t best = INT64_MAX;
    std::vector<int64_t> kept(items.size());
    auto isEnough = [&] { return items.empty() || best - least <= least / kSlack; };
    for (Order order : kOrders) {
      std::vector<size_t> indices = inOrder(order);
      size_t settled = 0; // so many first ones lie where they would be placed
      for (size_t round = 0; round <= rounds() && !isEnough(); ++round) {
        size_t highest = place(indices, settled, best);
        if (items[indices[highest]].end() < best) {
          best = endOf();
          for (auto [offset, item] : llvm::zip_equal(kept, items))
            offset = item.offset;
        }
        settled = highest / 2;
        std::rotate(indices.begin() + settled, indices.begin() + highest,
                    indices.begin() + highest + 1);
      }
    }
    for (auto [offset, item] : llvm::zip_equal(kept, items))
      item.offset = offset;
  }

  /// What is alive at once at most, wherever it lies.
  int64_t leastBytes() {
    int64_t least = base;
    llvm::DenseMap<RoutinePlan *, std::vector<int64_t>> changes;
    for (auto &[op, routine] : routines)
      changes[routine.get()].resize(size_t(routine->size()) + 2);
    auto add = [](std::vector<int64_t> &at, const Item &item) {
      at[size_t(item.life.first)] += item.bytes;
      at[size_t(item.life.second) + 1] -= item.bytes;
    };
    for (const Item &item : items)
      if (item.routine)
        add(changes[item.routine], item);
    for (auto &program : programs) {
      std::vector<int64_t> change(size_t(program->lifetimes.order().size()) + 2);
      for (const Item &item : items)
        if (item.program == program.get())
          add(change, item);
      for (auto &[routine, starts] : program->calls)
        for (int64_t start : starts)
          for (auto [i, bytes] : llvm::enumerate(changes[routine]))
            change[size_t(start) + i] += bytes;
      int64_t alive = program->portsEnd;
      for (int64_t bytes : change) {
        alive += bytes;
        least = std::max(least, alive);
      }
    }
    return least;
  }

  /// Places items one after the other, but the first `settled` ones where they lie, and returns
  /// which ends highest: the first one that does not end before `limit`, behind which none is
  /// placed, or the highest of all.
  size_t place(ArrayRef<size_t> order, size_t settled, int64_t limit) {
    for (auto &[op, routine] : routines)
      routine->clear();
    for (auto &program : programs) {
      program->clear();
      if (program->portsEnd > base)
        take({base, program->portsEnd}, *program, program->portMoments, program->portCalled);
    }
    size_t highest = 0;
    for (auto [i, index] : llvm::enumerate(order)) {
      Item &item = items[index];
      if (i >= settled)
        item.offset = item.routine ? findInRoutine(item) : findInProgram(item);
      take(item);
      if (i == 0 || item.end() > items[order[highest]].end())
        highest = i;
      if (item.end() >= limit)
        break;
    }
    return highest;
  }

  /// Where the last of all that is placed ends.
  int64_t endOf() const {
    int64_t end = base;
    for (const auto &program : programs)
      end = std::max(end, program->portsEnd);
    for (const Item &item : items)
      end = std::max(end, item.end());
    return end;
  }

  int64_t bytesOf(BufferOp buffer) const {
    return alignedBytes(cast<MemRefType>(buffer.getType()), alignment);
  }

  static std::pair<int64_t, int64_t> live(BufferOp buffer, const Lifetimes &lifetimes) {
    auto life = lifetimes.of(buffer);
    buffer.setLives(SmallVector<int64_t>{life.first, life.second});
    return life;
  }

  /// Of calls on other streams nothing says when they run, so that two may be under way in the
  /// plan: each has memory of its own.
  void placeOpaque() {
    SmallVector<InvokeOp> calls;
    module.walk([&](InvokeOp invoke) {
      if (invoke.getStream() != 0 || invoke.getCommunicates()) {
        calls.push_back(invoke);
        opaque.insert(symbols.lookup(invoke.getRoutine()));
      }
    });
    for (Operation *op : opaque) {
      auto routine = cast<ProgramOp>(op);
      Lifetimes lifetimes(routine);
      TakenBytes taken(lifetimes.order().size());
      int64_t end = 0;
      for (auto buffer : routine.getOps<BufferOp>()) {
        auto [first, last] = live(buffer, lifetimes);
        int64_t bytes = bytesOf(buffer);
        Gaps gaps(0, bytes);
        taken.subtractFrom(gaps, first, last);
        int64_t offset = gaps.smallest();
        buffer.setOffset(offset);
        taken.insert({offset, offset + bytes}, first, last);
        end = std::max(end, offset + bytes);
      }
      routine.setArena(end);
    }
    for (InvokeOp invoke : calls)
      giveScratch(invoke);
  }

  BufferOp giveScratch(InvokeOp invoke) {
    OpBuilder builder(invoke);
    auto routine = symbols.lookup<ProgramOp>(invoke.getRoutine());
    Value scratch = createScratch(builder, invoke.getLoc(), routine);
    if (!scratch)
      return {};
    invoke.getScratchMutable().assign(scratch);
    return scratch.getDefiningOp<BufferOp>();
  }

  void addProgram(ProgramOp program) {
    ProgramPlan &plan = *programs.emplace_back(std::make_unique<ProgramPlan>(program));
    for (const IssueOrder::Item &item : plan.lifetimes.order().items())
      if (auto found = routines.find(item.routine); found != routines.end())
        plan.calls[found->second.get()].push_back(item.first);
  }

  /// Ports live as long as the program, so they simply stand first.
  void addBuffers(ProgramPlan &plan) {
    int64_t end = std::max<int64_t>(plan.lifetimes.order().size() - 1, 0);
    plan.portsEnd = base;
    plan.moments = {0, end};
    for (auto buffer : plan.program.getOps<BufferOp>()) {
      if (buffer.getKind() != BufferClass::Input && buffer.getKind() != BufferClass::Output) {
        auto life = live(buffer, plan.lifetimes);
        items.push_back({bytesOf(buffer), buffer, life, nullptr, &plan, 0, {}, {}});
        llvm::append_range(plan.moments, std::array{life.first, life.second});
        continue;
      }
      buffer.setLives(SmallVector<int64_t>{0, end});
      buffer.setOffset(plan.portsEnd);
      plan.portsEnd += bytesOf(buffer);
    }
    llvm::sort(plan.moments);
    plan.moments.erase(llvm::unique(plan.moments), plan.moments.end());
    plan.portMoments = plan.momentsIn({0, end});
    plan.portCalled = plan.calledIn({0, end});
  }

  static void take(ByteRange bytes, ProgramPlan &plan, Life moments, ArrayRef<Called> called) {
    plan.taken.insert(bytes, moments.first, moments.second);
    for (const auto &[routine, commands] : called)
      routine->callers.insert(bytes, commands.first, commands.second);
  }

  static void take(const Item &item) {
    ByteRange bytes = {item.offset, item.end()};
    if (item.program)
      take(bytes, *item.program, item.moments, item.called);
    else
      item.routine->own.insert(bytes, item.life.first, item.life.second);
  }

  int64_t findInProgram(const Item &item) const {
    Gaps gaps(base, item.bytes);
    item.program->taken.subtractFrom(gaps, item.moments.first, item.moments.second);
    for (const auto &[routine, commands] : item.called)
      routine->own.subtractFrom(gaps, commands.first, commands.second);
    return gaps.smallest();
  }

  int64_t findInRoutine(const Item &item) const {
    auto [first, last] = item.life;
    Gaps gaps(base, item.bytes);
    item.routine->own.subtractFrom(gaps, first, last);
    item.routine->callers.subtractFrom(gaps, first, last);
    return gaps.smallest();
  }

  /// Scratch is from a routine's first byte to its last, whatever callers have between.
  void finish() {
    for (auto &plan : programs)
      plan->peak = plan->portsEnd;
    for (Item &item : items) {
      item.buffer.setOffset(item.offset);
      int64_t end = item.end();
      if (item.program) {
        item.program->peak = std::max(item.program->peak, end);
      } else {
        item.routine->low = std::min(item.routine->low, item.offset);
        item.routine->high = std::max(item.routine->high, end);
      }
    }
    for (auto &[op, plan] : routines) {
      plan->low = std::min(plan->low, plan->high);
      for (auto buffer : ProgramOp(plan->routine).getOps<BufferOp>())
        buffer.setOffset(*buffer.getOffset() - plan->low);
      plan->routine.setArena(plan->high - plan->low);
    }
    for (auto &plan : programs) {
      for (IssueOrder::Item item : plan->lifetimes.order().items()) {
        auto found = routines.find(item.routine);
        if (found == routines.end())
          continue;
        if (BufferOp scratch = giveScratch(cast<InvokeOp>(*item.command))) {
          scratch.setOffset(found->second->low);
          scratch.setLives(SmallVector<int64_t>{item.first, item.last});
        }
        plan->peak = std::max(plan->peak, found->second->high);
      }
      plan->program.setArena(plan->peak);
    }
  }

  ModuleOp module;
  SymbolTable symbols;
  int64_t base, alignment;
  llvm::SetVector<Operation *> opaque;
  llvm::MapVector<Operation *, std::unique_ptr<RoutinePlan>> routines;
  std::vector<std::unique_ptr<ProgramPlan>> programs;
  std::vector<Item> items;
};

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
    ArenaPlan(getOperation(), base, alignment).make();
  }
};

} // namespace
