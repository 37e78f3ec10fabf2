// Shuffles within warps, workgroup memory between them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GroupReduce.h"

#include "GridPlan.h"
#include "weft/Interfaces/KernelAttributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
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

std::optional<Combiner> weft::cuda::combinerOf(linalg::GenericOp generic) {
  Combiner combiner{{}, generic->hasAttr(kRunningAttr)};
  for (auto [number, argument, yielded] : llvm::enumerate(
           generic.getRegionOutputArgs(), generic.getBody()->getTerminator()->getOperands())) {
    Operation *op = yielded.getDefiningOp();
    bool isRead = combiner.isRunning && number == 0; // exponents are distances to it
    if (!op || !(ordersFreely(op) || isOfAnyOrder(generic, op)) ||
        !(isRead || (argument.hasOneUse() && *argument.user_begin() == op)))
      return std::nullopt;
    combiner.ops.push_back(op);
  }
  return combiner;
}

Value weft::cuda::combine(OpBuilder &builder, Operation *op, Value lhs, Value rhs) {
  Operation *copy = builder.clone(*op);
  copy->setOperands({lhs, rhs});
  return copy->getResult(0);
}

Value weft::cuda::exponentOf(OpBuilder &builder, Location loc, Value greatest) {
  auto type = cast<FloatType>(greatest.getType());
  auto least = llvm::APFloat::getLargest(type.getFloatSemantics(), /*Negative=*/true);
  Value number = arith::ConstantOp::create(builder, loc, FloatAttr::get(type, least));
  return arith::MaximumFOp::create(builder, loc, greatest, number);
}

Value weft::cuda::rescale(OpBuilder &builder, Location loc, Value sum, Value greatest,
                          Value exponent) {
  Value distance = arith::SubFOp::create(builder, loc, greatest, exponent);
  Value factor = math::ExpOp::create(builder, loc, distance);
  return arith::MulFOp::create(builder, loc, sum, factor);
}

SmallVector<Value> weft::cuda::combine(OpBuilder &builder, const Combiner &combiner, ValueRange lhs,
                                       ValueRange rhs) {
  SmallVector<Value> left = llvm::to_vector(lhs), right = llvm::to_vector(rhs), result;
  if (combiner.isRunning) {
    Location loc = combiner.ops[0]->getLoc();
    Value exponent = exponentOf(builder, loc, combine(builder, combiner.ops[0], lhs[0], rhs[0]));
    for (SmallVector<Value> *side : {&left, &right})
      (*side)[1] = rescale(builder, loc, (*side)[1], (*side)[0], exponent);
  }
  for (auto [op, one, other] : llvm::zip_equal(combiner.ops, left, right))
    result.push_back(combine(builder, op, one, other));
  return result;
}

static Value neutralOf(OpBuilder &builder, Operation *op) {
  Type type = op->getResult(0).getType();
  if (auto number = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = number.getFloatSemantics();
    llvm::APFloat value = llvm::APFloat::getZero(semantics, /*Negative=*/true);
    if (isa<arith::MulFOp>(op))
      value = llvm::APFloat::getOne(semantics);
    else if (isa<arith::MaximumFOp, arith::MinimumFOp>(op))
      value = llvm::APFloat::getInf(semantics, isa<arith::MaximumFOp>(op));
    return arith::ConstantOp::create(builder, op->getLoc(), FloatAttr::get(type, value));
  }
  unsigned width = type.getIntOrFloatBitWidth();
  llvm::APInt value = llvm::APInt::getZero(width);
  if (isa<arith::MulIOp>(op))
    value = llvm::APInt(width, 1);
  else if (isa<arith::AndIOp, arith::MinUIOp>(op))
    value = llvm::APInt::getAllOnes(width);
  else if (isa<arith::MaxSIOp>(op))
    value = llvm::APInt::getSignedMinValue(width);
  else if (isa<arith::MinSIOp>(op))
    value = llvm::APInt::getSignedMaxValue(width);
  return arith::ConstantOp::create(builder, op->getLoc(), IntegerAttr::get(type, value));
}

SmallVector<Value> weft::cuda::neutralOf(OpBuilder &builder, const Combiner &combiner) {
  return llvm::map_to_vector(combiner.ops, [&](Operation *op) { return ::neutralOf(builder, op); });
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

static SmallVector<Value> reduceLanes(OpBuilder &builder, const Combiner &combiner,
                                      ValueRange values, int64_t count) {
  SmallVector<Value> result = llvm::to_vector(values);
  for (int32_t distance = count / 2; distance > 0; distance /= 2) {
    SmallVector<Value> others;
    for (auto [op, value] : llvm::zip_equal(combiner.ops, result))
      others.push_back(exchange(builder, op->getLoc(), value, distance));
    result = combine(builder, combiner, result, others);
  }
  return result;
}

SmallVector<Value> weft::cuda::reduceWarp(OpBuilder &builder, const Combiner &combiner,
                                          ValueRange values) {
  return reduceLanes(builder, combiner, values, kWarp);
}

Value weft::cuda::gatherBits(OpBuilder &builder, Location loc, Value condition, Value lane) {
  Value bit = arith::ShLIOp::create(
      builder, loc, arith::ExtUIOp::create(builder, loc, builder.getI32Type(), condition), lane);
  for (int32_t distance = kWarp / 2; distance > 0; distance /= 2)
    bit = arith::OrIOp::create(builder, loc, bit, exchange(builder, loc, bit, distance));
  return bit;
}

SmallVector<Value> weft::cuda::reduceBlock(OpBuilder &builder, const Combiner &combiner,
                                           ValueRange values, ValueRange scratches, Value thread,
                                           int64_t threads) {
  Location loc = combiner.ops[0]->getLoc();
  SmallVector<Value> result = reduceWarp(builder, combiner, values);
  int64_t warps = threads / kWarp;
  if (warps == 1)
    return result;
  auto number = [&](int64_t n) { return arith::ConstantIndexOp::create(builder, loc, n); };
  Value lane = arith::RemUIOp::create(builder, loc, thread, number(kWarp));
  Value warp = arith::DivUIOp::create(builder, loc, thread, number(kWarp));
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, number(0));
  auto storedType = [](Value scratch) {
    return cast<MemRefType>(scratch.getType()).getElementType();
  };
  scf::IfOp::create(builder, loc, isFirst, [&](OpBuilder &inner, Location) {
    for (auto [value, scratch] : llvm::zip_equal(result, scratches)) {
      Value left = value;
      if (value.getType() != storedType(scratch))
        left = arith::ExtUIOp::create(inner, loc, storedType(scratch), value);
      memref::StoreOp::create(inner, loc, left, scratch, warp);
    }
    scf::YieldOp::create(inner, loc);
  });
  gpu::BarrierOp::create(builder, loc);
  // Each warp combines what all warps left; `warps` is a power of two of at most 32.
  Value slot = arith::RemUIOp::create(builder, loc, lane, number(warps));
  for (auto [value, scratch] : llvm::zip_equal(result, scratches)) {
    Value part = memref::LoadOp::create(builder, loc, scratch, slot);
    if (value.getType() != storedType(scratch))
      part = arith::TruncIOp::create(builder, loc, value.getType(), part);
    value = part;
  }
  return reduceLanes(builder, combiner, result, warps);
}
