// Lets the norm of a gradient and its update compute for themselves what both need.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "passes/rt/InPlace.h"
#include "passes/rt/Passes.h"
#include "passes/rt/Roles.h"

#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Interfaces/TensorTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTSEPARATENORMS
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

class NormSeparation {
public:
  explicit NormSeparation(Block &block) : block(block) {
    for (auto [i, op] : llvm::enumerate(block))
      places[&op] = {int64_t(i), 0};
  }

  void run() {
    SmallVector<Operation *> sums;
    for (Operation &op : block)
      if (isOfUpdate(&op) && op.getNumResults() == 1 && sumsUp(&op))
        sums.push_back(&op);
    for (Operation *sum : llvm::reverse(sums))
      separate(sum);
  }

private:
  /// The position of an op, or of that in front of which it was put; of several there the later one
  /// is first.
  using Place = std::pair<int64_t, int64_t>;

  static ArrayRef<int64_t> shapeOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  }
  static int64_t elements(Value value) {
    return cast<RankedTensorType>(value.getType()).getNumElements();
  }
  static int64_t elements(Operation *op) { return elements(op->getResult(0)); }

  static bool sumsUp(Operation *op) {
    return llvm::any_of(op->getOperandTypes(), [&](Type type) {
      return cast<RankedTensorType>(type).getNumElements() > elements(op);
    });
  }
  static bool isReshaped(Operation *op) {
    SmallVector<int64_t> strides;
    int64_t offset = 0;
    return op->getNumOperands() == 1 && elements(op->getOperand(0)) == elements(op) &&
           cast<KernelOpInterface>(op).getView(rowMajorStrides(shapeOf(op->getOperand(0))), strides,
                                               offset);
  }

  /// What an update computes element by element on the way to a sum.
  static bool isOnTheWay(Operation *op) {
    return op && isOfUpdate(op) && op->getNumResults() == 1 && op->getNumOperands() > 0 &&
           elements(op) != 1 && (isPointwise(op) || isReshaped(op));
  }

  /// Gives `sum` ops of its own to read, and those theirs: once, however many ways lead there.
  void separate(Operation *sum) {
    llvm::SmallPtrSet<Operation *, 16> own{sum};
    llvm::SetVector<Operation *> makers;
    auto addMakers = [&](Operation *reader) {
      for (Value operand : reader->getOperands())
        if (Operation *op = operand.getDefiningOp(); isOnTheWay(op))
          makers.insert(op);
    };
    addMakers(sum);
    auto isBefore = [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); };
    while (!makers.empty()) {
      // The last one's readers are all known.
      Operation *op = *llvm::max_element(makers, isBefore);
      makers.remove(op);
      auto isOwn = [&](Operation *reader) { return own.contains(reader); };
      if (!llvm::all_of(op->getUsers(), isOwn)) {
        Operation *shared = op;
        SmallVector<Operation *> readers(llvm::make_filter_range(shared->getUsers(), isOwn));
        op = OpBuilder(*llvm::min_element(readers, isBefore)).clone(*shared);
        shared->replaceUsesWithIf(op->getResults(),
                                  [&](OpOperand &use) { return isOwn(use.getOwner()); });
        sink(shared);
      }
      own.insert(op);
      addMakers(op);
    }
  }

  /// Puts what the norm no longer reads in front of its first reader: an update, which comes when
  /// the norm is known.
  void sink(Operation *op) {
    std::pair<Place, Operation *> first{{INT64_MAX, 0}, nullptr};
    for (Operation *user : op->getUsers()) {
      Operation *reader = block.findAncestorOpInBlock(*user);
      first = std::min(first, {places.lookup(reader), reader});
    }
    auto [place, reader] = first;
    Operation *&front = fronts.try_emplace(place.first, reader).first->second;
    op->moveBefore(front);
    front = op;
    places[op] = {place.first, -int64_t(++moved)};
  }

  Block &block;
  llvm::DenseMap<Operation *, Place> places;
  llvm::DenseMap<int64_t, Operation *> fronts; // the first op that was put there
  int64_t moved = 0;
};

struct SeparateNorms : weft::rt::impl::RtSeparateNormsBase<SeparateNorms> {
  void runOnOperation() override {
    for (func::FuncOp program : programsOf(getOperation()))
      NormSeparation(program.getBody().front()).run();
  }
};

} // namespace
