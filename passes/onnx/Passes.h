// Passes from the `onnx` dialect to `nn`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_ONNX_PASSES_H
#define WEFT_PASSES_ONNX_PASSES_H

#include "passes/onnx/OnnxToNn.h"

#include "mlir/Pass/Pass.h"

namespace weft::onnx {

#define GEN_PASS_DECL
#include "passes/onnx/Passes.h.inc"

/// `convert-onnx-to-nn` with bindings that are not files.
std::unique_ptr<mlir::Pass> createConvertOnnxToNn(const Bindings &bindings, bool training = false,
                                                  bool modelStep = false, int64_t batchParts = 1);

#define GEN_PASS_REGISTRATION
#include "passes/onnx/Passes.h.inc"

} // namespace weft::onnx

#endif // WEFT_PASSES_ONNX_PASSES_H
