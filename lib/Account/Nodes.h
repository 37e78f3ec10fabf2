// What runs as one command: its work, its part of the step, and the values between.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_ACCOUNT_NODES_H
#define WEFT_LIB_ACCOUNT_NODES_H

#include "passes/rt/fusion/FusionChoice.h"
#include "weft/Cost/StepAccount.h"
#include "weft/Sharding/TransitionOpInterface.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace weft::account {

/// What an op is there for.
enum class Part { Forward, InputGradient, WeightGradient, Optimizer };
inline bool isGradient(Part part) {
  return part == Part::InputGradient || part == Part::WeightGradient;
}

/// A kernel, a library's or ours, or what moves between devices.
struct Node {
  std::vector<mlir::Operation *> ops;
  Part part = Part::Forward;
  /// The number of its microbatch; nothing: it runs once a step.
  std::optional<int64_t> microbatch;
  /// Of the model, ascending; empty: all. What several chunks of a stage have in common runs once.
  llvm::SmallVector<int64_t> chunks;
  /// Some op of the forward pass or of an input's gradient waits for it.
  bool isCritical = false;
  cost::Work work;
  /// Of operands, to memory of their own, just before.
  std::vector<cost::Work> copies;
  /// Null for work.
  TransitionOpInterface transition;
  /// Of a move from stage to stage: the chunks that make the value, ascending, and by stage the one
  /// that it comes to.
  llvm::SmallVector<int64_t> makers, takers;
};

/// The nodes of a program, in an order in which they can run.
class Nodes {
public:
  /// `place`: the stage of each chunk of the model.
  Nodes(mlir::func::FuncOp program, const Target &target, std::vector<int32_t> place);

  /// The stage of a chunk.
  int64_t stageOf(int64_t chunk) const { return place[size_t(chunk)]; }
  /// The first chunk of its stage among these, which ascend; of all chunks if there are none.
  bool isFirstOfStage(int64_t chunk, llvm::ArrayRef<int64_t> chunks) const;
  bool runsOnStage(const Node &node, int64_t stage) const;
  const std::vector<Node> &all() const { return nodes; }
  /// The value in memory that is read where `value` is: views are seen through.
  mlir::Value rootOf(mlir::Value value) const;
  /// Numbers of the nodes that read a root, directly or through views, ascending; of the root's own
  /// users those that `counts` says, if it says anything.
  llvm::SmallVector<size_t>
  readersOf(mlir::Value root, llvm::function_ref<bool(mlir::Operation *)> counts = nullptr) const;
  /// Whether it reads nothing but these roots.
  bool readsOnly(const Node &node, const llvm::SmallSetVector<mlir::Value, 4> &roots) const;
  /// Roots that a node writes and another node, or the caller, reads.
  llvm::SmallVector<mlir::Value> writtenBy(const Node &node) const;

private:
  /// Whether some stage has several chunks.
  bool hasSeveralOfStage() const;
  void add(const rt::FusionChoice::Node &chosen);
  void addCopies();
  void findChunks();
  void findChunksOf(Node &node);
  /// The stages that hold what the node makes; nothing: all, or it is not known.
  std::optional<llvm::SmallVector<int64_t>> holdersOf(const Node &node) const;
  /// Those of what the node reads.
  llvm::SmallVector<int64_t> chunksOfOperands(const Node &node) const;
  void findEndsOf(Node &move);
  /// The chunk of a stage to which a value comes from another stage's chunk.
  int64_t takerOn(int64_t stage, int64_t maker, bool isForward) const;
  void findCritical();
  bool isReadOutside(mlir::Value root, const Node &node) const;
  cost::Work workOf(const Node &node) const;

  mlir::func::FuncOp program;
  rt::FusionChoice choice;
  std::vector<int32_t> place;
  std::vector<Node> nodes;
  llvm::DenseMap<mlir::Operation *, size_t> numberOf;
};

} // namespace weft::account

#endif // WEFT_LIB_ACCOUNT_NODES_H
