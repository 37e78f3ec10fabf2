// Code of reductions, windows, scans and orders.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace weft;
using namespace weft::nn;

/// The type in which values of `element` are summed.
static Type accumulatorOf(Type element) {
  auto type = dyn_cast<FloatType>(element);
  if (type && type.getWidth() < 32)
    return Float32Type::get(element.getContext());
  return element;
}

/// Rounds a tensor of accumulators to the op's result type.
static Value narrow(OpBuilder &builder, Location loc, Value tensor, RankedTensorType type) {
  if (tensor.getType() == type)
    return tensor;
  return buildParallel(builder, loc, type, tensor, {}, [&](ScalarBuilder s, ValueRange arguments) {
    return s.roundTo(arguments[0], type.getElementType());
  });
}

//===----------------------------------------------------------------------===//
// reduce and arg_reduce
//===----------------------------------------------------------------------===//

/// Leading result dims are leading operand dims as long as none is reduced;
/// cutting them leaves each piece whole rows.
unsigned ReduceOp::getParallelDims() { return getType().getRank(); }
unsigned ArgReduceOp::getParallelDims() { return getType().getRank(); }

SmallVector<Value> ReduceOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  Value reduced = buildReduceDims(builder, loc, getKind(), operands[0], getDims(),
                                  accumulatorOf(elementOf(getOperand())));
  return {narrow(builder, loc, reduced, bodyType(getType()))};
}

/// True where `x` at a later position takes the place of `best`.
static Value takes(ScalarBuilder s, bool least, bool last, Value x, Value best, Type type) {
  CompareKind kind = least ? (last ? CompareKind::Le : CompareKind::Lt)
                           : (last ? CompareKind::Ge : CompareKind::Gt);
  Value wins = s.compare(kind, x, best, type);
  if (!isa<FloatType>(type))
    return wins;
  // A NaN wins; of several, the first or the last.
  Value xNan = s.compare(CompareKind::Ne, x, x, type);
  if (!last) {
    Value bestIsNumber = s.compare(CompareKind::Eq, best, best, type);
    xNan = arith::AndIOp::create(s.builder, s.loc, xNan, bestIsNumber);
  }
  return arith::OrIOp::create(s.builder, s.loc, wins, xNan);
}

/// A reduction with two results, the best value and its index (i64). `body`
/// gets the best value and index so far and returns the new ones.
using ArgBodyFn = llvm::function_ref<std::pair<Value, Value>(ScalarBuilder, ValueRange inputs,
                                                             Value best, Value bestIndex)>;
static Value buildArgReduction(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape,
                               Type element, bool least, int64_t initialIndex, ValueRange inputs,
                               ArrayRef<AffineMap> inputMaps, AffineMap resultMap, ArgBodyFn body) {
  ScalarBuilder outer{builder, loc};
  Type signless = signlessElement(element);
  auto filled = [&](Value value) -> Value {
    Value empty = tensor::EmptyOp::create(builder, loc, shape, value.getType());
    return linalg::FillOp::create(builder, loc, value, empty).getResult(0);
  };
  Value inits[] = {filled(outer.neutral(least ? ReduceKind::Min : ReduceKind::Max, element)),
                   filled(outer.integer(builder.getI64Type(), initialIndex))};
  SmallVector<AffineMap> maps(inputMaps);
  maps.append(2, resultMap);
  SmallVector<utils::IteratorType> iterators(resultMap.getNumDims(),
                                             utils::IteratorType::reduction);
  for (AffineExpr expr : resultMap.getResults())
    iterators[cast<AffineDimExpr>(expr).getPosition()] = utils::IteratorType::parallel;
  Type types[] = {RankedTensorType::get(shape, signless),
                  RankedTensorType::get(shape, builder.getI64Type())};
  auto generic = linalg::GenericOp::create(
      builder, loc, TypeRange(types), inputs, ValueRange(inits), maps, iterators,
      [&](OpBuilder &nested, Location nestedLoc, ValueRange arguments) {
        auto [best, index] = body({nested, nestedLoc}, arguments.take_front(inputs.size()),
                                  arguments[inputs.size()], arguments[inputs.size() + 1]);
        linalg::YieldOp::create(nested, nestedLoc, ValueRange{best, index});
      });
  return generic.getResult(1);
}

