// Writes the loops over microbatches out, one copy of the body after the other, or as steps say.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/Passes.h"
#include "passes/rt/fusion/FusionChoice.h"
#include "passes/rt/routines/Microbatches.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTUNROLLMICROBATCHES
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

/// Writes one loop out: all of one microbatch after the other, or section by section, as its steps
/// say.
class Unrolling {
public:
  /// `most`: microbatches that are written out at most; 0: all.
  Unrolling(dist::RepeatOp loop, int64_t most)
      : loop(loop), microbatches(loop),
        count(most == 0 ? microbatches.size() : std::min(most, microbatches.size())), builder(loop),
        maps(count), results(microbatches.addends().size()), made(results.size()),
        next(results.size()) {}

  LogicalResult run() {
    for (auto [number, addend] : llvm::enumerate(microbatches.addends())) {
      Operation *maker = addend.getDefiningOp();
      addendsOf[maker && maker->getParentOp() == loop ? maker : nullptr].push_back(number);
    }
    if (failed(loop.getSteps() ? runSteps() : runInOrder()))
      return failure();
    loop.replaceAllUsesWith(results);
    loop.erase();
    return success();
  }

private:
  using Ops = SmallVector<Operation *>;

  LogicalResult runInOrder() {
    Ops ops;
    for (Operation &op : loop.getBody().front().without_terminator())
      ops.push_back(&op);
    for (int64_t i = 0; i < count; ++i)
      if (failed(run(ops, i, Attribute())))
        return failure();
    return success();
  }

  LogicalResult runSteps() {
    llvm::DenseMap<Attribute, Ops> bySection;
    for (Operation &op : loop.getBody().front().without_terminator())
      bySection[op.getAttr(dist::kSectionAttr)].push_back(&op);
    ArrayRef<int64_t> steps = *loop.getSteps();
    for (size_t i = 0; i < steps.size(); i += 2) {
      Attribute section = builder.getI64IntegerAttr(steps[i]);
      if (steps[i + 1] >= count)
        continue;
      if (failed(run(bySection.lookup(section), steps[i + 1], section)))
        return failure();
    }
    return success();
  }

  /// Copies what microbatch `i` does in a section, and adds up what is made by then.
  LogicalResult run(ArrayRef<Operation *> ops, int64_t i, Attribute section) {
    Operation *before = loop->getPrevNode();
    for (Operation *op : ops)
      if (failed(verifyOrder(op, i)) || failed(microbatches.copy(builder, *op, i, maps[i])))
        return failure();
    mark(before, i, section);
    SmallVector<unsigned> numbers(addendsOf.lookup(nullptr)); // the same in all microbatches
    for (Operation *op : ops)
      llvm::append_range(numbers, addendsOf.lookup(op));
    llvm::sort(numbers);
    for (unsigned number : numbers) {
      made[number].insert(i);
      addUp(number, section);
    }
    return success();
  }

  /// What an op reads of its microbatch is there already.
  LogicalResult verifyOrder(Operation *op, int64_t i) const {
    for (Value operand : op->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (!maker || maker->getBlock() != op->getBlock() || maps[i].contains(operand))
        continue;
      auto diagnostic = op->emitOpError("reads what is made in a later section of its microbatch");
      diagnostic.attachNote(maker->getLoc()) << "it is made here";
      return diagnostic;
    }
    return success();
  }

  /// The sum takes microbatches in order, whenever they are there.
  void addUp(unsigned number, Attribute section) {
    for (int64_t &i = next[number]; made[number].contains(i); ++i) {
      Operation *before = loop->getPrevNode();
      results[number] =
          microbatches.combine(builder, results[number],
                               maps[i].lookupOrDefault(microbatches.addends()[number]), number, i);
      mark(before, i, section);
    }
  }

  /// Says of all ops behind `before` what they belong to.
  void mark(Operation *before, int64_t i, Attribute section) {
    Block::iterator first = before ? std::next(before->getIterator()) : loop->getBlock()->begin();
    for (Operation &op : llvm::make_range(first, loop->getIterator())) {
      op.setAttr(kMicrobatchAttr, builder.getI64IntegerAttr(i));
      if (section)
        op.setAttr(dist::kSectionAttr, section);
      microbatches.setAction(&op, section, i);
    }
  }

  dist::RepeatOp loop;
  Microbatches microbatches;
  int64_t count;
  OpBuilder builder;
  std::vector<IRMapping> maps; // by microbatch
  SmallVector<Value> results;
  llvm::DenseMap<Operation *, SmallVector<unsigned>> addendsOf; // by the op that makes them
  std::vector<llvm::DenseSet<int64_t>> made; // by addend: microbatches that have it
  std::vector<int64_t> next;                 // by addend: the first that is not in the result
};

struct UnrollMicrobatches : weft::rt::impl::RtUnrollMicrobatchesBase<UnrollMicrobatches> {
  using RtUnrollMicrobatchesBase::RtUnrollMicrobatchesBase;

  void runOnOperation() override {
    SmallVector<dist::RepeatOp> loops;
    getOperation().walk([&](dist::RepeatOp loop) { loops.push_back(loop); });
    for (dist::RepeatOp loop : loops)
      if (failed(Unrolling(loop, most).run()))
        return signalPassFailure();
  }
};

} // namespace
