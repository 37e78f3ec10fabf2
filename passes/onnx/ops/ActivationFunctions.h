// Activation functions that are operators and parts of others.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_ONNX_OPS_ACTIVATIONFUNCTIONS_H
#define WEFT_PASSES_ONNX_OPS_ACTIVATIONFUNCTIONS_H

#include "passes/onnx/NnBuilder.h"

namespace weft::onnx {

// As the operators of these names define them; null of null.
mlir::Value elu(NnBuilder &b, mlir::Value x, double alpha);
mlir::Value hardSigmoid(NnBuilder &b, mlir::Value x, double alpha, double beta);
mlir::Value leakyRelu(NnBuilder &b, mlir::Value x, double alpha);
mlir::Value softplus(NnBuilder &b, mlir::Value x);
mlir::Value softsign(NnBuilder &b, mlir::Value x);
mlir::Value thresholdedRelu(NnBuilder &b, mlir::Value x, double alpha);

} // namespace weft::onnx

#endif // WEFT_PASSES_ONNX_OPS_ACTIVATIONFUNCTIONS_H