SmallVector<Value> ArgReduceOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  auto type = cast<RankedTensorType>(operands[0].getType());
  Type element = elementOf(getOperand());
  bool least = getKind() == ReduceKind::Min;
  SmallVector<AffineExpr> kept;
  SmallVector<int64_t> shape;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (d != int64_t(getDim())) {
      kept.push_back(builder.getAffineDimExpr(d));
      shape.push_back(type.getDimSize(d));
    }
  return {buildArgReduction(builder, loc, shape, element, least, 0, operands[0],
                            builder.getMultiDimIdentityMap(type.getRank()),
                            AffineMap::get(type.getRank(), 0, kept, builder.getContext()),
                            [&](ScalarBuilder s, ValueRange inputs, Value best, Value bestIndex) {
                              Value take =
                                  takes(s, least, getSelectLast(), inputs[0], best, element);
                              Value here = arith::IndexCastOp::create(
                                  s.builder, s.loc, s.builder.getI64Type(),
                                  linalg::IndexOp::create(s.builder, s.loc, getDim()));
                              return std::pair<Value, Value>(
                                  arith::SelectOp::create(s.builder, s.loc, take, inputs[0], best),
                                  arith::SelectOp::create(s.builder, s.loc, take, here, bestIndex));
                            })};
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

namespace {

/// Loops of a windowed op: leading dims, window dims, then result positions
/// innermost, so that those run along memory.
struct WindowLoops {
  RankedTensorType operandType, resultType;
  ArrayRef<int64_t> window, strides, padLow, dilations;

  int64_t leading() const { return operandType.getRank() - window.size(); }
  unsigned numLoops() const { return operandType.getRank() + window.size(); }
  unsigned windowLoop(unsigned i) const { return leading() + i; }
  unsigned positionLoop(unsigned i) const { return leading() + window.size() + i; }

  AffineMap map(OpBuilder &builder, bool ofResult) const {
    SmallVector<AffineExpr> exprs;
    for (int64_t d = 0; ofResult && d < leading(); ++d)
      exprs.push_back(builder.getAffineDimExpr(d));
    for (unsigned i = 0; i < window.size(); ++i)
      exprs.push_back(builder.getAffineDimExpr(ofResult ? positionLoop(i) : windowLoop(i)));
    return AffineMap::get(numLoops(), 0, exprs, builder.getContext());
  }

  /// Indices into the operand, and whether they are inside it (null: always).
  Value locate(ScalarBuilder s, SmallVectorImpl<Value> &at) const {
    Value inside;
    for (int64_t d = 0; d < leading(); ++d)
      at.push_back(linalg::IndexOp::create(s.builder, s.loc, d));
    for (unsigned i = 0; i < window.size(); ++i) {
      Value position = linalg::IndexOp::create(s.builder, s.loc, positionLoop(i));
      Value inWindow = linalg::IndexOp::create(s.builder, s.loc, windowLoop(i));
      Value index =
          s.add(s.mul(position, s.index(strides[i])), s.mul(inWindow, s.index(dilations[i])));
      index = s.add(index, s.index(-padLow[i]));
      int64_t size = operandType.getDimSize(leading() + i);
      Value in =
          arith::CmpIOp::create(s.builder, s.loc, arith::CmpIPredicate::ult, index, s.index(size));
      inside = inside ? arith::AndIOp::create(s.builder, s.loc, inside, in).getResult() : in;
      at.push_back(index);
    }
    return inside;
  }

  /// A tensor that only gives the window loops their sizes.
  Value windowShape(OpBuilder &builder, Location loc) const {
    return tensor::EmptyOp::create(builder, loc, window, builder.getI8Type());
  }
};

} // namespace

unsigned ReduceWindowOp::getParallelDims() { return getType().getRank(); }
unsigned ArgWindowOp::getParallelDims() { return getType().getRank(); }

