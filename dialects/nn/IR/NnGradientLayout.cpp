// Gradients of ops that move values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnGradient.h"

using namespace mlir;

namespace weft::nn {

LogicalResult BroadcastOp::buildGradient(OpBuilder &builder, ValueRange results,
                                         ArrayRef<bool> wanted, MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  d.set(0, [&] { return d.upper().sum(otherDims(getType().getRank(), getDims())); });
  return success();
}

LogicalResult ReshapeOp::buildGradient(OpBuilder &builder, ValueRange results,
                                       ArrayRef<bool> wanted, MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  d.set(0, [&] { return d.upper().reshape(d.operand(0).shape()); });
  return success();
}

LogicalResult TransposeOp::buildGradient(OpBuilder &builder, ValueRange results,
                                         ArrayRef<bool> wanted, MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [to, from] : llvm::enumerate(getPermutation()))
    inverse[from] = to;
  d.set(0, [&] { return d.upper().transpose(inverse); });
  return success();
}

LogicalResult ReverseOp::buildGradient(OpBuilder &builder, ValueRange results,
                                       ArrayRef<bool> wanted, MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  d.set(0, [&] { return d.upper().reverse(getDims()); });
  return success();
}

LogicalResult SliceOp::buildGradient(OpBuilder &builder, ValueRange results, ArrayRef<bool> wanted,
                                     MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  d.set(0, [&] {
    Term spread = d.upper().dilate(getStrides());
    SmallVector<int64_t> after;
    for (auto [size, start, read] :
         llvm::zip_equal(d.operand(0).shape(), getStarts(), spread.shape()))
      after.push_back(size - start - read);
    return spread.padOrCut(getStarts(), after);
  });
  return success();
}

LogicalResult ConcatOp::buildGradient(OpBuilder &builder, ValueRange results, ArrayRef<bool> wanted,
                                      MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  int64_t start = 0;
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    int64_t size = cast<RankedTensorType>(input.getType()).getDimSize(getDim());
    d.set(index, [&] { return d.upper().sliceDim(getDim(), start, size); });
    start += size;
  }
  return success();
}

LogicalResult PadOp::buildGradient(OpBuilder &builder, ValueRange results, ArrayRef<bool> wanted,
                                   MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  d.set(0, [&] {
    return d.upper().slice(getLow(), d.operand(0).shape(),
                           SmallVector<int64_t>(getLow().size(), 1));
  });
  return success();
}

} // namespace weft::nn
