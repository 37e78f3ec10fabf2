// Loads and stores of memrefs, as vectors where lanes are adjacent.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GridElements.h"

#include "weft/Interfaces/TensorTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace weft::cuda;
using namespace weft::kernels;

void GridElements::forLanes(unsigned dim, llvm::function_ref<void(int64_t lane)> body) {
  int64_t extent = space.dims[dim].extent;
  llvm::SaveAndRestore outer(laneDim, std::optional(dim));
  llvm::SaveAndRestore outerLane(lane);
  for (lane = 0; lane < extent; ++lane) {
    space.dims[dim].iv = arith::ConstantIndexOp::create(builder, builder.getUnknownLoc(), lane);
    pushScope();
    body(lane);
    popScope();
  }
}

/// All lanes are adjacent, and the first is at a multiple of their number.
bool GridElements::isWide(AffineExpr place, unsigned dim) const {
  int64_t lanes = space.dims[dim].extent;
  if (lanes == 1 || space.coefficient(place, dim) != 1)
    return false;
  IndexSpace::Sum sum = space.sumOf(firstPlace(place, dim));
  return sum.constant % lanes == 0 &&
         llvm::all_of(sum.terms, [&](auto &term) { return term.second % lanes == 0; });
}

AffineExpr GridElements::firstPlace(AffineExpr place, unsigned dim) const {
  return space.add(place, space.multiply(getAffineDimExpr(dim, builder.getContext()), -1));
}

static llvm::MaybeAlign alignmentOf(VectorType type) {
  int64_t bytes = type.getNumElements() * weft::elementBytes(type.getElementType());
  return llvm::Align(std::min(bytes, kAccessBytes));
}

/// Code is emitted in order, so that what stands in a block around this one was computed.
bool GridElements::isAround(Value value) const {
  Block *block = value.getParentBlock();
  for (Block *at = builder.getInsertionBlock(); at;
       at = at->getParentOp() ? at->getParentOp()->getBlock() : nullptr)
    if (at == block)
      return true;
  return false;
}

Operation *GridElements::copyOp(Operation &op, IRMapping &operands) {
  Operation *copy = builder.clone(op, operands);
  if (!keeps || op.getNumResults() == 0 || !isPure(copy))
    return copy;
  auto flags = OperationEquivalence::IgnoreLocations;
  auto &equal = copies[unsigned(OperationEquivalence::computeHash(
      copy, OperationEquivalence::directHashValue, OperationEquivalence::ignoreHashValue, flags))];
  for (Operation *known : equal)
    if (isAround(known->getResult(0)) &&
        OperationEquivalence::isEquivalentTo(copy, known, OperationEquivalence::exactValueMatch,
                                             nullptr, flags)) {
      copy->erase();
      return known;
    }
  equal.push_back(copy);
  return copy;
}

/// Whether all `count` elements from the place on are in the memory, wanted or not.
bool GridElements::isWithin(Value memory, AffineExpr place, int64_t count) const {
  int64_t last = cast<MemRefType>(memory.getType()).getDimSize(0) - count;
  auto range = space.range(place);
  return unsure == 0 || (range && range->first >= 0 && range->second <= last);
}

/// The place as a value, moved into the memory where nobody knows whether the element is wanted.
Value GridElements::within(Value memory, AffineExpr place, int64_t count, Location loc) {
  Value index = space.materialize(builder, loc, place);
  if (isWithin(memory, place, count))
    return index;
  int64_t last = cast<MemRefType>(memory.getType()).getDimSize(0) - count;
  Value least = arith::ConstantIndexOp::create(builder, loc, 0);
  Value most = arith::ConstantIndexOp::create(builder, loc, last);
  return arith::MinSIOp::create(builder, loc, arith::MaxSIOp::create(builder, loc, index, least),
                                most);
}

