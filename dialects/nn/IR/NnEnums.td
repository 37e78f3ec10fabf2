//===- NnEnums.td - enums of nn -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------===//
#ifndef WEFT_DIALECTS_NN_IR_NNENUMS_TD
#define WEFT_DIALECTS_NN_IR_NNENUMS_TD

include "mlir/IR/EnumAttr.td"

class Nn_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::weft::nn";
  let genSpecializedAttr = 0;
}

def Nn_CompareKind : Nn_Enum<"CompareKind", "comparison", [
    I32EnumAttrCase<"Eq", 0, "eq">, I32EnumAttrCase<"Ne", 1, "ne">,
    I32EnumAttrCase<"Lt", 2, "lt">, I32EnumAttrCase<"Le", 3, "le">,
    I32EnumAttrCase<"Gt", 4, "gt">, I32EnumAttrCase<"Ge", 5, "ge">]>;

def Nn_ScatterKind : Nn_Enum<"ScatterKind", "how an update meets the old value", [
    I32EnumAttrCase<"Assign", 0, "assign">, I32EnumAttrCase<"Add", 1, "add">,
    I32EnumAttrCase<"Mul", 2, "mul">, I32EnumAttrCase<"Max", 3, "max">,
    I32EnumAttrCase<"Min", 4, "min">]>;

#endif // WEFT_DIALECTS_NN_IR_NNENUMS_TD
