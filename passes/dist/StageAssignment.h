// On which stages of a pipeline each op of a program runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_STAGEASSIGNMENT_H
#define WEFT_PASSES_DIST_STAGEASSIGNMENT_H

#include "passes/dist/OpQueries.h"
#include "weft/Cost/CostModel.h"

#include "llvm/ADT/StringMap.h"

namespace weft::dist {

/// Stages of a pipeline, ascending.
using StageSet = llvm::SmallVector<int64_t, 2>;

/// By name of a state the stages that hold it; a state that is missing is on all.
using StateHomes = llvm::StringMap<StageSet>;

/// A number, which costs nothing to have on all stages.
bool isScalar(mlir::Value value);

/// What an op has to do with the line along which a program is cut.
enum class StageClass {
  Source,     // depends on state or on inputs, not on both: made wherever it is read
  Activation, // on the line: one stage each, never an earlier one than what it reads
  Gradient,   // follows the line back
  Optimizer,  // follows state
};

/// Places all ops of one program whose types are placed.
///
/// An activation of the program that leads runs where the cut says; of another program, at the
/// first stage that has its operands and holds its state. A gradient runs at the latest stage, not
/// behind the gradients it reads, that holds the state and has the activations that it reads. So a
/// gradient crosses a border where its activation did, and that of a value that is read on several
/// stages travels back along the line and is added up on the way. The optimizer runs where its
/// state is.
class StageAssignment {
public:
  StageAssignment(mlir::func::FuncOp function, int64_t stages) : function(function), all(stages) {}

  /// Cuts the line into pieces of about equal seconds, with the fewest bytes across borders
  /// among those, and gives `homes` the stages of each state. Fails, with the reason told, if the
  /// line has fewer ops than there are stages.
  mlir::LogicalResult cut(const CostModel &costs, StateHomes &homes);
  /// Places a program by where its state is.
  void follow(const StateHomes &homes);

  /// All stages, for what they all run or hold.
  StageSet everywhere() const;
  const StageSet &of(mlir::Operation *op) const { return placed.at(op); }
  StageSet ofArgument(unsigned number);
  StageClass classOf(mlir::Operation *op) const { return classes.at(op); }

private:
  void classify();
  StageClass classOfOp(mlir::Operation *op) const;
  std::vector<mlir::Operation *> line();
  void findHomes(StateHomes &homes);
  void placeGradients();
  void placeOptimizer();
  void placeSources();
  void findAvailable();
  StageSet pinsOf(mlir::Operation *op);
  const StageSet *homeOf(mlir::Value value);

  mlir::func::FuncOp function;
  int64_t all;
  const StateHomes *homes = nullptr;
  llvm::DenseMap<mlir::Operation *, StageClass> classes;
  llvm::DenseMap<mlir::Operation *, StageSet> placed;
  /// Of a value: whether it depends on state, and on inputs.
  llvm::DenseMap<mlir::Value, std::pair<bool, bool>> depends;
  /// Of a source: the states that it is made of.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned, 2>> states;
  /// Of an activation: the stages that have it, because they make or read it.
  llvm::DenseMap<mlir::Value, StageSet> available;
};

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_STAGEASSIGNMENT_H
