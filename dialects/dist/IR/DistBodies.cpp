// What mask and localize_index compute, as reference and as code.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/dist/IR/Dist.h"

#include "weft/Interfaces/Reduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace weft;
using namespace weft::dist;

namespace {

/// Emits position arithmetic on `index` values; the same formulas as toGlobal
/// and toLocal.
class PositionBuilder {
public:
  PositionBuilder(OpBuilder &builder, Location loc, const Mesh &mesh, ArrayRef<AxisId> axes,
                  ValueRange coordinates)
      : builder(builder), loc(loc), mesh(mesh), axes(axes), coordinates(coordinates) {}

  /// Whether local position `local` of `dim` is an element (i1); null if all are.
  Value isElement(ArrayRef<PlacedFactor> dim, Value local) {
    Value valid;
    for (auto [index, part] : llvm::enumerate(dim)) {
      if (!hasPadding(mesh, part))
        continue;
      int64_t minor = localSize(mesh, dim.drop_front(index + 1));
      Value position = arith::RemUIOp::create(
          builder, loc, arith::DivUIOp::create(builder, loc, local, constant(minor)),
          constant(localSize(mesh, part)));
      SmallVector<int64_t> extents = levels(part);
      for (size_t level = part.axes.size(); level-- > 0;) {
        Value start = arith::MulIOp::create(builder, loc, coordinate(part.axes[level]),
                                            constant(extents[level + 1]));
        position = arith::AddIOp::create(builder, loc, position, start);
        valid = both(valid, compare(arith::CmpIPredicate::ult, position, constant(extents[level])));
      }
    }
    return valid;
  }

  /// The local position of `global`, or -1.
  Value toLocal(ArrayRef<PlacedFactor> dim, Value global) {
    Value valid = compare(arith::CmpIPredicate::ult, global, constant(globalSize(dim)));
    Value local = constant(0);
    int64_t scale = 1, minor = 1;
    for (const PlacedFactor &part : llvm::reverse(dim)) {
      Value position = arith::RemUIOp::create(
          builder, loc, arith::DivUIOp::create(builder, loc, global, constant(minor)),
          constant(part.size));
      SmallVector<int64_t> extents = levels(part);
      for (auto [level, axis] : llvm::enumerate(part.axes)) {
        Value size = constant(extents[level + 1]);
        Value shard = arith::DivUIOp::create(builder, loc, position, size);
        valid = both(valid, compare(arith::CmpIPredicate::eq, shard, coordinate(axis)));
        position = arith::RemUIOp::create(builder, loc, position, size);
      }
      local = arith::AddIOp::create(builder, loc, local,
                                    arith::MulIOp::create(builder, loc, position, constant(scale)));
      scale *= extents.back();
      minor *= part.size;
    }
    return arith::SelectOp::create(builder, loc, valid, local, constant(-1));
  }

  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value both(Value a, Value b) {
    return a ? arith::AndIOp::create(builder, loc, a, b).getResult() : b;
  }

private:
  Value coordinate(AxisId axis) { return coordinates[llvm::find(axes, axis) - axes.begin()]; }
  SmallVector<int64_t> levels(const PlacedFactor &part) {
    SmallVector<int64_t> extents = {part.size};
    for (AxisId axis : part.axes)
      extents.push_back(llvm::divideCeil(extents.back(), mesh.size(axis)));
    return extents;
  }

  OpBuilder &builder;
  Location loc;
  const Mesh &mesh;
  ArrayRef<AxisId> axes;
  ValueRange coordinates;
};

} // namespace

/// One linalg.generic over a tensor, each element from the same element of it.
static Value mapElements(OpBuilder &builder, Location loc, Value input,
                         function_ref<Value(OpBuilder &, ValueRange)> body) {
  auto type = cast<RankedTensorType>(input.getType());
  AffineMap map = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  Value init = tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
  return linalg::GenericOp::create(builder, loc, TypeRange{type}, ValueRange{input},
                                   ValueRange{init}, ArrayRef<AffineMap>{map, map}, iterators,
                                   [&](OpBuilder &inner, Location bodyLoc, ValueRange values) {
                                     linalg::YieldOp::create(inner, bodyLoc, body(inner, values));
                                   })
      .getResult(0);
}

static Value constantScalar(OpBuilder &builder, Location loc, Type type, Scalar value) {
  TypedAttr attr;
  if (isa<FloatType>(type))
    attr = builder.getFloatAttr(type, value.real);
  else
    attr = builder.getIntegerAttr(type, APInt(type.getIntOrFloatBitWidth(), value.integer,
                                              /*isSigned=*/true, /*implicitTrunc=*/true));
  return arith::ConstantOp::create(builder, loc, attr);
}

static void addAxes(AxisList &axes, ArrayRef<PlacedFactor> dim) {
  for (const PlacedFactor &part : dim)
    llvm::append_range(axes, part.axes);
}

AxisList MaskOp::getCoordinateAxes() {
  AxisList axes;
  const Placement &placement = getLocal(getResult().getType()).getValue();
  for (const DimPlacement &dim : placement.dims)
    if (hasPadding(getTransitionMesh(), dim))
      addAxes(axes, dim);
  return axes;
}

