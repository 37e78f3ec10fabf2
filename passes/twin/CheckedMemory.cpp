// Turns accesses into calls and plain loads and stores.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CheckedMemory.h"

#include "runtime/emulator/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace weft::twin;

int64_t CheckedMemory::bytesOf(Type element) { return (element.getIntOrFloatBitWidth() + 7) / 8; }

void CheckedMemory::add(Value memref, Value pointer, bool isPrivate) {
  places[memref] = {pointer, isPrivate};
}

FailureOr<CheckedMemory::Place> CheckedMemory::placeOf(Operation *op, Value memref) {
  auto found = places.find(memref);
  auto type = dyn_cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (found == places.end() || !type || !type.hasStaticShape() ||
      failed(type.getStridesAndOffset(strides, offset)) ||
      llvm::is_contained(strides, ShapedType::kDynamic))
    return op->emitOpError("is of memory that the host's twin cannot follow: a memref of static "
                           "shape and strides is expected, made by an argument, an allocation or "
                           "a view of one");
  return found->second;
}

Value CheckedMemory::move(OpBuilder &builder, Location loc, Value pointer, Type element,
                          ValueRange indices, ArrayRef<int64_t> strides) {
  Value offset;
  for (auto [index, stride] : llvm::zip_equal(indices, strides)) {
    Value factor = arith::ConstantIndexOp::create(builder, loc, stride);
    Value term = arith::MulIOp::create(builder, loc, index, factor);
    offset = offset ? arith::AddIOp::create(builder, loc, offset, term) : term;
  }
  if (!offset)
    return pointer;
  Value size = arith::ConstantIndexOp::create(builder, loc, bytesOf(element));
  Value bytes = arith::MulIOp::create(builder, loc, offset, size);
  Value word = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), bytes);
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), builder.getI8Type(), pointer, word);
}

void CheckedMemory::checkIndices(OpBuilder &builder, Location loc, Value pointer, MemRefType type,
                                 ValueRange indices, int64_t width) {
  for (auto [dim, index] : llvm::enumerate(indices)) {
    int64_t size = type.getDimSize(dim), more = dim + 1 == indices.size() ? width - 1 : 0;
    auto known = getConstantIntValue(index);
    if (known && *known >= 0 && *known + more < size)
      continue;
    auto number = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    auto word = [&](Value value) -> Value {
      return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
    };
    // The first of several elements may already be outside, as a negative number.
    Value last = more ? arith::AddIOp::create(builder, loc, index, number(more)) : index;
    Value isOutside =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, last, number(size));
    if (more)
      isOutside = arith::OrIOp::create(
          builder, loc, isOutside,
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, index, number(size)));
    auto branch = scf::IfOp::create(builder, loc, isOutside, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    calls.call(builder, loc, "outside",
               {thread, pointer, word(number(dim)), word(last), word(number(size))});
  }
}

FailureOr<Value> CheckedMemory::access(Operation *op, Value memref, ValueRange indices,
                                       int64_t width, int64_t alignment, int kind) {
  FailureOr<Place> place = placeOf(op, memref);
  if (failed(place))
    return failure();
  OpBuilder builder(op);
  Location loc = op->getLoc();
  auto type = cast<MemRefType>(memref.getType());
  Type element = type.getElementType();
  SmallVector<int64_t> strides = type.getStridesAndOffset().first;
  checkIndices(builder, loc, place->pointer, type, indices, width);
  Value address = move(builder, loc, place->pointer, element, indices, strides);
  if (place->isPrivate)
    return address;
  auto number = [&](Type of, int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(of, value));
  };
  Type word = builder.getI64Type();
  calls.call(builder, loc, "access",
             {thread, address, number(word, width * bytesOf(element)), number(word, alignment),
              number(builder.getI32Type(), kind)});
  return address;
}

Value CheckedMemory::loadFrom(OpBuilder &builder, Location loc, Value pointer, Type element) {
  if (!element.isInteger(1))
    return LLVM::LoadOp::create(builder, loc, element, pointer, bytesOf(element));
  Value byte = LLVM::LoadOp::create(builder, loc, builder.getI8Type(), pointer, 1);
  return arith::TruncIOp::create(builder, loc, element, byte);
}

void CheckedMemory::storeTo(OpBuilder &builder, Location loc, Value value, Value pointer) {
  Type element = value.getType();
  if (element.isInteger(1))
    value = arith::ExtUIOp::create(builder, loc, builder.getI8Type(), value);
  LLVM::StoreOp::create(builder, loc, value, pointer, bytesOf(element));
}

LogicalResult CheckedMemory::lowerVectorAccess(Operation *op) {
  auto load = dyn_cast<vector::LoadOp>(op);
  auto store = dyn_cast<vector::StoreOp>(op);
  VectorType type = load ? load.getVectorType() : store.getVectorType();
  Value memref = load ? load.getBase() : store.getBase();
  auto memory = cast<MemRefType>(memref.getType());
  if (type.getRank() != 1 || type.isScalable() || memory.getElementType() != type.getElementType())
    return op->emitOpError("has ") << type << " of " << memory
                                   << ", where a vector of one dim of the memory's elements is "
                                      "expected";
  std::optional<uint64_t> alignment = load ? load.getAlignment() : store.getAlignment();
  int64_t width = type.getNumElements(), bytes = bytesOf(type.getElementType());
  FailureOr<Value> address =
      access(op, memref, load ? load.getIndices() : store.getIndices(), width,
             alignment ? int64_t(*alignment) : bytes, load ? WEFT_ACCESS_READ : WEFT_ACCESS_WRITE);
  if (failed(address))
    return failure();
  OpBuilder builder(op);
  Location loc = op->getLoc();
  SmallVector<Value> elements;
  for (int64_t i = 0; i < width; ++i) {
    Value at = LLVM::GEPOp::create(builder, loc, address->getType(), builder.getI8Type(), *address,
                                   LLVM::GEPArg(int32_t(i * bytes)));
    if (load)
      elements.push_back(loadFrom(builder, loc, at, type.getElementType()));
    else
      storeTo(builder, loc, vector::ExtractOp::create(builder, loc, store.getValueToStore(), i),
              at);
  }
  if (load)
    op->getResult(0).replaceAllUsesWith(
        vector::FromElementsOp::create(builder, loc, type, elements));
  op->erase();
  return success();
}

