// Kernels of tensors become functions of a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GridNests.h"
#include "JoinReductions.h"
#include "Members.h"
#include "MergeReductions.h"
#include "RunningSums.h"
#include "passes/cuda/Passes.h"
#include "passes/kernels/KernelForm.h"
#include "passes/kernels/KernelPlacement.h"
#include "weft/Interfaces/KernelAttributes.h"
#include "weft/Interfaces/TensorTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/MathExtras.h"

namespace weft::cuda {
#define GEN_PASS_DEF_DISTRIBUTEKERNELS
#include "passes/cuda/Passes.h.inc"
} // namespace weft::cuda

using namespace mlir;
using namespace weft::cuda;
using namespace weft::kernels;

namespace {

/// Threads of a block of a flat kernel, and the most blocks: each thread takes a few runs where
/// there are more, so that what all of its elements need is computed less often.
constexpr int64_t kFlatThreads = 256, kFlatBlocks = 1 << 14;

/// Lowers one function.
class KernelLowering {
public:
  KernelLowering(func::FuncOp kernel, int64_t workgroupBytes)
      : kernel(kernel), workgroupBytes(workgroupBytes), builder(kernel), loc(kernel.getLoc()) {}

  /// `joins` reductions if so asked, after which a kernel that overwrites an argument may have no
  /// order of its nests left: without a message, if that is not the last try.
  LogicalResult run(bool joins, bool isLastTry);

private:
  func::FuncOp kernel;
  int64_t workgroupBytes;
  OpBuilder builder;
  Location loc;
  gpu::GPUModuleOp module;
  gpu::GPUFuncOp function;

  Value makeWorkgroupMemory(Type element, int64_t count);
  void makeFunction();
  Value makeTable(DenseElementsAttr table, unsigned number, OpBuilder &code);
  void emitFlat(KernelTiling &tiling, GridElements &elements, KernelPlacement &placement);
  void emitUnits(KernelTiling &tiling, GridElements &elements, KernelPlacement &placement);
  void setShape(int64_t threads, int64_t blocks);
  Value blockAmong(OpBuilder &code, int64_t blocks);
  void remarkOnRows(const KernelTiling &tiling);
};

} // namespace

static MemRefType memoryOf(RankedTensorType type) {
  return MemRefType::get({type.getNumElements()}, memoryType(type.getElementType()));
}

/// The module, and the function with a buffer for each argument and each result.
void KernelLowering::makeFunction() {
  builder.setInsertionPoint(kernel);
  module = gpu::GPUModuleOp::create(builder, loc, kernel.getName());
  builder.setInsertionPointToStart(module.getBody());
  SmallVector<Type> types;
  for (TypeRange tensors :
       {TypeRange(kernel.getArgumentTypes()), TypeRange(kernel.getResultTypes())})
    for (Type type : tensors)
      types.push_back(memoryOf(cast<RankedTensorType>(type)));
  function =
      gpu::GPUFuncOp::create(builder, loc, kernel.getName(), builder.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  auto written = kernel->getAttrOfType<DenseI64ArrayAttr>(weft::kInPlaceAttr);
  for (unsigned i = 0; i < types.size(); ++i) {
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        builder.getI64IntegerAttr(kAccessBytes));
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
    if (i < kernel.getNumArguments() &&
        !(written && llvm::is_contained(written.asArrayRef(), int64_t(i))))
      function.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
  }
  builder.setInsertionPointToStart(&function.getBody().front());
}

Value KernelLowering::makeWorkgroupMemory(Type element, int64_t count) {
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(), gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get({count}, element, MemRefLayoutAttrInterface(), space);
  Value memory = function.addWorkgroupAttribution(type, loc);
  function.setWorkgroupAttributionAttr(function.getNumWorkgroupAttributions() - 1,
                                       LLVM::LLVMDialect::getAlignAttrName(),
                                       builder.getI64IntegerAttr(kAccessBytes));
  return memory;
}

/// Read-only memory that holds the table.
Value KernelLowering::makeTable(DenseElementsAttr table, unsigned number, OpBuilder &code) {
  auto type = MemRefType::get(table.getType().getShape(), table.getElementType());
  std::string name = ("constant" + Twine(number)).str();
  OpBuilder atStart = OpBuilder::atBlockBegin(module.getBody());
  memref::GlobalOp::create(atStart, loc, name, atStart.getStringAttr("private"), type, table,
                           /*constant=*/true, atStart.getI64IntegerAttr(kAccessBytes));
  return memref::GetGlobalOp::create(code, loc, type, name);
}

void KernelLowering::setShape(int64_t threads, int64_t blocks) {
  const int32_t block[] = {int32_t(threads), 1, 1};
  function.setKnownBlockSize(ArrayRef(block));
  auto members = kernel->getAttrOfType<IntegerAttr>(weft::kMembersAttr);
  function->setAttr(kGridAttr,
                    builder.getI64IntegerAttr(blocks * (members ? members.getInt() : 1)));
  if (members)
    Members{members.getInt(), kernel.getNumArguments()}.mark(function);
}

