// Of a kernel that is several alike, one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/cuda/Passes.h"
#include "weft/Interfaces/KernelAttributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace weft::cuda {
#define GEN_PASS_DEF_TAKEMEMBER
#include "passes/cuda/Passes.h.inc"
} // namespace weft::cuda

using namespace mlir;

/// Leaves the arguments and results of the first of `members`, and what computes these.
static void takeFirst(func::FuncOp kernel, int64_t members) {
  unsigned arguments = kernel.getNumArguments() / members,
           results = kernel.getNumResults() / members;
  Block &body = kernel.getBody().front();
  if (auto written = kernel->getAttrOfType<DenseI64ArrayAttr>(weft::kInPlaceAttr))
    kernel->setAttr(
        weft::kInPlaceAttr,
        DenseI64ArrayAttr::get(kernel.getContext(), written.asArrayRef().take_front(results)));
  llvm::BitVector others(kernel.getNumArguments()), otherResults(kernel.getNumResults());
  others.set(arguments, others.size());
  otherResults.set(results, otherResults.size());
  body.getTerminator()->eraseOperands(otherResults);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  LogicalResult isErased = success(succeeded(kernel.eraseArguments(others)) &&
                                   succeeded(kernel.eraseResults(otherResults)));
  assert(succeeded(isErased) && "a member reads its own arguments");
  (void)isErased;
}

namespace {
struct TakeMember : weft::cuda::impl::TakeMemberBase<TakeMember> {
  void runOnOperation() override {
    auto members = getOperation()->getAttrOfType<IntegerAttr>(weft::kMembersAttr);
    if (members && !getOperation().isExternal())
      takeFirst(getOperation(), members.getInt());
  }
};
} // namespace
