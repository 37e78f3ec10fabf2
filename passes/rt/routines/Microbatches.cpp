// What one microbatch of a loop does, and how what all of them make is brought together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/routines/Microbatches.h"

#include "dialects/dist/IR/ScheduleAttrs.h"
#include "dialects/nn/IR/Nn.h"
#include "dialects/rt/IR/Actions.h"
#include "dialects/rt/IR/Rt.h"
#include "weft/Interfaces/OpInterfaces.h"

using namespace mlir;
using namespace weft;
using namespace weft::rt;

/// The number of the neutral element of `kind`.
static TypedAttr neutralAttr(std::optional<ReduceKind> kind, Type element) {
  Scalar neutral = kind ? neutralElement(*kind, element) : Scalar();
  if (isa<FloatType>(element))
    return FloatAttr::get(element, neutral.real);
  return IntegerAttr::get(element,
                          APInt(element.getIntOrFloatBitWidth(), neutral.integer, false, true));
}

Microbatches::Microbatches(dist::RepeatOp loop) : loop(loop) {
  const Mesh &mesh = dist::getMesh(loop->getParentOfType<ModuleOp>()).getValue();
  for (auto [id, candidate] : llvm::enumerate(mesh.axes))
    if (candidate.name == loop.getAxis()) {
      axis = id;
      count = candidate.size;
    }
  for (auto [addend, result] : llvm::zip_equal(addends(), loop.getResults())) {
    const Placement &each = dist::getLocal(addend.getType()).getValue(),
                    &all = dist::getLocal(result.getType()).getValue();
    std::optional<Combination> combination = combinationOver(mesh, each, axis);
    CollectiveGeometry geometry =
        geometryOf(mesh, combination->kind, axis, combination->dim, -1, each, all);
    kinds.push_back(geometry.reduction);
    gathers.push_back(std::move(geometry));
  }
}

dist::AccumulateOp Microbatches::end() const {
  return cast<dist::AccumulateOp>(dist::RepeatOp(loop).getBody().front().getTerminator());
}

bool Microbatches::isCoordinate(Operation *op) const {
  auto coordinate = dyn_cast<CoordinateOp>(op);
  return coordinate && coordinate.getAxis() == dist::RepeatOp(loop).getAxis();
}

bool Microbatches::isOverAxis(Operation *op) const {
  auto transition = dyn_cast<TransitionOpInterface>(op);
  return transition && llvm::is_contained(transition.getTransitionAxes(), axis);
}

LogicalResult Microbatches::copy(OpBuilder &builder, Operation &op, int64_t i,
                                 IRMapping &map) const {
  if (isCoordinate(&op)) {
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    map.map(op.getResult(0),
            nn::ConstantOp::create(builder, op.getLoc(), type,
                                   DenseElementsAttr::get(type, ArrayRef<int64_t>(i))));
    return success();
  }
  if (isOverAxis(&op)) {
    auto transition = cast<TransitionOpInterface>(op);
    if (transition.getTransitionKind() != TransitionKind::Slice)
      return op.emitOpError("runs over microbatches, which only a slice does in a loop");
    map.map(op.getResult(0), slice(builder, transition, map.lookupOrDefault(op.getOperand(0)), i));
    return success();
  }
  builder.clone(op, map);
  return success();
}

/// Microbatch `i` of what this device holds; padding beyond the end.
Value Microbatches::slice(OpBuilder &builder, TransitionOpInterface transition, Value input,
                          int64_t i) const {
  Location loc = transition->getLoc();
  CollectiveGeometry geometry = transition.getGeometry();
  auto type = cast<RankedTensorType>(transition->getResult(0).getType());
  Type element = type.getElementType();
  auto tensor = [&](int64_t extent) {
    return RankedTensorType::get({geometry.outer, extent, geometry.inner}, element);
  };
  int64_t start = std::min(i * geometry.shard, geometry.extent);
  int64_t valid = std::min(geometry.shard, geometry.extent - start);
  if (valid == 0)
    return nn::ConstantOp::create(
        builder, loc, type,
        DenseElementsAttr::get(type, Attribute(neutralAttr(geometry.padding, element))));
  Value rows = nn::ReshapeOp::create(builder, loc, tensor(geometry.extent), input);
  if (valid < geometry.extent)
    rows = nn::SliceOp::create(builder, loc, tensor(valid), rows, ArrayRef<int64_t>{0, start, 0},
                               ArrayRef<int64_t>{1, 1, 1});
  if (valid < geometry.shard)
    rows = nn::PadOp::create(builder, loc, tensor(geometry.shard), rows, ArrayRef<int64_t>{0, 0, 0},
                             ArrayRef<int64_t>{0, geometry.shard - valid, 0},
                             neutralAttr(geometry.padding, element));
  return nn::ReshapeOp::create(builder, loc, type, rows);
}

