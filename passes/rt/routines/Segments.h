// Where a program is cut into routines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_RT_ROUTINES_SEGMENTS_H
#define WEFT_PASSES_RT_ROUTINES_SEGMENTS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <map>
#include <optional>
#include <vector>

namespace weft::rt {

/// Whoever reads the op makes it anew: a view, or a value without operands.
bool isSource(mlir::Operation *op);

/// Calls `each` for what `value` is made of that is no source.
void forEachRoot(mlir::Value value, llvm::function_ref<void(mlir::Value)> each);

/// What a person says of an op, and no command does: attributes in which equal routines may differ.
bool isForPeople(llvm::StringRef attribute);

/// Ops that run together, in order; sources are not among them.
struct Segment {
  std::vector<mlir::Operation *> ops;
  bool isRoutine = false;
  /// Segments of one number are periods of one stretch that repeats.
  std::optional<unsigned> stretch;
};

/// Cuts a list of ops into segments, in an order in which each reads only what those before it
/// make.
///
/// The list without sources is a line of words: what an op is, and the types that it reads. A
/// stretch that repeats (Repeats.h) is cut into its periods, and so is what is left of it and right
/// of it. Every segment so is an interval of an order of the program, and no two can read each
/// other.
///
/// Of the places to cut a period the best is where the fewest bytes are parted that one kernel
/// would hold: between two ops of kernels with no product or communication from one to the other. A
/// stretch is left in one piece if its periods would part more than a sixteenth of what they make,
/// or are one command each.
///
/// Two kinds of ops stay out of routines, so that they can overlap: communication that only the
/// end, updates and other such communication wait for (behind what makes its operand), and gathers
/// of what is there before (in front of their readers, with what they read). What overlaps as well
/// within a routine, because there is a product in front of the reader of a gather, or behind what
/// makes the operand of a scatter, is there, so that no more is whole at a time than in a program
/// without routines; unless one bucket holds all such gathers, or scatters, of the routine, which
/// then share messages with others. Ops that `numbered` names stay, because they differ between
/// microbatches.
class Segments {
public:
  /// With `everything`, what does not repeat is a routine as well. `bucketBytes`: what a bucket
  /// holds. `isBefore` tells of a value from outside of the list, or an argument, whether it is
  /// there from the beginning.
  Segments(llvm::ArrayRef<mlir::Operation *> ops, bool everything, int64_t bucketBytes,
           llvm::function_ref<bool(mlir::Operation *)> numbered,
           llvm::function_ref<bool(mlir::Value)> isBefore);

  const std::vector<Segment> &list() const { return segments; }

private:
  enum class Apart { Numbered, Late, Early };
  struct Piece {
    size_t begin, end;
    std::optional<unsigned> stretch;
  };

  void findLate(llvm::ArrayRef<mlir::Operation *> ops);
  void findEarly(llvm::ArrayRef<mlir::Operation *> ops,
                 llvm::function_ref<bool(mlir::Value)> isBefore);
  void formLine(llvm::ArrayRef<mlir::Operation *> ops);
  void numberWords();
  unsigned numberOf(mlir::Operation *op);
  void cut();
  void divide(size_t begin, size_t end);
  void rest(size_t begin, size_t end);
  struct Choice {
    size_t from, count;
  };
  std::optional<Choice> choosePhase(size_t from, size_t period, size_t length) const;
  std::pair<int64_t, int64_t> costOfCut(size_t at, size_t period) const;
  size_t countCommands(size_t from, size_t period) const;
  bool settle();
  void countBytes();
  bool overlapsWithin(mlir::Operation *op) const;
  bool isReadBehindProduct(mlir::Operation *gather) const;
  bool isMadeBeforeProduct(mlir::Operation *scatter) const;
  void place();
  /// Users of what `op` makes, through sources; null for what is not in the list.
  void forEachReader(mlir::Operation *op, llvm::function_ref<void(mlir::Operation *)> each) const;

  bool everything;
  int64_t bucketBytes;
  std::vector<mlir::Operation *> all, line;
  llvm::DenseMap<mlir::Operation *, size_t> position; // in the list
  llvm::DenseMap<mlir::Operation *, size_t> placeOf;  // on the line
  llvm::DenseMap<mlir::Operation *, Apart> apart;
  llvm::DenseSet<mlir::Operation *> early; // on the line in front of their first readers
  std::vector<size_t> borders;             // of the line, where nothing goes across
  llvm::DenseSet<mlir::Operation *> forced;
  std::vector<unsigned> words;
  std::map<std::vector<const void *>, unsigned> known; // words
  llvm::DenseMap<mlir::Operation *, unsigned> wordOf;
  std::vector<unsigned> barriers; // before each place, products and communication
  std::vector<unsigned> products; // before each place
  std::vector<Piece> pieces;
  unsigned stretches = 0;
  llvm::DenseMap<mlir::Operation *, int64_t> pieceOf;
  llvm::DenseMap<mlir::Operation *, int64_t> made, read; // of apart ops: last and first piece
  llvm::DenseMap<int64_t, int64_t> gathered, scattered;  // bytes that stay out, by piece
  std::vector<Segment> segments;
};

} // namespace weft::rt

#endif // WEFT_PASSES_RT_ROUTINES_SEGMENTS_H
