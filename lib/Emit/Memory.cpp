// Sums of live buffers over the commands of programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Emit/Memory.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Target/Target.h"

#include <map>

using namespace mlir;
using namespace weft;
using namespace weft::emit;

MemoryUse emit::memoryUse(ModuleOp module) {
  MemoryUse use;
  const Target *target = targetOf(module);
  const int64_t alignment = target ? target->traits().alignment : TargetTraits().alignment;
  std::array<int64_t, kNumClasses> states{};
  for (auto state : module.getOps<rt::StateOp>()) {
    states[unsigned(state.getKind())] += bytesOf(cast<MemRefType>(state.getLocal()));
    use.atPeak.push_back(
        {state.getSymName(), state.getKind(), bytesOf(cast<MemRefType>(state.getLocal()))});
    use.arenaBytes = std::max<int64_t>(
        use.arenaBytes,
        llvm::alignTo(state.getOffset().value_or(0) + bytesOf(cast<MemRefType>(state.getLocal())),
                      alignment));
  }
  use.peaks = states;
  rt::ProgramOp fullest;
  int64_t most = -1;
  for (auto program : module.getOps<rt::ProgramOp>()) {
    use.arenaBytes =
        std::max<int64_t>(use.arenaBytes, llvm::alignTo(program.getArena().value_or(0), alignment));
    std::map<int64_t, std::array<int64_t, kNumClasses>> change;
    for (auto buffer : program.getOps<rt::BufferOp>())
      if (buffer.getLives()) {
        change[(*buffer.getLives())[0]][unsigned(buffer.getKind())] += bytesOf(buffer);
        change[(*buffer.getLives())[1] + 1][unsigned(buffer.getKind())] -= bytesOf(buffer);
      }
    MemoryTimeline timeline{program.getSymName(), 0, {}};
    std::array<int64_t, kNumClasses> now = states;
    for (auto &[position, delta] : change) {
      int64_t sum = 0;
      for (unsigned c = 0; c < kNumClasses; ++c) {
        now[c] += delta[c];
        sum += now[c];
        use.peaks[c] = std::max(use.peaks[c], now[c]);
      }
      if (sum > most) {
        most = sum;
        use.command = position;
        fullest = program;
      }
      timeline.moments.push_back({position, now});
      timeline.commands = position; // the last change is behind the last command
    }
    use.timelines.push_back(std::move(timeline));
  }
  if (fullest) {
    use.program = fullest.getSymName();
    for (auto buffer : fullest.getOps<rt::BufferOp>())
      if (buffer.getLives() && (*buffer.getLives())[0] <= use.command &&
          use.command <= (*buffer.getLives())[1])
        use.atPeak.push_back({buffer.getName(), buffer.getKind(), bytesOf(buffer)});
  }
  llvm::sort(use.atPeak, [](const MemoryItem &a, const MemoryItem &b) {
    return std::make_tuple(-a.bytes, a.kind, a.name) < std::make_tuple(-b.bytes, b.kind, b.name);
  });
  return use;
}
