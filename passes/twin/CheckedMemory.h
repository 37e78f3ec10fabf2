// Memrefs as pointers, and accesses that tell the emulator before they are done.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_TWIN_CHECKEDMEMORY_H
#define WEFT_PASSES_TWIN_CHECKEDMEMORY_H

#include "EmulatedKernel.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace weft::twin {

/// The memory of one thread's code. A memref is the pointer to its first element and the strides
/// of its type.
class CheckedMemory {
public:
  /// `globals`: what `memref.get_global` names.
  CheckedMemory(EmulatorCalls &calls, const llvm::StringMap<mlir::LLVM::GlobalOp> &globals,
                mlir::Value thread)
      : calls(calls), globals(globals), thread(thread) {}

  /// `isPrivate`: the thread's own, or constant: nobody else's accesses matter.
  void add(mlir::Value memref, mlir::Value pointer, bool isPrivate);

  /// Replaces an op that reads, writes, makes or views memrefs; failure, with an error, if it
  /// is another, or cannot be. Views stay, without uses that matter, until `eraseViews`.
  mlir::LogicalResult lower(mlir::Operation *op);
  void eraseViews();

  /// Bytes of an element in memory: of an i1 a byte.
  static int64_t bytesOf(mlir::Type element);

private:
  struct Place {
    mlir::Value pointer;
    bool isPrivate;
  };

  mlir::FailureOr<Place> placeOf(mlir::Operation *op, mlir::Value memref);
  mlir::Value move(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer,
                   mlir::Type element, mlir::ValueRange indices, llvm::ArrayRef<int64_t> strides);
  void checkIndices(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer,
                    mlir::MemRefType type, mlir::ValueRange indices, int64_t width);
  mlir::FailureOr<mlir::Value> access(mlir::Operation *op, mlir::Value memref,
                                      mlir::ValueRange indices, int64_t width, int64_t alignment,
                                      int kind);
  mlir::Value loadFrom(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer,
                       mlir::Type element);
  void storeTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
               mlir::Value pointer);
  mlir::LogicalResult lowerVectorAccess(mlir::Operation *op);
  mlir::LogicalResult lowerAtomic(mlir::Operation *op);
  mlir::LogicalResult lowerView(mlir::Operation *op);
  mlir::LogicalResult lowerScalarAccess(mlir::Operation *op);
  mlir::LogicalResult lowerMemory(mlir::Operation *op);

  EmulatorCalls &calls;
  const llvm::StringMap<mlir::LLVM::GlobalOp> &globals;
  mlir::Value thread;
  llvm::DenseMap<mlir::Value, Place> places;
  llvm::SmallVector<mlir::Operation *> views;
};

} // namespace weft::twin

#endif // WEFT_PASSES_TWIN_CHECKEDMEMORY_H
