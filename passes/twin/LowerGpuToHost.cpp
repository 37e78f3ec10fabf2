// Makes a kernel's thread a function of the emulator.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/twin/Passes.h"

#include "CheckedMemory.h"
#include "passes/cuda/Members.h"
#include "passes/cuda/Passes.h"
#include "runtime/emulator/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

namespace weft::twin {
#define GEN_PASS_DEF_LOWERGPUTOHOST
#include "passes/twin/Passes.h.inc"
} // namespace weft::twin

using namespace mlir;
using namespace weft::twin;

namespace {

/// One kernel on its way.
class KernelLowering {
public:
  KernelLowering(ModuleOp module, gpu::GPUFuncOp kernel)
      : module(module), kernel(kernel), calls(module), builder(module.getContext()) {}

  LogicalResult run();

private:
  LogicalResult readGrid();
  LogicalResult readBuffer(BlockArgument memref, SmallVectorImpl<EmulatedBuffer> &into);
  LogicalResult readBuffers();
  void moveGlobals();
  LLVM::GEPArg placeInTable(Location loc, int64_t buffer);
  SmallVector<EmulatedBuffer> table() const;
  LLVM::LLVMFuncOp makeThread();
  LogicalResult lower(Operation *op, CheckedMemory &memory);
  LogicalResult lowerGpu(Operation *op);
  LogicalResult lowerShuffle(gpu::ShuffleOp op);
  LogicalResult lowerWarpBarrier(NVVM::SyncWarpOp op);
  Value index(Location loc, int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value integer(Location loc, int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
  }
  /// Field of `weft_emulated_thread`.
  Value field(Location loc, int32_t number);
  Value numberOf(Operation *op, gpu::Dimension dimension, int32_t ofX, int64_t constant);

  ModuleOp module;
  gpu::GPUFuncOp kernel;
  EmulatorCalls calls;
  OpBuilder builder;
  EmulatedGrid grid{};
  /// The kernel's constants by their names in its module.
  llvm::StringMap<LLVM::GlobalOp> globals;
  SmallVector<EmulatedBuffer> arguments, shared; // arguments: of one member
  std::optional<weft::cuda::Members> members;
  Value self;
  int32_t sites = 0;
};

} // namespace

LogicalResult KernelLowering::readGrid() {
  auto blocks = kernel->getAttrOfType<IntegerAttr>(weft::cuda::kGridAttr);
  auto threads = kernel.getKnownBlockSizeAttr();
  if (!blocks || !threads)
    return kernel.emitOpError("has no '")
           << weft::cuda::kGridAttr << "' or no 'known_block_size', which say how it is launched";
  ArrayRef<int32_t> sizes = threads.asArrayRef();
  if (sizes.empty() || llvm::any_of(sizes.drop_front(), [](int32_t size) { return size != 1; }) ||
      sizes[0] < 1 || sizes[0] > 1024 || blocks.getInt() < 0)
    return kernel.emitOpError("has blocks of ")
           << threads << " threads on a grid of " << blocks.getInt()
           << "; one dim of 1 to 1024 threads, and at least 0 blocks, are expected";
  members = weft::cuda::Members::of(kernel);
  if (members && blocks.getInt() % members->count != 0)
    return kernel.emitOpError("has ") << blocks.getInt() << " blocks for " << members->count
                                      << " members; as many for each are expected";
  grid = {blocks.getInt(), sizes[0], members.has_value()};
  return success();
}

LogicalResult KernelLowering::readBuffer(BlockArgument memref,
                                         SmallVectorImpl<EmulatedBuffer> &into) {
  auto type = dyn_cast<MemRefType>(memref.getType());
  if (!type || !type.hasStaticShape() || !type.getLayout().isIdentity() ||
      !type.getElementType().isIntOrFloat())
    return kernel.emitOpError("has argument ")
           << memref.getArgNumber() << " of type " << memref.getType()
           << "; dense memrefs of static shape are expected";
  int64_t bytes = CheckedMemory::bytesOf(type.getElementType()), alignment = bytes;
  if (memref.getArgNumber() < kernel.getFunctionType().getNumInputs())
    if (auto promised = kernel.getArgAttrOfType<IntegerAttr>(memref.getArgNumber(),
                                                             LLVM::LLVMDialect::getAlignAttrName()))
      alignment = promised.getInt();
  into.push_back({type.getNumElements() * bytes, bytes, alignment});
  return success();
}

LogicalResult KernelLowering::readBuffers() {
  unsigned numArguments = kernel.getFunctionType().getNumInputs();
  for (BlockArgument argument : kernel.getBody().getArguments().take_front(numArguments))
    if (failed(readBuffer(argument, arguments)))
      return failure();
  for (BlockArgument attribution : kernel.getWorkgroupAttributions())
    if (failed(readBuffer(attribution, shared)))
      return failure();
  int64_t bytes = 0;
  for (BlockArgument attribution : kernel.getWorkgroupAttributions()) {
    auto type = cast<MemRefType>(attribution.getType());
    int64_t each = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    bytes += llvm::alignTo(type.getNumElements() * each, weft::cuda::kAccessBytes);
  }
  if (bytes > weft::cuda::kWorkgroupBytes)
    return kernel.emitOpError("has ") << bytes << " bytes of workgroup memory, more than the "
                                      << weft::cuda::kWorkgroupBytes << " of a block";
  if (!kernel.getPrivateAttributions().empty())
    return kernel.emitOpError("has private attributions; memref.alloca is expected");
  return success();
}

void KernelLowering::moveGlobals() {
  auto container = kernel->getParentOfType<gpu::GPUModuleOp>();
  builder.setInsertionPoint(container);
  for (auto global : container.getOps<memref::GlobalOp>()) {
    MemRefType type = global.getType();
    globals[global.getSymName()] = LLVM::GlobalOp::create(
        builder, global.getLoc(),
        LLVM::LLVMArrayType::get(type.getElementType(), type.getNumElements()),
        /*isConstant=*/true, LLVM::Linkage::Internal,
        (kernel.getName() + "." + global.getSymName()).str(), global.getInitialValueAttr());
  }
}

/// Takes the kernel's body; its memrefs are still arguments behind the three pointers.
LLVM::LLVMFuncOp KernelLowering::makeThread() {
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  Type nothing = LLVM::LLVMVoidType::get(module.getContext());
  builder.setInsertionPoint(kernel->getParentOfType<gpu::GPUModuleOp>());
  // Of LLVM from the start, because its address is taken.
  auto thread = LLVM::LLVMFuncOp::create(
      builder, kernel.getLoc(), (kernel.getName() + ".thread").str(),
      LLVM::LLVMFunctionType::get(nothing, {pointer, pointer, pointer}), LLVM::Linkage::Internal);
  thread.getBody().takeBody(kernel.getBody());
  for (unsigned i = 0; i < 3; ++i)
    thread.getBody().insertArgument(i, pointer, kernel.getLoc());
  return thread;
}

/// Where a thread finds the address of a buffer of its member.
LLVM::GEPArg KernelLowering::placeInTable(Location loc, int64_t buffer) {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
  };
  if (!members)
    return int32_t(buffer);
  weft::cuda::Members::Place place = members->placeOf(buffer, arguments.size());
  Value blocks = number(grid.blocks / members->count), first = number(place.first),
        step = number(place.step);
  Value block = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), field(loc, 1));
  Value member = arith::DivUIOp::create(builder, loc, block, blocks);
  Value from = arith::MulIOp::create(builder, loc, member, step);
  return arith::AddIOp::create(builder, loc, first, from).getResult();
}

