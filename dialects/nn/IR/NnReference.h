// Helpers of the reference methods of nn: index arithmetic and combination.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_NN_IR_NNREFERENCE_H
#define WEFT_DIALECTS_NN_IR_NNREFERENCE_H

#include "weft/Interfaces/Reduction.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace weft::nn {

/// Calls `function` with every index of `shape` in row-major order.
void forEachIndex(llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t>)> function);

/// The inner product of an index with strides.
int64_t linearIndex(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> strides);

/// result[i] = operand[offset + sum of i * strides], strides in elements of the
/// operand, for a result of type `type`.
HostTensor readStrided(const HostTensor &operand, mlir::RankedTensorType type,
                       llvm::ArrayRef<int64_t> strides, int64_t offset = 0);

/// A tensor of `type` whose elements are all `value`.
HostTensor filled(mlir::RankedTensorType type, Scalar value);

} // namespace weft::nn

#endif // WEFT_DIALECTS_NN_IR_NNREFERENCE_H
