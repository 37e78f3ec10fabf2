//===- TransitionOpInterface.td - what ops between placements tell -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------===//
#ifndef WEFT_SHARDING_TRANSITIONOPINTERFACE_TD
#define WEFT_SHARDING_TRANSITIONOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def TransitionOpInterface : OpInterface<"TransitionOpInterface"> {
  let cppNamespace = "::weft";
  let description = [{
    An op of `local` with one operand and one result that is one transition between two
    placements. Passes, the verifier and the code generator ask these questions
    instead of knowing the ops.
  }];
  let methods = [
    InterfaceMethod<"Which transition it is.", "::weft::TransitionKind", "getTransitionKind">,
    InterfaceMethod<"The mesh that all its types are placed on.", "const ::weft::Mesh &", "getTransitionMesh">,
    InterfaceMethod<"The axes of its group, in member order; empty if it does not communicate and splits nothing.",
      "::weft::AxisList", "getTransitionAxes">,
    InterfaceMethod<"The split or gathered dim; all_to_all: the dim that becomes split. -1 if none.", "int", "getTransitionDim">,
    InterfaceMethod<"all_to_all: the dim that is gathered; else -1.", "int", "getTransitionOtherDim", (ins), [{}],
      [{ return -1; }]>,
    InterfaceMethod<"The type in which elements are combined; null if none are.", "::mlir::Type",
      "getAccumulateType", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<[{
      The command in the runtime's words: contiguous [outer, extent, inner], what is
      combined how, and what fills new padding.
    }], "::weft::CollectiveGeometry", "getGeometry">,
    InterfaceMethod<"True if devices talk to each other (all but slice, mask and partialize).", "bool", "isCommunication",
      (ins), [{}], [{
        return $_op.getTransitionKind() != ::weft::TransitionKind::Slice && $_op.getTransitionKind() != ::weft::TransitionKind::Mask &&
               $_op.getTransitionKind() != ::weft::TransitionKind::Partialize;
      }]>,
  ];
}

def DeviceBodyOpInterface : OpInterface<"DeviceBodyOpInterface"> {
  let cppNamespace = "::weft";
  let description = [{
    An op of `local` without communication whose result depends on where the
    device stands. Its kernel takes the coordinates as scalars, which are the only
    values in a kernel that differ between processes.
  }];
  let methods = [
    InterfaceMethod<"The axes whose coordinates the body needs, one scalar each.", "::weft::AxisList",
      "getCoordinateAxes">,
    InterfaceMethod<[{
      Emits the op on tensors without encoding, as KernelOpInterface::buildBody.
      `coordinates` are `index` values, one for each of getCoordinateAxes.
    }], "::llvm::SmallVector<::mlir::Value>", "buildDeviceBody",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$operands,
           "::mlir::ValueRange":$coordinates)>,
    InterfaceMethod<"The reference: evaluates the op as the device at `coordinates` (one a mesh axis) does.",
      "::weft::HostTensor", "evaluateOn",
      (ins "::llvm::ArrayRef<int64_t>":$coordinates, "const ::weft::HostTensor &":$operand)>,
  ];
}

#endif // WEFT_SHARDING_TRANSITIONOPINTERFACE_TD
