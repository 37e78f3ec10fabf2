// Groups of elementwise ops seen as a function of one value.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_NN_ELEMENTWISECONE_H
#define WEFT_PASSES_NN_ELEMENTWISECONE_H

#include "dialects/nn/IR/Nn.h"

#include <functional>
#include <optional>

namespace weft {

/// The value of all elements of a constant splat, broadcast or not.
std::optional<double> splatOf(mlir::Value value);

/// Whether casts from one float to another round. Those within a norm of small floats, which sums
/// in a wider type, are not what it is known by.
enum class FloatCasts { Round, Pass };

/// Evaluates `root`, made from `leaf` and splats by elementwise ops alone,
/// where each element of `leaf` is `x`; nothing if it is made otherwise.
std::optional<double> evaluateCone(mlir::Value root, mlir::Value leaf, double x,
                                   FloatCasts casts = FloatCasts::Round);

/// How far an idiom may be from what it is taken for, relatively: exporters
/// round constants to f32, which f32 programs hide and f64 programs do not.
inline constexpr double kLooseTolerance = 1e-5, kExactTolerance = 1e-12;
/// The one for a value that is computed in f64, by its type or because `exact`.
double idiomTolerance(mlir::Value value, bool exact);

/// True if root is `function` of leaf at all `points`, to a relative
/// `tolerance`.
bool computes(mlir::Value root, mlir::Value leaf, llvm::ArrayRef<double> points,
              llvm::function_ref<double(double)> function, double tolerance = kLooseTolerance,
              FloatCasts casts = FloatCasts::Round);

/// Values in the cone of elementwise ops above `root`, nearest first: those
/// that it may be a function of.
llvm::SmallVector<mlir::Value> leavesOf(mlir::Value root);

/// The place of an op that stands for `root`, made and reading what it needs: that of `root`, which
/// names it, and those of all that only `root` needed, but for what leads to `kept`. So whoever
/// looks for a node of an idiom finds the op that the idiom became.
mlir::Location placeOfIdiom(mlir::Operation *root, mlir::ValueRange kept = {});

} // namespace weft

#endif // WEFT_PASSES_NN_ELEMENTWISECONE_H
