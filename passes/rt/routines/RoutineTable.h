// The routines of a module, equal ones once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_RT_ROUTINES_ROUTINETABLE_H
#define WEFT_PASSES_RT_ROUTINES_ROUTINETABLE_H

#include "dialects/rt/IR/Rt.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

#include <vector>

namespace weft::rt {

/// Which routine a call runs, and as which of the parts of the model that share it.
struct RoutineUse {
  unsigned routine, part;
};

class RoutineTable {
public:
  explicit RoutineTable(mlir::ModuleOp module);

  /// Takes `function` over: it is in the module if no routine is equal but for names, else gone.
  RoutineUse add(mlir::func::FuncOp function, llvm::StringRef name);
  mlir::func::FuncOp functionOf(const RoutineUse &use) const {
    return entries[use.routine].function;
  }
  void addCall(const RoutineUse &use, CallOp call) {
    entries[use.routine].parts[use.part].calls.push_back(call);
  }
  /// Names what is shared, and labels the calls by the part of the model that they run.
  void finish();

private:
  /// What one part calls an op of the routine, in the order of a walk.
  struct OpNames {
    mlir::Location location;
    mlir::Attribute reason;
  };
  struct Part {
    std::vector<OpNames> names;
    std::vector<CallOp> calls;
  };
  struct Entry {
    mlir::func::FuncOp function;
    std::vector<Part> parts;
  };
  void nameParts(Entry &entry);

  mlir::ModuleOp module;
  llvm::DenseMap<uint64_t, llvm::SmallVector<unsigned, 1>> byHash;
  llvm::StringSet<> taken;
  std::vector<Entry> entries;
};

} // namespace weft::rt

#endif // WEFT_PASSES_RT_ROUTINES_ROUTINETABLE_H
