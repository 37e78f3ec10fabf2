//===- RtInterfaces.td - what every command tells -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef WEFT_DIALECTS_RT_IR_RTINTERFACES_TD
#define WEFT_DIALECTS_RT_IR_RTINTERFACES_TD

include "mlir/IR/OpBase.td"

def Rt_CommandInterface : OpInterface<"CommandInterface"> {
  let cppNamespace = "::weft::rt";
  let description = [{
    A command runs on a stream, reads some of its views and writes others.
    Scheduling, arena planning, verification and emission ask nothing else of
    it. A view may be read and written (an in-place collective).
  }];
  let methods = [
    InterfaceMethod<"The stream: 0 computes, 1 communicates, 2 transfers between stages.", "unsigned", "getStreamNumber", (ins), [{}],
      [{ return $_op.getStream(); }]>,
    InterfaceMethod<"Moves the command to another stream.", "void", "setStreamNumber", (ins "unsigned":$stream), [{}],
      [{ $_op.setStream(stream); }]>,
    InterfaceMethod<"The views that are read.", "::llvm::SmallVector<::mlir::Value>", "getReads", (ins), [{}],
      [{ return {}; }]>,
    InterfaceMethod<"The views that are written.", "::llvm::SmallVector<::mlir::Value>", "getWrites", (ins), [{}],
      [{ return {}; }]>,
    InterfaceMethod<"Pairs of a view that is read, and one that is written: they may be the same bytes.",
      "::llvm::SmallVector<std::pair<::mlir::Value, ::mlir::Value>>", "getOverwrites", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<"Whether it talks to other processes and so belongs on another stream than what computes.", "bool",
      "isCommunication", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<"Whether it does with one other stage of a pipeline: then it has a stream and an order of its own.",
      "bool", "isTransfer", (ins), [{}], [{ return false; }]>,
  ];
}

#endif // WEFT_DIALECTS_RT_IR_RTINTERFACES_TD
