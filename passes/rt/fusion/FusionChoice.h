// Which ops run as one command: the analysis behind rt-fuse-kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_RT_FUSION_FUSIONCHOICE_H
#define WEFT_PASSES_RT_FUSION_FUSIONCHOICE_H

#include "weft/Interfaces/TensorTypes.h"
#include "weft/Target/Target.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <memory>
#include <optional>
#include <vector>

namespace weft::rt {

/// On ops of a loop over microbatches that was written out: the number of
/// theirs (I64). Ops of different microbatches share no kernel.
inline constexpr llvm::StringLiteral kMicrobatchAttr = "rt.microbatch";

/// On a view (unit): it is how the library call that makes its operand, which nothing else reads,
/// writes that. So it is no view of something in memory, but what is there.
inline constexpr llvm::StringLiteral kWrittenAttr = "rt.written";

/// What fusion makes of an op of the phase `local`.
enum class FusionClass {
  Opaque,   // not ours to fuse: a collective, the return, anything unknown
  Free,     // a view, a constant, or a value without operands: no command of its own
  Kernel,   // generated code, together with the rest of its group
  Library,  // one library command
  Absorbed, // what a library op does to its results: writes them permuted or packed, adds to them
};

/// Row-major order of a value's elements in the dense buffer of `root`.
struct ValueLayout {
  mlir::Value root;
  llvm::SmallVector<int64_t, 4> strides;
  int64_t offset = 0;
};

/// That of a value with a dense buffer of its own.
ValueLayout denseLayout(mlir::Value root);

/// That of a view's result, where its operand has the layout `from`; nothing if sizes and strides
/// cannot say it.
std::optional<ValueLayout> layoutOfView(mlir::Operation *view, const ValueLayout &from);

/// The layout that `value` has as a view, or nothing if some step on the way to
/// its root cannot be said by sizes and strides. Views stop at ops for which
/// `isRoot` holds.
std::optional<ValueLayout> layoutOf(mlir::Value value,
                                    llvm::function_ref<bool(mlir::Operation *)> isRoot);

/// True if the strides are row-major for the shape (dims of size 1 aside).
bool isRowMajor(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides);

/// A view of its operand, or a value without operands: FusionClass::Free wherever it stands.
bool isFree(mlir::Operation *op);

/// The numbers of pieces into which `op` can be cut such that piece i of each result needs piece i
/// of `operand` only (-1: of no operand in particular), ascending.
llvm::SmallVector<int64_t> cutsOf(mlir::Operation *op, int operand);

inline int64_t elementsOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getNumElements();
}

/// Whether an element is computed about as soon as it is read: an elementwise op of one operation.
bool isCheap(mlir::Operation *op);

/// Bytes of the op's results, if they are dear to compute: all passes over them read them.
int64_t dearBytesOf(mlir::Operation *op);

/// Whether whoever reads the result of `op` may compute it itself: it is elementwise, and no
/// update, which overwrites what it would be computed from.
bool mayBeCopied(mlir::Operation *op);

/// The operations that such copies take.
double flopsOf(llvm::ArrayRef<mlir::Operation *> copies);

/// Times smaller than a value: what may be in memory instead of it.
inline constexpr int64_t kMuchSmaller = 16;

/// Whether a kernel that computes what `use` reads does so once for each of `elements`: others
/// (windows, products) would for each operation with it.
bool readsOnce(mlir::OpOperand &use, int64_t elements);

/// Groups the ops of one block into nodes: groups of kernel ops and single
/// library and opaque ops.
///
/// Ops of a group are cut together into some number of leading pieces: piece i of
/// each member's results depends on piece i of the members before it only. For
/// an edge the possible numbers of pieces follow from the consumer's factor
/// rule: products of the leading factors that its results and the operand have
/// in common and that are parallel. A group takes the intersection over its
/// edges; it grows while a piece of what is dear to compute stays small enough for the target's
/// chip (cheap elements are computed by each pass that reads them), pieces stay many enough for
/// all of it, and the ops few enough for code generators. No op is computed twice, except free
/// ones, and those that are copied into the readers of their result because that moves fewer bytes
/// (FusionCopies.cpp). Groups that read the same value join where that keeps nothing longer
/// (FusionSiblings.cpp). Forward pass, backward pass and optimizer form groups of their own, so
/// does each update (it overwrites its states): one number that many of them read, and the sum over
/// all gradients, stays outside. Where the forward pass turns into the backward pass, groups of
/// both join (FusionTurn.cpp).
///
/// Worked example, `b x s x n`: bias add -> layer_norm over n. The norm's rule
/// is `(b)(s)(n), (n), (n) -> (b)(s)(n) whole n`, so the edge allows 1, b and
/// b*s pieces; the group runs in b*s rows and the sum never leaves the cache.
class FusionChoice {
public:
  /// Ascending numbers of pieces.
  using Cuts = llvm::SmallVector<int64_t>;

  FusionChoice(mlir::Block &block, const Target &target);

