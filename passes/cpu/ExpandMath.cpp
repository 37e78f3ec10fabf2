// Polynomials for f32 functions, integer arithmetic for bf16.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/cpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace weft::cpu {
#define GEN_PASS_DEF_EXPANDMATH
#include "passes/cpu/Passes.h.inc"
} // namespace weft::cpu

using namespace mlir;

namespace {
struct ExpandMath : weft::cpu::impl::ExpandMathBase<ExpandMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return llvm::is_contained({"math.exp", "math.expm1", "math.log",
                                 "math.log1p", "math.tanh", "math.erf"},
                                name);
    });
    arith::populateExpandBFloat16Patterns(patterns);
    GreedyRewriteConfig config;
    config.enableFolding(false).enableConstantCSE(false);
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