SmallVector<Value> ReduceWindowOp::buildBody(OpBuilder &builder, Location loc,
                                             ValueRange operands) {
  Type element = elementOf(getOperand());
  Type accumulator = accumulatorOf(element);
  RankedTensorType type = bodyType(getType());
  WindowLoops loops{cast<RankedTensorType>(operands[0].getType()),
                    type,
                    getWindow(),
                    getStrides(),
                    getPadLow(),
                    getDilations()};
  ScalarBuilder outer{builder, loc};
  Value reduced = buildReduction(
      builder, loc, RankedTensorType::get(type.getShape(), signlessElement(accumulator)),
      outer.neutral(getKind(), accumulator), loops.windowShape(builder, loc),
      loops.map(builder, false), loops.map(builder, true),
      [&](ScalarBuilder s, ValueRange arguments) {
        SmallVector<Value> at;
        Value inside = loops.locate(s, at);
        Value neutral = s.neutral(getKind(), element);
        Value value = extractIf(s, inside, operands[0], at, neutral);
        if (isa<FloatType>(element))
          value = s.roundTo(value, accumulator);
        return s.combine(getKind(), arguments[1], value, accumulator);
      });
  return {narrow(builder, loc, reduced, type)};
}

SmallVector<Value> ArgWindowOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  Type element = elementOf(getOperand());
  RankedTensorType type = bodyType(getType());
  WindowLoops loops{cast<RankedTensorType>(operands[0].getType()),
                    type,
                    getWindow(),
                    getStrides(),
                    getPadLow(),
                    getDilations()};
  Value index = buildArgReduction(
      builder, loc, type.getShape(), element, /*least=*/false,
      /*initialIndex=*/-1, loops.windowShape(builder, loc), loops.map(builder, false),
      loops.map(builder, true), [&](ScalarBuilder s, ValueRange, Value best, Value bestIndex) {
        SmallVector<Value> at;
        Value inside = loops.locate(s, at);
        Value padding = s.neutral(ReduceKind::Max, element);
        Value value = extractIf(s, inside, operands[0], at, padding);
        Value take = takes(s, false, false, value, best, element);
        // The first element is taken even if it is the least of its type.
        Value isFirst = s.compare(CompareKind::Lt, bestIndex, s.integer(bestIndex.getType(), 0),
                                  bestIndex.getType());
        take = arith::OrIOp::create(s.builder, s.loc, take, isFirst);
        if (inside)
          take = arith::AndIOp::create(s.builder, s.loc, take, inside);
        // The flat index over the windowed dims.
        Value flat = s.index(0);
        auto order = llvm::to_vector(llvm::seq<int64_t>(loops.leading(), at.size()));
        if (getColumnMajor())
          std::reverse(order.begin(), order.end());
        for (int64_t dim : order)
          flat = s.add(s.mul(flat, s.index(loops.operandType.getDimSize(dim))), at[dim]);
        Value here = arith::IndexCastOp::create(s.builder, s.loc, s.builder.getI64Type(), flat);
        return std::pair<Value, Value>(
            arith::SelectOp::create(s.builder, s.loc, take, value, best),
            arith::SelectOp::create(s.builder, s.loc, take, here, bestIndex));
      });
  // A window that sees padding only has chosen nothing; that is index 0.
  return {buildParallel(builder, loc, type, index, {}, [](ScalarBuilder s, ValueRange arguments) {
    Value zero = s.integer(arguments[0].getType(), 0);
    return arith::MaxSIOp::create(s.builder, s.loc, arguments[0], zero).getResult();
  })};
}

//===----------------------------------------------------------------------===//
// scan and top_k: sequential along one dim
//===----------------------------------------------------------------------===//