/// The inverse of `slice`: the rows of microbatch `i`, its padding left out.
Value Microbatches::put(OpBuilder &builder, Value into, Value value, unsigned number,
                        int64_t i) const {
  const CollectiveGeometry &geometry = gathers[number];
  Type element = getElementTypeOrSelf(value.getType()),
       whole = dist::RepeatOp(loop).getResult(number).getType();
  auto tensor = [&](int64_t extent) {
    return RankedTensorType::get({geometry.outer, extent, geometry.inner}, element);
  };
  int64_t start = std::min(i * geometry.shard, geometry.extent);
  int64_t valid = std::min(geometry.shard, geometry.extent - start);
  if (valid == 0 && into)
    return into;
  Location loc = value.getLoc();
  Value rows = nn::ReshapeOp::create(builder, loc, tensor(geometry.shard), value);
  if (valid < geometry.shard)
    rows = nn::SliceOp::create(builder, loc, tensor(valid), rows, ArrayRef<int64_t>{0, 0, 0},
                               ArrayRef<int64_t>{1, 1, 1});
  return PutOp::create(builder, loc, whole, rows, into, start);
}

static Operation *makeCombination(OpBuilder &builder, ReduceKind kind, Location loc, Type type,
                                  Value a, Value b) {
  switch (kind) {
  case ReduceKind::Sum:
    return nn::AddOp::create(builder, loc, type, a, b);
  case ReduceKind::Prod:
    return nn::MulOp::create(builder, loc, type, a, b);
  case ReduceKind::Max:
    return nn::MaxOp::create(builder, loc, type, a, b);
  case ReduceKind::Min:
    return nn::MinOp::create(builder, loc, type, a, b);
  case ReduceKind::Or:
    return nn::OrOp::create(builder, loc, type, a, b);
  case ReduceKind::And:
    return nn::AndOp::create(builder, loc, type, a, b);
  }
  llvm_unreachable("unknown kind of reduction");
}

TypedAttr Microbatches::startOf(unsigned number) const {
  Type element = getElementTypeOrSelf(sumType(number));
  // 0 + -0 is 0, but -0 + x is x.
  if (kinds[number] == ReduceKind::Sum && isa<FloatType>(element))
    return FloatAttr::get(element, -0.0);
  return neutralAttr(kinds[number], element);
}

Attribute Microbatches::roleOf(unsigned number) const {
  Operation *maker = addends()[number].getDefiningOp();
  while (isa_and_present<TransitionOpInterface>(maker))
    maker = maker->getOperand(0).getDefiningOp();
  return maker ? maker->getAttr(nn::kRoleAttr) : Attribute();
}

Value Microbatches::add(OpBuilder &builder, Value sum, Value value, unsigned number) const {
  auto kept = cast<RankedTensorType>(dist::RepeatOp(loop).getResult(number).getType());
  Type wide = cast<TypeAttr>(end().getAccumulate()[number]).getValue();
  Location loc = value.getLoc();
  Attribute role = roleOf(number);
  auto keepRole = [&](Operation *op) {
    if (role)
      op->setAttr(nn::kRoleAttr, role);
    return op->getResult(0);
  };
  auto convert = [&](Value from, Type element) {
    return getElementTypeOrSelf(from.getType()) == element
               ? from
               : keepRole(nn::CastOp::create(builder, loc, kept.clone(element), from));
  };
  Value wideSum = convert(sum, wide), wideValue = convert(value, wide);
  Operation *combined =
      makeCombination(builder, *kinds[number], loc, kept.clone(wide), wideSum, wideValue);
  return convert(keepRole(combined), kept.getElementType());
}

bool Microbatches::addsAtOnce(unsigned number) const {
  Type wide = cast<TypeAttr>(end().getAccumulate()[number]).getValue();
  return kinds[number] == ReduceKind::Sum &&
         getElementTypeOrSelf(addends()[number].getType()) == wide &&
         getElementTypeOrSelf(sumType(number)) == wide;
}

Value Microbatches::combine(OpBuilder &builder, Value sofar, Value value, unsigned number,
                            int64_t i) const {
  if (!isSum(number))
    return put(builder, sofar, value, number, i);
  return sofar ? add(builder, sofar, value, number) : value;
}

void Microbatches::setAction(Operation *op, Attribute section, int64_t i) const {
  auto actions = loop->getAttrOfType<DictionaryAttr>(dist::kActionsAttr);
  auto number = dyn_cast_or_null<IntegerAttr>(section);
  if (!actions || !number)
    return;
  if (auto action = actions.getAs<StringAttr>(std::to_string(number.getInt())))
    op->setAttr(kActionAttr, StringAttr::get(op->getContext(), action.getValue() + "." + Twine(i)));
}

void Microbatches::forgetSums() {
  dist::MeshAttr mesh = dist::getMesh(loop->getParentOfType<ModuleOp>());
  loop.getBody().walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (dist::LocalAttr local = dist::getLocal(result.getType())) {
        Placement placement = local.getValue();
        llvm::erase_if(placement.partial,
                       [&](const PartialAxis &partial) { return partial.axis == axis; });
        result.setType(dist::localType(getElementTypeOrSelf(result.getType()), mesh, placement));
      }
  });
}