/// The block's number among the `blocks` of its member.
Value KernelLowering::blockAmong(OpBuilder &code, int64_t blocks) {
  Value block = gpu::BlockIdOp::create(code, loc, gpu::Dimension::x);
  if (!Members::of(function))
    return block;
  return arith::RemUIOp::create(code, loc, block,
                                arith::ConstantIndexOp::create(code, loc, blocks));
}

/// All nests but single elements are one, and all threads share it.
void KernelLowering::emitFlat(KernelTiling &tiling, GridElements &elements,
                              KernelPlacement &placement) {
  OpBuilder &code = elements.builder;
  MutableArrayRef<LoopNest> all(tiling.nests);
  auto isNumber = [](const LoopNest &nest) { return nest.isTemporary(); };
  auto isCopy = [](const LoopNest &nest) { return nest.kind == LoopNest::Kind::Copy; };
  MutableArrayRef<LoopNest> numbers = all.take_while(isNumber);
  all = all.drop_front(numbers.size());
  int64_t lanes = 1;
  for (const LoopNest &nest : all)
    lanes = std::max(lanes, lanesOf(nest, /*together=*/true));
  int64_t runs = std::max<int64_t>(1, llvm::divideCeil(all.front().boxElements(), lanes));
  int64_t blocks = std::min<int64_t>(llvm::divideCeil(runs, kFlatThreads), kFlatBlocks);
  setShape(kFlatThreads, blocks);
  Value threads = arith::ConstantIndexOp::create(code, loc, kFlatThreads);
  Value first = arith::MulIOp::create(code, loc, blockAmong(code, blocks), threads);
  Value thread = arith::AddIOp::create(code, loc, first,
                                       gpu::ThreadIdOp::create(code, loc, gpu::Dimension::x));
  Value step = arith::ConstantIndexOp::create(code, loc, blocks * kFlatThreads);
  GridNestEmitter emitter(elements, {thread, step, blocks * kFlatThreads}, nullptr);
  for (LoopNest &nest : numbers)
    if (nest.isRead)
      emitter.emit(nest);
  // All threads have read for them what one may overwrite.
  if (!numbers.empty() && placement.overwrites())
    gpu::BarrierOp::create(code, loc);
  MutableArrayRef<LoopNest> joint = all.drop_while(isCopy).empty()
                                        ? MutableArrayRef<LoopNest>()
                                        : all.take_while(std::not_fn(isCopy));
  auto allocate = [&](Type element, int64_t count) { return makeWorkgroupMemory(element, count); };
  for (LoopNest &nest : joint)
    placement.place(nest, allocate);
  if (!joint.empty())
    emitter.emitTogether(joint);
  // A copy reads what the same thread has written.
  for (LoopNest &nest : all.drop_front(joint.size()))
    emitter.emitTogether(MutableArrayRef(nest));
}

/// A block a unit, or several in turn.
void KernelLowering::emitUnits(KernelTiling &tiling, GridElements &elements,
                               KernelPlacement &placement) {
  OpBuilder &code = elements.builder;
  int64_t threads = threadsOf(tiling), blocks = std::min(tiling.extent(), kMostBlocks);
  setShape(threads, blocks);
  Value thread = gpu::ThreadIdOp::create(code, loc, gpu::Dimension::x);
  Value unit = blockAmong(code, blocks);
  bool inTurns = tiling.extent() > blocks;
  OpBuilder::InsertionGuard guard(code);
  Value step = arith::ConstantIndexOp::create(code, loc, threads);
  if (inTurns) {
    Value end = arith::ConstantIndexOp::create(code, loc, tiling.extent());
    Value turn = arith::ConstantIndexOp::create(code, loc, blocks);
    auto turns = scf::ForOp::create(code, loc, unit, end, turn);
    code.setInsertionPoint(turns.getBody()->getTerminator());
    unit = turns.getInductionVar();
  }
  setUnit(tiling, unit, elements);
  auto allocate = [&](Type element, int64_t count) { return makeWorkgroupMemory(element, count); };
  bool listsChanges =
      llvm::any_of(tiling.nests, [](auto &nest) { return sharedRows(nest).has_value(); });
  if (listsChanges)
    function->setAttr(kResidentAttr, builder.getI32IntegerAttr(kReadersAhead / threads));
  GridNestEmitter emitter(elements, {thread, step, threads}, allocate,
                          workgroupBytes - kExchangeBytes - tiling.stackBytes - listBytes(kernel));
  llvm::erase_if(tiling.nests, [](const LoopNest &nest) { return !nest.isRead; });
  MutableArrayRef<LoopNest> left(tiling.nests);
  while (!left.empty()) {
    size_t count = nestsByRow(left, threads, elements.space);
    MutableArrayRef<LoopNest> now = left.take_front(count);
    left = left.drop_front(count);
    for (LoopNest &nest : now)
      placement.place(nest, allocate);
    bool writes = true;
    if (count > 1)
      emitter.emitByRow(now);
    else
      writes = emitter.emit(now.front());
    // What others read next, or overwrite next or in the next turn, is written and read by all.
    bool isReadNext = writes || placement.overwrites();
    if ((isReadNext && !left.empty()) || (left.empty() && inTurns))
      gpu::BarrierOp::create(code, loc);
  }
}

