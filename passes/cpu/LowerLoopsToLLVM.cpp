// Converts loops and scalars to the LLVM dialect.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/cpu/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/DialectConversion.h"

namespace weft::cpu {
#define GEN_PASS_DEF_LOWERLOOPSTOLLVM
#include "passes/cpu/Passes.h.inc"
} // namespace weft::cpu

using namespace mlir;

/// Functions that LLVM has no intrinsic for, or lowers inexactly (log1p).
static bool isForLibm(Operation *op) {
  return isa<math::AcoshOp, math::AsinhOp, math::AtanhOp, math::ErfOp,
             math::ExpM1Op, math::Log1pOp, math::TanOp, math::AsinOp,
             math::AcosOp, math::AtanOp, math::Atan2Op, math::SinhOp,
             math::CoshOp, math::TanhOp>(op);
}

static LogicalResult lowerToLibm(ModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet patterns(context);
  populateMathToLibmConversionPatterns(patterns);
  ConversionTarget target(*context);
  target.addDynamicallyLegalDialect<math::MathDialect>(
      [](Operation *op) { return !isForLibm(op); });
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(module, target, std::move(patterns));
}

static LogicalResult lowerToLLVM(ModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet loops(context);
  populateSCFToControlFlowConversionPatterns(loops);
  arith::populateCeilFloorDivExpandOpsPatterns(loops);
  ConversionTarget noLoops(*context);
  noLoops.addIllegalDialect<scf::SCFDialect>();
  noLoops.addIllegalOp<arith::FloorDivSIOp>();
  noLoops.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  if (failed(applyPartialConversion(module, noLoops, std::move(loops))))
    return failure();

  LLVMTypeConverter types(context);
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns,
                                       /*approximateLog1p=*/false);
  populateFuncToLLVMConversionPatterns(types, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(module, target, std::move(patterns));
}

/// The conversion of scf.for leaves the annotation on the back edge as a
/// discardable attribute, which the translation to LLVM IR does not read.
static void annotateLoops(ModuleOp module) {
  module.walk([](LLVM::BrOp branch) {
    auto annotation =
        branch->getAttrOfType<LLVM::LoopAnnotationAttr>("llvm.loop_annotation");
    if (!annotation)
      return;
    branch->removeAttr("llvm.loop_annotation");
    branch.setLoopAnnotationAttr(annotation);
  });
}

namespace {
struct LowerLoopsToLLVM
    : weft::cpu::impl::LowerLoopsToLLVMBase<LowerLoopsToLLVM> {
  void runOnOperation() override {
    if (failed(lowerToLibm(getOperation())) ||
        failed(lowerToLLVM(getOperation())))
      return signalPassFailure();
    annotateLoops(getOperation());
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal() &&
          SymbolTable::getSymbolVisibility(function) ==
              SymbolTable::Visibility::Private)
        function.setLinkage(LLVM::Linkage::Internal);
  }
};
} // namespace
