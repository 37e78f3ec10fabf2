// What becomes of a program that is cut into routines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_RT_ROUTINES_CUTS_H
#define WEFT_PASSES_RT_ROUTINES_CUTS_H

#include "passes/rt/routines/Microbatches.h"
#include "passes/rt/routines/RoutineTable.h"
#include "passes/rt/routines/Segments.h"
#include "weft/Target/Target.h"

#include "llvm/ADT/SetVector.h"

namespace weft::rt {

/// What a segment's routine reads and makes, in terms of the program.
struct Interface {
  llvm::SetVector<mlir::Value> arguments, results;
  /// Constants that are not the same in all periods of the stretch: arguments.
  llvm::SmallDenseSet<mlir::Value> varying;
  /// By result: the state that it is the new value of, or null.
  llvm::SmallVector<mlir::Value> states;
};

/// A routine that makes sums before anything is added.
struct Start {
  llvm::SmallVector<unsigned> sums;
  RoutineUse use;
};

struct Cut {
  Segment segment;
  /// Of a stage's loop: the section whose steps run it; null: it runs in each microbatch.
  mlir::Attribute section;
  /// Sums over microbatches that get their addend here.
  llvm::SmallVector<unsigned> sums;
  Interface interface;
  std::vector<Start> starts; // of its sums
  RoutineUse run;            // which does the work and adds to them
};

/// Ops of one block between loops, or of a loop's body.
struct Stretch {
  std::vector<mlir::Operation *> ops;
  std::optional<Microbatches> microbatches;
  std::vector<Cut> cuts;
  /// What a loop does, in order: sections, null is all of them, and microbatches.
  std::vector<std::pair<mlir::Attribute, int64_t>> steps;
  /// What the program itself brings together of the loop's results: sums whose addend no segment
  /// makes, and rows.
  llvm::SmallVector<unsigned> broughtTogether;
};

/// The name of a routine: what its ops are for.
llvm::StringRef nameOf(const Segment &segment);

/// Whether the section's steps are those of one microbatch after the other, as sums add.
bool isInOrder(const Stretch &stretch, mlir::Attribute section);

/// What `value` is a view of, through sources.
mlir::Value rootOf(mlir::Value value);

/// Calls `each` for what is read, through sources, which it may decline to look into.
void forEachRead(llvm::ArrayRef<mlir::Value> values, llvm::function_ref<bool(mlir::Value)> each);

/// Whether others than the cut's own ops read the value. What ends a loop reads addends, of which
/// the routine makes sums, and rows, which it does not put in place: that is different in each
/// microbatch.
bool isReadOutside(const Cut &cut, mlir::Value value,
                   const llvm::SmallPtrSet<mlir::Operation *, 16> &own);

/// Takes values out of what cuts give each other: those that all cuts which read them can compute
/// from much less, or from what they read anyway. So no more is kept than in a program without
/// routines, where kernels do so (FusionCopies.cpp), and equal periods stay equal.
///
/// Worked example: a mask `%m = mul %row, %column` of [64, 4, 10], made for the forward pass and
/// read in the backward pass, whose routine now multiplies again. It is given [64, 4] and [64, 10].
void copyAcrossCuts(Stretch &stretch, const Target &target);

} // namespace weft::rt

#endif // WEFT_PASSES_RT_ROUTINES_CUTS_H
