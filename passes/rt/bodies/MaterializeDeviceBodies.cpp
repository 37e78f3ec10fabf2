// Makes the code of ops that depend on the process explicit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/dist/IR/Dist.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTMATERIALIZEDEVICEBODIES
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

RankedTensorType signlessType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  Type element = tensor.getElementType();
  if (auto integer = dyn_cast<IntegerType>(element))
    element = IntegerType::get(type.getContext(), integer.getWidth());
  return RankedTensorType::get(tensor.getShape(), element);
}

/// Elementwise code may not read what is outside of it: what computes the
/// coordinates is cloned into each linalg op that uses them.
void sinkInto(linalg::LinalgOp op, ArrayRef<Operation *> coordinateOps) {
  OpBuilder builder = OpBuilder::atBlockBegin(&op->getRegion(0).front());
  IRMapping map;
  for (Operation *source : coordinateOps) {
    Operation *copy = builder.clone(*source, map);
    for (auto [from, to] : llvm::zip(source->getResults(), copy->getResults()))
      from.replaceUsesWithIf(to, [&](OpOperand &use) {
        return op->isProperAncestor(use.getOwner()) &&
               !llvm::is_contained(copy->getOperands(), use.get());
      });
  }
}

void materialize(DeviceBodyOpInterface op, const Mesh &mesh) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  SmallVector<Value> inputs(op->getOperands());
  auto coordinateType = RankedTensorType::get({1}, builder.getI64Type());
  auto inSection = [&](Operation *made) {
    if (Attribute section = op->getAttr(dist::kSectionAttr))
      made->setAttr(dist::kSectionAttr, section);
  };
  for (AxisId axis : op.getCoordinateAxes()) {
    auto coordinate = CoordinateOp::create(builder, loc, coordinateType, mesh.axes[axis].name);
    inSection(coordinate);
    inputs.push_back(coordinate);
  }
  auto body = BodyOp::create(builder, loc, op->getResult(0).getType(), inputs);
  inSection(body);
  Block *block = builder.createBlock(&body.getBody());
  for (Value input : inputs)
    block->addArgument(signlessType(input.getType()), loc);
  SmallVector<Operation *> coordinateOps;
  SmallVector<Value> coordinates;
  unsigned operands = op->getNumOperands();
  for (unsigned i = operands; i < block->getNumArguments(); ++i) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value element = tensor::ExtractOp::create(builder, loc, block->getArgument(i), zero);
    Value coordinate = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), element);
    coordinates.push_back(coordinate);
    for (Value value : {zero, element, coordinate})
      coordinateOps.push_back(value.getDefiningOp());
  }
  SmallVector<Value> results =
      op.buildDeviceBody(builder, loc, block->getArguments().take_front(operands), coordinates);
  YieldOp::create(builder, loc, results);
  block->walk([&](linalg::LinalgOp inner) { sinkInto(inner, coordinateOps); });
  for (Operation *source : llvm::reverse(coordinateOps))
    if (source->use_empty())
      source->erase();
  op->getResult(0).replaceAllUsesWith(body.getResult());
  op->erase();
}

struct MaterializeDeviceBodies
    : weft::rt::impl::RtMaterializeDeviceBodiesBase<MaterializeDeviceBodies> {
  void runOnOperation() override {
    dist::MeshAttr mesh = dist::getMesh(getOperation());
    SmallVector<DeviceBodyOpInterface> ops;
    getOperation().walk([&](DeviceBodyOpInterface op) { ops.push_back(op); });
    for (DeviceBodyOpInterface op : ops)
      materialize(op, mesh.getValue());
  }
};

} // namespace
