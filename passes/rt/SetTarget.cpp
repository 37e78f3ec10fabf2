// Says on the module what the program runs on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/Passes.h"
#include "weft/Target/Target.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTSETTARGET
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;

namespace {
struct SetTarget : weft::rt::impl::RtSetTargetBase<SetTarget> {
  using RtSetTargetBase::RtSetTargetBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto own = module->getAttrOfType<StringAttr>(weft::kTargetAttr);
    if (own && own.getValue() != target) {
      module.emitError() << "the program is for target '" << own.getValue() << "', not for '"
                         << target << "'";
      return signalPassFailure();
    }
    if (target != weft::kDefaultTarget)
      module->setAttr(weft::kTargetAttr, StringAttr::get(&getContext(), target));
    if (!weft::targetOf(module))
      signalPassFailure();
  }
};
} // namespace
