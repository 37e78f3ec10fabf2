// Code for one element of a tensor, from the ops that define the tensor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_KERNELS_ELEMENTEMITTER_H
#define WEFT_PASSES_KERNELS_ELEMENTEMITTER_H

#include "IndexSpace.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace weft::kernels {

/// Where the elements of a tensor are: in memory, element `i` at
/// `offset + sum(strides[d] * i[d])`, or one element in a register.
struct Storage {
  mlir::Value pointer;
  mlir::Type element;
  llvm::SmallVector<int64_t> strides;
  mlir::AffineExpr offset;
  /// Set instead of all of the above if the kernel needs one element only.
  mlir::Value scalar;
  /// Written while it is read, so that loads may not be remembered.
  bool isMutable = false;
  /// Of the kernel's own: neither argument nor result.
  bool isTemporary = false;
  /// Of an argument, which a result overwrites.
  bool isOverwritten = false;
};

/// How much one nest computes in place. What is read in two branches at different indices is
/// computed in each, at every level again: of 20 steps that each add a tensor to itself rolled,
/// a million times.
constexpr size_t kMostVisits = 4096;

/// What was met while code was emitted.
struct Recorder {
  struct Access {
    mlir::AffineExpr address; // in elements
    bool isStore;
    mlir::Value pointer; // of an argument or result; null for a temporary
    bool isOverwritten;  // reads an argument, which a result overwrites
  };
  struct Read {
    mlir::Value tensor;
    llvm::SmallVector<mlir::AffineExpr> indices;
    double points; // how often, per unit
  };
  /// Memory touched; the innermost loops' strides follow from it.
  llvm::SmallVector<Access> accesses;
  /// Index expressions that were needed as values.
  llvm::SmallVector<mlir::AffineExpr> values;
  /// Elements of tensors that another nest computes.
  llvm::SmallVector<Read> demands;
  /// Elements computed in place by inlining; beyond kMostVisits of them no more are.
  llvm::SmallVector<Read> visits;
  bool isTooMuch = false;
  /// Scalar operations per unit.
  double work = 0;
};

/// Emits loops and elements at a builder's insertion point. An element of a
/// tensor with a storage is loaded; any other is computed in place by the
/// bodies of the ops that define it, which fuses producers into consumers.
class ElementEmitter {
public:
  /// The scalar operations that an op of a body takes on the processor, which the target knows.
  using OperationCost = double (*)(mlir::Operation &op);

  ElementEmitter(mlir::OpBuilder &builder, IndexSpace &space, OperationCost operationCost)
      : builder(builder), space(space), operationCost(operationCost), scopes(1) {}
  virtual ~ElementEmitter() = default;

  mlir::OpBuilder &builder;
  IndexSpace &space;
  llvm::DenseMap<mlir::Value, Storage> storage;
  /// Tensors that a nest computes. Without storage, reading them records a
  /// demand (when the storage is still to be planned).
  llvm::DenseSet<mlir::Value> nestResults;
  Recorder *recorder = nullptr;
  /// Whether LLVM may unroll loops of more than a few iterations.
  bool unrollLongLoops = false;
  /// Whether conditions of which both branches only read are computed both ways, and one is chosen:
  /// what is read where the condition does not hold may be any element, but lies in the memory.
  bool choosesLate = false;
  /// Product of the extents of the open loops.
  double points = 1;

  /// The element of `tensor` at `indices`.
  mlir::Value element(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> indices);
  /// The same from the defining op, even if the tensor has a storage.
  mlir::Value define(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> indices);

  /// The number of an element in its memory.
  mlir::AffineExpr placeOf(const Storage &at, llvm::ArrayRef<mlir::AffineExpr> indices,
                           bool isStore);
  /// A value as it lies in memory, and back.
  mlir::Value fromMemory(const Storage &from, mlir::Value value, mlir::Location loc);
  mlir::Value toMemory(const Storage &to, mlir::Value value, mlir::Location loc);

