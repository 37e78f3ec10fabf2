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
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
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
  return isa<math::AcoshOp, math::AsinhOp, math::AtanhOp, math::ErfOp, math::ExpM1Op, math::Log1pOp,
             math::TanOp, math::AsinOp, math::AcosOp, math::AtanOp, math::Atan2Op, math::SinhOp,
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
  populateVectorToLLVMConversionPatterns(types, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(module, target, std::move(patterns));
}

/// The conversion of scf.for leaves the annotation on the back edge as a
/// discardable attribute, which the translation to LLVM IR does not read.
static void annotateLoops(ModuleOp module) {
  module.walk([](LLVM::BrOp branch) {
    auto annotation = branch->getAttrOfType<LLVM::LoopAnnotationAttr>("llvm.loop_annotation");
    if (!annotation)
      return;
    branch->removeAttr("llvm.loop_annotation");
    branch.setLoopAnnotationAttr(annotation);
  });
}

/// What ExpandMath leaves of bf16 are bits that are loaded, chosen and stored.
static LogicalResult checkMovesBitsOnly(Operation *op) {
  auto isBFloat16 = [](Type type) { return getElementTypeOrSelf(type).isBF16(); };
  bool computes = (isa<LLVM::FastmathFlagsInterface>(op) && !isa<LLVM::SelectOp>(op)) ||
                  isa<LLVM::FPExtOp, LLVM::FPTruncOp, LLVM::SIToFPOp, LLVM::UIToFPOp,
                      LLVM::FPToSIOp, LLVM::FPToUIOp>(op);
  if (computes && (llvm::any_of(op->getOperandTypes(), isBFloat16) ||
                   llvm::any_of(op->getResultTypes(), isBFloat16)))
    return op->emitError("computes in bf16, which kernels-expand-math expands");
  return success();
}

/// Makes bf16 an i16. Of a bf16, LLVM's code generator would also move bits by
/// way of f32, and back by a function that not every libgcc has.
static LogicalResult storeBFloat16AsBits(ModuleOp module) {
  WalkResult checked =
      module.walk([](Operation *op) { return WalkResult(checkMovesBitsOnly(op)); });
  if (checked.wasInterrupted())
    return failure();
  Type bits = IntegerType::get(module.getContext(), 16);
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](Type type) -> std::optional<Type> {
    return type.isBF16() ? std::optional(bits) : std::nullopt;
  });
  replacer.addReplacement([&](FloatAttr value) -> std::optional<Attribute> {
    if (!value.getType().isBF16())
      return std::nullopt;
    return IntegerAttr::get(bits, value.getValue().bitcastToAPInt());
  });
  replacer.addReplacement([&](DenseElementsAttr values) -> std::optional<Attribute> {
    if (!values.getElementType().isBF16())
      return std::nullopt;
    return values.bitcast(bits);
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  module.walk([](LLVM::BitcastOp cast) {
    if (cast.getArg().getType() != cast.getType())
      return;
    cast.replaceAllUsesWith(cast.getArg());
    cast.erase();
  });
  return success();
}

namespace {
struct LowerLoopsToLLVM : weft::cpu::impl::LowerLoopsToLLVMBase<LowerLoopsToLLVM> {
  void runOnOperation() override {
    if (failed(lowerToLibm(getOperation())) || failed(lowerToLLVM(getOperation())) ||
        failed(storeBFloat16AsBits(getOperation())))
      return signalPassFailure();
    annotateLoops(getOperation());
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal() &&
          SymbolTable::getSymbolVisibility(function) == SymbolTable::Visibility::Private)
        function.setLinkage(LLVM::Linkage::Internal);
  }
};
} // namespace
