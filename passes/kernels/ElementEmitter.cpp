// Inlining of producers, element by element.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ElementEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace weft::kernels;

Type weft::kernels::memoryType(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : element;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static Value zeroOf(OpBuilder &builder, Location loc, Type type) {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

Value ElementEmitter::element(Value tensor, ArrayRef<AffineExpr> indices) {
  for (Scope &scope : llvm::reverse(scopes)) {
    auto known = scope.elements.find(tensor);
    if (known == scope.elements.end())
      continue;
    for (auto &[at, value] : known->second)
      if (ArrayRef<AffineExpr>(at) == indices)
        return value;
  }
  Value value;
  bool isConstant = true;
  auto stored = storage.find(tensor);
  if (stored != storage.end()) {
    isConstant = !stored->second.isMutable;
    value = stored->second.scalar ? stored->second.scalar
                                  : load(stored->second, indices, tensor.getLoc());
  } else if (recorder && nestResults.contains(tensor)) {
    recorder->demands.push_back({tensor, llvm::to_vector(indices), points});
    value = zeroOf(builder, tensor.getLoc(), getElementTypeOrSelf(tensor));
  } else {
    if (recorder && tensor.getDefiningOp<linalg::GenericOp>()) {
      recorder->isTooMuch |= recorder->visits.size() >= kMostVisits;
      if (recorder->isTooMuch) // the code is thrown away
        return zeroOf(builder, tensor.getLoc(), getElementTypeOrSelf(tensor));
      recorder->visits.push_back({tensor, llvm::to_vector(indices), points});
    }
    value = define(tensor, indices);
  }
  if (isConstant)
    remember(tensor, indices, value);
  return value;
}

Value ElementEmitter::define(Value tensor, ArrayRef<AffineExpr> indices) {
  Operation *op = tensor.getDefiningOp();
  Location loc = tensor.getLoc();
  Type element = getElementTypeOrSelf(tensor);
  assert(op && "an argument is read from memory");
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    // Of an empty constant nothing is ever read.
    if (cast<RankedTensorType>(tensor.getType()).getNumElements() == 0)
      return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
    auto splat = cast<SplatElementsAttr>(constant.getValue());
    return arith::ConstantOp::create(builder, loc,
                                     cast<TypedAttr>(splat.getSplatValue<Attribute>()));
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    Region outside;
    return resolve(fill.value(), outside);
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    SmallVector<AffineExpr> source;
    ArrayRef<int64_t> shape = expand.getResultType().getShape();
    for (auto &group : expand.getReassociationIndices())
      source.push_back(space.linearize(indices.slice(group.front(), group.size()),
                                       shape.slice(group.front(), group.size())));
    return this->element(expand.getSrc(), source);
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    SmallVector<AffineExpr> source;
    ArrayRef<int64_t> shape = collapse.getSrcType().getShape();
    auto groups = collapse.getReassociationIndices();
    if (groups.empty())
      source.assign(shape.size(), space.constant(0));
    for (auto [group, index] : llvm::zip(groups, indices))
      space.delinearize(index, shape.slice(group.front(), group.size()), source);
    return this->element(collapse.getSrc(), source);
  }
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    unsigned number = cast<OpResult>(tensor).getResultNumber();
    AffineMap map = generic.getMatchingIndexingMap(generic.getDpsInitOperand(number));
    SmallVector<AffineExpr> loops(generic.getNumLoops());
    for (auto [expr, index] : llvm::zip_equal(map.getResults(), indices))
      loops[cast<AffineDimExpr>(expr).getPosition()] = index;
    return inlineGeneric(generic, loops, {})[number];
  }
  assert(isa<tensor::EmptyOp>(op) && "op outside of the bodies' vocabulary");
  return zeroOf(builder, loc, element);
}