SmallVector<Value> MaskOp::buildDeviceBody(OpBuilder &builder, Location loc, ValueRange operands,
                                           ValueRange coordinates) {
  const Mesh &mesh = getTransitionMesh();
  const Placement &placement = getLocal(getResult().getType()).getValue();
  AxisList axes = getCoordinateAxes();
  // The op's own type tells signedness; values in a body are signless.
  Type own = getElementTypeOrSelf(getResult().getType());
  Scalar neutral = neutralElement(*placement.padding, own);
  Type elementType = getElementTypeOrSelf(operands[0].getType());
  return {mapElements(builder, loc, operands[0], [&](OpBuilder &inner, ValueRange values) {
    PositionBuilder positions(inner, loc, mesh, axes, coordinates);
    Value valid;
    for (auto [index, dim] : llvm::enumerate(placement.dims)) {
      if (!hasPadding(mesh, dim))
        continue;
      Value local = linalg::IndexOp::create(inner, loc, index);
      valid = positions.both(valid, positions.isElement(dim, local));
    }
    Value fill = constantScalar(inner, loc, elementType, neutral);
    return arith::SelectOp::create(inner, loc, valid, values[0], fill).getResult();
  })};
}

HostTensor MaskOp::evaluateOn(ArrayRef<int64_t> coordinates, const HostTensor &operand) {
  const Mesh &mesh = getTransitionMesh();
  const Placement &placement = getLocal(getResult().getType()).getValue();
  Scalar neutral = neutralElement(*placement.padding, getElementTypeOrSelf(getResult().getType()));
  HostTensor result = operand;
  for (int64_t linear = 0, end = result.size(); linear < end; ++linear) {
    int64_t rest = linear;
    for (size_t d = result.shape.size(); d-- > 0;) {
      if (toGlobal(mesh, placement.dims[d], coordinates, rest % result.shape[d]) < 0)
        result.set(linear, neutral);
      rest /= result.shape[d];
    }
  }
  return result;
}

AxisList PartializeOp::getCoordinateAxes() { return getTransitionAxes(); }

/// The coordinates on the transition's axes of the device that keeps the value.
static SmallVector<int64_t, 2> keeperOf(PartializeOp op) {
  const Placement &from = getLocal(op.getInput().getType()).getValue();
  SmallVector<int64_t, 2> keeper;
  for (AxisId axis : op.getTransitionAxes())
    keeper.push_back(from.held && from.held->axis == axis ? from.held->stages.front() : 0);
  return keeper;
}

SmallVector<Value> PartializeOp::buildDeviceBody(OpBuilder &builder, Location loc,
                                                 ValueRange operands, ValueRange coordinates) {
  ReduceKind kind = getLocal(getResult().getType()).getValue().partial.front().kind;
  Scalar neutral = neutralElement(kind, getElementTypeOrSelf(getResult().getType()));
  Type elementType = getElementTypeOrSelf(operands[0].getType());
  SmallVector<int64_t, 2> keeper = keeperOf(*this);
  return {mapElements(builder, loc, operands[0], [&](OpBuilder &inner, ValueRange values) {
    Value first;
    for (auto [coordinate, keeps] : llvm::zip_equal(coordinates, keeper)) {
      Value number = arith::ConstantIndexOp::create(inner, loc, keeps);
      Value is = arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::eq, coordinate, number);
      first = first ? arith::AndIOp::create(inner, loc, first, is).getResult() : is;
    }
    Value fill = constantScalar(inner, loc, elementType, neutral);
    return arith::SelectOp::create(inner, loc, first, values[0], fill).getResult();
  })};
}

HostTensor PartializeOp::evaluateOn(ArrayRef<int64_t> coordinates, const HostTensor &operand) {
  SmallVector<int64_t, 2> keeper = keeperOf(*this);
  if (llvm::all_of(llvm::zip_equal(getTransitionAxes(), keeper), [&](auto entry) {
        return coordinates[std::get<0>(entry)] == std::get<1>(entry);
      }))
    return operand;
  auto type = cast<RankedTensorType>(getResult().getType());
  ReduceKind kind = getLocal(type).getValue().partial.front().kind;
  HostTensor result(RankedTensorType::get(type.getShape(), type.getElementType()));
  for (int64_t i = 0, end = result.size(); i < end; ++i)
    result.set(i, neutralElement(kind, getElementTypeOrSelf(getResult().getType())));
  return result;
}

AxisList LocalizeIndexOp::getCoordinateAxes() {
  AxisList axes;
  for (const LocalIndex &index : getLocal(getResult().getType()).getValue().localIndices)
    addAxes(axes, index.factor);
  return axes;
}

SmallVector<Value> LocalizeIndexOp::buildDeviceBody(OpBuilder &builder, Location loc,
                                                    ValueRange operands, ValueRange coordinates) {
  LocalAttr local = getLocal(getResult().getType());
  AxisList axes = getCoordinateAxes();
  Type elementType = getElementTypeOrSelf(operands[0].getType());
  int64_t rank = cast<RankedTensorType>(operands[0].getType()).getRank();
  return {mapElements(builder, loc, operands[0], [&](OpBuilder &inner, ValueRange values) {
    PositionBuilder positions(inner, loc, local.getMesh().getValue(), axes, coordinates);
    Value component = linalg::IndexOp::create(inner, loc, rank - 1);
    Value global = arith::IndexCastOp::create(inner, loc, inner.getIndexType(), values[0]);
    Value result = values[0];
    for (const LocalIndex &index : local.getValue().localIndices) {
      Value mine = arith::IndexCastOp::create(inner, loc, elementType,
                                              positions.toLocal(index.factor, global));
      Value here = positions.compare(arith::CmpIPredicate::eq, component,
                                     positions.constant(index.component));
      result = arith::SelectOp::create(inner, loc, here, mine, result);
    }
    return result;
  })};
}

HostTensor LocalizeIndexOp::evaluateOn(ArrayRef<int64_t> coordinates, const HostTensor &operand) {
  LocalAttr local = getLocal(getResult().getType());
  HostTensor result = operand;
  for (const LocalIndex &index : local.getValue().localIndices)
    for (int64_t linear = index.component, end = result.size(); linear < end;
         linear += result.shape.back())
      result.integers[linear] =
          toLocal(local.getMesh().getValue(), index.factor, coordinates, operand.integers[linear]);
  return result;
}
