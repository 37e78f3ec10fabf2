// Puts the ops of routines where they are called.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/rt/IR/Actions.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/InPlace.h"
#include "passes/rt/Passes.h"
#include "passes/rt/fusion/FusionChoice.h"

#include "mlir/IR/IRMapping.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTINLINEROUTINES
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

void inlineCall(CallOp call, func::FuncOp routine) {
  OpBuilder builder(call);
  IRMapping map;
  Block &body = routine.getBody().front();
  map.map(body.getArguments(), call.getInputs());
  for (Operation &op : body.without_terminator()) {
    Operation *copy = builder.clone(op, map);
    if (IntegerAttr microbatch = call.getMicrobatchAttr())
      copy->setAttr(kMicrobatchAttr, microbatch);
    if (Attribute action = call->getAttr(kActionAttr))
      copy->setAttr(kActionAttr, action);
  }
  for (auto [result, value] : llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(map.lookupOrDefault(value));
  call.erase();
}

struct InlineRoutines : weft::rt::impl::RtInlineRoutinesBase<InlineRoutines> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<CallOp> calls;
    for (func::FuncOp program : programsOf(getOperation()))
      for (auto call : program.getOps<CallOp>())
        if (isRoutine(calleeOf(call, symbols)))
          calls.push_back(call);
    for (CallOp call : calls)
      inlineCall(call, calleeOf(call, symbols));
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (isRoutine(function))
        symbols.erase(function);
  }
};

} // namespace
