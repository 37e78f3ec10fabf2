// Code of gather and scatter.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace weft;
using namespace weft::nn;

namespace {

/// How gather and scatter relate dims of the operand, the indices and the
/// window (the result of gather, the updates of scatter).
struct IndexGeometry {
  ArrayRef<int64_t> indexed, operandBatch, indicesBatch;
  RankedTensorType operandType, indicesType;
  /// The operand's dims that are read whole.
  SmallVector<int64_t> whole;

  int64_t numIndexDims() const { return indicesType.getRank() - 1; }
};

} // namespace

template <typename Op> static IndexGeometry geometryOf(Op op, ValueRange operands) {
  IndexGeometry g{op.getIndexed(),
                  op.getOperandBatch(),
                  op.getIndicesBatch(),
                  cast<RankedTensorType>(operands[0].getType()),
                  cast<RankedTensorType>(operands[1].getType()),
                  {}};
  for (int64_t dim = 0; dim < g.operandType.getRank(); ++dim)
    if (!llvm::is_contained(g.indexed, dim) && !llvm::is_contained(g.operandBatch, dim))
      g.whole.push_back(dim);
  return g;
}

/// The index vector at `indexDims` put into the operand's indexed dims, and
/// whether all its components are within the operand.
static Value loadIndices(ScalarBuilder s, const IndexGeometry &g, Value indices, Type indexElement,
                         ArrayRef<Value> indexDims, MutableArrayRef<Value> operandIndices) {
  Value inside;
  for (auto [component, dim] : llvm::enumerate(g.indexed)) {
    SmallVector<Value> at(indexDims);
    at.push_back(s.index(component));
    Value loaded = tensor::ExtractOp::create(s.builder, s.loc, indices, at);
    Type indexType = s.builder.getIndexType();
    Value index =
        isUnsignedElement(indexElement)
            ? arith::IndexCastUIOp::create(s.builder, s.loc, indexType, loaded).getResult()
            : arith::IndexCastOp::create(s.builder, s.loc, indexType, loaded).getResult();
    // Unsigned: a negative index is out of range too.
    Value in = arith::CmpIOp::create(s.builder, s.loc, arith::CmpIPredicate::ult, index,
                                     s.index(g.operandType.getDimSize(dim)));
    inside = inside ? arith::AndIOp::create(s.builder, s.loc, inside, in).getResult() : in;
    operandIndices[dim] = index;
  }
  return inside ? inside : s.integer(s.builder.getI1Type(), 1);
}

SmallVector<Value> GatherOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  RankedTensorType type = bodyType(getType());
  IndexGeometry g = geometryOf(*this, operands);
  return {buildParallel(builder, loc, type, {}, {}, [&](ScalarBuilder s, ValueRange) {
    Value zero = s.constant(type.getElementType(), 0);
    if (g.operandType.getNumElements() == 0)
      return zero;
    SmallVector<Value> loops = loopIndices(s, type.getRank());
    ArrayRef<Value> indexDims = ArrayRef(loops).take_front(g.numIndexDims());
    SmallVector<Value> at(g.operandType.getRank());
    for (auto [operandDim, indexDim] : llvm::zip_equal(g.operandBatch, g.indicesBatch))
      at[operandDim] = loops[indexDim];
    for (auto [number, dim] : llvm::enumerate(g.whole))
      at[dim] = loops[g.numIndexDims() + number];
    Value inside = loadIndices(s, g, operands[1], elementOf(getIndices()), indexDims, at);
    return extractIf(s, inside, operands[0], at, zero);
  })};
}

/// The new value of an element of which `old` is there and `update` arrives.
static Value meet(ScalarBuilder s, ScatterKind kind, Value old, Value update, Type element) {
  auto combine = [&](ReduceKind reduce) {
    return s.roundTo(s.combine(reduce, s.widen(old), s.widen(update), element), old.getType());
  };
  switch (kind) {
  case ScatterKind::Assign:
    return update;
  case ScatterKind::Add:
    return combine(ReduceKind::Sum);
  case ScatterKind::Mul:
    return combine(ReduceKind::Prod);
  case ScatterKind::Max:
    return combine(ReduceKind::Max);
  case ScatterKind::Min:
    return combine(ReduceKind::Min);
  }
  llvm_unreachable("covered switch");
}

std::optional<LibraryCall> ScatterOp::getLibraryCall() {
  if (getKind() != ScatterKind::Add || getIndexed() != ArrayRef<int64_t>{0} ||
      !getOperandBatch().empty())
    return std::nullopt;
  LibraryCall call;
  call.command = "scatter_add";
  call.reads = {1, 2};
  // Zeros need no memory: the gradient of a lookup has them.
  if (matchPattern(getOperand(), m_Zero()) || matchPattern(getOperand(), m_PosZeroFloat()))
    return call;
  call.mayLack = {0};
  call.overwrites = 0;
  return call;
}

unsigned ScatterOp::getParallelDims() {
  // Leading operand dims that no index chooses.
  unsigned dims = 0;
  while (dims < getType().getRank() && !llvm::is_contained(getIndexed(), int64_t(dims)))
    ++dims;
  return dims;
}

