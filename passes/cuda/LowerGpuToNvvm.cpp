// Converts kernels of blocks and threads to the LLVM dialect, without a library of functions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GridPlan.h"
#include "Members.h"
#include "passes/cuda/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/LoweringOptions.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/DialectConversion.h"

namespace weft::cuda {
#define GEN_PASS_DEF_LOWERGPUTONVVM
#include "passes/cuda/Passes.h.inc"
} // namespace weft::cuda

using namespace mlir;

static bool isApproximate(arith::FastMathFlags flags) {
  return bitEnumContainsAll(flags, arith::FastMathFlags::afn);
}

/// What NVPTX selects of `math`, for f32, f64 and integers. Anything else would end in a call of a
/// function that nobody has, or in LLVM's abort.
static bool isSelected(Operation *op) {
  if (auto power = dyn_cast<math::Exp2Op>(op))
    return power.getType().isF32() && isApproximate(power.getFastmath());
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp, math::CtPopOp,
             math::FloorOp, math::FmaOp, math::RoundEvenOp, math::SqrtOp, math::TruncOp>(op);
}

static LogicalResult checkFunctions(gpu::GPUModuleOp module) {
  WalkResult found = module.walk([](Operation *op) {
    if (isa_and_present<math::MathDialect>(op->getDialect()) && !isSelected(op)) {
      op->emitOpError("is no instruction of the GPU; kernels-expand-math and "
                      "cuda-expand-functions make it arithmetic");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(found.wasInterrupted());
}

static LogicalResult lowerLoops(gpu::GPUModuleOp module) {
  RewritePatternSet loops(module.getContext());
  populateSCFToControlFlowConversionPatterns(loops);
  arith::populateCeilFloorDivExpandOpsPatterns(loops);
  ConversionTarget noLoops(*module.getContext());
  noLoops.addIllegalDialect<scf::SCFDialect>();
  noLoops.addIllegalOp<arith::FloorDivSIOp>();
  noLoops.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(module, noLoops, std::move(loops));
}

namespace {
/// 2^x by the instruction that takes subnormals for zeros: the other one has five more around it
/// for them, and what asks for an approximation (Singles.cpp) has none that count.
struct LowerApproximatePower : ConvertOpToLLVMPattern<math::Exp2Op> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(math::Exp2Op op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op.getType().isF32() || !isApproximate(op.getFastmath()))
      return failure();
    auto call = LLVM::CallIntrinsicOp::create(
        rewriter, op.getLoc(), op.getType(), rewriter.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"),
        adaptor.getOperand());
    rewriter.replaceOp(op, call);
    return success();
  }
};

/// 1 / x, likewise.
struct LowerApproximateInverse : ConvertOpToLLVMPattern<arith::DivFOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(arith::DivFOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op.getType().isF32() || !isApproximate(op.getFastmath()) ||
        !matchPattern(op.getLhs(), m_OneFloat()))
      return failure();
    rewriter.replaceOpWithNewOp<NVVM::RcpApproxFtzF32Op>(op, op.getType(), adaptor.getRhs());
    return success();
  }
};

/// Of a kernel of several members: these, and the blocks of each.
struct Table {
  weft::cuda::Members members;
  int64_t blocks;
};
} // namespace

static llvm::StringMap<Table> tablesOf(gpu::GPUModuleOp module) {
  llvm::StringMap<Table> tables;
  for (auto kernel : module.getOps<gpu::GPUFuncOp>())
    if (auto members = weft::cuda::Members::of(kernel)) {
      int64_t blocks = kernel->getAttrOfType<IntegerAttr>(weft::cuda::kGridAttr).getInt();
      tables[kernel.getName()] = {*members, blocks / members->count};
      kernel->removeAttr(weft::cuda::kGpuMembersAttr);
    }
  return tables;
}