  /// Element number `place` of the memory, in its type there (`memoryType`). Here by pointers;
  /// a target may have other memory.
  virtual mlir::Value loadAt(const Storage &from, mlir::AffineExpr place, mlir::Location loc);
  virtual void storeAt(const Storage &to, mlir::AffineExpr place, mlir::Value value,
                       mlir::Location loc);

  /// A copy of an op of a body, which has no regions, or one that is known to be equal.
  virtual mlir::Operation *copyOp(mlir::Operation &op, mlir::IRMapping &operands);

  /// Scalar operations to compute one element of `tensor` from what nests compute, 64 at most.
  double inlineCost(mlir::Value tensor) const;

  /// Notes an element that was computed in the block that is open.
  void remember(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> indices, mlir::Value value) {
    scopes.back().elements[tensor].push_back({llvm::to_vector(indices), value});
  }

  mlir::Value load(const Storage &from, llvm::ArrayRef<mlir::AffineExpr> indices,
                   mlir::Location loc);
  void store(const Storage &to, llvm::ArrayRef<mlir::AffineExpr> indices, mlir::Value value,
             mlir::Location loc);

  /// Emits a copy of a generic's region: `arguments` stand for its block
  /// arguments (null: pulled from the operands), `loops` for its dims.
  llvm::SmallVector<mlir::Value> inlineGeneric(mlir::linalg::GenericOp op,
                                               llvm::ArrayRef<mlir::AffineExpr> loops,
                                               llvm::ArrayRef<mlir::Value> carried);

  /// `for dim in [0, upper)` (null: the dim's extent) with carried values.
  using LoopBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange carried)>;
  llvm::SmallVector<mlir::Value> loop(mlir::Location loc, unsigned dim, mlir::Value upper,
                                      mlir::ValueRange carried, LoopBody body,
                                      mlir::Attribute annotation = nullptr);

  /// Copies of values of one region (and of the regions in it).
  struct Region {
    mlir::IRMapping values;
    llvm::DenseMap<mlir::Value, mlir::AffineExpr> indices;
    llvm::DenseMap<mlir::Value, bool> known;
    llvm::ArrayRef<mlir::AffineExpr> loops;
  };
  /// Emits the ops of a block; returns what its terminator yields (null for
  /// tensors, which live in storages).
  llvm::SmallVector<mlir::Value> emitBlock(mlir::Block &block, Region &region);
  void emitOp(mlir::Operation &op, Region &region);
  /// What a value of the region is here.
  mlir::Value resolve(mlir::Value old, Region &region);
  llvm::SmallVector<mlir::AffineExpr> indicesOf(mlir::ValueRange values, Region &region);

  /// Elements computed between the two are forgotten after.
  void pushScope() { scopes.emplace_back(); }
  void popScope() { scopes.pop_back(); }

protected:
  /// How many conditions of those chosen late are open: places may lie outside of their memory.
  unsigned unsure = 0;

private:
  std::optional<mlir::AffineExpr> indexOf(mlir::Value old, Region &region);
  bool emitIndexOp(mlir::Operation &op, Region &region);
  mlir::AffineExpr lookedUp(mlir::Value index, int64_t size, mlir::Location loc);
  bool foldComparison(mlir::Operation &op, Region &region);
  void emitIf(mlir::Operation &op, Region &region);
  void emitFor(mlir::Operation &op, Region &region);
  mlir::Value address(const Storage &at, mlir::AffineExpr place, mlir::Location loc);

  OperationCost operationCost;
  /// Elements already computed, by block that is open.
  struct Scope {
    llvm::DenseMap<mlir::Value,
                   llvm::SmallVector<std::pair<llvm::SmallVector<mlir::AffineExpr>, mlir::Value>>>
        elements;
  };
  llvm::SmallVector<Scope> scopes;
};

/// The type by which an element lies in memory: i1 is a byte.
mlir::Type memoryType(mlir::Type element);

} // namespace weft::kernels

#endif // WEFT_PASSES_KERNELS_ELEMENTEMITTER_H