/// Nested scf.for over `extents` from `level` on that carry one tensor.
static Value
carryThroughLoops(ScalarBuilder s, ArrayRef<int64_t> extents, Value carried,
                  SmallVectorImpl<Value> &ivs,
                  llvm::function_ref<Value(ScalarBuilder, ArrayRef<Value>, Value)> body) {
  if (ivs.size() == extents.size())
    return body(s, ivs, carried);
  auto loop = scf::ForOp::create(
      s.builder, s.loc, s.index(0), s.index(extents[ivs.size()]), s.index(1), carried,
      [&](OpBuilder &nested, Location loc, Value iv, ValueRange arguments) {
        ivs.push_back(iv);
        Value next = carryThroughLoops({nested, loc}, extents, arguments[0], ivs, body);
        ivs.pop_back();
        scf::YieldOp::create(nested, loc, next);
      });
  return loop.getResult(0);
}

SmallVector<Value> ScatterOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  RankedTensorType type = bodyType(getType());
  Type element = elementOf(getResult());
  IndexGeometry g = geometryOf(*this, operands);
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
  // The dims that no index chooses are independent of each other.
  SmallVector<int64_t> outerDims, rowShape, indexExtents, indexDims;
  SmallVector<OpFoldResult> sizes, strides(type.getRank(), builder.getIndexAttr(1));
  SmallVector<OpFoldResult> lower, upper, step;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (llvm::is_contained(g.indexed, dim)) {
      rowShape.push_back(type.getDimSize(dim));
      sizes.push_back(builder.getIndexAttr(type.getDimSize(dim)));
      continue;
    }
    outerDims.push_back(dim);
    sizes.push_back(builder.getIndexAttr(1));
    lower.push_back(builder.getIndexAttr(0));
    upper.push_back(builder.getIndexAttr(type.getDimSize(dim)));
    step.push_back(builder.getIndexAttr(1));
  }
  for (int64_t dim = 0; dim < g.numIndexDims(); ++dim)
    if (!llvm::is_contained(g.indicesBatch, dim)) {
      indexDims.push_back(dim);
      indexExtents.push_back(g.indicesType.getDimSize(dim));
    }

  auto buildRow = [&](OpBuilder &nested, Location nestedLoc, ValueRange ivs) {
    ScalarBuilder s{nested, nestedLoc};
    SmallVector<Value> outer(type.getRank()); // by operand dim
    for (auto [dim, iv] : llvm::zip_equal(outerDims, ivs))
      outer[dim] = iv;
    Value row = tensor::EmptyOp::create(nested, nestedLoc, rowShape, type.getElementType());
    SmallVector<Value> loops;
    row = carryThroughLoops(
        s, rowShape, row, loops, [&](ScalarBuilder s, ArrayRef<Value> rowIvs, Value carried) {
          SmallVector<Value> at = outer;
          for (auto [number, dim] : llvm::enumerate(
                   llvm::make_filter_range(llvm::seq<int64_t>(0, type.getRank()), [&](int64_t dim) {
                     return llvm::is_contained(g.indexed, dim);
                   })))
            at[dim] = rowIvs[number];
          Value old = tensor::ExtractOp::create(s.builder, s.loc, operands[0], at);
          return tensor::InsertOp::create(s.builder, s.loc, old, carried, rowIvs).getResult();
        });
    return carryThroughLoops(
        s, indexExtents, row, loops, [&](ScalarBuilder s, ArrayRef<Value> indexIvs, Value carried) {
          SmallVector<Value> indexAt(g.numIndexDims());
          for (auto [dim, iv] : llvm::zip_equal(indexDims, indexIvs))
            indexAt[dim] = iv;
          for (auto [operandDim, indexDim] : llvm::zip_equal(g.operandBatch, g.indicesBatch))
            indexAt[indexDim] = outer[operandDim];
          SmallVector<Value> at = outer, rowAt, updateAt = indexAt;
          for (int64_t dim : g.whole)
            updateAt.push_back(outer[dim]);
          Value inside = loadIndices(s, g, operands[1], elementOf(getIndices()), indexAt, at);
          for (int64_t dim = 0; dim < type.getRank(); ++dim)
            if (llvm::is_contained(g.indexed, dim))
              rowAt.push_back(at[dim]);
          auto branch = scf::IfOp::create(
              s.builder, s.loc, inside,
              [&](OpBuilder &then, Location thenLoc) {
                Value update = tensor::ExtractOp::create(then, thenLoc, operands[2], updateAt);
                Value old = tensor::ExtractOp::create(then, thenLoc, carried, rowAt);
                Value value = meet({then, thenLoc}, getKind(), old, update, element);
                Value next = tensor::InsertOp::create(then, thenLoc, value, carried, rowAt);
                scf::YieldOp::create(then, thenLoc, next);
              },
              [&](OpBuilder &otherwise, Location elseLoc) {
                scf::YieldOp::create(otherwise, elseLoc, carried);
              });
          return branch.getResult(0);
        });
  };

  auto forall = scf::ForallOp::create(
      builder, loc, lower, upper, step, ValueRange{empty}, std::nullopt,
      [&](OpBuilder &nested, Location nestedLoc, ValueRange arguments) {
        ValueRange ivs = arguments.take_front(outerDims.size());
        Value row = buildRow(nested, nestedLoc, ivs);
        SmallVector<OpFoldResult> offsets(type.getRank(), nested.getIndexAttr(0));
        for (auto [dim, iv] : llvm::zip_equal(outerDims, ivs))
          offsets[dim] = iv;
        auto terminator = scf::InParallelOp::create(nested, nestedLoc);
        nested.setInsertionPointToStart(terminator.getBody());
        tensor::ParallelInsertSliceOp::create(nested, nestedLoc, row, arguments.back(), offsets,
                                              sizes, strides);
      });
  return {forall.getResult(0)};
}
