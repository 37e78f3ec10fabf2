// Of which chunks of a pipeline each op of a program is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_STAGES_STAGEASSIGNMENT_H
#define WEFT_PASSES_DIST_STAGES_STAGEASSIGNMENT_H

#include "passes/dist/OpQueries.h"
#include "passes/dist/stages/OpCosts.h"
#include "passes/dist/stages/StageHints.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace weft::dist {

/// Chunks of a model, the pieces into which its line is cut, ascending. A stage has one or several
/// of them; what a chunk has, its stage has.
using ChunkSet = llvm::SmallVector<int64_t, 2>;

/// By name of a state the chunks that hold it; a state that is missing is on all.
using StateHomes = llvm::StringMap<ChunkSet>;

/// A number, which costs nothing to have on all stages.
bool isScalar(mlir::Value value);

/// What an op has to do with the line along which a program is cut.
enum class StageClass {
  Source,     // depends on state or on inputs, not on both: made wherever it is read
  Activation, // on the line: of one chunk each, never an earlier one than what it reads
  Gradient,   // follows the line back
  Optimizer,  // follows state
};

/// Places all ops of one program whose types are placed.
///
/// An activation of the program that leads is of the chunk that the cut says; of another program,
/// of the first that has its operands and holds its state. A gradient is of the latest chunk, not
/// behind the gradients it reads, that holds the state and has the activations that it reads, or,
/// of weights, is where these are. So a gradient crosses a border where its activation did, and
/// that of a value that is read in several chunks travels back along the line and is added up on
/// the way. The optimizer runs where its
/// state is. Numbers of several stages that are added up, such as those of the norm of all
/// gradients, are added up on each stage first: a sum over stages (addsUp) follows. If nothing but
/// the caller wants to know them, the sum goes along the stages, and the last one tells it: so no
/// stage waits for a later one.
class StageAssignment {
public:
  /// `place`: the stage of each chunk.
  StageAssignment(mlir::func::FuncOp function, llvm::ArrayRef<int32_t> place)
      : function(function), place(place), all(place.size()) {}

  /// Cuts the line where `said` says (cutAsSaid), or else into pieces of about equal seconds, with
  /// the fewest bytes across borders among those, and gives `homes` the chunks of each state. Of
  /// such pieces ops are on the stages that the model asks for (stagesAsked), if that can be.
  /// Fails, with the reason told, if the line has fewer ops than there are chunks, or other places.
  mlir::LogicalResult cut(const OpCosts &costs, llvm::StringRef said, StateHomes &homes);
  /// Whether every op is on the stage that the model asks for; and a warning if it is not, of a cut
  /// by `said`.
  bool isAsAsked();
  void tellNotAsAsked(llvm::StringRef said);
  /// Notes by name where nodes are, for `dist-write-devices`.
  void recordStages() { weft::dist::recordStages(line(), stagesOfLine()); }
  /// Warns if one stage of the cut is so long that the others idle for most of the time.
  void tellUneven(const OpCosts &costs);
  /// The ops that a cut parts, in program order.
  std::vector<mlir::Operation *> line();
  /// Places a program by where its state is.
  void follow(const StateHomes &homes);

  /// Whether stages wait for each other before a step ends, for what all of them add up. If not, a
  /// stage may begin the next step while others end this one.
  bool meet() const;

  /// All chunks, for what is everywhere.
  ChunkSet everywhere() const;
  const ChunkSet &of(mlir::Operation *op) const { return placed.at(op); }
  ChunkSet ofArgument(unsigned number);
  StageClass classOf(mlir::Operation *op) const { return classes.at(op); }
  /// Whether an op that makes numbers of what several stages have is to run on each of all stages
  /// with what that stage has: its result is the sum of theirs.
  bool addsUp(mlir::Operation *op) const { return adding.contains(op); }

private:
  mlir::LogicalResult tellShort(int64_t ops);
  std::vector<int64_t> stagesOfLine();
  void classify();
  StageClass classOfOp(mlir::Operation *op) const;
  void findHomes(StateHomes &homes);
  void placeGradients();
  void placeUpdates();
  /// Gradients of weights, and the chunks that have what they read.
  using WeightGradients = llvm::MapVector<mlir::Operation *, ChunkSet>;
  void followReaders(mlir::Operation *op, const WeightGradients &ofWeights);
  bool canGoTo(int64_t chunk, mlir::Operation *op, const WeightGradients &ofWeights) const;
  void placeNumbers();
  void placeSources();
  void findAvailable();
  ChunkSet pinsOf(mlir::Operation *op);
  const ChunkSet *homeOf(mlir::Value value);
  const ChunkSet *makersOf(mlir::Value value);
  bool canAddUp(mlir::Operation *op);
  void findTold();
  bool isToldSum(mlir::Operation *op) const;
  bool isPartOfToldSum(mlir::Operation *op) const;
  void placeToldSum(mlir::Operation *root);

  mlir::func::FuncOp function;
  llvm::ArrayRef<int32_t> place;
  int64_t all;
  const StateHomes *homes = nullptr;
  llvm::DenseMap<mlir::Operation *, StageClass> classes;
  llvm::DenseMap<mlir::Operation *, ChunkSet> placed;
  llvm::DenseSet<mlir::Operation *> adding;
  llvm::DenseSet<mlir::Operation *> ofSums; ///< on all stages, made of what those make
  llvm::DenseSet<mlir::Operation *> told;   ///< of the optimizer's numbers: only outputs need them
  /// Of a value: whether it depends on state, and on inputs.
  llvm::DenseMap<mlir::Value, std::pair<bool, bool>> depends;
  /// Of a source: the states that it is made of.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned, 2>> states;
  /// Of an activation: the chunks that have it, because they make or read it.
  llvm::DenseMap<mlir::Value, ChunkSet> available;
};

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_STAGES_STAGEASSIGNMENT_H