SmallVector<Value> ElementEmitter::inlineGeneric(linalg::GenericOp op, ArrayRef<AffineExpr> loops,
                                                 ArrayRef<Value> carried) {
  Region region;
  region.loops = loops;
  Block *body = op.getBody();
  unsigned inputs = op.getNumDpsInputs();
  for (BlockArgument argument : body->getArguments()) {
    if (argument.use_empty())
      continue;
    unsigned number = argument.getArgNumber();
    Value value;
    if (number >= inputs && !carried.empty()) {
      value = carried[number - inputs];
    } else {
      OpOperand &operand = op->getOpOperand(number);
      value = element(operand.get(), space.compose(op.getMatchingIndexingMap(&operand), loops));
    }
    region.values.map(argument, value);
  }
  return emitBlock(*body, region);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

AffineExpr ElementEmitter::placeOf(const Storage &at, ArrayRef<AffineExpr> indices, bool isStore) {
  AffineExpr place = at.offset ? at.offset : space.constant(0);
  for (auto [index, stride] : llvm::zip_equal(indices, at.strides))
    place = space.add(place, space.multiply(index, stride));
  if (recorder)
    recorder->accesses.push_back(
        {place, isStore, at.isTemporary ? Value() : at.pointer, at.isOverwritten});
  return place;
}

Value ElementEmitter::address(const Storage &at, AffineExpr place, Location loc) {
  Value index = space.materialize(builder, loc, place);
  Value offset = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
  return LLVM::GEPOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
                             memoryType(at.element), at.pointer, ArrayRef<LLVM::GEPArg>{offset},
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value ElementEmitter::loadAt(const Storage &from, AffineExpr place, Location loc) {
  return LLVM::LoadOp::create(builder, loc, memoryType(from.element), address(from, place, loc));
}

void ElementEmitter::storeAt(const Storage &to, AffineExpr place, Value value, Location loc) {
  LLVM::StoreOp::create(builder, loc, value, address(to, place, loc));
}

Value ElementEmitter::load(const Storage &from, ArrayRef<AffineExpr> indices, Location loc) {
  return fromMemory(from, loadAt(from, placeOf(from, indices, false), loc), loc);
}

Value ElementEmitter::fromMemory(const Storage &from, Value value, Location loc) {
  if (!from.element.isInteger(1))
    return value;
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                               zeroOf(builder, loc, value.getType()));
}

Value ElementEmitter::toMemory(const Storage &to, Value value, Location loc) {
  return to.element.isInteger(1)
             ? arith::ExtUIOp::create(builder, loc, builder.getI8Type(), value).getResult()
             : value;
}

void ElementEmitter::store(const Storage &to, ArrayRef<AffineExpr> indices, Value value,
                           Location loc) {
  value = toMemory(to, value, loc);
  storeAt(to, placeOf(to, indices, true), value, loc);
}

static Attribute noUnrolling(MLIRContext *context) {
  auto unroll =
      LLVM::LoopUnrollAttr::get(context, BoolAttr::get(context, true), {}, {}, {}, {}, {}, {});
  return LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {}, {}, {},
                                       {}, {}, {});
}

