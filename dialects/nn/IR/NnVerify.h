// Checks shared by the verifiers of nn, with found and expected in their texts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_NN_IR_NNVERIFY_H
#define WEFT_DIALECTS_NN_IR_NNVERIFY_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include <string>

namespace weft::nn {

/// `2x4x8`, or `scalar`.
std::string shapeText(llvm::ArrayRef<int64_t> shape);

/// The shape of a ranked tensor type.
llvm::ArrayRef<int64_t> shapeOf(mlir::Type type);

/// `what` has the given shape, else an error that ends in `because`.
mlir::LogicalResult expectShape(mlir::Operation *op, const llvm::Twine &what, mlir::Type found,
                                llvm::ArrayRef<int64_t> expected, const llvm::Twine &because);
/// Element types are compared alone: shapes and encodings may differ.
mlir::LogicalResult expectElementType(mlir::Operation *op, const llvm::Twine &what,
                                      mlir::Type found, mlir::Type expected,
                                      const llvm::Twine &because);
mlir::LogicalResult expectCount(mlir::Operation *op, const llvm::Twine &what, int64_t found,
                                int64_t expected, const llvm::Twine &because);
/// `low <= found < high`.
mlir::LogicalResult expectRange(mlir::Operation *op, const llvm::Twine &what, int64_t found,
                                int64_t low, int64_t high);
/// Entries of shape lists are bounded, so that sums and products of a few of
/// them and sizes do not overflow.
inline constexpr int64_t kGreatestEntry = int64_t(1) << 30;
mlir::LogicalResult expectAtLeast(mlir::Operation *op, const llvm::Twine &list,
                                  llvm::ArrayRef<int64_t> found, int64_t low);
/// Dims in [0, tensorRank), each once; strictly increasing if `sorted`.
mlir::LogicalResult expectDims(mlir::Operation *op, llvm::StringRef list,
                               llvm::ArrayRef<int64_t> dims, int64_t tensorRank, bool sorted);

} // namespace weft::nn

#endif // WEFT_DIALECTS_NN_IR_NNVERIFY_H
