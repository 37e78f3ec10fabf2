// The floating-point types that a program may compute in.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_NN_STEP_PRECISION_H
#define WEFT_PASSES_NN_STEP_PRECISION_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSwitch.h"

#include <optional>

namespace weft {

enum class Precision { F32, BF16, F16, F64 };

/// Reads `fp32`, `bf16`, `fp16` and `fp64` as flags have them, and MLIR's `f32`, `f16` and `f64`.
inline std::optional<Precision> parsePrecision(llvm::StringRef text) {
  return llvm::StringSwitch<std::optional<Precision>>(text)
      .Cases({"fp32", "f32"}, Precision::F32)
      .Case("bf16", Precision::BF16)
      .Cases({"fp16", "f16"}, Precision::F16)
      .Cases({"fp64", "f64"}, Precision::F64)
      .Default(std::nullopt);
}

/// As a flag has it.
inline llvm::StringRef precisionName(Precision precision) {
  static constexpr llvm::StringLiteral names[] = {"fp32", "bf16", "fp16", "fp64"};
  return names[unsigned(precision)];
}

inline mlir::FloatType precisionType(Precision precision, mlir::MLIRContext *context) {
  switch (precision) {
  case Precision::F32:
    return mlir::Float32Type::get(context);
  case Precision::BF16:
    return mlir::BFloat16Type::get(context);
  case Precision::F16:
    return mlir::Float16Type::get(context);
  case Precision::F64:
    return mlir::Float64Type::get(context);
  }
  llvm_unreachable("all precisions have a type");
}

} // namespace weft

#endif // WEFT_PASSES_NN_STEP_PRECISION_H