/// Makes a kernel of the function of one member: its parameter is the table of all addresses, of
/// which each block takes its member's. As arguments of a function, which is inlined, the addresses
/// keep what is known of them.
static void takeTable(LLVM::LLVMFuncOp member, const Table &table) {
  OpBuilder builder(member);
  Location loc = member.getLoc();
  int64_t buffers = member.getNumArguments();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext()), word = builder.getI64Type();
  auto kernel = LLVM::LLVMFuncOp::create(
      builder, loc, member.getName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), {pointer}));
  kernel->setDiscardableAttrs(member->getDiscardableAttrDictionary());
  member->setDiscardableAttrs(builder.getDictionaryAttr({}));
  kernel.setArgAttr(
      0, LLVM::LLVMDialect::getByValAttrName(),
      TypeAttr::get(LLVM::LLVMArrayType::get(pointer, table.members.count * buffers)));
  member.setSymName((kernel.getName() + ".member").str());
  member.setLinkage(LLVM::Linkage::Internal);
  member.setAlwaysInline(true);

  builder.setInsertionPointToStart(kernel.addEntryBlock(builder));
  auto number = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
  };
  Value blocks = number(table.blocks);
  Value block = NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
  block = LLVM::ZExtOp::create(builder, loc, word, block);
  Value own = LLVM::UDivOp::create(builder, loc, block, blocks);
  SmallVector<Value> addresses;
  for (int64_t i = 0; i < buffers; ++i) {
    weft::cuda::Members::Place place = table.members.placeOf(i, buffers);
    Value first = number(place.first), step = number(place.step);
    Value index = LLVM::MulOp::create(builder, loc, own, step);
    index = LLVM::AddOp::create(builder, loc, first, index);
    Value at = LLVM::GEPOp::create(builder, loc, pointer, pointer, kernel.getArgument(0),
                                   LLVM::GEPArg(index));
    addresses.push_back(LLVM::LoadOp::create(builder, loc, pointer, at));
  }
  LLVM::CallOp::create(builder, loc, member, addresses);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

/// Tells the assembler how many blocks a multiprocessor is to hold, where the kernel or the grid
/// decides that.
static void limitResidency(gpu::GPUModuleOp module) {
  for (auto kernel : module.getOps<gpu::GPUFuncOp>()) {
    auto blocks = dyn_cast_or_null<IntegerAttr>(kernel->removeAttr(weft::cuda::kGridAttr));
    if (Attribute wanted = kernel->removeAttr(weft::cuda::kResidentAttr))
      kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), wanted);
    if (!blocks || !kernel.getKnownBlockSize())
      continue;
    int64_t threads = kernel.getKnownBlockSize()->front();
    if (auto resident = weft::cuda::residentBlocks(blocks.getInt(), threads))
      kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      Builder(kernel).getI32IntegerAttr(*resident));
  }
}

namespace {
struct LowerGpuToNvvm : weft::cuda::impl::LowerGpuToNvvmBase<LowerGpuToNvvm> {
  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    if (failed(checkFunctions(module)) || failed(lowerLoops(module)))
      return signalPassFailure();
    llvm::StringMap<Table> tables = tablesOf(module);
    limitResidency(module);
    LowerToLLVMOptions options(&getContext());
    options.overrideIndexBitwidth(64);
    options.useBarePtrCallConv = true;
    LLVMTypeConverter types(&getContext(), options);
    configureGpuToNVVMTypeConverter(types);
    RewritePatternSet patterns(&getContext());
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    // The last list below has patterns that call libdevice.
    populateMathToLLVMConversionPatterns(types, patterns, /*approximateLog1p=*/false,
                                         /*benefit=*/2);
    patterns.add<LowerApproximatePower, LowerApproximateInverse>(types, /*benefit=*/3);
    populateFinalizeMemRefToLLVMConversionPatterns(types, patterns);
    populateVectorToLLVMConversionPatterns(types, patterns);
    populateGpuToNVVMConversionPatterns(types, patterns);
    LLVMConversionTarget target(getContext());
    target.addLegalDialect<NVVM::NVVMDialect>();
    target.addLegalOp<gpu::GPUModuleOp>();
    if (failed(applyFullConversion(module, target, std::move(patterns))))
      return signalPassFailure();
    for (auto function : llvm::to_vector(module.getOps<LLVM::LLVMFuncOp>()))
      if (auto table = tables.find(function.getName()); table != tables.end())
        takeTable(function, table->second);
  }
};
} // namespace
