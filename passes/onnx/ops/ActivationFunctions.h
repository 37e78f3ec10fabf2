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

/// A function that fused and recurrent operators name in an attribute.
struct NamedActivation {
  llvm::StringLiteral name;
  /// How many numbers it takes: alpha, then beta.
  unsigned numbers;
  /// Of those that are not given; without a value here they must be.
  std::optional<double> alpha, beta;
  mlir::Value (*apply)(NnBuilder &b, mlir::Value x, double alpha, double beta);
};

/// Upper and lower case are the same, as in ONNX Runtime; null of a name that is not known.
const NamedActivation *findActivation(llvm::StringRef name);

} // namespace weft::onnx

#endif // WEFT_PASSES_ONNX_OPS_ACTIVATIONFUNCTIONS_H