Value GridElements::loadAt(const Storage &from, AffineExpr place, Location loc) {
  int64_t size = cast<MemRefType>(from.pointer.getType()).getDimSize(0);
  Type element = memoryType(from.element);
  if (unsure > 0 && size == 0) // never wanted
    return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  int64_t lanes = laneDim ? space.dims[*laneDim].extent : 1;
  // Of a vector that ends behind the memory some lanes may be wanted: it cannot be moved.
  bool isVector = laneDim && lanes <= size && isWide(place, *laneDim) &&
                  (size % lanes == 0 || isWithin(from.pointer, firstPlace(place, *laneDim), lanes));
  bool isKept =
      keeps && !from.isMutable && (isVector || !laneDim || !place.isFunctionOfDim(*laneDim));
  AffineExpr first = isVector ? firstPlace(place, *laneDim) : place;
  // Other nests may have read as many lanes from there, or fewer.
  Type wanted = isVector ? VectorType::get({lanes}, element) : element;
  auto lanesOf = [&](Value read) -> Value {
    return isVector ? vector::ExtractOp::create(builder, loc, read, lane).getResult() : read;
  };
  for (const Read &known : reads)
    if (isKept && known.memory == from.pointer && known.place == first &&
        known.value.getType() == wanted && isAround(known.value))
      return lanesOf(known.value);
  Value read;
  if (isVector) {
    auto type = cast<VectorType>(wanted);
    read =
        vector::LoadOp::create(builder, loc, type, from.pointer,
                               ValueRange{within(from.pointer, first, type.getNumElements(), loc)},
                               /*nontemporal=*/false, alignmentOf(type));
  } else {
    read = memref::LoadOp::create(builder, loc, from.pointer, within(from.pointer, place, 1, loc));
  }
  if (isKept)
    reads.push_back({from.pointer, first, read});
  return lanesOf(read);
}

void GridElements::storeAt(const Storage &to, AffineExpr place, Value value, Location loc) {
  memref::StoreOp::create(builder, loc, value, to.pointer, space.materialize(builder, loc, place));
}

SmallVector<Value> GridElements::loadLanes(const Storage &from, ArrayRef<AffineExpr> indices,
                                           unsigned dim, Location loc) {
  SmallVector<Value> values;
  AffineExpr place = placeOf(from, indices, false);
  int64_t lanes = space.dims[dim].extent;
  if (!isWide(place, dim)) {
    forLanes(dim, [&](int64_t) { values.push_back(load(from, indices, loc)); });
    return values;
  }
  auto type = VectorType::get({lanes}, memoryType(from.element));
  Value vector =
      vector::LoadOp::create(builder, loc, type, from.pointer,
                             ValueRange{space.materialize(builder, loc, firstPlace(place, dim))},
                             /*nontemporal=*/false, alignmentOf(type));
  for (int64_t at = 0; at < lanes; ++at)
    values.push_back(fromMemory(from, vector::ExtractOp::create(builder, loc, vector, at), loc));
  return values;
}

void GridElements::storeLanes(const Storage &to, ArrayRef<AffineExpr> indices, unsigned dim,
                              ArrayRef<Value> values, Location loc) {
  AffineExpr place = placeOf(to, indices, true);
  SmallVector<Value> stored;
  for (Value value : values)
    stored.push_back(toMemory(to, value, loc));
  if (isWide(place, dim)) {
    auto type = VectorType::get({int64_t(stored.size())}, memoryType(to.element));
    Value vector = vector::FromElementsOp::create(builder, loc, type, stored);
    vector::StoreOp::create(builder, loc, vector, to.pointer,
                            ValueRange{space.materialize(builder, loc, firstPlace(place, dim))},
                            /*nontemporal=*/false, alignmentOf(type));
    return;
  }
  for (auto [number, value] : llvm::enumerate(stored)) {
    space.dims[dim].iv = arith::ConstantIndexOp::create(builder, loc, number);
    storeAt(to, place, value, loc);
  }
}
