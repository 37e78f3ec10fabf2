// Writes the loops over microbatches out, one copy of the body after the other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/Nn.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/FusionChoice.h"
#include "passes/rt/Passes.h"

#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Interfaces/Reduction.h"
#include "weft/Sharding/TransitionOpInterface.h"

#include "mlir/IR/IRMapping.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTUNROLLMICROBATCHES
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

/// The number of the neutral element of `kind`.
TypedAttr neutralAttr(std::optional<ReduceKind> kind, Type element) {
  Scalar neutral = kind ? neutralElement(*kind, element) : Scalar();
  if (isa<FloatType>(element))
    return FloatAttr::get(element, neutral.real);
  return IntegerAttr::get(element,
                          APInt(element.getIntOrFloatBitWidth(), neutral.integer, false, true));
}

class Unrolling {
public:
  explicit Unrolling(dist::RepeatOp loop)
      : loop(loop), builder(loop), axis(loop.getAxis()),
        mesh(dist::getMesh(loop->getParentOfType<ModuleOp>()).getValue()) {}

  LogicalResult run() {
    auto end = cast<dist::AccumulateOp>(loop.getBody().front().getTerminator());
    int64_t count = 1;
    for (const Mesh::Axis &candidate : mesh.axes)
      if (candidate.name == axis)
        count = candidate.size;
    SmallVector<Value> sums(end.getInputs().size());
    for (int64_t i = 0; i < count; ++i) {
      IRMapping map;
      Operation *before = loop->getPrevNode();
      for (Operation &op : loop.getBody().front().without_terminator())
        if (failed(copy(op, i, map)))
          return failure();
      for (auto [j, input] : llvm::enumerate(end.getInputs()))
        sums[j] = add(sums[j], map.lookupOrDefault(input), j, input);
      Block::iterator first = before ? std::next(before->getIterator()) : loop->getBlock()->begin();
      for (Operation &op : llvm::make_range(first, loop->getIterator()))
        op.setAttr(kMicrobatchAttr, builder.getI64IntegerAttr(i));
    }
    for (auto [sum, result] : llvm::zip(sums, loop.getResults()))
      result.replaceAllUsesWith(sum);
    loop.erase();
    return success();
  }

private:
  /// What is added up serves what the addend serves, also if that came over the
  /// network.
  static Value keepRole(Operation *op, Value from) {
    Operation *def = from.getDefiningOp();
    while (isa_and_present<TransitionOpInterface>(def))
      def = def->getOperand(0).getDefiningOp();
    if (def)
      if (Attribute role = def->getAttr(nn::kRoleAttr))
        op->setAttr(nn::kRoleAttr, role);
    return op->getResult(0);
  }

  bool isOverAxis(TransitionOpInterface transition) const {
    return llvm::any_of(transition.getTransitionAxes(),
                        [&](AxisId id) { return mesh.axes[id].name == axis; });
  }

  LogicalResult copy(Operation &op, int64_t i, IRMapping &map) {
    if (auto coordinate = dyn_cast<CoordinateOp>(op); coordinate && coordinate.getAxis() == axis) {
      auto value = DenseElementsAttr::get(cast<RankedTensorType>(coordinate.getType()),
                                          ArrayRef<int64_t>(i));
      map.map(coordinate.getResult(),
              nn::ConstantOp::create(builder, op.getLoc(), coordinate.getType(), value));
      return success();
    }
    if (auto transition = dyn_cast<TransitionOpInterface>(op);
        transition && isOverAxis(transition)) {
      if (transition.getTransitionKind() != TransitionKind::Slice)
        return op.emitOpError("runs over microbatches, which only a slice does in a loop");
      map.map(op.getResult(0), slice(transition, map.lookupOrDefault(op.getOperand(0)), i));
      return success();
    }
    builder.clone(op, map);
    return success();
  }

  /// Microbatch `i` of what this device holds; padding beyond the end.
  Value slice(TransitionOpInterface transition, Value input, int64_t i) {
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
      rows = nn::PadOp::create(
          builder, loc, tensor(geometry.shard), rows, ArrayRef<int64_t>{0, 0, 0},
          ArrayRef<int64_t>{0, geometry.shard - valid, 0}, neutralAttr(geometry.padding, element));
    return nn::ReshapeOp::create(builder, loc, type, rows);
  }

  /// `value` combined with the sum so far: in the type of accumulation, kept in
  /// the result's.
  Value add(Value sum, Value value, unsigned number, Value original) {
    if (!sum)
      return value;
    auto kept = cast<RankedTensorType>(loop.getResult(number).getType());
    auto end = cast<dist::AccumulateOp>(loop.getBody().front().getTerminator());
    Type wide = cast<TypeAttr>(end.getAccumulate()[number]).getValue();
    Location loc = value.getLoc();
    auto convert = [&](Value from, Type element) {
      return getElementTypeOrSelf(from.getType()) == element
                 ? from
                 : keepRole(nn::CastOp::create(builder, loc, kept.clone(element), from), value);
    };
    Value wideSum = convert(sum, wide), wideValue = convert(value, wide);
    Operation *combined = combine(kindOf(original), loc, kept.clone(wide), wideSum, wideValue);
    return convert(keepRole(combined, value), kept.getElementType());
  }

  Operation *combine(ReduceKind kind, Location loc, Type type, Value a, Value b) {
    switch (kind) {
    case ReduceKind::Sum:
      return nn::AddOp::create(builder, loc, type, a, b);
    case ReduceKind::Prod:
      return nn::MulOp::create(builder, loc, type, a, b);
    case ReduceKind::Max:
    case ReduceKind::Or:
      return nn::MaxOp::create(builder, loc, type, a, b);
    case ReduceKind::Min:
    case ReduceKind::And:
      return nn::MinOp::create(builder, loc, type, a, b);
    }
    llvm_unreachable("unknown kind of reduction");
  }

  ReduceKind kindOf(Value value) const {
    for (const PartialAxis &partial : dist::getLocal(value.getType()).getValue().partial)
      if (mesh.axes[partial.axis].name == axis)
        return partial.kind;
    llvm_unreachable("what a loop adds up is partial on its axis");
  }

  dist::RepeatOp loop;
  OpBuilder builder;
  StringRef axis;
  const Mesh &mesh;
};

struct UnrollMicrobatches : weft::rt::impl::RtUnrollMicrobatchesBase<UnrollMicrobatches> {
  void runOnOperation() override {
    SmallVector<dist::RepeatOp> loops;
    getOperation().walk([&](dist::RepeatOp loop) { loops.push_back(loop); });
    for (dist::RepeatOp loop : loops)
      if (failed(Unrolling(loop).run()))
        return signalPassFailure();
  }
};

} // namespace