SmallVector<Value> ElementEmitter::loop(Location loc, unsigned dim, Value upper, ValueRange carried,
                                        LoopBody body, Attribute annotation) {
  int64_t extent = space.dims[dim].extent;
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  if (extent == 1 && !upper) {
    space.dims[dim].iv = zero;
    return body(carried);
  }
  if (!upper)
    upper = arith::ConstantIndexOp::create(builder, loc, extent);
  double outside = points;
  points *= extent;
  auto forOp = scf::ForOp::create(builder, loc, zero, upper, one, carried,
                                  [&](OpBuilder &, Location, Value iv, ValueRange arguments) {
                                    space.dims[dim].iv = iv;
                                    scopes.emplace_back();
                                    SmallVector<Value> next = body(arguments);
                                    scopes.pop_back();
                                    scf::YieldOp::create(builder, loc, next);
                                  });
  points = outside;
  // Unrolling long loops costs compile time and code, and gains nothing after
  // vectorization.
  if (!annotation && extent > 8 && !unrollLongLoops)
    annotation = noUnrolling(builder.getContext());
  if (annotation)
    forOp->setAttr("llvm.loop_annotation", annotation);
  return SmallVector<Value>(forOp.getResults());
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

Value ElementEmitter::resolve(Value old, Region &region) {
  if (Value value = region.values.lookupOrNull(old))
    return value;
  auto index = region.indices.find(old);
  if (index != region.indices.end()) {
    if (recorder)
      recorder->values.push_back(index->second);
    return space.materialize(builder, old.getLoc(), index->second);
  }
  if (auto known = region.known.find(old); known != region.known.end())
    return arith::ConstantOp::create(builder, old.getLoc(), builder.getBoolAttr(known->second));
  // Only constants are captured from outside.
  auto constant = old.getDefiningOp<arith::ConstantOp>();
  assert(constant && "a body captured something else than a constant");
  IRMapping none;
  return copyOp(*constant, none)->getResult(0);
}

std::optional<AffineExpr> ElementEmitter::indexOf(Value old, Region &region) {
  if (!old.getType().isIndex())
    return std::nullopt;
  auto index = region.indices.find(old);
  if (index != region.indices.end())
    return index->second;
  if (auto constant = old.getDefiningOp<arith::ConstantIndexOp>())
    return space.constant(constant.value());
  if (Value value = region.values.lookupOrNull(old))
    return space.addSymbol(value);
  return std::nullopt;
}

SmallVector<AffineExpr> ElementEmitter::indicesOf(ValueRange values, Region &region) {
  SmallVector<AffineExpr> indices;
  for (Value value : values) {
    auto index = indexOf(value, region);
    indices.push_back(index ? *index : space.addSymbol(resolve(value, region)));
  }
  return indices;
}

bool ElementEmitter::emitIndexOp(Operation &op, Region &region) {
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    region.indices[index] = region.loops[index.getDim()];
    return true;
  }
  if (op.getNumOperands() != 2 || op.getNumResults() != 1 || !op.getResult(0).getType().isIndex())
    return false;
  auto lhs = indexOf(op.getOperand(0), region);
  auto rhs = indexOf(op.getOperand(1), region);
  if (!lhs || !rhs)
    return false;
  auto number = dyn_cast<AffineConstantExpr>(*rhs);
  AffineExpr result;
  if (isa<arith::AddIOp>(op)) {
    result = space.add(*lhs, *rhs);
  } else if (isa<arith::SubIOp>(op)) {
    result = space.add(*lhs, space.multiply(*rhs, -1));
  } else if (isa<arith::MulIOp>(op)) {
    if (number)
      result = space.multiply(*lhs, number.getValue());
    else if (auto factor = dyn_cast<AffineConstantExpr>(*lhs))
      result = space.multiply(*rhs, factor.getValue());
    else
      return false;
  } else if (isa<arith::DivUIOp, arith::RemUIOp>(op)) {
    auto range = space.range(*lhs);
    if (!number || !range || range->first < 0 || number.getValue() <= 0)
      return false;
    result = isa<arith::DivUIOp>(op) ? space.floorDiv(*lhs, number.getValue())
                                     : space.modulo(*lhs, number.getValue());
  } else {
    return false;
  }
  region.indices[op.getResult(0)] = result;
  return true;
}

bool ElementEmitter::foldComparison(Operation &op, Region &region) {
  if (isa<arith::AndIOp>(op) && op.getResult(0).getType().isInteger(1)) {
    for (unsigned i : {0u, 1u}) {
      auto known = region.known.find(op.getOperand(i));
      if (known == region.known.end())
        continue;
      Value other = op.getOperand(1 - i);
      auto otherKnown = region.known.find(other);
      if (!known->second || otherKnown != region.known.end())
        region.known[op.getResult(0)] =
            known->second && (otherKnown == region.known.end() || otherKnown->second);
      else
        region.values.map(op.getResult(0), resolve(other, region));
      return true;
    }
    return false;
  }
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare)
    return false;
  auto lhs = indexOf(compare.getLhs(), region);
  auto rhs = indexOf(compare.getRhs(), region);
  if (!lhs || !rhs)
    return false;
  auto left = space.range(*lhs), right = space.range(*rhs);
  auto difference = space.range(space.add(*lhs, space.multiply(*rhs, -1)));
  if (!left || !right || !difference)
    return false;
  std::optional<bool> result;
  auto [low, high] = *difference;
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::ult:
    if (right->first < 0)
      break;
    if (left->second < 0) {
      result = false;
      break;
    }
    if (left->first < 0)
      break;
    [[fallthrough]];
  case arith::CmpIPredicate::slt:
    if (high < 0)
      result = true;
    else if (low >= 0)
      result = false;
    break;
  case arith::CmpIPredicate::sle:
    if (high <= 0)
      result = true;
    else if (low > 0)
      result = false;
    break;
  case arith::CmpIPredicate::eq:
    if (low == 0 && high == 0)
      result = true;
    else if (low > 0 || high < 0)
      result = false;
    break;
  default:
    break;
  }
  if (!result)
    return false;
  region.known[op.getResult(0)] = *result;
  return true;
}

