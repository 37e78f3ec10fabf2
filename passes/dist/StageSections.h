// Which ops of a program cut into stages may run before their stage hears of others.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_STAGESECTIONS_H
#define WEFT_PASSES_DIST_STAGESECTIONS_H

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

/// What a loop over microbatches is made of.
struct LoopSections {
  /// Of the forward pass, of the backward pass, of the gradients of weights where they are apart.
  /// Later sections run after all of these of all microbatches.
  int64_t forward, backward, weight, late, end;
  bool hasBackward = false;
  std::vector<Crossing> crossings; ///< in program order
};

/// Parts a program into *sections*, numbered in the order in which every stage runs its ops of
/// them; a crossing stands behind the section that makes what it sends, and who reads what it
/// brings is in a later one. As within a section nothing is heard of other stages, its ops may run
/// in any order, or as one kernel, and no two stages wait for each other.
///
/// Outside of loops an op is as many sections behind as values crossed on the longest way to it. In
/// a loop, where crossings would be as many as stages, the forward pass is one section: values
/// cross to later stages only, and each stage reads them before it computes. So is the backward
/// pass, where they cross to earlier stages. What crosses otherwise is read in a *late* section.
///
/// `splitsWeights`: gradients of weights that no other stage awaits are a section of their own.
class StageSections {
public:
  StageSections(mlir::func::FuncOp function, bool splitsWeights);

  /// The section of an op, or the first of a loop.
  int64_t of(mlir::Operation *op) const { return sections.at(op); }
  const llvm::MapVector<mlir::Operation *, LoopSections> &loops() const { return ofLoops; }
  /// Those outside of loops, in the order in which they happen.
  const std::vector<Crossing> &crossings() const { return outside; }

private:
  void addFlat(mlir::Operation *op);
  void addLoop(RepeatOp loop);
  int64_t levelIn(mlir::Operation *op) const;
  int64_t arrivalOf(mlir::Operation *maker) const;
  void splitWeights(RepeatOp loop);
  bool isSum(mlir::Operation *op) const;
  void addCrossings(mlir::Operation *op, int64_t after, std::vector<Crossing> &list) const;

  bool splitsWeights;
  llvm::DenseMap<mlir::Operation *, int64_t> sections;
  llvm::DenseMap<mlir::Operation *, int64_t> levels; ///< in the loop that is being parted
  llvm::MapVector<mlir::Operation *, LoopSections> ofLoops;
  std::map<int64_t, std::vector<Crossing>> outsideBySection;
  std::vector<Crossing> outside;
  int64_t base = 0, last = 0; ///< the first and the last section since the last loop
};

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_STAGESECTIONS_H
