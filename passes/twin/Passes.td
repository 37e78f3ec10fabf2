//===- Passes.td - kernels of a grid of threads on this processor -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------===//
#ifndef WEFT_PASSES_TWIN_PASSES_TD
#define WEFT_PASSES_TWIN_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerGpuToHost : Pass<"twin-lower-gpu-to-host", "::mlir::ModuleOp"> {
  let summary = "turn kernels of a grid of threads into functions that the emulator runs";
  let description = [{
    **Requires** `gpu.module`s with a kernel each: a `gpu.func` on memrefs of static shape
    with `known_block_size` (one dim) and `weft.grid`, the number of its blocks; in it only
    scf, arith, math, memref, vector and gpu, and `nvvm.bar.warp.sync` of all lanes.

    **Ensures** for each kernel a function of its name and of the runtime's kernel type,
    which hands blocks [begin, end) to the emulator (runtime/emulator/Abi.h), and an
    internal one of LLVM's, `name.thread`, that is one thread, of scalars and loops. Barriers and shuffles are calls; before
    each access to an argument or to workgroup memory stands one that tells address, bytes
    and the alignment that the access promises; an index is compared with its dim.
    Arithmetic on vectors is done element by element, so that it has the bits of scalars.

    So the same text that becomes code for a GPU is executed without one, and what a GPU
    would leave undefined is an error.

    Example: `test/passes/twin/lower-gpu-to-host.mlir`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

#endif // WEFT_PASSES_TWIN_PASSES_TD
