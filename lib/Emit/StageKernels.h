// Kernels of all stages of a pipeline, each under one name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_EMIT_STAGEKERNELS_H
#define WEFT_LIB_EMIT_STAGEKERNELS_H

#include "dialects/rt/IR/Rt.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace weft::emit {

/// Gives the kernels of all stages names in one executable: of equal ones, names and locations
/// aside, the first stage's, and to others of one name distinct ones. Within a stage, and so
/// without a pipeline, names stay.
class StageKernels {
public:
  /// Private functions with a body that are no program's spec.
  explicit StageKernels(llvm::ArrayRef<mlir::ModuleOp> stages);

  /// The name in the executable of what a stage calls so; empty if it has no such kernel.
  llvm::StringRef nameOf(size_t stage, llvm::StringRef symbol) const {
    auto found = names[stage].find(symbol);
    return found == names[stage].end() ? llvm::StringRef() : llvm::StringRef(found->second);
  }
  /// A module that holds them and nothing else.
  mlir::OwningOpRef<mlir::ModuleOp> makeModule(mlir::Location loc) const;

private:
  std::vector<llvm::StringMap<std::string>> names; // by stage
  std::vector<std::pair<mlir::func::FuncOp, std::string>> kernels;
};

} // namespace weft::emit

#endif // WEFT_LIB_EMIT_STAGEKERNELS_H