Operation *ElementEmitter::copyOp(Operation &op, IRMapping &operands) {
  return builder.clone(op, operands);
}

/// Neither branch writes, or has a loop.
static bool onlyReads(scf::IfOp ifOp) {
  if (ifOp.getNumResults() == 0 || llvm::any_of(ifOp.getResultTypes(), llvm::IsaPred<TensorType>))
    return false;
  WalkResult found = ifOp.walk([&](Operation *op) {
    bool isRead = isa<scf::IfOp, tensor::ExtractOp>(op) || op->hasTrait<OpTrait::IsTerminator>() ||
                  isPure(op);
    return isRead ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !found.wasInterrupted();
}

void ElementEmitter::emitIf(Operation &op, Region &region) {
  auto ifOp = cast<scf::IfOp>(op);
  auto mapResults = [&](ArrayRef<Value> yielded, scf::YieldOp terminator) {
    for (auto [old, value, source] :
         llvm::zip_equal(ifOp.getResults(), yielded, terminator.getOperands())) {
      if (value)
        region.values.map(old, value);
      else
        storage[old] = storage.lookup(source);
    }
  };
  if (auto known = region.known.find(ifOp.getCondition()); known != region.known.end()) {
    Block *block = known->second ? ifOp.thenBlock() : ifOp.elseBlock();
    if (!block)
      return;
    SmallVector<Value> yielded = emitBlock(*block, region);
    mapResults(yielded, cast<scf::YieldOp>(block->getTerminator()));
    return;
  }
  if (choosesLate && onlyReads(ifOp)) {
    Value condition = resolve(ifOp.getCondition(), region);
    ++unsure;
    SmallVector<Value> first = emitBlock(*ifOp.thenBlock(), region);
    SmallVector<Value> second = emitBlock(*ifOp.elseBlock(), region);
    --unsure;
    for (auto [old, one, other] : llvm::zip_equal(ifOp.getResults(), first, second))
      region.values.map(
          old, arith::SelectOp::create(builder, op.getLoc(), condition, one, other).getResult());
    return;
  }
  SmallVector<Type> types;
  for (Type type : ifOp.getResultTypes())
    if (!isa<TensorType>(type))
      types.push_back(type);
  Location loc = op.getLoc();
  auto copy = scf::IfOp::create(builder, loc, types, resolve(ifOp.getCondition(), region),
                                /*addThenBlock=*/true, /*addElseBlock=*/true);
  for (bool isThen : {true, false}) {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = isThen ? copy.thenBlock() : copy.elseBlock();
    builder.setInsertionPointToStart(block);
    scopes.emplace_back();
    SmallVector<Value> yielded;
    if (Block *old = isThen ? ifOp.thenBlock() : ifOp.elseBlock())
      yielded = emitBlock(*old, region);
    scopes.pop_back();
    llvm::erase(yielded, Value());
    scf::YieldOp::create(builder, loc, yielded);
  }
  unsigned next = 0;
  SmallVector<Value> results;
  for (Type type : ifOp.getResultTypes())
    results.push_back(isa<TensorType>(type) ? Value() : copy.getResult(next++));
  if (!results.empty())
    mapResults(results, ifOp.thenYield());
}

void ElementEmitter::emitFor(Operation &op, Region &region) {
  auto forOp = cast<scf::ForOp>(op);
  SmallVector<Value> inits;
  for (auto [argument, init] : llvm::zip_equal(forOp.getRegionIterArgs(), forOp.getInitArgs())) {
    if (isa<TensorType>(init.getType()))
      storage[argument] = storage.lookup(init);
    else
      inits.push_back(resolve(init, region));
  }
  Location loc = op.getLoc();
  Value lower = resolve(forOp.getLowerBound(), region);
  Value upper = resolve(forOp.getUpperBound(), region);
  Value step = resolve(forOp.getStep(), region);
  double outside = points;
  if (auto trips = forOp.getStaticTripCount())
    points *= trips->getSExtValue();
  auto copy = scf::ForOp::create(builder, loc, lower, upper, step, inits,
                                 [&](OpBuilder &, Location, Value iv, ValueRange arguments) {
                                   // A loop of the body is a dim, so that its range is known.
                                   if (auto trips = forOp.getStaticTripCount())
                                     region.indices[forOp.getInductionVar()] =
                                         space.addDim(trips->getSExtValue(), false, iv);
                                   else
                                     region.values.map(forOp.getInductionVar(), iv);
                                   unsigned next = 0;
                                   for (Value argument : forOp.getRegionIterArgs())
                                     if (!isa<TensorType>(argument.getType()))
                                       region.values.map(argument, arguments[next++]);
                                   scopes.emplace_back();
                                   SmallVector<Value> yielded = emitBlock(*forOp.getBody(), region);
                                   scopes.pop_back();
                                   llvm::erase(yielded, Value());
                                   scf::YieldOp::create(builder, loc, yielded);
                                 });
  points = outside;
  unsigned next = 0;
  for (auto [old, argument] : llvm::zip_equal(forOp.getResults(), forOp.getRegionIterArgs())) {
    if (isa<TensorType>(old.getType()))
      storage[old] = storage.lookup(argument);
    else
      region.values.map(old, copy.getResult(next++));
  }
}

/// A computed index into a dim of that size: within it where the element is wanted, and moved there
/// where nobody knows.
AffineExpr ElementEmitter::lookedUp(Value index, int64_t size, Location loc) {
  if (unsure > 0) {
    Value least = arith::ConstantIndexOp::create(builder, loc, 0);
    Value most = arith::ConstantIndexOp::create(builder, loc, std::max<int64_t>(0, size - 1));
    index = arith::MinSIOp::create(builder, loc, arith::MaxSIOp::create(builder, loc, index, least),
                                   most);
  }
  return space.addSymbol(index, size);
}

void ElementEmitter::emitOp(Operation &op, Region &region) {
  if (recorder)
    recorder->work += points * operationCost(op);
  if (emitIndexOp(op, region) || foldComparison(op, region))
    return;
  if (isa<scf::IfOp>(op))
    return emitIf(op, region);
  if (isa<scf::ForOp>(op))
    return emitFor(op, region);
  if (isa<tensor::EmptyOp>(op))
    return; // has a storage already
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    SmallVector<AffineExpr> indices = indicesOf(extract.getIndices(), region);
    for (auto [index, size] : llvm::zip_equal(indices, extract.getTensor().getType().getShape()))
      if (auto symbol = dyn_cast<AffineSymbolExpr>(index))
        index = lookedUp(space.symbols[symbol.getPosition()].value, size, op.getLoc());
    region.values.map(extract, element(extract.getTensor(), indices));
    return;
  }
  if (auto insert = dyn_cast<tensor::InsertOp>(op)) {
    Storage target = storage.lookup(insert.getDest());
    store(target, indicesOf(insert.getIndices(), region), resolve(insert.getScalar(), region),
          op.getLoc());
    storage[insert] = target;
    return;
  }
  IRMapping operands;
  for (Value operand : op.getOperands())
    operands.map(operand, resolve(operand, region));
  Operation *copy = copyOp(op, operands);
  region.values.map(op.getResults(), copy->getResults());
}

SmallVector<Value> ElementEmitter::emitBlock(Block &block, Region &region) {
  for (Operation &op : block.without_terminator())
    emitOp(op, region);
  SmallVector<Value> yielded;
  for (Value value : block.getTerminator()->getOperands())
    yielded.push_back(isa<TensorType>(value.getType()) ? Value() : resolve(value, region));
  return yielded;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

double ElementEmitter::inlineCost(Value tensor) const {
  // Bounded, because values that are reached by many ways count many times.
  constexpr double enough = 64;
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return 0;
  double cost = 0;
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    generic.getBody()->walk([&](Operation *inner) {
      cost += operationCost(*inner);
      if (auto extract = dyn_cast<tensor::ExtractOp>(inner))
        if (!nestResults.contains(extract.getTensor()) && cost < enough)
          cost += inlineCost(extract.getTensor());
    });
  for (Value operand : op->getOperands())
    if (cost < enough && isa<TensorType>(operand.getType()) && !nestResults.contains(operand))
      cost += inlineCost(operand);
  return std::min(cost, enough);
}
