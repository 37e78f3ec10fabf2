//===- Passes.td - from outlined kernels to LLVM for a CPU -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------===//
#ifndef WEFT_PASSES_CPU_PASSES_TD
#define WEFT_PASSES_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerKernelToLoops : Pass<"cpu-lower-kernel-to-loops", "::mlir::ModuleOp"> {
  let summary = "fuse, place temporaries, and cut the work into units";
  let description = [{
    **Requires** functions as `convert-nn-to-linalg` leaves them.

    **Ensures** for each function `name` a function of the runtime's kernel
    type, `(begin, end, pointers, scalars)`, that runs units [begin, end), with
    the number of units as `rt.parallel_extent` and the least number worth a
    thread as `rt.parallel_grain`; and a private `name.body` with one argument a
    buffer, none of which overlap.

    Elements are pulled: a result's element is computed by inlining the bodies
    of its producers at its index, so that elementwise ops, broadcasts,
    transposes, reshapes and slices fuse with their consumer and cost index
    arithmetic only, most of which vanishes (passes/kernels/IndexSpace.h). What is
    reduced, or needed more often than it has elements and dear, gets a loop nest of
    its own (passes/kernels/LoopNests.h) and, per unit, a register or a temporary on
    the stack.
    Units are boxes of the results; of several ways to cut them the one with
    the least estimated work is taken (KernelTiling.h). linalg's own tiling and
    one-shot bufferization were not used because fusions of arbitrary
    shape need recomputation, whole-row temporaries and reshapes through which
    tiles do not pass.

    Reductions keep an order that the op alone determines.

    Example: `test/passes/cpu/lower-kernel-to-loops.mlir`.
  }];
  let options = [
    Option<"stackLimit", "stack-limit", "int64_t", "::weft::cpu::kMaxStackBytes",
           "Bytes of stack that temporaries may take; what does not fit is computed again where it is needed.">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect"];
}

def LowerLoopsToLLVM : Pass<"cpu-lower-loops-to-llvm", "::mlir::ModuleOp"> {
  let summary = "convert loops and scalars to the LLVM dialect";
  let description = [{
    **Requires** what `cpu-lower-kernel-to-loops` and `kernels-expand-math` leave.
    **Ensures** the LLVM dialect only; functions that are neither LLVM intrinsics nor polynomials are
    calls of libm. A bf16 is an i16: LLVM's code generator takes bf16 values
    through f32 even where they are only moved, by functions of libgcc.

    Example: `test/passes/cpu/lower-loops-to-llvm.mlir`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect"];
}

#endif // WEFT_PASSES_CPU_PASSES_TD
