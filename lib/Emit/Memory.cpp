// Sums of live buffers over the commands of programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Emit/Memory.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Target/Target.h"

#include "mlir/IR/SymbolTable.h"

#include <map>
#include <numeric>

using namespace mlir;
using namespace weft;
using namespace weft::emit;

namespace {

using Classes = std::array<int64_t, kNumClasses>;

void add(Classes &sum, const Classes &other, int64_t times = 1) {
  for (unsigned c = 0; c < kNumClasses; ++c)
    sum[c] += times * other[c];
}

void raise(Classes &most, const Classes &other) {
  for (unsigned c = 0; c < kNumClasses; ++c)
    most[c] = std::max(most[c], other[c]);
}

int64_t total(const Classes &classes) {
  return std::accumulate(classes.begin(), classes.end(), int64_t(0));
}

/// What is alive over the commands of one list, and when that is most.
struct Course {
  std::vector<MemoryTimeline::Moment> moments;
  Classes peaks{};                // of each class, at whatever command
  Classes fullest{};              // at the command where the sum is most
  int64_t command = 0, most = -1; // that command and sum
};

class Courses {
public:
  /// What a call needs besides its blocks is what is alive in the routine's scratch.
  const Course &of(rt::ProgramOp program, const Classes &states = {}) {
    auto [found, isNew] = courses.try_emplace(program);
    if (isNew) {
      Course course = follow(program, states);
      found = courses.find(program);
      found->second = std::move(course);
    }
    return found->second;
  }

  /// The routine whose scratch each buffer is, for buffers that are one.
  static llvm::DenseMap<Value, rt::ProgramOp> scratchOf(rt::ProgramOp program) {
    llvm::DenseMap<Value, rt::ProgramOp> routines;
    SymbolTableCollection symbols;
    for (auto invoke : program.getOps<rt::InvokeOp>())
      if (invoke.getScratch())
        routines[invoke.getScratch()] =
            symbols.lookupNearestSymbolFrom<rt::ProgramOp>(invoke, invoke.getRoutineAttr());
    return routines;
  }

private:
  /// What begins or ends with a command: what is alive when most is, and the most of each class.
  struct Change {
    Classes fullest{}, peaks{};
  };

  Course follow(rt::ProgramOp program, const Classes &states) {
    llvm::DenseMap<Value, rt::ProgramOp> scratch = scratchOf(program);
    std::map<int64_t, Change> changes;
    for (auto buffer : program.getOps<rt::BufferOp>()) {
      if (!buffer.getLives())
        continue;
      Change change;
      if (rt::ProgramOp routine = scratch.lookup(buffer.getResult())) {
        const Course &inner = of(routine);
        change = {inner.fullest, inner.peaks};
      } else {
        change.fullest[unsigned(buffer.getKind())] = bytesOf(buffer);
        change.peaks = change.fullest;
      }
      Change &begin = changes[(*buffer.getLives())[0]];
      add(begin.fullest, change.fullest);
      add(begin.peaks, change.peaks);
      Change &end = changes[(*buffer.getLives())[1] + 1];
      add(end.fullest, change.fullest, -1);
      add(end.peaks, change.peaks, -1);
    }
    Course course;
    course.peaks = states;
    Classes now = states, most = states;
    for (auto &[position, change] : changes) {
      add(now, change.fullest);
      add(most, change.peaks);
      raise(course.peaks, most);
      if (total(now) > course.most) {
        course.most = total(now);
        course.command = position;
        course.fullest = now;
      }
      course.moments.push_back({position, now});
    }
    return course;
  }

  llvm::DenseMap<Operation *, Course> courses;
};

/// Appends the buffers of a list that are alive at a command, those of a call's routine where most
/// of them are.
void appendAlive(rt::ProgramOp program, int64_t command, Courses &courses,
                 std::vector<MemoryItem> &items) {
  llvm::DenseMap<Value, rt::ProgramOp> scratch = Courses::scratchOf(program);
  for (auto buffer : program.getOps<rt::BufferOp>()) {
    if (!buffer.getLives() || (*buffer.getLives())[0] > command ||
        command > (*buffer.getLives())[1])
      continue;
    if (rt::ProgramOp routine = scratch.lookup(buffer.getResult()))
      appendAlive(routine, courses.of(routine).command, courses, items);
    else
      items.push_back({buffer.getName(), buffer.getKind(), bytesOf(buffer)});
  }
}

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
  Courses courses;
  rt::ProgramOp fullest;
  int64_t most = -1;
  for (auto program : module.getOps<rt::ProgramOp>()) {
    if (program.isRoutine())
      continue;
    use.arenaBytes =
        std::max<int64_t>(use.arenaBytes, llvm::alignTo(program.getArena().value_or(0), alignment));
    const Course &course = courses.of(program, states);
    raise(use.peaks, course.peaks);
    if (course.most > most) {
      most = course.most;
      use.command = course.command;
      fullest = program;
    }
    // The last change is behind the last command.
    int64_t commands = course.moments.empty() ? 0 : course.moments.back().command;
    use.timelines.push_back({program.getSymName(), commands, course.moments});
  }
  if (fullest) {
    use.program = fullest.getSymName();
    appendAlive(fullest, use.command, courses, use.atPeak);
  }
  llvm::sort(use.atPeak, [](const MemoryItem &a, const MemoryItem &b) {
    return std::make_tuple(-a.bytes, a.kind, a.name) < std::make_tuple(-b.bytes, b.kind, b.name);
  });
  return use;
}
