// Chooses what the backward pass recomputes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "passes/nn/step/Passes.h"
#include "passes/nn/step/RecomputeChoice.h"
#include "weft/Cost/Recompute.h"

#include "mlir/IR/Remarks.h"

namespace weft::step {
#define GEN_PASS_DEF_STEPMARKRECOMPUTE
#include "passes/nn/step/Passes.h.inc"
} // namespace weft::step

using namespace mlir;
using namespace weft;
using namespace weft::step;

namespace {

struct MarkRecompute : step::impl::StepMarkRecomputeBase<MarkRecompute> {
  using StepMarkRecomputeBase::StepMarkRecomputeBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    std::optional<Recompute> wanted = parseRecompute(mode);
    if (!wanted || *wanted == Recompute::Auto) {
      function.emitError() << "unknown mode '" << mode << "'; choose none, selective, full or best";
      return signalPassFailure();
    }
    if (*wanted == Recompute::None || function.isExternal())
      return;
    ForwardPass forward(function);
    // Without a backward pass there is nothing to save, behind the last cut not yet.
    bool hasBackward = llvm::any_of(function.getBody().front(),
                                    [](Operation &op) { return op.hasAttr(nn::kRoleAttr); });
    if (!hasBackward || forward.cuts().empty())
      return;
    FailureOr<CostModel> costs = costModelOf(function, Mesh());
    if (failed(costs))
      return signalPassFailure();
    RecomputeChoice choice(function, forward, std::move(*costs));
    llvm::DenseSet<Operation *> marked =
        *wanted == Recompute::Best ? choice.best(share) : choice.all(*wanted == Recompute::Full);
    for (Operation *op : marked)
      op->setAttr(nn::kRecomputeAttr, UnitAttr::get(&getContext()));
    RecomputeChoice::Price before = choice.price({}), after = choice.price(marked);
    remark::analysis(function.getLoc(),
                     remark::RemarkOpts::name("recomputed").category("step-mark-recompute"))
        << ("recomputes " + Twine(int64_t(after.flops)) +
            " flops in the backward pass, which reads " + Twine(int64_t(after.bytes)) +
            " bytes of activations instead of " + Twine(int64_t(before.bytes)))
               .str();
  }
};

} // namespace
