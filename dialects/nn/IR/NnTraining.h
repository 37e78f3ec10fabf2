// Names by which a model's training step is handed from `graph` to `step`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_NN_IR_NNTRAINING_H
#define WEFT_DIALECTS_NN_IR_NNTRAINING_H

#include "llvm/ADT/StringRef.h"

namespace weft::nn {

/// On an argument: it stands for a gradient, until `step` computes it. Idioms
/// are raised and precision is set in between, so the gradient cannot be there
/// earlier. `array<i64: y, x>`: result y is differentiated with respect to x.
inline constexpr llvm::StringLiteral kGradientAttr = "nn.gradient";
/// On a result: it is read by a later pass, which takes it away, not by users;
/// so it keeps the type that is computed in.
inline constexpr llvm::StringLiteral kInnerAttr = "nn.inner";

/// On a state: it is updated by the model's own formulas, which have no place for a
/// wider copy; so it keeps its type, whatever precision is computed in.
inline constexpr llvm::StringLiteral kKeptAttr = "nn.kept";

/// The training step that a model brings along, and its loss alone, as the
/// model computes it when it is not trained. Both private.
inline constexpr llvm::StringLiteral kModelStep = "training.step";
inline constexpr llvm::StringLiteral kModelEvaluation = "training.eval";

} // namespace weft::nn

#endif // WEFT_DIALECTS_NN_IR_NNTRAINING_H
