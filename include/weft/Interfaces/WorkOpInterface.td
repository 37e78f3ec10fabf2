//===- WorkOpInterface.td - what an op does to compute its results -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------===//
#ifndef WEFT_INTERFACES_WORKOPINTERFACE_TD
#define WEFT_INTERFACES_WORKOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def WorkOpInterface : OpInterface<"WorkOpInterface"> {
  let cppNamespace = "::weft";
  let description = [{
    Ops whose work is not that of their factor rule: some points do nothing (causal attention),
    some of what an operand holds is not touched (look-ups), or rates depend on sizes that the
    rule does not name (products). Ask `workOf` (OpWork.h), which knows all others, too. Attached to
    ops from outside of their definition, where the dialect is registered.
  }];
  let methods = [
    InterfaceMethod<[{
      The work at these operand and result types, as in getFactorRule: its own, or those of another
      placement. Where attributes depend on shapes they are scaled accordingly.
    }], "::weft::OpWork", "getWork",
      (ins "::mlir::TypeRange":$operandTypes, "::mlir::TypeRange":$resultTypes)>,
  ];
}

#endif // WEFT_INTERFACES_WORKOPINTERFACE_TD
