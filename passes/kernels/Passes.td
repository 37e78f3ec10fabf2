//===- Passes.td - lowering of kernels that every target can use -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------===//
#ifndef WEFT_PASSES_KERNELS_PASSES_TD
#define WEFT_PASSES_KERNELS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertNnToLinalg : Pass<"convert-nn-to-linalg", "::mlir::func::FuncOp"> {
  let summary = "replace ops by the bodies they give";
  let description = [{
    **Requires** an outlined kernel: ops with KernelOpInterface on tensors
    without encoding, in one block.

    **Ensures** bodies in the vocabulary of dialects/nn/IR/NnKernels.h; types of
    the function are signless. Each op is asked by `buildBody`; one without the
    interface is an error. The body of a slice from the start of a dim reads an operand
    that is larger than its loops, which `linalg`'s own verifier refuses: who runs this
    pass on such kernels turns verification off.

    Example: `test/passes/kernels/convert-nn-to-linalg.mlir`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def ExpandMath : Pass<"kernels-expand-math"> {
  let summary = "turn f32 functions into polynomials that vectorize";
  let description = [{
    **Requires** scalar `math` ops. **Ensures** that exp, expm1, log, log1p, tanh
    and erf of f32 are polynomials (errors of a few ulp), and that nothing
    computes in bf16: arithmetic and functions are those of f32 (f64 for integers
    of more than 24 bits) with one rounding of the result, and conversions from
    and to bf16 are integer arithmetic, rounding to nearest even, also from f64:
    not every libgcc has a function for it, and processors' own instructions
    flush subnormals. Functions of f64 stay, and become calls of libm.

    Example: `test/passes/kernels/expand-math.mlir`.
  }];
  let options = [
    Option<"keepBFloat16Casts", "keep-bfloat16-casts", "bool", "false",
           "Leave conversions between bf16 and f32, for processors whose own round to nearest even and keep subnormals.">,
    Option<"keepExponentials", "keep-exponentials", "bool", "false",
           "Leave exp and tanh of f32, for processors with an instruction for powers of two.">,
  ];
  let dependentDialects = ["::mlir::vector::VectorDialect"];
}

#endif // WEFT_PASSES_KERNELS_PASSES_TD
