// Loads and stores of memrefs, as vectors where lanes are adjacent.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GridElements.h"

#include "weft/Interfaces/TensorTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
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

Value GridElements::loadAt(const Storage &from, AffineExpr place, Location loc) {
  if (!laneDim || !isWide(place, *laneDim))
    return memref::LoadOp::create(builder, loc, from.pointer,
                                  space.materialize(builder, loc, place));
  AffineExpr first = firstPlace(place, *laneDim);
  // Code is emitted in order, so that what stands in a block around this one was computed.
  auto isAround = [&](Value value) {
    Block *block = value.getParentBlock();
    for (Block *at = builder.getInsertionBlock(); at;
         at = at->getParentOp() ? at->getParentOp()->getBlock() : nullptr)
      if (at == block)
        return true;
    return false;
  };
  Value vector;
  for (const Vector &known : vectors)
    if (known.memory == from.pointer && known.place == first && isAround(known.value))
      vector = known.value;
  if (!vector || from.isMutable) {
    auto type = VectorType::get({space.dims[*laneDim].extent}, memoryType(from.element));
    vector = vector::LoadOp::create(builder, loc, type, from.pointer,
                                    ValueRange{space.materialize(builder, loc, first)},
                                    /*nontemporal=*/false, alignmentOf(type));
    vectors.push_back({from.pointer, first, vector});
  }
  return vector::ExtractOp::create(builder, loc, vector, lane);
}

void GridElements::storeAt(const Storage &to, AffineExpr place, Value value, Location loc) {
  memref::StoreOp::create(builder, loc, value, to.pointer, space.materialize(builder, loc, place));
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
