// Shuffles within warps, workgroup memory between them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GroupReduce.h"

#include "GridPlan.h"
#include "weft/Interfaces/KernelAttributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace weft::cuda;

static bool ordersFreely(Operation *op) {
  if (isa<arith::AddFOp, arith::MulFOp>(op)) {
    auto flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr();
    return bitEnumContainsAll(flags.getValue(), arith::FastMathFlags::reassoc);
  }
  return isa<arith::MaximumFOp, arith::MinimumFOp, arith::AddIOp, arith::MulIOp, arith::MaxSIOp,
             arith::MaxUIOp, arith::MinSIOp, arith::MinUIOp, arith::AndIOp, arith::OrIOp>(op);
}

static bool isOfAnyOrder(linalg::GenericOp generic, Operation *op) {
  return generic->hasAttr(weft::kAnyOrderAttr) && isa<arith::AddFOp, arith::MulFOp>(op);
}

std::optional<SmallVector<Operation *>> weft::cuda::combinersOf(linalg::GenericOp generic) {
  SmallVector<Operation *> combiners;
  for (auto [argument, yielded] : llvm::zip_equal(
           generic.getRegionOutputArgs(), generic.getBody()->getTerminator()->getOperands())) {
    Operation *op = yielded.getDefiningOp();
    if (!op || !(ordersFreely(op) || isOfAnyOrder(generic, op)) || !argument.hasOneUse() ||
        *argument.user_begin() != op)
      return std::nullopt;
    combiners.push_back(op);
  }
  return combiners;
}

Value weft::cuda::combine(OpBuilder &builder, Operation *combiner, Value lhs, Value rhs) {
  Operation *copy = builder.clone(*combiner);
  copy->setOperands({lhs, rhs});
  return copy->getResult(0);
}

Value weft::cuda::neutralOf(OpBuilder &builder, Operation *combiner) {
  Type type = combiner->getResult(0).getType();
  if (auto number = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = number.getFloatSemantics();
    llvm::APFloat value = llvm::APFloat::getZero(semantics, /*Negative=*/true);
    if (isa<arith::MulFOp>(combiner))
      value = llvm::APFloat::getOne(semantics);
    else if (isa<arith::MaximumFOp, arith::MinimumFOp>(combiner))
      value = llvm::APFloat::getInf(semantics, isa<arith::MaximumFOp>(combiner));
    return arith::ConstantOp::create(builder, combiner->getLoc(), FloatAttr::get(type, value));
  }
  unsigned width = type.getIntOrFloatBitWidth();
  llvm::APInt value = llvm::APInt::getZero(width);
  if (isa<arith::MulIOp>(combiner))
    value = llvm::APInt(width, 1);
  else if (isa<arith::AndIOp, arith::MinUIOp>(combiner))
    value = llvm::APInt::getAllOnes(width);
  else if (isa<arith::MaxSIOp>(combiner))
    value = llvm::APInt::getSignedMinValue(width);
  else if (isa<arith::MinSIOp>(combiner))
    value = llvm::APInt::getSignedMaxValue(width);
  return arith::ConstantOp::create(builder, combiner->getLoc(), IntegerAttr::get(type, value));
}

/// The value of the thread whose number differs in the bits `distance`.
static Value exchange(OpBuilder &builder, Location loc, Value value, int32_t distance) {
  Type type = value.getType(), word = builder.getI32Type();
  unsigned width = type.getIntOrFloatBitWidth();
  Type bitsType = builder.getIntegerType(width);
  auto shuffle = [&](Value part) -> Value {
    return gpu::ShuffleOp::create(builder, loc, part, distance, kWarp, gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  if (width == 32)
    return shuffle(value);
  Value bits =
      isa<FloatType>(type) ? arith::BitcastOp::create(builder, loc, bitsType, value) : value;
  if (width < 32) {
    Value wide = arith::ExtUIOp::create(builder, loc, word, bits);
    bits = arith::TruncIOp::create(builder, loc, bitsType, shuffle(wide));
  } else {
    Value half = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(32));
    Value low = arith::TruncIOp::create(builder, loc, word, bits);
    Value high = arith::TruncIOp::create(builder, loc, word,
                                         arith::ShRUIOp::create(builder, loc, bits, half));
    low = arith::ExtUIOp::create(builder, loc, bitsType, shuffle(low));
    high = arith::ExtUIOp::create(builder, loc, bitsType, shuffle(high));
    bits = arith::OrIOp::create(builder, loc, low, arith::ShLIOp::create(builder, loc, high, half));
  }
  return isa<FloatType>(type) ? arith::BitcastOp::create(builder, loc, type, bits) : bits;
}

static Value reduceLanes(OpBuilder &builder, Operation *combiner, Value value, int64_t count) {
  for (int32_t distance = count / 2; distance > 0; distance /= 2)
    value =
        combine(builder, combiner, value, exchange(builder, combiner->getLoc(), value, distance));
  return value;
}

Value weft::cuda::reduceWarp(OpBuilder &builder, Operation *combiner, Value value) {
  return reduceLanes(builder, combiner, value, kWarp);
}

Value weft::cuda::gatherBits(OpBuilder &builder, Location loc, Value condition, Value lane) {
  Value bit = arith::ShLIOp::create(
      builder, loc, arith::ExtUIOp::create(builder, loc, builder.getI32Type(), condition), lane);
  for (int32_t distance = kWarp / 2; distance > 0; distance /= 2)
    bit = arith::OrIOp::create(builder, loc, bit, exchange(builder, loc, bit, distance));
  return bit;
}

Value weft::cuda::reduceBlock(OpBuilder &builder, Operation *combiner, Value value, Value scratch,
                              Value thread, int64_t threads) {
  Location loc = combiner->getLoc();
  value = reduceWarp(builder, combiner, value);
  int64_t warps = threads / kWarp;
  if (warps == 1)
    return value;
  auto number = [&](int64_t n) { return arith::ConstantIndexOp::create(builder, loc, n); };
  Value lane = arith::RemUIOp::create(builder, loc, thread, number(kWarp));
  Value warp = arith::DivUIOp::create(builder, loc, thread, number(kWarp));
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, number(0));
  Type type = value.getType(), stored = cast<MemRefType>(scratch.getType()).getElementType();
  Value left = type == stored ? value : arith::ExtUIOp::create(builder, loc, stored, value);
  scf::IfOp::create(builder, loc, isFirst, [&](OpBuilder &inner, Location) {
    memref::StoreOp::create(inner, loc, left, scratch, warp);
    scf::YieldOp::create(inner, loc);
  });
  gpu::BarrierOp::create(builder, loc);
  // Each warp combines what all warps left; `warps` is a power of two of at most 32.
  Value slot = arith::RemUIOp::create(builder, loc, lane, number(warps));
  Value part = memref::LoadOp::create(builder, loc, scratch, slot);
  if (type != stored)
    part = arith::TruncIOp::create(builder, loc, type, part);
  return reduceLanes(builder, combiner, part, warps);
}
