// A program's commands as they are issued, and what calls do with their scratch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/rt/IR/Issue.h"

#include "weft/Interfaces/TensorTypes.h"

using namespace mlir;
using namespace weft;
using namespace weft::rt;

IssueOrder::IssueOrder(ProgramOp program) {
  std::optional<SymbolTable> symbols;
  llvm::DenseMap<Attribute, std::pair<ProgramOp, int64_t>> routines; // and how many commands
  int64_t next = 0;
  for (auto command : program.getOps<CommandInterface>()) {
    ProgramOp routine;
    int64_t count = 1;
    if (auto invoke = dyn_cast<InvokeOp>(*command)) {
      if (!symbols)
        symbols.emplace(program->getParentOfType<ModuleOp>());
      auto [found, isNew] = routines.try_emplace(invoke.getRoutineAttr());
      if (isNew) {
        auto callee = symbols->lookup<ProgramOp>(invoke.getRoutine());
        auto commands = callee.getOps<CommandInterface>();
        found->second = {callee, std::distance(commands.begin(), commands.end())};
      }
      routine = found->second.first;
      count = std::max<int64_t>(found->second.second, 1);
      auto scratch =
          invoke.getScratch() ? invoke.getScratch().getDefiningOp<BufferOp>() : BufferOp();
      if (scratch && invoke.getStream() == 0)
        callsOf[scratch].push_back(list.size());
    }
    list.push_back({command, next, next + count - 1, routine});
    next += count;
  }
}

SmallVector<IssueOrder::Use> IssueOrder::usesOf(BufferOp buffer) const {
  auto found = callsOf.find(buffer);
  if (found == callsOf.end())
    return {{0, bytesOf(buffer), (*buffer.getLives())[0], (*buffer.getLives())[1], buffer}};
  SmallVector<Use> uses;
  for (unsigned call : found->second) {
    const Item &item = list[call];
    for (auto own : ProgramOp(item.routine).getOps<BufferOp>())
      if (own.getOffset() && own.getLives())
        uses.push_back({int64_t(*own.getOffset()), bytesOf(own), item.first + (*own.getLives())[0],
                        item.first + (*own.getLives())[1], own});
  }
  return uses;
}