/// One scf.forall over all dims but `dim`; `row` gets the operand's indices
/// (null at `dim`) and returns one row for each result.
using RowFn = llvm::function_ref<SmallVector<Value>(ScalarBuilder, ArrayRef<Value>)>;
static SmallVector<Value> buildRows(OpBuilder &builder, Location loc,
                                    ArrayRef<RankedTensorType> resultTypes, int64_t dim,
                                    RowFn row) {
  int64_t rank = resultTypes[0].getRank();
  SmallVector<OpFoldResult> lower, upper, step;
  for (int64_t d = 0; d < rank; ++d) {
    if (d == dim)
      continue;
    lower.push_back(builder.getIndexAttr(0));
    upper.push_back(builder.getIndexAttr(resultTypes[0].getDimSize(d)));
    step.push_back(builder.getIndexAttr(1));
  }
  SmallVector<Value> empties;
  for (RankedTensorType type : resultTypes)
    empties.push_back(
        tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType()));
  auto forall = scf::ForallOp::create(
      builder, loc, lower, upper, step, ValueRange(empties), std::nullopt,
      [&](OpBuilder &nested, Location nestedLoc, ValueRange arguments) {
        SmallVector<Value> at(rank);
        SmallVector<OpFoldResult> offsets(rank, nested.getIndexAttr(0));
        unsigned next = 0;
        for (int64_t d = 0; d < rank; ++d)
          if (d != dim) {
            at[d] = arguments[next++];
            offsets[d] = at[d];
          }
        SmallVector<Value> rows = row({nested, nestedLoc}, at);
        auto terminator = scf::InParallelOp::create(nested, nestedLoc);
        nested.setInsertionPointToStart(terminator.getBody());
        for (auto [value, output, type] :
             llvm::zip_equal(rows, arguments.take_back(resultTypes.size()), resultTypes)) {
          SmallVector<OpFoldResult> sizes(rank, nested.getIndexAttr(1)), strides = sizes;
          sizes[dim] = nested.getIndexAttr(type.getDimSize(dim));
          tensor::ParallelInsertSliceOp::create(nested, nestedLoc, value, output, offsets, sizes,
                                                strides);
        }
      });
  return SmallVector<Value>(forall.getResults());
}

/// The result dims before the one that is walked.
unsigned ScanOp::getParallelDims() { return getDim(); }
unsigned TopKOp::getParallelDims() { return getDim(); }

SmallVector<Value> ScanOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  RankedTensorType type = bodyType(getType());
  Type accumulator = accumulatorOf(elementOf(getOperand()));
  int64_t dim = getDim(), size = type.getDimSize(dim);
  return buildRows(builder, loc, type, dim, [&](ScalarBuilder s, ArrayRef<Value> outer) {
    Value empty = tensor::EmptyOp::create(s.builder, s.loc, {size}, type.getElementType());
    Value neutral = s.neutral(getKind(), accumulator);
    auto loop = scf::ForOp::create(
        s.builder, s.loc, s.index(0), s.index(size), s.index(1), ValueRange{neutral, empty},
        [&](OpBuilder &nested, Location nestedLoc, Value iv, ValueRange carried) {
          ScalarBuilder n{nested, nestedLoc};
          Value position = iv;
          if (getReverse())
            position = arith::SubIOp::create(nested, nestedLoc, n.index(size - 1), iv);
          SmallVector<Value> at(outer);
          at[dim] = position;
          Value value = n.widen(tensor::ExtractOp::create(nested, nestedLoc, operands[0], at));
          Value sum = n.combine(getKind(), carried[0], value, accumulator);
          Value stored = n.roundTo(getExclusive() ? carried[0] : sum, type.getElementType());
          Value row = tensor::InsertOp::create(nested, nestedLoc, stored, carried[1], position);
          scf::YieldOp::create(nested, nestedLoc, ValueRange{sum, row});
        });
    return SmallVector<Value>{loop.getResult(1)};
  });
}

/// Where `x` is less than `other`, NaN being greater than all else.
static Value isBelow(ScalarBuilder s, Value x, Value other, Type type) {
  Value less = s.compare(CompareKind::Lt, x, other, type);
  if (!isa<FloatType>(type))
    return less;
  Value isNumber = s.compare(CompareKind::Eq, x, x, type),
        isNone = s.compare(CompareKind::Ne, other, other, type);
  return arith::OrIOp::create(s.builder, s.loc, less,
                              arith::AndIOp::create(s.builder, s.loc, isNumber, isNone));
}

