// Kernels of tensors become functions of a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GridNests.h"
#include "MergeReductions.h"
#include "passes/cuda/Passes.h"
#include "passes/kernels/KernelForm.h"
#include "weft/Interfaces/KernelAttributes.h"
#include "weft/Interfaces/TensorTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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

  LogicalResult run();

private:
  func::FuncOp kernel;
  int64_t workgroupBytes;
  OpBuilder builder;
  Location loc;
  gpu::GPUModuleOp module;
  gpu::GPUFuncOp function;

  Value makeWorkgroupMemory(Type element, int64_t count);
  void makeFunction();
  void placeConstants(ElementEmitter &elements);
  SmallVector<Storage> resultStorages(IndexSpace &space);
  void placeNest(LoopNest &nest, ElementEmitter &elements, ArrayRef<Storage> results);
  void emitFlat(KernelTiling &tiling, GridElements &elements, ArrayRef<Storage> results);
  void emitUnits(KernelTiling &tiling, GridElements &elements, ArrayRef<Storage> results,
                 bool overwrites);
  void setShape(int64_t threads, int64_t blocks);
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

SmallVector<Storage> KernelLowering::resultStorages(IndexSpace &space) {
  SmallVector<Storage> results;
  for (auto [number, type] : llvm::enumerate(kernel.getResultTypes()))
    results.push_back(denseStorage(function.getArgument(kernel.getNumArguments() + number),
                                   cast<RankedTensorType>(type), space));
  return results;
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

/// Constants that are not one number lie in read-only memory.
void KernelLowering::placeConstants(ElementEmitter &elements) {
  unsigned number = 0;
  for (auto constant : kernel.getOps<arith::ConstantOp>()) {
    DenseElementsAttr table = tableOf(constant);
    if (!table)
      continue;
    auto type = MemRefType::get(table.getType().getShape(), table.getElementType());
    std::string name = ("constant" + Twine(number++)).str();
    OpBuilder atStart = OpBuilder::atBlockBegin(module.getBody());
    memref::GlobalOp::create(atStart, loc, name, atStart.getStringAttr("private"), type, table,
                             /*constant=*/true, atStart.getI64IntegerAttr(kAccessBytes));
    Value memory = memref::GetGlobalOp::create(elements.builder, loc, type, name);
    elements.storage[constant] =
        denseStorage(memory, cast<RankedTensorType>(constant.getType()), elements.space);
  }
}

/// Gives the values of a nest their memory.
void KernelLowering::placeNest(LoopNest &nest, ElementEmitter &elements,
                               ArrayRef<Storage> results) {
  if (nest.kind == LoopNest::Kind::Copy)
    return;
  for (auto [value, result] : llvm::zip_equal(nest.values, nest.results)) {
    if (result >= 0)
      elements.storage[value] = results[result];
    else if (!nest.isScalar())
      elements.storage[value] =
          temporaryStorage(nest, value,
                           makeWorkgroupMemory(memoryType(getElementTypeOrSelf(value)),
                                               std::max<int64_t>(1, nest.boxElements())),
                           elements.space);
  }
}

void KernelLowering::setShape(int64_t threads, int64_t blocks) {
  const int32_t block[] = {int32_t(threads), 1, 1};
  function.setKnownBlockSize(ArrayRef(block));
  function->setAttr(kGridAttr, builder.getI64IntegerAttr(blocks));
}

/// Nothing reads it.
static bool isUnread(const LoopNest &nest) {
  return nest.isTemporary() && nest.box.empty() && !nest.groups.empty();
}

/// All nests but single elements are one, and all threads share it.
void KernelLowering::emitFlat(KernelTiling &tiling, GridElements &elements,
                              ArrayRef<Storage> results) {
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
  Value first = arith::MulIOp::create(
      code, loc, gpu::BlockIdOp::create(code, loc, gpu::Dimension::x), threads);
  Value thread = arith::AddIOp::create(code, loc, first,
                                       gpu::ThreadIdOp::create(code, loc, gpu::Dimension::x));
  Value step = arith::ConstantIndexOp::create(code, loc, blocks * kFlatThreads);
  GridNestEmitter emitter(elements, {thread, step, blocks * kFlatThreads}, nullptr);
  for (LoopNest &nest : numbers)
    if (!isUnread(nest))
      emitter.emit(nest);
  MutableArrayRef<LoopNest> joint = all.drop_while(isCopy).empty()
                                        ? MutableArrayRef<LoopNest>()
                                        : all.take_while(std::not_fn(isCopy));
  for (LoopNest &nest : joint)
    placeNest(nest, elements, results);
  if (!joint.empty())
    emitter.emitTogether(joint);
  // A copy reads what the same thread has written.
  for (LoopNest &nest : all.drop_front(joint.size()))
    emitter.emitTogether(MutableArrayRef(nest));
}

/// A block a unit, or several in turn.
void KernelLowering::emitUnits(KernelTiling &tiling, GridElements &elements,
                               ArrayRef<Storage> results, bool overwrites) {
  OpBuilder &code = elements.builder;
  int64_t threads = threadsOf(tiling), blocks = std::min(tiling.extent(), kMostBlocks);
  setShape(threads, blocks);
  Value thread = gpu::ThreadIdOp::create(code, loc, gpu::Dimension::x);
  Value unit = gpu::BlockIdOp::create(code, loc, gpu::Dimension::x);
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
  // The unit's number in row-major order, taken apart.
  for (int dim = int(tiling.unitExtents.size()) - 1; dim >= 0; --dim) {
    if (dim == 0) {
      elements.space.dims[0].iv = unit;
      break;
    }
    Value extent = arith::ConstantIndexOp::create(code, loc, tiling.unitExtents[dim]);
    elements.space.dims[dim].iv = arith::RemUIOp::create(code, loc, unit, extent);
    unit = arith::DivUIOp::create(code, loc, unit, extent);
  }
  GridNestEmitter emitter(elements, {thread, step, threads}, [&](Type element, int64_t count) {
    return makeWorkgroupMemory(element, count);
  });
  size_t left = tiling.nests.size();
  for (LoopNest &nest : tiling.nests) {
    --left;
    if (isUnread(nest))
      continue;
    placeNest(nest, elements, results);
    // What others read next, or overwrite next or in the next turn, is written and read by all.
    bool isReadNext = emitter.emit(nest) || overwrites;
    if ((isReadNext && left > 0) || (left == 0 && inTurns))
      gpu::BarrierOp::create(code, loc);
  }
}

void KernelLowering::remarkOnRows(const KernelTiling &tiling) {
  if (!kernel.getContext()->getRemarkEngine())
    return;
  for (const LoopNest &nest : tiling.nests)
    if (nest.kind == LoopNest::Kind::Rows)
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

LogicalResult KernelLowering::run() {
  separateRows(kernel);
  mergeReductions(kernel);
  makeFunction();
  OpBuilder code = builder;
  IndexSpace space(kernel.getContext());
  GridElements elements(code, space, operationCost);
  for (BlockArgument argument : kernel.getArguments())
    elements.storage[argument] = denseStorage(function.getArgument(argument.getArgNumber()),
                                              cast<RankedTensorType>(argument.getType()), space);
  SmallVector<Storage> results = resultStorages(space);
  SmallVector<const Storage *> overwritten;
  if (auto shared = kernel->getAttrOfType<DenseI64ArrayAttr>(weft::kInPlaceAttr))
    for (auto [result, argument] : llvm::zip_equal(results, shared.asArrayRef()))
      if (argument >= 0) {
        elements.storage[kernel.getArgument(argument)] = result;
        overwritten.push_back(&result);
      }
  placeConstants(elements);
  auto tiling = planGrid(kernel, elements, results, workgroupBytes, overwritten);
  if (!tiling && overwritten.empty() && shareLeadingDims(kernel)) {
    consumeError(tiling.takeError());
    results = resultStorages(space);
    tiling = planGrid(kernel, elements, results, workgroupBytes, overwritten);
  }
  if (!tiling) {
    std::string why = llvm::toString(tiling.takeError());
    module.erase();
    return kernel.emitError(why);
  }
  remarkOnRows(*tiling);
  code.setInsertionPointToEnd(&function.getBody().front());
  elements.keepCode();
  if (tiling->together)
    emitFlat(*tiling, elements, results);
  else
    emitUnits(*tiling, elements, results, !overwritten.empty());
  gpu::ReturnOp::create(code, loc);
  settleOrder(function);
  kernel.erase();
  return success();
}

namespace {
struct DistributeKernels : weft::cuda::impl::DistributeKernelsBase<DistributeKernels> {
  using DistributeKernelsBase::DistributeKernelsBase;

  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!kernel.isExternal() && failed(KernelLowering(kernel, workgroupBytes).run()))
        signalPassFailure();
  }
};
} // namespace
