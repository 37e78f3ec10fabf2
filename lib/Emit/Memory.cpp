// Sums of live buffers over the commands of programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Emit/Memory.h"

#include "dialects/rt/IR/Issue.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Target/Target.h"

#include <numeric>

using namespace mlir;
using namespace weft;
using namespace weft::emit;

namespace {

using Classes = std::array<int64_t, kNumClasses>;

int64_t total(const Classes &classes) {
  return std::accumulate(classes.begin(), classes.end(), int64_t(0));
}

/// What is alive over the commands of a program, and when that is most.
class Course {
public:
  Course(rt::ProgramOp program, const Classes &states)
      : peaks(states), order(program), now(states) {
    struct Change {
      int64_t command;
      unsigned kind;
      int64_t bytes;
    };
    std::vector<Change> changes;
    forEachUse(program, order, [&](const rt::IssueOrder::Use &use) {
      rt::BufferOp buffer = use.buffer;
      changes.push_back({use.first, unsigned(buffer.getKind()), use.bytes});
      changes.push_back({use.last + 1, unsigned(buffer.getKind()), -use.bytes});
    });
    llvm::sort(changes, [](const Change &a, const Change &b) { return a.command < b.command; });
    for (size_t i = 0; i < changes.size();) {
      int64_t command = changes[i].command;
      goTo(command);
      for (; i < changes.size() && changes[i].command == command; ++i)
        now[changes[i].kind] += changes[i].bytes;
      tell(command);
    }
  }

  /// Calls `each` for all that the commands of a program use, those of its calls among them.
  static void forEachUse(rt::ProgramOp program, const rt::IssueOrder &order,
                         llvm::function_ref<void(const rt::IssueOrder::Use &)> each) {
    for (auto buffer : program.getOps<rt::BufferOp>())
      if (buffer.getLives())
        for (const rt::IssueOrder::Use &use : order.usesOf(buffer))
          each(use);
  }

  std::vector<MemoryTimeline::Moment> moments; // one a call: when most is alive in it
  Classes peaks;                               // of each class, at whatever command
  int64_t command = 0, most = -1;              // when the sum is most, and that

private:
  /// Leaves the call that is told of, if `command` is behind it.
  void goTo(int64_t command) {
    if (item == order.items().size() || command <= order.items()[item].last)
      return;
    if (!moments.empty() && moments.back().bytes != now)
      moments.push_back({order.items()[item].last + 1, now});
    while (item < order.items().size() && command > order.items()[item].last)
      ++item;
  }

  void tell(int64_t command) {
    for (unsigned c = 0; c < kNumClasses; ++c)
      peaks[c] = std::max(peaks[c], now[c]);
    if (total(now) > most) {
      most = total(now);
      this->command = command;
    }
    bool isInside = item < order.items().size() && !moments.empty() &&
                    moments.back().command >= order.items()[item].first;
    if (!isInside)
      moments.push_back({command, now});
    else if (total(now) > total(moments.back().bytes))
      moments.back() = {command, now};
  }

  rt::IssueOrder order;
  Classes now;
  size_t item = 0; // the command, or call, that is told of
};

} // namespace

MemoryUse emit::memoryUse(ModuleOp module) {
  MemoryUse use;
  const Target *target = targetOf(module);
  const int64_t alignment = target ? target->traits().alignment : TargetTraits().alignment;
  Classes states{};
  for (auto state : module.getOps<rt::StateOp>()) {
    int64_t bytes = bytesOf(cast<MemRefType>(state.getLocal()));
    states[unsigned(state.getKind())] += bytes;
    use.atPeak.push_back({state.getSymName(), state.getKind(), bytes});
    use.arenaBytes = std::max<int64_t>(
        use.arenaBytes, llvm::alignTo(state.getOffset().value_or(0) + bytes, alignment));
  }
  use.peaks = states;
  rt::ProgramOp fullest;
  int64_t most = -1;
  for (auto program : module.getOps<rt::ProgramOp>()) {
    if (program.isRoutine())
      continue;
    use.arenaBytes =
        std::max<int64_t>(use.arenaBytes, llvm::alignTo(program.getArena().value_or(0), alignment));
    Course course(program, states);
    for (unsigned c = 0; c < kNumClasses; ++c)
      use.peaks[c] = std::max(use.peaks[c], course.peaks[c]);
    if (course.most > most) {
      most = course.most;
      use.command = course.command;
      fullest = program;
    }
    // The last change is behind the last command.
    int64_t commands = course.moments.empty() ? 0 : course.moments.back().command;
    use.timelines.push_back({program.getSymName(), commands, std::move(course.moments)});
  }
  if (fullest) {
    use.program = fullest.getSymName();
    Course::forEachUse(fullest, rt::IssueOrder(fullest), [&](const rt::IssueOrder::Use &alive) {
      rt::BufferOp buffer = alive.buffer;
      if (alive.first <= use.command && use.command <= alive.last)
        use.atPeak.push_back({buffer.getName(), buffer.getKind(), alive.bytes});
    });
  }
  llvm::sort(use.atPeak, [](const MemoryItem &a, const MemoryItem &b) {
    return std::make_tuple(-a.bytes, a.kind, a.name) < std::make_tuple(-b.bytes, b.kind, b.name);
  });
  return use;
}

int64_t emit::mostArenaBytes(ModuleOp module) {
  int64_t most = 0;
  for (ModuleOp stage : rt::stageModulesOf(module))
    most = std::max(most, memoryUse(stage).arenaBytes);
  return most;
}
