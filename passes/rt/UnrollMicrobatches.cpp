// Writes the loops over microbatches out, one copy of the body after the other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/FusionChoice.h"
#include "passes/rt/Microbatches.h"
#include "passes/rt/Passes.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTUNROLLMICROBATCHES
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

LogicalResult unroll(dist::RepeatOp loop, int64_t most) {
  Microbatches microbatches(loop);
  int64_t count = most == 0 ? microbatches.size() : std::min(most, microbatches.size());
  OpBuilder builder(loop);
  SmallVector<Value> results(microbatches.addends().size());
  for (int64_t i = 0; i < count; ++i) {
    IRMapping map;
    Operation *before = loop->getPrevNode();
    for (Operation &op : loop.getBody().front().without_terminator())
      if (failed(microbatches.copy(builder, op, i, map)))
        return failure();
    for (auto [number, addend] : llvm::enumerate(microbatches.addends()))
      results[number] =
          microbatches.combine(builder, results[number], map.lookupOrDefault(addend), number, i);
    Block::iterator first = before ? std::next(before->getIterator()) : loop->getBlock()->begin();
    for (Operation &op : llvm::make_range(first, loop->getIterator()))
      op.setAttr(kMicrobatchAttr, builder.getI64IntegerAttr(i));
  }
  loop.replaceAllUsesWith(results);
  loop.erase();
  return success();
}

struct UnrollMicrobatches : weft::rt::impl::RtUnrollMicrobatchesBase<UnrollMicrobatches> {
  using RtUnrollMicrobatchesBase::RtUnrollMicrobatchesBase;

  void runOnOperation() override {
    SmallVector<dist::RepeatOp> loops;
    getOperation().walk([&](dist::RepeatOp loop) { loops.push_back(loop); });
    for (dist::RepeatOp loop : loops)
      if (failed(unroll(loop, most)))
        return signalPassFailure();
  }
};

} // namespace