/// The buffers of all members.
SmallVector<EmulatedBuffer> KernelLowering::table() const {
  if (!members)
    return arguments;
  SmallVector<EmulatedBuffer> all(arguments.size() * members->count);
  for (auto [i, buffer] : llvm::enumerate(arguments)) {
    weft::cuda::Members::Place place = members->placeOf(i, arguments.size());
    for (int64_t member = 0; member < members->count; ++member)
      all[place.first + member * place.step] = buffer;
  }
  return all;
}

Value KernelLowering::field(Location loc, int32_t number) {
  Type word = builder.getI64Type();
  Value at = LLVM::GEPOp::create(builder, loc, self.getType(), word, self, LLVM::GEPArg(number));
  Value value = LLVM::LoadOp::create(builder, loc, word, at, 8, /*isVolatile=*/false,
                                     /*isNonTemporal=*/false, /*isInvariant=*/true);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), value);
}

/// A number of dim x: of the thread (field `ofX`), or the same for all; of others `constant`.
Value KernelLowering::numberOf(Operation *op, gpu::Dimension dimension, int32_t ofX,
                               int64_t constant) {
  return dimension == gpu::Dimension::x && ofX >= 0 ? field(op->getLoc(), ofX)
                                                    : index(op->getLoc(), constant);
}

