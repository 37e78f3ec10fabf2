// Emits a planned kernel as loops over memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelPrices.h"
#include "KernelUnits.h"
#include "passes/cpu/Passes.h"
#include "passes/kernels/KernelForm.h"
#include "passes/kernels/KernelPlacement.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Remarks.h"

namespace weft::cpu {
#define GEN_PASS_DEF_LOWERKERNELTOLOOPS
#include "passes/cpu/Passes.h.inc"
} // namespace weft::cpu

using namespace mlir;
using namespace weft::cpu;
using namespace weft::kernels;

static double nanosecondsOfUnit(const KernelTiling &tiling) {
  return tiling.unitCost * kNanosecondsOfOperation + kNanosecondsOfUnitStart;
}

namespace {

/// Lowers one function.
class KernelLowering {
public:
  KernelLowering(func::FuncOp kernel, int64_t stackLimit)
      : kernel(kernel), stackLimit(stackLimit), builder(kernel), loc(kernel.getLoc()),
        pointer(LLVM::LLVMPointerType::get(kernel.getContext())) {}

  LogicalResult run();

private:
  func::FuncOp kernel;
  int64_t stackLimit;
  OpBuilder builder;
  Location loc;
  Type pointer;

  func::FuncOp makeBody(std::string name);
  void makeEntry(func::FuncOp body, const KernelTiling &tiling);
  Value makeTable(DenseElementsAttr table, unsigned number, OpBuilder &code);
  void emitUnits(KernelTiling &tiling, ElementEmitter &elements, KernelPlacement &placement,
                 func::FuncOp body);
};

} // namespace

/// A function with the bounds and one pointer for each buffer.
func::FuncOp KernelLowering::makeBody(std::string name) {
  SmallVector<Type> types = {builder.getIndexType(), builder.getIndexType()};
  types.append(kernel.getNumArguments() + kernel.getNumResults(), pointer);
  builder.setInsertionPoint(kernel);
  auto body = func::FuncOp::create(builder, loc, name, builder.getFunctionType(types, {}));
  body.setPrivate();
  for (unsigned i = 2; i < types.size(); ++i)
    body.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  body.addEntryBlock();
  return body;
}

/// The function of the runtime's kernel type, which unpacks the pointers.
void KernelLowering::makeEntry(func::FuncOp body, const KernelTiling &tiling) {
  builder.setInsertionPointAfter(body);
  Type index = builder.getIndexType();
  auto entry = func::FuncOp::create(builder, loc, kernel.getName(),
                                    builder.getFunctionType({index, index, pointer, pointer}, {}));
  double nanoseconds = nanosecondsOfUnit(tiling);
  entry->setAttr(kExtentAttr, builder.getI64IntegerAttr(tiling.extent()));
  entry->setAttr(kGrainAttr, builder.getI64IntegerAttr(
                                 std::max<int64_t>(1, int64_t(kGrainNanoseconds / nanoseconds))));
  builder.setInsertionPointToStart(entry.addEntryBlock());
  SmallVector<Value> arguments = {entry.getArgument(0), entry.getArgument(1)};
  for (unsigned i = 2; i < body.getNumArguments(); ++i) {
    Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer, entry.getArgument(2),
                                     ArrayRef<LLVM::GEPArg>{int32_t(i - 2)});
    arguments.push_back(LLVM::LoadOp::create(builder, loc, pointer, slot));
  }
  func::CallOp::create(builder, loc, body, arguments);
  func::ReturnOp::create(builder, loc);
}

/// The address of read-only memory that holds the table.
Value KernelLowering::makeTable(DenseElementsAttr table, unsigned number, OpBuilder &code) {
  Type array = LLVM::LLVMArrayType::get(memoryType(table.getElementType()), table.getNumElements());
  std::string name = (kernel.getName() + ".constant" + Twine(number)).str();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(kernel);
  auto global = LLVM::GlobalOp::create(builder, loc, array, /*isConstant=*/true,
                                       LLVM::Linkage::Internal, name, table, /*alignment=*/64);
  return LLVM::AddressOfOp::create(code, loc, pointer, global.getSymName());
}

