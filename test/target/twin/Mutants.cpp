// Makes each mistake at each op where it can be made.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Mutants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace weft::test {

namespace {
/// A mistake: changes the op, or says that it cannot be made there.
struct Mistake {
  const char *kind;
  bool (*make)(Operation *op);
};
} // namespace

namespace {
/// Memory that ops between a barrier and the one before it touch or write, and those between it and
/// the next; if it is in a loop, all of the kernel do both.
struct Touched {
  llvm::DenseSet<Value> before, writtenBefore, behind, writtenBehind;
};
} // namespace

static Touched touchedAround(Operation *op) {
  Touched touched;
  bool isBehind = false, isOver = false, isInLoop = op->getParentOfType<scf::ForOp>() != nullptr;
  op->getParentOfType<gpu::GPUFuncOp>().walk<WalkOrder::PreOrder>([&](Operation *other) {
    if (isa<gpu::BarrierOp>(other) && !isInLoop) {
      if (!isBehind && other != op)
        touched = {};
      isOver |= isBehind;
      isBehind |= other == op;
    }
    if (isOver)
      return;
    bool writes = isa<memref::StoreOp, vector::StoreOp>(other);
    for (Value operand : other->getOperands()) {
      if (!isa<MemRefType>(operand.getType()))
        continue;
      if (!isBehind || isInLoop) {
        touched.before.insert(operand);
        if (writes)
          touched.writtenBefore.insert(operand);
      }
      if (isBehind || isInLoop) {
        touched.behind.insert(operand);
        if (writes)
          touched.writtenBehind.insert(operand);
      }
    }
  });
  return touched;
}

/// Not one that orders nothing, such as that between nests of results which nobody reads again.
static bool dropBarrier(Operation *op) {
  if (!isa<gpu::BarrierOp>(op))
    return false;
  Touched touched = touchedAround(op);
  auto meet = [](const llvm::DenseSet<Value> &a, const llvm::DenseSet<Value> &b) {
    return llvm::any_of(a, [&](Value value) { return b.contains(value); });
  };
  if (!meet(touched.writtenBefore, touched.behind) && !meet(touched.before, touched.writtenBehind))
    return false;
  op->erase();
  return true;
}

static bool dropWarpBarrier(Operation *op) {
  if (!isa<NVVM::SyncWarpOp>(op))
    return false;
  op->erase();
  return true;
}

/// Puts another number in the place of a constant.
static bool changeConstant(OpOperand &operand, llvm::function_ref<int64_t(int64_t)> change) {
  auto number = getConstantIntValue(operand.get());
  if (!number || change(*number) == *number)
    return false;
  OpBuilder builder(operand.getOwner());
  Type type = operand.get().getType();
  operand.set(arith::ConstantOp::create(builder, operand.getOwner()->getLoc(),
                                        builder.getIntegerAttr(type, change(*number))));
  return true;
}

template <int64_t kBy> static bool moveGuard(Operation *op) {
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare ||
      llvm::none_of(op->getUsers(), [](Operation *user) { return isa<scf::IfOp>(user); }))
    return false;
  // `== n` is `< n + 1` of numbers that begin with n, as those of lanes with 0: else all lanes that
  // have the value would take turns unseen.
  if (compare.getPredicate() == arith::CmpIPredicate::eq && kBy > 0)
    compare.setPredicate(arith::CmpIPredicate::ule);
  return changeConstant(op->getOpOperand(1), [](int64_t bound) { return bound + kBy; });
}

template <int64_t kBy> static bool moveBound(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop)
    return false;
  int64_t step = getConstantIntValue(loop.getStep()).value_or(1);
  return changeConstant(loop.getUpperBoundMutable(),
                        [&](int64_t bound) { return bound + kBy * step; });
}

static bool changeLane(Operation *op) {
  return isa<gpu::ShuffleOp>(op) && changeConstant(op->getOpOperand(1), [](int64_t offset) {
           return offset > 1 ? offset / 2 : 2;
         });
}

static bool narrowSegments(Operation *op) {
  if (!isa<gpu::ShuffleOp>(op))
    return false;
  int64_t offset = getConstantIntValue(op->getOperand(1)).value_or(32);
  return changeConstant(op->getOpOperand(2), [&](int64_t) { return offset; });
}

/// The first half twice.
static bool halveLoad(Operation *op) {
  auto load = dyn_cast<vector::LoadOp>(op);
  if (!load || load.getVectorType().getNumElements() < 2)
    return false;
  VectorType type = load.getVectorType();
  int64_t half = type.getNumElements() / 2;
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value narrow =
      vector::LoadOp::create(builder, loc, VectorType::get({half}, type.getElementType()),
                             load.getBase(), load.getIndices());
  SmallVector<Value> elements;
  for (int64_t i = 0; i < 2 * half; ++i)
    elements.push_back(vector::ExtractOp::create(builder, loc, narrow, i % half));
  load.getResult().replaceAllUsesWith(vector::FromElementsOp::create(builder, loc, type, elements));
  op->erase();
  return true;
}

/// Only the first half.
static bool halveStore(Operation *op) {
  auto store = dyn_cast<vector::StoreOp>(op);
  if (!store || store.getVectorType().getNumElements() < 2)
    return false;
  int64_t half = store.getVectorType().getNumElements() / 2;
  OpBuilder builder(op);
  Location loc = op->getLoc();
  SmallVector<Value> elements;
  for (int64_t i = 0; i < half; ++i)
    elements.push_back(vector::ExtractOp::create(builder, loc, store.getValueToStore(), i));
  Value narrow = vector::FromElementsOp::create(
      builder, loc, VectorType::get({half}, store.getVectorType().getElementType()), elements);
  vector::StoreOp::create(builder, loc, narrow, store.getBase(), store.getIndices());
  op->erase();
  return true;
}

static constexpr Mistake kMistakes[] = {
    {"barrier dropped", dropBarrier},        {"guard one more", moveGuard<1>},
    {"guard one less", moveGuard<-1>},       {"loop one more", moveBound<1>},
    {"loop one less", moveBound<-1>},        {"shuffle with another lane", changeLane},
    {"shuffle of segments", narrowSegments}, {"load of half", halveLoad},
    {"store of half", halveStore},           {"warp's barrier dropped", dropWarpBarrier},
};

static Operation *numbered(ModuleOp module, size_t wanted) {
  size_t number = 0;
  Operation *found = nullptr;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (number++ == wanted)
      found = op;
  });
  return found;
}

std::vector<Mutant> mutantsOf(ModuleOp module) {
  size_t count = 0;
  module.walk([&](Operation *) { ++count; });
  std::vector<Mutant> mutants;
  for (size_t number = 0; number < count; ++number)
    for (const Mistake &mistake : kMistakes) {
      // On a copy of its own, as it may fail.
      OwningOpRef<ModuleOp> copy(module.clone());
      Operation *op = numbered(*copy, number);
      std::string name = op->getName().getStringRef().str() + " " + std::to_string(number);
      if (mistake.make(op))
        mutants.push_back({mistake.kind, name, std::move(copy)});
    }
  return mutants;
}

} // namespace weft::test
