// Passes from the `onnx` dialect to `nn`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_ONNX_PASSES_H
#define WEFT_PASSES_ONNX_PASSES_H

#include "passes/onnx/OnnxToNn.h"

#include "mlir/Pass/Pass.h"

namespace weft::onnx {

#define GEN_PASS_DECL
#include "passes/onnx/Passes.h.inc"

/// `convert-onnx-to-nn`; `bindings` may hold inputs that are no files, which text has no words for.
std::unique_ptr<mlir::Pass> createConvertOnnxToNn(const Bindings &bindings,
                                                  ConvertOnnxToNnOptions options);

#define GEN_PASS_REGISTRATION
#include "passes/onnx/Passes.h.inc"

} // namespace weft::onnx

#endif // WEFT_PASSES_ONNX_PASSES_H
