//===- RtEnums.td - enums of rt -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef WEFT_DIALECTS_RT_IR_RTENUMS_TD
#define WEFT_DIALECTS_RT_IR_RTENUMS_TD

include "mlir/IR/EnumAttr.td"

class Rt_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::weft::rt";
  let genSpecializedAttr = 0;
}

def Rt_BufferClass : Rt_Enum<"BufferClass", "what a buffer is for", [
    I32EnumAttrCase<"Parameter", 0, "parameter">, I32EnumAttrCase<"Input", 1, "input">,
    I32EnumAttrCase<"Output", 2, "output">, I32EnumAttrCase<"Activation", 3, "activation">,
    I32EnumAttrCase<"Communication", 4, "communication">, I32EnumAttrCase<"Workspace", 5, "workspace">,
    I32EnumAttrCase<"Gradient", 6, "gradient">, I32EnumAttrCase<"OptimizerState", 7, "optimizer">]>;

def Rt_CollectiveKind : Rt_Enum<"CollectiveKind", "collective", [
    I32EnumAttrCase<"AllGather", 0, "all_gather">, I32EnumAttrCase<"AllReduce", 1, "all_reduce">,
    I32EnumAttrCase<"ReduceScatter", 2, "reduce_scatter">, I32EnumAttrCase<"AllToAll", 3, "all_to_all">]>;

def Rt_FusionKind : Rt_Enum<"FusionKind", "what runs a fusion", [
    I32EnumAttrCase<"Kernel", 0, "kernel">, I32EnumAttrCase<"Library", 1, "library">]>;

#endif // WEFT_DIALECTS_RT_IR_RTENUMS_TD
