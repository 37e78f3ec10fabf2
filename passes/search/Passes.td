//===- Passes.td - passes that choose placements --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------===//
#ifndef WEFT_PASSES_SEARCH_PASSES_TD
#define WEFT_PASSES_SEARCH_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignAxis : Pass<"dist-assign-axis", "::mlir::func::FuncOp"> {
  let summary = "Split every value on one mesh axis so that the fewest bytes move";
  let description = [{
    **Requires**: `nn` ops; the module's `dist.mesh`; placements on other axes, as
    found so far, in attributes.

    **Ensures**: `dist.placement` of arguments and `dist.placements` of ops extended
    by the axis, and `dist.operands` of ops that read an operand otherwise than it
    rests. Closed placements stay.

    The choice is by cost alone (weft/Search/AxisSearch.h): no op or weight is known
    by name, yet Megatron's column and row pairs, head-parallel attention and the
    vocabulary-parallel output layer are what comes out. Ops without
    ShardableOpInterface read and make whole values.

    A training step is searched in two parts: the forward ops, then, with these settled, the ops of
    gradients; those of the optimizer are left to `dist-place-state`. Searching all at once keeps every activation's
    alternatives alive until its gradient is met, which no beam holds; and it finds nothing else, because a
    gradient moves the bytes of its activation backward.

    A remark (category `dist-assign-axis`) gives the collectives and bytes of one run.
  }];
  let options = [
    Option<"axis", "axis", "std::string", /*default=*/"\"\"",
      "the mesh axis to use; default: one after the other those that do not split the batch (`dist.batch_axes`); "
      "an axis of size 1 or none of that name: nothing to do">,
    Option<"programs", "programs", "std::string", /*default=*/"\"all\"",
      "all, or only those whose dist.order is lead (or none) or follow">,
    Option<"sequenceParallel", "sequence-parallel", "bool", /*default=*/"false",
      "also split what cheap ops compute between matrix products (norms, residuals), "
      "at the same bytes in twice the collectives; saves activation memory">,
  ];
  let dependentDialects = ["::weft::dist::DistDialect"];
}

#endif // WEFT_PASSES_SEARCH_PASSES_TD