  struct Node {
    FusionClass kind;
    std::vector<mlir::Operation *> ops; // in program order, free ones not listed
    /// Ops of other nodes that a kernel computes again instead of reading what they make.
    llvm::SetVector<mlir::Operation *> copies = {};
    unsigned runsAt = 0;
  };
  /// In an order in which every node comes after those it reads.
  const std::vector<Node> &nodes() const { return order; }
  FusionClass classOf(mlir::Operation *op) const { return classes.lookup(op); }
  /// Whether the kernel of `reader` computes `op` again.
  bool isCopiedFor(mlir::Operation *reader, mlir::Operation *op) const;
  /// Whether what copies are made of is read from memory, beside what the program itself reads.
  bool isReadByCopies(mlir::Value value) const { return readByCopies.contains(value); }
  /// What a library op does to its results, in order: the views that it writes them through, the
  /// concatenation that all of them are, the ops that add to it.
  llvm::ArrayRef<mlir::Operation *> absorbed(mlir::Operation *library) const;
  enum class Limit { Ops, Bytes, Kept, Pieces, Order };
  /// What kept an op out of a kernel: how much of it there would be, and what the target allows.
  struct Obstacle {
    Limit limit;
    int64_t found = 0, allowed = 0;
  };
  /// A producer and the consumer whose kernel it did not join, though nothing but limits of the
  /// target or the order of ops kept it out.
  using Refusals = llvm::MapVector<std::pair<mlir::Operation *, mlir::Operation *>, Obstacle>;
  const Refusals &refusals() const { return refused; }
  /// Values that must be copied to a dense buffer of their own because a
  /// consumer outside of all groups needs them so: (user, operand number).
  const std::vector<std::pair<mlir::Operation *, unsigned>> &denseUses() const { return dense; }

private:
  void classify(mlir::Block &block);
  void demandLayouts(mlir::Block &block);
  void formGroups(mlir::Block &block);
  void findReach();
  /// A position behind which nothing leads back to the group.
  unsigned reachOf(unsigned group) const;
  void sortNodes(mlir::Block &block);
  static Cuts intersect(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);
  /// cutsOf, which is asked of the same ops for every group that they might join.
  llvm::ArrayRef<int64_t> cutsAt(mlir::Operation *op, int operand) const;
  void joinTurns(mlir::Block &block);
  void joinSiblings(mlir::Block &block);
  void copyOps(mlir::Block &block);
  void tryMerge(mlir::Operation *consumer, unsigned operand);
  /// Joins whole groups, in those of `cuts` that all edges between them allow.
  std::optional<Obstacle> tryJoin(unsigned from, unsigned into, Cuts cuts);
  /// The kernel op behind views that makes an operand, or null.
  mlir::Operation *producerOf(mlir::Value operand) const;
  /// Those of two groups that all edges between them allow.
  Cuts cutsBetween(unsigned from, unsigned into) const;
  Cuts cutsBehindView(mlir::Operation *view, mlir::Operation *producer) const;
  void join(unsigned from, unsigned into, Cuts cuts);
  std::optional<Obstacle> whyApart(unsigned from, unsigned into,
                                   llvm::ArrayRef<int64_t> cuts) const;
  bool wouldCycle(unsigned from, unsigned into) const;
  bool isSharedNumber(mlir::Operation *producer, mlir::Operation *consumer) const;
  bool joinsGradients(mlir::Operation *producer, mlir::Operation *consumer) const;
  bool isRoot(mlir::Operation *op) const { return classes.lookup(op) != FusionClass::Free; }
  void demandDense(mlir::Operation *user, unsigned operand);
  bool takesView(mlir::Operation *op, mlir::Value operand) const;
  bool demandOperands(mlir::Operation *op);
  void demandOutputs(mlir::Operation *end);
  /// What `value` is a view of, or the constant that it is.
  mlir::Value behindViews(mlir::Value value) const;
  /// Uses through views. False as soon as `visit` is.
  bool forEachUse(mlir::Value value, llvm::function_ref<bool(mlir::OpOperand &)> visit) const;
  static bool areOfOneTime(mlir::Operation *a, mlir::Operation *b);
  void absorbPermutations(mlir::Operation *library);
  void absorbConcat(mlir::Operation *library);
  void absorbSums(mlir::Operation *library);
  std::optional<llvm::SmallVector<int64_t, 4>>
  stridesOfAddend(mlir::Operation *library, mlir::Operation *sum, mlir::Value addend) const;
  bool waitsFor(mlir::Operation *op, mlir::Operation *maker) const;
  std::optional<LibraryLayout>
  layoutOfLibrary(mlir::Operation *library,
                  llvm::ArrayRef<llvm::SmallVector<int64_t, 4>> addends = {}) const;

  struct Group {
    std::vector<mlir::Operation *> ops;
    llvm::SetVector<mlir::Operation *> copies;
    Cuts cuts;                       // possible numbers of pieces
    int64_t bytes = 0, elements = 0; // sum over dear results; largest tensor
    int64_t keptBytes = 0;           // as TargetTraits::keptBytes counts
    unsigned size = 0;               // as TargetTraits::mostKernelOps counts
    unsigned runsAt = 0;             // the position at which it runs, if it waits for nothing then
    bool isPermuted = false;         // pieces are of a view of what it reads (cutsBehindView)
  };
  const Target &target;
  llvm::DenseMap<mlir::Operation *, FusionClass> classes;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *, 2>> absorbedBy;
  llvm::DenseMap<mlir::Operation *, unsigned> position, groupOf;
  llvm::DenseMap<mlir::Operation *, unsigned> views; // that a view is behind, with itself
  /// By position, once groups are formed: how far one reaches that begins there or before.
  std::vector<unsigned> reach;
  std::vector<Group> groups;
  std::vector<Node> order;
  std::vector<std::pair<mlir::Operation *, unsigned>> dense;
  Refusals refused;
  llvm::DenseSet<mlir::Value> readByCopies;
  mutable llvm::DenseMap<std::pair<mlir::Operation *, int>, std::unique_ptr<Cuts>> knownCuts;

  friend class FusionCopies;
  friend class FusionSiblings;
  friend class FusionTurn;
};

} // namespace weft::rt

#endif // WEFT_PASSES_RT_FUSION_FUSIONCHOICE_H
