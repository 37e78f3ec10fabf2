//===- Passes.td - passes of the rung step -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------===//
#ifndef WEFT_PASSES_STEP_PASSES_TD
#define WEFT_PASSES_STEP_PASSES_TD

include "mlir/Pass/PassBase.td"

def StepSetPrecision : Pass<"step-set-precision", "::mlir::func::FuncOp"> {
  let summary = "Compute f32 values in another floating-point type";
  let description = [{
    **Requires** `nn` ops. **Ensures** that every f32 tensor computed inside of a
    program has element type `type`; inputs and results keep their types and are cast at the
    border; state is stored in `type` and converted when it is loaded. Sums inside of ops
    (`accumulate`, norms, softmax) stay in f32 for smaller types, and become f64 for f64.
    Values that the model itself has in another type stay.

    **Example**: test/passes/step/set-precision.mlir.
  }];
  let options = [Option<"type", "type", "std::string", "\"f32\"", "f32 (nothing to do), bf16, f16 or f64">];
  let dependentDialects = ["::weft::nn::NnDialect"];
}

#endif // WEFT_PASSES_STEP_PASSES_TD
