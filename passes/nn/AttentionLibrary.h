// Whether a target's library does attention.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_NN_ATTENTIONLIBRARY_H
#define WEFT_PASSES_NN_ATTENTIONLIBRARY_H

#include "weft/Target/Target.h"

#include "mlir/IR/Builders.h"

namespace weft::nn {

/// One head of attention.
struct AttentionHead {
  int64_t rows, columns, depth, width;
  double scale;
  bool causal, hasMask;
};

/// Whose library is asked, and in which type it is to compute; without a target it does all.
struct AttentionLibrary {
  const Target *target = nullptr;
  mlir::Type element;

  /// Asks for one head of one batch entry: how many there are is the same to a library. That it
  /// does not is a remark at `loc`.
  bool does(const AttentionHead &head, mlir::Builder &builder, mlir::Location loc) const;
};

} // namespace weft::nn

#endif // WEFT_PASSES_NN_ATTENTIONLIBRARY_H
