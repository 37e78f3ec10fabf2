// Which ops of a program cut into stages may run before their stage hears of others.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_STAGES_STAGESECTIONS_H
#define WEFT_PASSES_DIST_STAGES_STAGESECTIONS_H

#include "passes/dist/OpQueries.h"

#include "llvm/ADT/MapVector.h"

#include <map>

namespace weft::dist {

/// One value that goes from one stage to another, or from all to all: a move may be several, a
/// sum over stages is one.
struct Crossing {
  mlir::Operation *op;
  int64_t from = -1, to = -1; ///< stages; -1: all take part
  int64_t after;              ///< the section that makes what is sent
  int64_t section;            ///< its own
};

/// The sections of a loop over microbatches. A stage has passes over each of its chunks, which it
/// counts from 0: `forward(0)`, `forward(1)`, ..., `backward(1)`, `backward(0)`, in the order of
/// their numbers for each microbatch.
struct LoopSections {
  int64_t base;  ///< the first section
  int64_t width; ///< the most chunks that a stage has
  int64_t forward(int64_t chunk) const { return base + chunk; }
  int64_t backward(int64_t chunk) const { return base + 2 * width - 1 - chunk; }
  /// Of the gradients of weights where they are apart: some time after the backward pass.
  int64_t weight(int64_t chunk) const { return base + 2 * width + chunk; }
  /// Later sections run after all of these of all microbatches.
  int64_t late() const { return base + 3 * width; }
  int64_t end;
  bool hasBackward = false;
  bool splitsWeights = false;      ///< else gradients of weights are in the backward pass
  std::vector<Crossing> crossings; ///< in program order

  /// The latest section that is over whenever either of these begins, or one of them itself.
  int64_t notAfter(int64_t a, int64_t b) const;
};

/// Parts a program into *sections*, numbered in the order in which every stage runs its ops of
/// them; a crossing stands behind the section that makes what it sends, and who reads what it
/// brings is in a later one. As within a section nothing is heard of other stages, its ops may run
/// in any order, or as one kernel, and no two stages wait for each other.
///
/// Outside of loops an op is as many sections behind as values crossed on the longest way to it. In
/// a loop, where crossings would be as many as stages, the forward pass over a chunk of the model
/// is one section: values cross to the next chunk of another stage, which reads them before it
/// computes. So is the backward pass, where they cross to the chunk before. What crosses otherwise
/// is read in the backward pass, or in a *late* section. An op that runs on several stages has a
/// section on each.
///
/// An op runs with the chunks that it is of (kChunksAttr), and not before what it reads. Which
/// stage has which chunks, `place` says.
///
/// `splitsWeights`: gradients of weights are sections of their own, but for those that another
/// stage awaits, or the sum of all microbatches: they are in the backward pass, so that who awaits
/// them need not await what was put off.
class StageSections {
public:
  StageSections(mlir::func::FuncOp function, llvm::ArrayRef<int32_t> place, int64_t stages,
                bool splitsWeights);

  /// The section of an op on a stage, or the first of a loop.
  int64_t of(mlir::Operation *op, int64_t stage) const;
  const llvm::MapVector<mlir::Operation *, LoopSections> &loops() const { return ofLoops; }
  /// Those outside of loops, in the order in which they happen.
  const std::vector<Crossing> &crossings() const { return outside; }

private:
  /// In the loop that is being parted: a section less its base.
  using Levels = llvm::DenseMap<std::pair<mlir::Operation *, int64_t>, int64_t>;

  void addFlat(mlir::Operation *op);
  void addLoop(RepeatOp loop);
  void addLevels(mlir::Operation *op);
  int64_t leastLevel(mlir::Operation *op, int64_t stage) const;
  int64_t levelIn(mlir::Operation *op, int64_t stage) const;
  int64_t arrivalOf(int64_t level, int64_t from, int64_t to) const;
  void splitWeights(RepeatOp loop);
  bool isWeightGradient(mlir::Operation *op) const;
  bool isSum(mlir::Operation *op) const;
  void addCrossings(mlir::Operation *op, llvm::function_ref<int64_t(int64_t)> after,
                    std::vector<Crossing> &list) const;

  std::vector<llvm::SmallVector<int64_t, 2>> chunks; ///< by stage
  LoopSections levels;                               ///< of all loops, with base 0
  bool splitsWeights;
  llvm::DenseMap<mlir::Operation *, int64_t> flat; ///< of ops outside of loops
  Levels within;                                   ///< sections of ops in loops
  Levels own;                                      ///< of ops
  Levels reading;                                  ///< of who reads what they make, at the earliest
  llvm::MapVector<mlir::Operation *, LoopSections> ofLoops;
  std::map<int64_t, std::vector<Crossing>> outsideBySection;
  std::vector<Crossing> outside;
  int64_t base = 0, last = 0; ///< the first and the last section since the last loop
};

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_STAGES_STAGESECTIONS_H
