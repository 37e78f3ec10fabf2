// How a library call's operands look to the runtime: views of fixed tensor rank.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_RT_FUSION_LIBRARYLAYOUT_H
#define WEFT_PASSES_RT_FUSION_LIBRARYLAYOUT_H

#include "passes/rt/fusion/FusionChoice.h"
#include "weft/Target/Target.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace weft::rt {

/// The layout of `op` for operands and results with these strides; nothing if the
/// op has no library call, the dims do not collapse into the command's, or the
/// target does not take it. Offsets stay those of the values. `addendStrides` are those of each
/// thing that the call, of a product, adds to its result, in the dims of that; a row that is added
/// to all has a stride of 0.
///
/// A product's dims collapse as far as neighbours are contiguous in every
/// tensor that has them; what is left over in m or n becomes batch dims, along
/// which the other operand has stride 0. Example: q k^T of heads inside a fused
/// projection, lhs [b, s, h, d] with strides of a [b, s, 3, h, d] buffer.
std::optional<LibraryLayout>
libraryLayout(const Target &target, mlir::Operation *op,
              llvm::ArrayRef<llvm::SmallVector<int64_t, 4>> operandStrides,
              llvm::ArrayRef<llvm::SmallVector<int64_t, 4>> resultStrides,
              llvm::ArrayRef<llvm::SmallVector<int64_t, 4>> addendStrides = {});

/// The same for dense operands and results.
std::optional<LibraryLayout> denseLibraryLayout(const Target &target, mlir::Operation *op);

/// The same for operands that are views as `layoutOf` tells, and dense results.
std::optional<LibraryLayout> libraryLayout(const Target &target, mlir::Operation *op,
                                           llvm::function_ref<bool(mlir::Operation *)> isRoot);

/// If `view` only permutes its operand's elements: the strides that the operand
/// has in a dense buffer of the view's result.
std::optional<llvm::SmallVector<int64_t, 4>> stridesBehindPermutation(mlir::Operation *view);

/// The results of a library op that its command can write where they are wanted.
mlir::ResultRange placeableResults(mlir::Operation *op);

/// Whether the op is a view, or puts values one after the other: a command that makes its operands
/// could write its result at once.
bool isPlacing(mlir::Operation *op);

/// The last of the placing ops to which `value` leads, each with one reader, of those for which
/// `isTaken` holds; null if the first is not.
mlir::Operation *placedAs(mlir::Value value, llvm::function_ref<bool(mlir::Operation *)> isTaken);

/// Where `value` lies in the buffer of the result of `last`, to which all that reads it leads
/// through placing ops, each with one reader; nothing if sizes and strides cannot say it. The
/// buffer is dense, or has `strides`.
///
/// Worked example, q of [b, h, s, d]: a transpose to [b, s, h, d], a reshape to [b, s, h d] and a
/// concatenation with two more of its size along the last dim. In that buffer q has the strides
/// [3 s h d, d, 3 h d, 1], and the offset of its place in a row.
std::optional<ValueLayout>
layoutBehind(mlir::Value value, mlir::Operation *last,
             std::optional<llvm::ArrayRef<int64_t>> strides = std::nullopt);

} // namespace weft::rt

#endif // WEFT_PASSES_RT_FUSION_LIBRARYLAYOUT_H
