// Folding of ops over constants by their reference.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_NN_IR_NNFOLD_H
#define WEFT_DIALECTS_NN_IR_NNFOLD_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/FoldInterfaces.h"

namespace weft::nn {

/// The canonicalizer folds ops whose operands and results have at most so many elements, with at
/// most so many operations: shape arithmetic, not tables.
inline constexpr int64_t kFoldLimit = 4096;
inline constexpr double kFoldWork = 1 << 22;

/// Evaluates `op` on constants (one an operand, null if it is none) by its own
/// reference, rounded to its element types. Fails if an operand is no constant,
/// a tensor has more than `limit` elements, it is more than kFoldWork, or a type has a placement.
llvm::LogicalResult foldByReference(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> constants,
                                    int64_t limit, llvm::SmallVectorImpl<mlir::Attribute> &results);

/// The dialect's fold hook: ops whose own fold does nothing.
struct FoldInterface : mlir::DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  llvm::LogicalResult fold(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands,
                           llvm::SmallVectorImpl<mlir::OpFoldResult> &results) const final;
};

} // namespace weft::nn

#endif // WEFT_DIALECTS_NN_IR_NNFOLD_H
