// From the global program to the program of one device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"
#include "passes/dist/RequireMesh.h"

#include "passes/dist/OpQueries.h"
#include "passes/dist/placement/AlikeOps.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Search/Reshard.h"

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTPARTITION
#include "passes/dist/Passes.h.inc"

namespace {

/// Rewrites one function in place, in order, so that operands are local by the
/// time an op is met. What can fail is asked before anything is changed, and while
/// ops can still read their attributes at their own, global types.
class Partitioner {
public:
  Partitioner(func::FuncOp function, MeshAttr mesh, ReshardSearch &search)
      : function(function), mesh(mesh), search(search) {}

  LogicalResult run() {
    Block &body = function.getBody().front();
    bool failedAny = false;
    for (Operation &op : body.without_terminator())
      failedAny |= failed(plan(&op));
    if (failedAny)
      return failure();
    for (BlockArgument argument : body.getArguments())
      argument.setType(toLocal(argument.getType()));
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
      if (auto reshard = dyn_cast<ReshardOp>(op))
        lowerReshard(reshard);
      else
        partitionOp(&op);
    }
    updateFunctionType(function);
    return success();
  }

private:
  /// How an op must read its operands.
  using Needs = SmallVector<Placement, 2>;

  Type toLocal(Type type) {
    PlacementAttr placement = getPlacement(type);
    return placement ? localType(getElementTypeOrSelf(type), mesh, placement.getValue()) : type;
  }

  LogicalResult plan(Operation *op) {
    if (auto reshard = dyn_cast<ReshardOp>(op)) {
      const Placement &from = getPlacement(reshard.getInput().getType()).getValue();
      const Placement &to = getPlacement(reshard.getResult().getType()).getValue();
      bool found = search.plan(from, to, elementBytes(reshard.getResult().getType()));
      assert(found && "a path leads to every placement that the verifier lets pass");
      return success(found);
    }
    for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
      if (!getPlacement(type))
        return op->emitError() << "'" << nodeName(op)
                               << "' has a value without placement: " << type;
    AlikeKey key = alikeKey(op);
    if (const Needs *met = known.find(key)) {
      needs[op] = met;
      return success();
    }
    FactorRule rule = globalRuleOf(op);
    std::string why;
    OpSharding sharding;
    if (!checkOp(
            mesh.getValue(), rule, [&](ReduceKind kind) { return partialRulesOf(op, kind); },
            placementsOfTypes(op->getOperandTypes()), placementsOfTypes(op->getResultTypes()),
            CheckLevel::Sharded, &why, &sharding)) {
      auto diagnostic = op->emitError() << "'" << nodeName(op) << "' is not consistent: " << why;
      noteOperands(diagnostic, op, mesh.getValue());
      return diagnostic;
    }
    Needs wanted = placementsOf(mesh.getValue(), rule, sharding, CheckLevel::Local).operands;
    for (auto [placement, type] : llvm::zip_equal(wanted, op->getOperandTypes()))
      placement.held = getPlacement(type).getValue().held;
    needs[op] = &known.note(key, std::move(wanted));
    return success();
  }

  void lowerReshard(ReshardOp op) {
    // The operand is local already, the result still has its global type.
    const Placement &from = getLocal(op.getInput().getType()).getValue();
    const Placement &to = getPlacement(op.getResult().getType()).getValue();
    const ReshardPlan *plan = search.plan(from, to, elementBytes(op.getResult().getType()));
    OpBuilder builder(op);
    Value value = op.getInput();
    for (const ReshardTransition &transition : plan->transitions) {
      value = createTransition(builder, op.getLoc(), value, mesh, transition.kind, transition.axes,
                               transition.dim, transition.otherDim, transition.result);
      for (StringRef name :
           {StringRef(kReasonAttr), StringRef(kStepPartAttr), StringRef(kChunksAttr)})
        if (Attribute attr = op->getAttr(name))
          value.getDefiningOp()->setAttr(name, attr);
    }
    op.getResult().replaceAllUsesWith(value);
    op.erase();
  }

  /// The operand with the padding or the local indices that the op needs, once for all users. What
  /// gradients read is masked apart, where they are, so that a value that is recomputed for them
  /// need not be there before.
  Value adapt(Operation *op, Value operand, const Placement &wanted) {
    const Placement &found = getLocal(operand.getType()).getValue();
    bool needsPadding = wanted.padding && wanted.padding != found.padding;
    bool needsIndices = wanted.localIndices != found.localIndices;
    if (!needsPadding && !needsIndices)
      return operand;
    Type type = localType(getElementTypeOrSelf(operand.getType()), mesh, wanted);
    bool isOfGradients = needsPadding && roleOf(op) != OpRole::Forward;
    Value &adapted = adaptedValues[isOfGradients][{operand, type}];
    if (adapted)
      return adapted;
    // In front of all users that come later.
    OpBuilder builder(op);
    if (!isOfGradients)
      builder.setInsertionPointAfterValue(operand);
    if (needsIndices)
      adapted = LocalizeIndexOp::create(builder, op->getLoc(), type, operand);
    else
      adapted = MaskOp::create(builder, op->getLoc(), type, operand);
    return adapted;
  }

  void partitionOp(Operation *op) {
    SmallVector<Type> operandTypes = globalTypes(op->getOperandTypes());
    SmallVector<Type> resultTypes = globalTypes(op->getResultTypes());
    for (auto [operand, wanted] : llvm::zip_equal(op->getOpOperands(), *needs.at(op)))
      operand.set(adapt(op, operand.get(), wanted));
    for (Value result : op->getResults())
      result.setType(toLocal(result.getType()));
    if (auto shardable = dyn_cast<ShardableOpInterface>(op))
      shardable.localizeAttributes(operandTypes, resultTypes);
  }

  func::FuncOp function;
  MeshAttr mesh;
  ReshardSearch &search;
  AlikeOps<Needs> known;
  DenseMap<Operation *, const Needs *> needs;
  DenseMap<std::pair<Value, Type>, Value> adaptedValues[2]; // of gradients: the second
};

struct Partition : impl::DistPartitionBase<Partition> {
  void runOnOperation() override {
    MeshAttr mesh = requireMesh(getOperation());
    if (!mesh)
      return signalPassFailure();
    FailureOr<CostModel> costs = costModelOf(getOperation(), mesh.getValue());
    if (failed(costs))
      return signalPassFailure();
    ReshardSearch search(std::move(*costs));
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(Partitioner(function, mesh, search).run()))
        signalPassFailure();
  }
};

} // namespace
} // namespace weft::dist
