//===- ReduceKind.td - how values are combined ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------===//
#ifndef WEFT_INTERFACES_REDUCEKIND_TD
#define WEFT_INTERFACES_REDUCEKIND_TD

include "mlir/IR/EnumAttr.td"

// One enum for reductions inside an op, partial placements and collectives.
def Weft_ReduceKind : I32EnumAttr<"ReduceKind", "how values are combined", [
    I32EnumAttrCase<"Sum", 0, "sum">,
    I32EnumAttrCase<"Prod", 1, "prod">,
    I32EnumAttrCase<"Max", 2, "max">,
    I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"And", 4, "and">,
    I32EnumAttrCase<"Or", 5, "or">]> {
  let cppNamespace = "::weft";
  let genSpecializedAttr = 0;
}

#endif // WEFT_INTERFACES_REDUCEKIND_TD