void KernelLowering::emitUnits(KernelTiling &tiling, ElementEmitter &elements,
                               KernelPlacement &placement, func::FuncOp body) {
  Block &entry = body.getBody().front();
  OpBuilder &code = elements.builder;
  code.setInsertionPointToEnd(&entry);
  OpBuilder atEntry = OpBuilder::atBlockBegin(&entry);
  auto allocate = [&](Type element, int64_t count) -> Value {
    Value elements = LLVM::ConstantOp::create(atEntry, loc, atEntry.getI64IntegerAttr(count));
    return LLVM::AllocaOp::create(atEntry, loc, pointer, element, elements, /*alignment=*/64);
  };
  Value one = arith::ConstantIndexOp::create(code, loc, 1);
  auto units = scf::ForOp::create(code, loc, body.getArgument(0), body.getArgument(1), one);
  {
    OpBuilder::InsertionGuard guard(code);
    code.setInsertionPoint(units.getBody()->getTerminator());
    setUnit(tiling, units.getInductionVar(), elements);
    LoopNestEmitter emitter(elements);
    MutableArrayRef<LoopNest> all(tiling.nests);
    if (tiling.together) {
      while (!all.empty() && all.front().isTemporary()) {
        if (all.front().isRead)
          emitter.emit(all.front());
        all = all.drop_front();
      }
      auto joint = all.take_while(
          [](const LoopNest &nest) { return nest.kind == LoopNest::Kind::Elementwise; });
      for (LoopNest &nest : joint)
        placement.place(nest, allocate);
      if (!joint.empty())
        emitter.emitTogether(joint);
      all = all.drop_front(joint.size());
    }
    for (LoopNest &nest : all) {
      if (!nest.isRead)
        continue;
      placement.place(nest, allocate);
      emitter.emit(nest);
    }
  }
  func::ReturnOp::create(code, loc);
}

LogicalResult KernelLowering::run() {
  separateRows(kernel);
  func::FuncOp body = makeBody((kernel.getName() + ".body").str());
  builder.setInsertionPointToStart(&body.getBody().front());
  OpBuilder code = builder;
  IndexSpace space(kernel.getContext());
  ElementEmitter elements(code, space, operationCost);
  KernelPlacement placement(kernel, body.getArguments().drop_front(2), elements);
  placement.placeConstants(
      [&](DenseElementsAttr table, unsigned number) { return makeTable(table, number, code); });
  auto tiling = placement.tile([&](ArrayRef<Storage> results, auto overwritten) {
    return tileKernel(kernel, elements, results, stackLimit, overwritten);
  });
  if (!tiling) {
    body.erase();
    return kernel.emitError(llvm::toString(tiling.takeError()));
  }
  if (kernel.getContext()->getRemarkEngine() && tiling->extent() == 1 &&
      nanosecondsOfUnit(*tiling) > 2 * kGrainNanoseconds)
    remark::missed(loc, remark::RemarkOpts::name("serial").category("cpu-lower-kernel-to-loops"))
        << ("runs on one thread, for about " + Twine(int64_t(nanosecondsOfUnit(*tiling) / 1000)) +
            " us: no dim of its results can be cut")
               .str();
  emitUnits(*tiling, elements, placement, body);
  makeEntry(body, *tiling);
  kernel.erase();
  return success();
}

namespace {
struct LowerKernelToLoops : weft::cpu::impl::LowerKernelToLoopsBase<LowerKernelToLoops> {
  using LowerKernelToLoopsBase::LowerKernelToLoopsBase;

  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!kernel.isExternal() &&
          (failed(verifyConverted(kernel)) || failed(KernelLowering(kernel, stackLimit).run())))
        signalPassFailure();
  }
};
} // namespace
