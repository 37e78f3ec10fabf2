// Answers about single ops, types and names.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/OpQueries.h"

#include "weft/Interfaces/OpInterfaces.h"

using namespace mlir;

namespace weft::dist {

FactorRule factorRuleOf(Operation *op, TypeRange operandTypes, TypeRange resultTypes) {
  if (auto shardable = dyn_cast<ShardableOpInterface>(op))
    return shardable.getFactorRule(operandTypes, resultTypes);
  FactorRule rule;
  auto whole = [&](TypeRange types, SmallVectorImpl<TensorFactors> &tensors) {
    for (Type type : types) {
      TensorFactors &tensor = tensors.emplace_back();
      if (auto shaped = dyn_cast<RankedTensorType>(type))
        for (int64_t size : shaped.getShape())
          tensor.push_back({rule.add(size, Factor::Kind::Whole)});
    }
  };
  whole(operandTypes, rule.operands);
  whole(resultTypes, rule.results);
  return rule;
}

FactorRule globalRuleOf(Operation *op) {
  return factorRuleOf(op, globalTypes(op->getOperandTypes()), globalTypes(op->getResultTypes()));
}

SmallVector<PartialRule> partialRulesOf(Operation *op, ReduceKind kind) {
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  return shardable ? shardable.getPartialRules(kind) : SmallVector<PartialRule>();
}

SmallVector<Type> globalTypes(TypeRange types) {
  return llvm::map_to_vector(types, [](Type type) { return globalType(type); });
}

SmallVector<Placement, 2> placementsOfTypes(TypeRange types) {
  return llvm::map_to_vector<2>(types, [](Type type) {
    if (PlacementAttr placement = getPlacement(type))
      return placement.getValue();
    if (LocalAttr local = getLocal(type))
      return local.getValue();
    auto tensor = dyn_cast<RankedTensorType>(type);
    return Placement::replicated(tensor ? tensor.getShape() : ArrayRef<int64_t>());
  });
}

bool isNodeOutput(Operation *op) {
  return op->getNumResults() == 1 &&
         !llvm::all_of(op->getUsers(), [name = nodeName(op)](Operation *user) {
           return !user->hasTrait<OpTrait::IsTerminator>() && nodeName(user) == name;
         });
}

bool isMadeOfNothing(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->getNumOperands() == 0 && op->getNumResults() == 1 && isPure(op);
}

PlacementAttr requestOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return function
               ? function.getArgAttrOfType<PlacementAttr>(argument.getArgNumber(), kPlacementAttr)
               : PlacementAttr();
  }
  auto requests = value.getDefiningOp()->getAttrOfType<ArrayAttr>(kPlacementsAttr);
  return requests ? dyn_cast<PlacementAttr>(requests[cast<OpResult>(value).getResultNumber()])
                  : PlacementAttr();
}

void placeArgument(SignatureAttributes &arguments, unsigned argument, PlacementAttr placement) {
  MeshAttr mesh = placement.getMesh();
  auto stored = PlacementAttr::get(placement.getContext(), mesh,
                                   gatheredOverTime(mesh.getValue(), placement.getValue()));
  arguments.set(argument, kPlacementAttr, stored);
  if (stored != placement)
    arguments.set(argument, kUsedAttr, placement);
}

std::string returnedName(func::FuncOp function, unsigned result) {
  if (StringAttr state = nn::updatedState(function, result))
    return state.str();
  auto name = function.getResultAttrOfType<StringAttr>(result, nn::kNameAttr);
  return name ? name.str() : "result " + std::to_string(result);
}

OpRole roleOf(Operation *op) {
  auto role = op->getAttrOfType<StringAttr>(nn::kRoleAttr);
  if (!role)
    return OpRole::Forward;
  return role.getValue() == nn::kRoleOptimizer ? OpRole::Optimizer : OpRole::Gradient;
}

bool isSumOfMicrobatches(Operation *op) {
  if (!isa<ReshardOp>(op))
    return false;
  auto isPartial = [](Value value) {
    PlacementAttr placement = getPlacement(value.getType());
    const Mesh &mesh = placement.getMesh().getValue();
    return llvm::any_of(placement.getValue().partial,
                        [&](const PartialAxis &partial) { return mesh.isTemporal(partial.axis); });
  };
  return isPartial(op->getOperand(0)) && !isPartial(op->getResult(0));
}

void noteOperands(InFlightDiagnostic &diagnostic, Operation *op, const Mesh &mesh) {
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (Operation *producer = operand.getDefiningOp())
      diagnostic.attachNote(producer->getLoc())
          << "operand " << index << " is made here, as "
          << toString(mesh, placementsOfTypes(operand.getType()).front());
}

void updateFunctionType(func::FuncOp function) {
  Block &body = function.getBody().front();
  function.setFunctionType(FunctionType::get(function.getContext(), body.getArgumentTypes(),
                                             body.getTerminator()->getOperandTypes()));
}

} // namespace weft::dist
