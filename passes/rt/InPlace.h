// Which values of a program's function may lie in one buffer.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_RT_INPLACE_H
#define WEFT_PASSES_RT_INPLACE_H

#include "dialects/nn/IR/NnProgram.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/routines/Routines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace weft::rt {

/// Every operand is indexed like every result, or is one element.
bool isPointwise(mlir::Operation *op);

/// May the memory of `kernel`'s argument be that of its result, which is of the same type? So it is
/// - if all ops are pointwise - every operand is indexed like the result, or is one element - and
///   all results have one shape: then an element of the argument is read for the same element of
///   the results only;
/// - or if it is made from the same elements of the argument and from sums over the same piece,
///   where a piece has one index of some leading dims that all results share, and no op behind it
///   reads any of that but the result: a row of logits becomes its gradient when its sums are done,
///   and sums over rows of the gradient are taken of what was written.
/// Members of a kernel that is several (kMembersAttr) do not wait for each other: both are of one.
bool mayOverwrite(mlir::func::FuncOp kernel, unsigned argument, unsigned result);

/// The same of a library call: so it is if its command says so and writes the result as it is.
bool mayOverwrite(FusionOp fusion, unsigned input, unsigned result);

/// The operand whose memory each result of a call or fusion shares, -1 for none.
llvm::SmallVector<int64_t> sharedArguments(mlir::Operation *command,
                                           const mlir::SymbolTable &symbols);

/// True if the op only makes new values of states or adds gradients up: nothing
/// but the end of the program, or others of the kind, waits for it.
bool isUpdate(mlir::Operation *op, const mlir::SymbolTable &symbols);

/// Which commands overwrite operands, and kernels that do, one for each kernel and way to share.
class KernelVariants {
public:
  explicit KernelVariants(mlir::ModuleOp module) : symbols(module) {}
  mlir::func::FuncOp calleeOf(CallOp call) const { return rt::calleeOf(call, symbols); }
  llvm::SmallVector<TransitionOpInterface> communicationOf(mlir::Operation *op) const {
    return rt::communicationOf(op, symbols);
  }
  /// May the result of that command lie in the memory of that operand?
  bool mayOverwrite(mlir::Operation *command, unsigned operand, unsigned result) const;
  llvm::SmallVector<int64_t> sharedArguments(mlir::Operation *command) const {
    return rt::sharedArguments(command, symbols);
  }
  /// Lets the results of a call or fusion lie in the memory of these operands.
  void share(mlir::Operation *command, llvm::ArrayRef<int64_t> shared);
  /// Erases kernels that nothing calls any more; the first variant of such a
  /// kernel takes its name.
  void finish(mlir::ModuleOp module);

private:
  mlir::StringAttr get(mlir::func::FuncOp kernel, llvm::ArrayRef<int64_t> shared);

  mlir::SymbolTable symbols;
  llvm::MapVector<std::pair<mlir::Attribute, mlir::Attribute>, mlir::func::FuncOp> made;
};

/// A reader of a value through views; `isWhole` if it reads the value itself.
struct Reader {
  mlir::Operation *op;
  unsigned operand;
  bool isWhole;
};
/// All ops other than views that read `root`, in no particular order.
std::vector<Reader> readersOf(mlir::Value root);

} // namespace weft::rt

#endif // WEFT_PASSES_RT_INPLACE_H