LogicalResult KernelLowering::lowerShuffle(gpu::ShuffleOp op) {
  Location loc = op.getLoc();
  Type type = op.getValue().getType();
  if (!type.isF32() && !type.isInteger(32))
    return op.emitOpError("exchanges ") << type << "; lanes exchange f32 or i32";
  Value value = op.getValue();
  if (type.isF32())
    value = arith::BitcastOp::create(builder, loc, builder.getI32Type(), value);
  int mode = op.getMode() == gpu::ShuffleMode::XOR    ? WEFT_SHUFFLE_XOR
             : op.getMode() == gpu::ShuffleMode::UP   ? WEFT_SHUFFLE_UP
             : op.getMode() == gpu::ShuffleMode::DOWN ? WEFT_SHUFFLE_DOWN
                                                      : WEFT_SHUFFLE_IDX;
  Value both = calls.call(
      builder, loc, "shuffle",
      {self, integer(loc, sites++), integer(loc, mode), value, op.getOffset(), op.getWidth()},
      builder.getI64Type());
  Value received = arith::TruncIOp::create(builder, loc, builder.getI32Type(), both);
  if (type.isF32())
    received = arith::BitcastOp::create(builder, loc, type, received);
  Value width = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(32));
  Value high = arith::ShRUIOp::create(builder, loc, both, width);
  Value isThere = arith::TruncIOp::create(builder, loc, builder.getI1Type(), high);
  op->replaceAllUsesWith(ValueRange{received, isThere});
  op->erase();
  return success();
}

LogicalResult KernelLowering::lowerWarpBarrier(NVVM::SyncWarpOp op) {
  llvm::APInt lanes;
  if (!matchPattern(op.getMask(), m_ConstantInt(&lanes)) || !lanes.isAllOnes())
    return op.emitOpError("is not of all lanes (mask -1), which a barrier of a warp has to be");
  calls.call(builder, op.getLoc(), "warp_barrier", {self, integer(op.getLoc(), sites++)});
  op->erase();
  return success();
}

LogicalResult KernelLowering::lowerGpu(Operation *op) {
  Location loc = op->getLoc();
  Value value;
  if (auto id = dyn_cast<gpu::ThreadIdOp>(op)) {
    value = numberOf(op, id.getDimension(), 0, 0);
  } else if (auto id = dyn_cast<gpu::BlockIdOp>(op)) {
    value = numberOf(op, id.getDimension(), 1, 0);
  } else if (auto dim = dyn_cast<gpu::BlockDimOp>(op)) {
    value = index(loc, dim.getDimension() == gpu::Dimension::x ? grid.threads : 1);
  } else if (auto dim = dyn_cast<gpu::GridDimOp>(op)) {
    value = index(loc, dim.getDimension() == gpu::Dimension::x ? grid.blocks : 1);
  } else if (isa<gpu::BarrierOp>(op)) {
    calls.call(builder, loc, "barrier", {self, integer(loc, sites++)});
  } else if (isa<gpu::ReturnOp>(op)) {
    LLVM::ReturnOp::create(builder, loc, ValueRange());
  } else if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op)) {
    return lowerShuffle(shuffle);
  } else {
    return op->emitOpError("is not among what the host's twin knows of the gpu dialect");
  }
  if (value)
    op->getResult(0).replaceAllUsesWith(value);
  op->erase();
  return success();
}

