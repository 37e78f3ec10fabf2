//===- OpInterfaces.td - the questions every op answers -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes never switch over op names: they ask. Propagation, partitioning, cost,
// verification, reference evaluation and code generation follow from answers.
//===------------------------------------------------------------------------===//
#ifndef WEFT_INTERFACES_OPINTERFACES_TD
#define WEFT_INTERFACES_OPINTERFACES_TD

include "mlir/IR/OpBase.td"

def ShardableOpInterface : OpInterface<"ShardableOpInterface"> {
  let cppNamespace = "::weft";
  let description = [{
    How an op may be split. The rule is computed from types that the caller
    gives, because the same op is asked about its local types, its global types
    (by the SPMD verifier), or hypothetical ones.
  }];
  let methods = [
    InterfaceMethod<[{
      The factor rule for these operand and result types. When the types are not
      the op's own (global types asked of a partitioned op), attributes that
      depend on shapes are read scaled accordingly.
      Matmul: `(m)(k), (k)(n) -> (m)(n) reduce k:sum`.
    }], "::weft::FactorRule", "getFactorRule",
      (ins "::mlir::TypeRange":$operandTypes, "::mlir::TypeRange":$resultTypes)>,
    InterfaceMethod<[{
      Which sets of operands may be partial(kind) and so make the results
      partial(kind). Default: none. Matmul for sum: `{0}`, `{1}`. An op whose
      attributes or element type make it inexact answers none.
    }], "::llvm::SmallVector<::weft::PartialRule>", "getPartialRules",
      (ins "::weft::ReduceKind":$kind), [{}], [{ return {}; }]>,
    InterfaceMethod<[{
      Called on a clone whose operand and result types are already local; adapts
      attributes that depend on shapes (the offsets of a slice that takes a
      whole factor). `globalOperandTypes` and `globalResultTypes` are those of
      the op before. Default: nothing to adapt.
    }], "void", "localizeAttributes",
      (ins "::mlir::TypeRange":$globalOperandTypes, "::mlir::TypeRange":$globalResultTypes), [{}], [{ return; }]>,
    InterfaceMethod<[{
      Floating-point operations for one point of the iteration space (matmul 2,
      add 1, exp about 8); 0 for ops that only move data.
    }], "double", "getFlopsPerPoint", (ins), [{}], [{ return 1.0; }]>,
    InterfaceMethod<[{
      What sort of work the op is, whatever a target does it with. Default: what follows
      from factors and flops; ops that sum products, or hold attention, say so.
    }], "::weft::ComputeClass", "getComputeClass", (ins), [{}], [{
      return ::weft::deriveComputeClass(
          $_op.getFactorRule($_op->getOperandTypes(), $_op->getResultTypes()), $_op.getFlopsPerPoint());
    }]>,
  ];
  let extraSharedClassDeclaration = [{
    /// The rule for the op's own types.
    ::weft::FactorRule getOwnFactorRule() {
      return $_op.getFactorRule($_op->getOperandTypes(), $_op->getResultTypes());
    }
  }];
}

def ReferenceOpInterface : OpInterface<"ReferenceOpInterface"> {
  let cppNamespace = "::weft";
  let description = [{
    The oracle: each op by its own plain method in fp64 (integers exact), sharing
    nothing with the code generator. Results are rounded to the result's element
    type only by `nn.cast` and by the caller's policy.
  }];
  let methods = [
    InterfaceMethod<"Evaluates the op on whole operands.",
      "::llvm::SmallVector<::weft::HostTensor>", "evaluate",
      (ins "::llvm::ArrayRef<::weft::HostTensor>":$operands)>,
  ];
}

def ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::weft";
  let description = [{
    Ops that compute each result element from the operand elements at the same
    index. Shapes of all operands and of the one result are equal.
  }];
  let methods = [
    InterfaceMethod<"The reference of one element.", "::weft::Scalar", "evaluateScalar",
      (ins "::llvm::ArrayRef<::weft::Scalar>":$operands)>,
    InterfaceMethod<[{
      Emits `arith`/`math` ops that compute one element. Operands and the result
      have signless types; the op's own types tell signedness.
    }], "::mlir::Value", "buildScalar",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$operands)>,
  ];
}

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::weft";
  let description = [{
    How an op becomes code, told without naming a target. Exactly one of three
    forms: a view (no code: the result is the operand's bytes with other sizes
    and strides), a library call, or a body in `linalg`/`tensor`/`scf`/`arith`.
  }];
  let methods = [
    InterfaceMethod<[{
      The library call that does this op, or nothing if it is generated. Element
      types that a library lacks are the target's concern. To be asked by targets and
      where commands are made only: what an op costs is `getComputeClass`.
    }], "::std::optional<::weft::LibraryCall>", "getLibraryCall", (ins), [{}], [{ return std::nullopt; }]>,
    InterfaceMethod<[{
      If the result is a re-indexing of the first operand: its sizes and strides
      (elements) and offset over the operand's, given the operand's own sizes and
      strides; nothing if it cannot be expressed. Broadcast uses stride 0.
    }], "bool", "getView",
      (ins "::llvm::ArrayRef<int64_t>":$operandStrides,
           "::llvm::SmallVectorImpl<int64_t> &":$resultStrides, "int64_t &":$offset), [{}], [{ return false; }]>,
    InterfaceMethod<[{
      Emits the op on tensors without encoding, signless element types, and
      returns one tensor a result. Uses linalg ops with parallel and reduction
      iterators, `tensor` ops and `scf` on tensors; never allocates by itself
      other than `tensor.empty`. Default of elementwise ops: one linalg.generic.
    }], "::llvm::SmallVector<::mlir::Value>", "buildBody",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$operands)>,
    InterfaceMethod<[{
      Number of leading result dims along which the body may be cut into
      independent pieces that read only what they need (all dims of an
      elementwise op; all but the row of a softmax; 0 if it must run whole).
    }], "unsigned", "getParallelDims", (ins), [{}], [{ return 0; }]>,
  ];
}

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::weft";
  let description = [{
    The gradient of an op, as ops. Only floats carry gradients; what is piecewise
    constant (rounding, comparisons, indices) has gradient zero and succeeds.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits the ops that compute, of a scalar loss, the gradients with respect to the
      op's operands from those with respect to its results.
      `resultGradients` has one value a result, null where it is zero; at least one is
      not null. `wanted` tells for each operand whether its gradient is asked for;
      nothing is emitted for the others. Sets `operandGradients[i]`, of the operand's
      type, for wanted operands; null stays where the gradient is zero.
      Fails without emitting if the op has no gradient.
      Matmul `c = a b`: `da = dc b^T`, `db = a^T dc`.
    }], "::llvm::LogicalResult", "buildGradient",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGradients,
           "::llvm::ArrayRef<bool>":$wanted,
           "::llvm::MutableArrayRef<::mlir::Value>":$operandGradients),
      [{}], [{ return ::llvm::failure(); }]>,
  ];
}

#endif // WEFT_INTERFACES_OPINTERFACES_TD