/// Insertion into the sorted row of the best k: the newcomer goes down the
/// row, changing places with what it beats. O(n k), and without temporaries.
SmallVector<Value> TopKOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  RankedTensorType type = bodyType(getValues().getType());
  RankedTensorType indexType = bodyType(getIndices().getType());
  Type element = elementOf(getOperand());
  auto operandType = cast<RankedTensorType>(operands[0].getType());
  int64_t dim = getDim(), k = type.getDimSize(dim);
  RankedTensorType types[] = {type, indexType};
  return buildRows(builder, loc, types, dim, [&](ScalarBuilder s, ArrayRef<Value> outer) {
    Value values = tensor::EmptyOp::create(s.builder, s.loc, {k}, type.getElementType());
    Value indices = tensor::EmptyOp::create(s.builder, s.loc, {k}, indexType.getElementType());
    auto each = [&](OpBuilder &nested, Location nestedLoc, Value i, ValueRange rows) {
      ScalarBuilder n{nested, nestedLoc};
      SmallVector<Value> at(outer);
      at[dim] = i;
      Value x = tensor::ExtractOp::create(nested, nestedLoc, operands[0], at);
      Value xIndex = arith::IndexCastOp::create(nested, nestedLoc, indexType.getElementType(), i);
      auto sift = [&](OpBuilder &inner, Location innerLoc, Value j, ValueRange carried) {
        ScalarBuilder m{inner, innerLoc};
        Value old = tensor::ExtractOp::create(inner, innerLoc, carried[0], j);
        Value oldIndex = tensor::ExtractOp::create(inner, innerLoc, carried[1], j);
        // Places from the i-th on are still free.
        Value isFree = arith::CmpIOp::create(inner, innerLoc, arith::CmpIPredicate::sge, j, i);
        // What was pushed out of its place pushes on, ties included: it
        // stood before.
        Value wins = getSmallest() ? isBelow(m, carried[2], old, element)
                                   : takes(m, /*least=*/false, false, carried[2], old, element);
        Value tie = arith::AndIOp::create(
            inner, innerLoc, m.compare(CompareKind::Eq, carried[2], old, element),
            arith::CmpIOp::create(inner, innerLoc, arith::CmpIPredicate::slt, carried[3],
                                  oldIndex));
        if (isa<FloatType>(element)) {
          Value bothNan = arith::AndIOp::create(
              inner, innerLoc, m.compare(CompareKind::Ne, carried[2], carried[2], element),
              m.compare(CompareKind::Ne, old, old, element));
          Value before = arith::CmpIOp::create(inner, innerLoc, arith::CmpIPredicate::slt,
                                               carried[3], oldIndex);
          tie = arith::OrIOp::create(inner, innerLoc, tie,
                                     arith::AndIOp::create(inner, innerLoc, bothNan, before));
        }
        Value take = arith::OrIOp::create(inner, innerLoc, isFree,
                                          arith::OrIOp::create(inner, innerLoc, wins, tie));
        auto choose = [&](Value yes, Value no) -> Value {
          return arith::SelectOp::create(inner, innerLoc, take, yes, no);
        };
        Value row0 =
            tensor::InsertOp::create(inner, innerLoc, choose(carried[2], old), carried[0], j);
        Value row1 =
            tensor::InsertOp::create(inner, innerLoc, choose(carried[3], oldIndex), carried[1], j);
        scf::YieldOp::create(
            inner, innerLoc,
            ValueRange{row0, row1, choose(old, carried[2]), choose(oldIndex, carried[3])});
      };
      auto loop = scf::ForOp::create(nested, nestedLoc, n.index(0), n.index(k), n.index(1),
                                     ValueRange{rows[0], rows[1], x, xIndex}, sift);
      scf::YieldOp::create(nested, nestedLoc, ValueRange{loop.getResult(0), loop.getResult(1)});
    };
    auto loop =
        scf::ForOp::create(s.builder, s.loc, s.index(0), s.index(operandType.getDimSize(dim)),
                           s.index(1), ValueRange{values, indices}, each);
    return SmallVector<Value>{loop.getResult(0), loop.getResult(1)};
  });
}