LogicalResult CheckedMemory::lowerAtomic(Operation *op) {
  auto atomic = cast<memref::AtomicRMWOp>(op);
  Type element = atomic.getMemRefType().getElementType();
  FailureOr<Value> address =
      access(op, atomic.getMemref(), atomic.getIndices(), 1, bytesOf(element), WEFT_ACCESS_ATOMIC);
  if (failed(address))
    return failure();
  // One fiber runs at a time.
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value old = loadFrom(builder, loc, *address, element);
  Value updated =
      atomic.getKind() == arith::AtomicRMWKind::assign
          ? atomic.getValue()
          : arith::getReductionOp(atomic.getKind(), builder, loc, old, atomic.getValue());
  storeTo(builder, loc, updated, *address);
  op->getResult(0).replaceAllUsesWith(old);
  op->erase();
  return success();
}

LogicalResult CheckedMemory::lowerView(Operation *op) {
  Value source = cast<ViewLikeOpInterface>(op).getViewSource();
  FailureOr<Place> place = placeOf(op, source);
  if (failed(place))
    return failure();
  OpBuilder builder(op);
  auto type = cast<MemRefType>(source.getType());
  Value pointer = place->pointer;
  if (auto subview = dyn_cast<memref::SubViewOp>(op)) {
    SmallVector<Value> offsets =
        getValueOrCreateConstantIndexOp(builder, op->getLoc(), subview.getMixedOffsets());
    pointer = move(builder, op->getLoc(), pointer, type.getElementType(), offsets,
                   type.getStridesAndOffset().first);
  } else if (auto cast = dyn_cast<memref::ReinterpretCastOp>(op)) {
    // Its offset is from the start of all of the memory.
    if (type.getStridesAndOffset().second != 0)
      return op->emitOpError("is of a view, not of the memory itself");
    SmallVector<Value> offset =
        getValueOrCreateConstantIndexOp(builder, op->getLoc(), cast.getMixedOffsets());
    pointer = move(builder, op->getLoc(), pointer, type.getElementType(), offset, {1});
  } else if (!isa<memref::CastOp, memref::MemorySpaceCastOp, memref::CollapseShapeOp,
                  memref::ExpandShapeOp, memref::AssumeAlignmentOp>(op)) {
    return op->emitOpError("is a view that the host's twin does not know");
  }
  places[op->getResult(0)] = {pointer, place->isPrivate};
  views.push_back(op);
  return success();
}

LogicalResult CheckedMemory::lowerScalarAccess(Operation *op) {
  auto load = dyn_cast<memref::LoadOp>(op);
  auto store = dyn_cast<memref::StoreOp>(op);
  Value memref = load ? load.getMemref() : store.getMemref();
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  FailureOr<Value> address = access(op, memref, load ? load.getIndices() : store.getIndices(), 1,
                                    bytesOf(element), load ? WEFT_ACCESS_READ : WEFT_ACCESS_WRITE);
  if (failed(address))
    return failure();
  OpBuilder builder(op);
  if (load)
    op->getResult(0).replaceAllUsesWith(loadFrom(builder, op->getLoc(), *address, element));
  else
    storeTo(builder, op->getLoc(), store.getValueToStore(), *address);
  op->erase();
  return success();
}

/// What is memory of its own.
LogicalResult CheckedMemory::lowerMemory(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  // Once, however often the loop around it turns.
  builder.setInsertionPointToStart(&op->getParentOfType<LLVM::LLVMFuncOp>().getBody().front());
  Value pointer;
  if (auto constant = dyn_cast<memref::GetGlobalOp>(op)) {
    pointer = LLVM::AddressOfOp::create(builder, loc, globals.at(constant.getName()));
  } else {
    MemRefType type = cast<memref::AllocaOp>(op).getType();
    Value bytes = LLVM::ConstantOp::create(
        builder, loc, builder.getI64Type(),
        builder.getI64IntegerAttr(std::max<int64_t>(1, type.getNumElements()) *
                                  bytesOf(type.getElementType())));
    pointer =
        LLVM::AllocaOp::create(builder, loc, thread.getType(), builder.getI8Type(), bytes, 64);
  }
  add(op->getResult(0), pointer, /*isPrivate=*/true);
  views.push_back(op);
  return success();
}

LogicalResult CheckedMemory::lower(Operation *op) {
  if (isa<memref::LoadOp, memref::StoreOp>(op))
    return lowerScalarAccess(op);
  if (isa<vector::LoadOp, vector::StoreOp>(op))
    return lowerVectorAccess(op);
  if (isa<memref::AtomicRMWOp>(op))
    return lowerAtomic(op);
  if (isa<memref::AllocaOp, memref::GetGlobalOp>(op))
    return lowerMemory(op);
  if (isa<ViewLikeOpInterface>(op))
    return lowerView(op);
  return op->emitOpError("is not among what the host's twin knows of memory");
}

void CheckedMemory::eraseViews() {
  for (Operation *op : llvm::reverse(views))
    op->erase();
}