void KernelLowering::remarkOnRows(const KernelTiling &tiling) {
  if (!kernel.getContext()->getRemarkEngine())
    return;
  for (const LoopNest &nest : tiling.nests)
    if (nest.kind == LoopNest::Kind::Rows && !sharedRows(nest))
      remark::missed(nest.loc(),
                     remark::RemarkOpts::name("sequential").category("cuda-distribute-kernels"))
          << "is done row by row, each by one thread";
}

/// What may be reordered has been: the order that stands here is the one for every back end. What
/// the CPU's code generator is told of loops goes.
static void settleOrder(gpu::GPUFuncOp function) {
  function.walk([](Operation *op) {
    if (isa<scf::ForOp>(op))
      op->removeAttr("llvm.loop_annotation");
    if (auto number = dyn_cast<arith::ArithFastMathInterface>(op))
      op->setAttr(number.getFastMathAttrName(),
                  arith::FastMathFlagsAttr::get(op->getContext(), arith::FastMathFlags::none));
  });
}

/// LLVM takes it that no call touches what is `noalias`, a barrier neither, and so may move loads
/// and stores across it: of a buffer through which threads hear of each other it must not be said.
static void forgetNoAlias(gpu::GPUFuncOp function) {
  bool hasBarriers = false;
  function.walk([&](Operation *op) { hasBarriers |= isa<gpu::BarrierOp, NVVM::SyncWarpOp>(op); });
  for (unsigned number = 0; number < function.getNumArguments(); ++number) {
    Value buffer = function.getArgument(number);
    bool isWritten = !function.getArgAttr(number, LLVM::LLVMDialect::getReadonlyAttrName());
    bool isRead = llvm::any_of(buffer.getUsers(), [&](Operation *user) {
      auto memory = dyn_cast<MemoryEffectOpInterface>(user);
      return !memory || memory.getEffectOnValue<MemoryEffects::Read>(buffer);
    });
    if (hasBarriers && isWritten && isRead)
      function.removeArgAttr(
          number, StringAttr::get(function.getContext(), LLVM::LLVMDialect::getNoAliasAttrName()));
  }
}

LogicalResult KernelLowering::run(bool joins, bool isLastTry) {
  separateRows(kernel);
  mergeReductions(kernel);
  if (joins) {
    joinRunningSums(kernel);
    joinReductions(kernel);
  }
  makeFunction();
  OpBuilder code = builder;
  IndexSpace space(kernel.getContext());
  GridElements elements(code, space, operationCost);
  KernelPlacement placement(kernel, function.getArguments(), elements);
  placement.placeConstants(
      [&](DenseElementsAttr table, unsigned number) { return makeTable(table, number, code); });
  auto tiling = placement.tile([&](ArrayRef<Storage> results, auto overwritten) {
    return planGrid(kernel, elements, results, workgroupBytes, overwritten);
  });
  if (!tiling) {
    std::string why = llvm::toString(tiling.takeError());
    module.erase();
    if (!isLastTry)
      return failure();
    return kernel.emitError(why) << "; if it computes attention, --attention decomposed parts it";
  }
  remarkOnRows(*tiling);
  code.setInsertionPointToEnd(&function.getBody().front());
  elements.keepCode();
  if (tiling->together)
    emitFlat(*tiling, elements, placement);
  else
    emitUnits(*tiling, elements, placement);
  gpu::ReturnOp::create(code, loc);
  settleOrder(function);
  forgetNoAlias(function);
  kernel.erase();
  return success();
}

namespace {
struct DistributeKernels : weft::cuda::impl::DistributeKernelsBase<DistributeKernels> {
  using DistributeKernelsBase::DistributeKernelsBase;

  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!kernel.isExternal() && (failed(verifyConverted(kernel)) || failed(lower(kernel))))
        signalPassFailure();
  }

private:
  LogicalResult lower(func::FuncOp kernel) {
    if (!kernel->hasAttr(weft::kInPlaceAttr))
      return KernelLowering(kernel, workgroupBytes).run(/*joins=*/true, /*isLastTry=*/true);
    OpBuilder builder(kernel);
    auto spare = cast<func::FuncOp>(builder.clone(*kernel));
    if (succeeded(
            KernelLowering(kernel, workgroupBytes).run(/*joins=*/true, /*isLastTry=*/false))) {
      spare.erase();
      return success();
    }
    kernel.erase();
    return KernelLowering(spare, workgroupBytes).run(/*joins=*/false, /*isLastTry=*/true);
  }
};
} // namespace
