// What each chunk of a pipeline is, for people: where it lies, what it takes and holds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_DIST_IR_CHUNKROWS_H
#define WEFT_DIALECTS_DIST_IR_CHUNKROWS_H

#include "mlir/IR/BuiltinAttributes.h"

#include <optional>
#include <string>
#include <vector>

namespace weft::dist {

/// On the module: the rows of all chunks, in order, as writeChunkRows has them.
inline constexpr llvm::StringLiteral kChunkRowsAttr = "dist.chunk_rows";

/// Of one device of the chunk's stage. Times are those that the cut goes by, of one microbatch.
struct ChunkRow {
  int64_t stage = 0;
  std::string first, last; ///< nodes: of the ops that depend on both weights and inputs
  int64_t parameters = 0;  ///< elements, of the whole; one that several chunks read counts in each
  double forward = 0, backward = 0, weight = 0; ///< seconds
  int64_t bytesIn = 0; ///< what chunks before send its stage for a forward pass
  /// Microbatches whose forward pass has begun and whose backward pass is not over, at most.
  int64_t inFlight = 0;
  /// Bytes. Gradients are those of weights that wait for their update; activations what forward and
  /// backward passes leave for later ones, at most at once, of values as they are before any are
  /// computed again or overwritten.
  int64_t parameterBytes = 0, optimizerBytes = 0, otherBytes = 0, gradientBytes = 0,
          activationBytes = 0;
};

mlir::ArrayAttr writeChunkRows(mlir::MLIRContext *context, llvm::ArrayRef<ChunkRow> rows);

/// Nothing if the attribute is no list of rows.
std::optional<std::vector<ChunkRow>> readChunkRows(mlir::Attribute attribute);

} // namespace weft::dist

#endif // WEFT_DIALECTS_DIST_IR_CHUNKROWS_H