/// Arithmetic on vectors, element by element: functions of vectors may have other bits.
static void unrollVectors(Operation *op) {
  auto type =
      op->getNumResults() == 1 ? dyn_cast<VectorType>(op->getResult(0).getType()) : VectorType();
  if (!type || type.getRank() != 1 || !OpTrait::hasElementwiseMappableTraits(op))
    return;
  OpBuilder builder(op);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isa<VectorType>(operand.getType())
                             ? vector::ExtractOp::create(builder, op->getLoc(), operand, i)
                             : operand);
    OperationState state(op->getLoc(), op->getName(), operands, type.getElementType(),
                         op->getDiscardableAttrDictionary().getValue());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    elements.push_back(builder.create(state)->getResult(0));
  }
  op->getResult(0).replaceAllUsesWith(
      vector::FromElementsOp::create(builder, op->getLoc(), type, elements));
  op->erase();
}

LogicalResult KernelLowering::lower(Operation *op, CheckedMemory &memory) {
  builder.setInsertionPoint(op);
  if (isa<gpu::GPUDialect>(op->getDialect()))
    return lowerGpu(op);
  if (auto barrier = dyn_cast<NVVM::SyncWarpOp>(op))
    return lowerWarpBarrier(barrier);
  if (isa<memref::MemRefDialect>(op->getDialect()) || isa<vector::LoadOp, vector::StoreOp>(op))
    return memory.lower(op);
  unrollVectors(op);
  return success();
}

LogicalResult KernelLowering::run() {
  if (failed(readGrid()) || failed(readBuffers()))
    return failure();
  moveGlobals();
  std::string name = kernel.getName().str();
  unsigned numMemrefs = arguments.size() + shared.size();
  LLVM::LLVMFuncOp thread = makeThread();
  Block &entry = thread.getBody().front();
  self = entry.getArgument(0);
  CheckedMemory memory(calls, globals, self);
  SmallVector<Operation *> ops;
  thread.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != thread)
      ops.push_back(op);
  });
  builder.setInsertionPointToStart(&entry);
  for (unsigned i = 0; i < numMemrefs; ++i) {
    bool isShared = i >= arguments.size();
    Location loc = thread.getLoc();
    LLVM::GEPArg place =
        isShared ? LLVM::GEPArg(int32_t(i - arguments.size())) : placeInTable(loc, i);
    Value at = LLVM::GEPOp::create(builder, loc, self.getType(), self.getType(),
                                   entry.getArgument(isShared ? 2 : 1), place);
    memory.add(entry.getArgument(3 + i), LLVM::LoadOp::create(builder, loc, self.getType(), at),
               /*isPrivate=*/false);
  }
  for (Operation *op : ops)
    if (failed(lower(op, memory)))
      return failure();
  memory.eraseViews();
  for (unsigned i = 0; i < numMemrefs; ++i)
    if (!entry.getArgument(3 + i).use_empty())
      return (*entry.getArgument(3 + i).user_begin())
          ->emitOpError("uses memory in a way that the host's twin does not know");
  entry.eraseArguments(3, numMemrefs);
  defineKernel(module, name, thread, grid, table(), shared);
  return success();
}

namespace {
struct LowerGpuToHost : weft::twin::impl::LowerGpuToHostBase<LowerGpuToHost> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto container : llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>())) {
      for (auto kernel : llvm::make_early_inc_range(container.getOps<gpu::GPUFuncOp>()))
        if (failed(KernelLowering(module, kernel).run()))
          return signalPassFailure();
      container.erase();
    }
  }
};
} // namespace
