// Recognises GELU and SiLU by what a group of elementwise ops computes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/ElementwiseCone.h"
#include "passes/nn/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cmath>

namespace weft::nn {
#define GEN_PASS_DEF_NNRAISEACTIVATIONS
#include "passes/nn/Passes.h.inc"
} // namespace weft::nn

using namespace mlir;
using namespace weft;

/// Across the bend, and far out on both sides.
static constexpr double kPoints[] = {-0.9, 0.7,  2.1, -2.6, -0.05, 0.001, 0.3, 1.4,
                                     -4,   -1.7, 5,   12,   -0.4,  40,    3e4, -3e4};

static double gelu(double x) { return x / 2 * std::erfc(-x / std::sqrt(2.0)); }

static double geluTanh(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double silu(double x) { return x / (1 + std::exp(-x)); }

namespace {
struct Idiom {
  double (*function)(double);
  Operation *(*make)(OpBuilder &, Location, Value);
  const char *name;
};
} // namespace

static const Idiom kIdioms[] = {
    {gelu,
     [](OpBuilder &b, Location loc, Value x) {
       return nn::GeluOp::create(b, loc, x, false).getOperation();
     },
     "GELU"},
    {geluTanh,
     [](OpBuilder &b, Location loc, Value x) {
       return nn::GeluOp::create(b, loc, x, true).getOperation();
     },
     "GELU (tanh)"},
    {silu,
     [](OpBuilder &b, Location loc, Value x) {
       return nn::SiluOp::create(b, loc, x).getOperation();
     },
     "SiLU"},
};

/// Whether nothing bounds what is huge, nor makes a number of what is none: ops that do either are
/// the model's own, which no idiom has.
static bool isUnguarded(Value root, Value leaf) {
  std::optional<double> ofNone = evaluateCone(root, leaf, NAN);
  if (!ofNone || !std::isnan(*ofNone))
    return false;
  const double huge[] = {1e30}; // no f16 is as large
  return getElementTypeOrSelf(leaf.getType()).isF16() ||
         computes(root, leaf, huge, [](double x) { return x; });
}

/// Replaces `op` if it ends an idiom of more than one op.
static bool raise(Operation *op, bool exact) {
  Value root = op->getResult(0);
  for (Value leaf : leavesOf(root)) {
    if (leaf.getType() != root.getType() ||
        !isa<FloatType>(cast<RankedTensorType>(leaf.getType()).getElementType()))
      continue;
    for (const Idiom &idiom : kIdioms) {
      if (!computes(root, leaf, kPoints, idiom.function, idiomTolerance(root, exact)) ||
          !isUnguarded(root, leaf))
        continue;
      OpBuilder builder(op);
      Operation *made = idiom.make(builder, op->getLoc(), leaf);
      // A lone op that is the idiom already.
      if (made->getName() == op->getName()) {
        made->erase();
        return false;
      }
      made->setLoc(placeOfIdiom(op));
      root.replaceAllUsesWith(made->getResult(0));
      remark::passed(op->getLoc(),
                     remark::RemarkOpts::name("Raised").category("nn-raise-activations"))
          << idiom.name;
      return true;
    }
  }
  return false;
}

namespace {
struct RaiseActivations : nn::impl::NnRaiseActivationsBase<RaiseActivations> {
  using NnRaiseActivationsBase::NnRaiseActivationsBase;
  void runOnOperation() override {
    // The last op of an idiom comes first in reverse order, so parts of one
    // idiom are not raised by themselves.
    SmallVector<Operation *> candidates;
    getOperation().walk([&](Operation *op) {
      if (isa<ElementwiseOpInterface>(op) && op->getNumOperands() > 1)
        candidates.push_back(op);
    });
    for (Operation *op : llvm::reverse(candidates))
      if (!isOpTriviallyDead(op))
        raise(op, exact);
    for (Block &block : getOperation().getBody())
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
        if (isOpTriviallyDead(&op))
          op.erase();
  }
};
} // namespace
