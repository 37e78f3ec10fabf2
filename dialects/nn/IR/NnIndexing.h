// Names of the dims of gather and scatter: of operand, indices and elements picked.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_NN_IR_NNINDEXING_H
#define WEFT_DIALECTS_NN_IR_NNINDEXING_H

#include "dialects/nn/IR/Nn.h"

namespace weft::nn {

/// The attributes of nn.gather; see its description.
struct IndexedDims {
  llvm::ArrayRef<int64_t> indexed, operandBatch, indicesBatch;

  /// Operand dims that are read whole, in order.
  llvm::SmallVector<int64_t> windowDims(int64_t operandRank) const;
  /// Shape of the result of a gather, of the updates of a scatter.
  llvm::SmallVector<int64_t> pickedShape(llvm::ArrayRef<int64_t> operand,
                                         llvm::ArrayRef<int64_t> indices) const;
};

IndexedDims indexedDims(GatherOp op);
IndexedDims indexedDims(ScatterOp op);

} // namespace weft::nn

#endif // WEFT_DIALECTS_NN_IR_NNINDEXING_H
