// Chooses every op's split, inserts reshards, and makes placements types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"
#include "passes/dist/RequireMesh.h"

#include "passes/dist/OpQueries.h"
#include "passes/dist/Reasons.h"
#include "passes/dist/SignatureAttributes.h"
#include "passes/dist/partition/FarAddends.h"
#include "passes/dist/partition/OpAssignment.h"
#include "passes/dist/placement/AlikeOps.h"
#include "weft/Interfaces/OpInterfaces.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTINSERTRESHARDS
#include "passes/dist/Passes.h.inc"

namespace {

class Resharder {
public:
  Resharder(func::FuncOp function, MeshAttr mesh, ReshardSearch &search, DenseSet<Operation *> far)
      : function(function), mesh(mesh), search(search), far(std::move(far)) {}

  LogicalResult run() {
    Block &body = function.getBody().front();
    for (BlockArgument argument : body.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!type)
        return function.emitError() << "argument " << argument.getArgNumber() << " is no tensor";
      PlacementAttr request = requestOf(argument);
      if (request && !request.getValue().partial.empty())
        return function.emitError()
               << "argument " << argument.getArgNumber() << " cannot be partial";
      argument.setType(placedType(
          type, mesh, request ? request.getValue() : Placement::replicated(type.getShape())));
    }
    for (BlockArgument argument : body.getArguments())
      placeUses(argument);
    // What comes behind an op that failed may read what it left without a placement.
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
      if (failed(placeOp(&op)))
        return failure();
    placeResults(body.getTerminator());
    mergeChains();
    eraseDead();
    recordReasons(function, mesh);
    SignatureAttributes arguments(function, SignatureAttributes::Of::Arguments);
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      for (StringRef name : {kPlacementAttr, kClosedAttr, kUsedAttr})
        arguments.remove(i, name);
    arguments.write();
    function->removeAttr(kOrderAttr);
    function->removeAttr(kSearchedAttr);
    updateFunctionType(function);
    return success();
  }

private:
  static const Placement &placementOf(Value value) {
    return getPlacement(value.getType()).getValue();
  }

  /// Brings an argument from where it is stored to where it is used. State is
  /// brought there anew for gradient ops, so that it need not stay in between;
  /// the optimizer works on what is stored.
  void placeUses(BlockArgument argument) {
    unsigned number = argument.getArgNumber();
    auto used = function.getArgAttrOfType<PlacementAttr>(number, kUsedAttr);
    if (!used || used.getValue() == placementOf(argument))
      return;
    bool state = nn::isState(function, number);
    Operation *first[2] = {};
    SmallVector<OpOperand *> uses[2];
    for (OpOperand &use : argument.getUses()) {
      Operation *user = use.getOwner();
      if (user->hasTrait<OpTrait::IsTerminator>() || (state && roleOf(user) == OpRole::Optimizer))
        continue;
      unsigned part = state && roleOf(user) == OpRole::Gradient;
      if (!first[part] || user->isBeforeInBlock(first[part]))
        first[part] = user;
      uses[part].push_back(&use);
    }
    auto type = cast<RankedTensorType>(argument.getType());
    for (unsigned part : {0, 1}) {
      if (!first[part])
        continue;
      OpBuilder builder(first[part]);
      // Called after what it brings, which many ops may read.
      Location loc = NameLoc::get(builder.getStringAttr(nn::argumentName(function, number)),
                                  argument.getLoc());
      auto reshard =
          ReshardOp::create(builder, loc, placedType(type, mesh, used.getValue()), argument);
      if (state)
        reshard->setAttr(kStepPartAttr, builder.getStringAttr(part ? kBackward : kForward));
      for (OpOperand *use : uses[part])
        use->set(reshard);
    }
  }

  /// `value` under another placement: once for all later users.
  Value resharded(OpBuilder &builder, Location loc, Value value, const Placement &to) {
    if (placementOf(value) == to)
      return value;
    if (!to.partial.empty() && isMadeOfNothing(value))
      value = resharded(builder, loc, value, reduced(to));
    Type type = placedType(cast<RankedTensorType>(value.getType()), mesh, to);
    Value &found = reshards[{value, type}];
    if (found)
      return found;
    if (Value made = rematerialized(builder, value, to))
      return found = made;
    return found = ReshardOp::create(builder, loc, type, value);
  }

  /// What is made of nothing is made anew where it is read in another placement, if its op can make
  /// it so.
  Value rematerialized(OpBuilder &builder, Value value, const Placement &to) {
    if (!isMadeOfNothing(value))
      return {};
    Operation *op = value.getDefiningOp();
    if (!checkOp(
            mesh.getValue(), globalRuleOf(op),
            [](ReduceKind) { return SmallVector<PartialRule>(); }, {}, to, CheckLevel::Sharded))
      return {};
    Operation *clone = builder.clone(*op);
    clone->getResult(0).setType(placedType(cast<RankedTensorType>(value.getType()), mesh, to));
    return clone->getResult(0);
  }

  using Requests = ArrayRef<std::optional<Placement>>;

  /// What is chosen for an op is chosen for all that are alike and of which the same is asked.
  llvm::Expected<const Assignment *> assign(Operation *op, Requests requests) {
    bool mayStayPartial =
        op->getNumResults() == 1 && readerAddsUp(op, op->getResult(0), ReduceKind::Sum);
    AlikeKey key = alikeKey(op, {op->getAttr(kPlacementsAttr).getAsOpaquePointer(),
                                 op->getAttr(kOperandsAttr).getAsOpaquePointer()});
    key.push_back(mayStayPartial);
    if (const Assignment *known = assignments.find(key))
      return known;
    llvm::Expected<Assignment> made = assignAnew(op, requests, mayStayPartial);
    if (!made)
      return made.takeError();
    return &assignments.note(key, std::move(*made));
  }

  llvm::Expected<Assignment> assignAnew(Operation *op, Requests requests, bool mayStayPartial) {
    FactorRule rule = globalRuleOf(op);
    auto partialRules = [&](ReduceKind kind) { return partialRulesOf(op, kind); };
    SmallVector<Placement, 2> operands = placementsOfTypes(op->getOperandTypes());
    auto bytesOf = [](Type type) -> double { return elementBytes(type); };
    SmallVector<double> operandBytes = llvm::map_to_vector(op->getOperandTypes(), bytesOf);
    SmallVector<double> resultBytes = llvm::map_to_vector(op->getResultTypes(), bytesOf);
    auto shardable = dyn_cast<ShardableOpInterface>(op);
    AssignmentQuery query{&rule,
                          partialRules,
                          operands,
                          operandBytes,
                          requests,
                          resultBytes,
                          shardable ? shardable.getFlopsPerPoint() : 0,
                          op->getNumResults() > 0 ? arithmeticOf(op->getResult(0).getType())
                                                  : Arithmetic::Integer,
                          mayStayPartial};
    auto fixed = op->getAttrOfType<ArrayAttr>(kOperandsAttr);
    if (!fixed)
      return chooseAssignment(search, query);
    AssignmentQuery settled = query;
    SmallVector<Placement, 2> wanted = settledOperands(query, fixed);
    settled.operands = wanted;
    return assignmentFromOperands(search, settled);
  }

  LogicalResult placeOp(Operation *op) {
    if (isa<ReshardOp>(op))
      return success();
    if (op->getNumRegions() != 0)
      return op->emitError() << "has regions, which cannot be placed on a mesh";
    if (!isa<ShardableOpInterface>(op))
      remark::missed(op->getLoc(),
                     remark::RemarkOpts::name("whole").category("dist-insert-reshards"))
          << "op without sharding rule runs whole on every device";
    std::vector<std::optional<Placement>> requests;
    for (Value result : op->getResults()) {
      PlacementAttr request = requestOf(result);
      requests.push_back(request ? std::optional(request.getValue()) : std::nullopt);
    }
    llvm::Expected<const Assignment *> chosen = assign(op, requests);
    if (!chosen) {
      auto diagnostic = op->emitError() << "'" << nodeName(op)
                                        << "' cannot read its operands as dist.operands asks: "
                                        << llvm::toString(chosen.takeError());
      noteOperands(diagnostic, op, mesh.getValue());
      return diagnostic;
    }
    const OpPlacements &placements = (*chosen)->placements;
    OpBuilder builder(op);
    for (auto [index, operand] : llvm::enumerate(op->getOpOperands()))
      operand.set(resharded(builder, op->getLoc(), operand.get(), placements.operands[index]));
    builder.setInsertionPointAfter(op);
    for (auto [index, result] : llvm::enumerate(op->getResults()))
      if (failed(placeResult(builder, op, result, placements.results[index], requests[index])))
        return failure();
    op->removeAttr(kPlacementsAttr);
    op->removeAttr(kOperandsAttr);
    op->removeAttr(kClosedAttr);
    return success();
  }

  /// A result cannot be the sum that is asked for; its operands say why.
  LogicalResult notComputed(Operation *op, OpResult result, const PartialAxis &axis,
                            const Placement &computed) {
    auto diagnostic = op->emitError()
                      << "result " << result.getResultNumber() << " of '" << nodeName(op)
                      << "' is requested partial on axis \"" << mesh.getValue().axes[axis.axis].name
                      << "\", but is computed as " << toString(mesh.getValue(), computed);
    noteOperands(diagnostic, op, mesh.getValue());
    return diagnostic;
  }

  LogicalResult placeResult(OpBuilder &builder, Operation *op, OpResult result,
                            const Placement &computed, const std::optional<Placement> &request) {
    Placement wanted = request ? *request : reduced(computed);
    for (const PartialAxis &axis : wanted.partial)
      if (!llvm::is_contained(computed.partial, axis))
        return notComputed(op, result, axis, computed);
    result.setType(placedType(cast<RankedTensorType>(result.getType()), mesh, computed));
    letStayPartial(op, result, computed, wanted);
    if (wanted == computed)
      return success();
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : result.getUses())
      uses.push_back(&use);
    Value each = reducedEachMicrobatch(builder, op, result, wanted);
    Value final = resharded(builder, op->getLoc(), each, wanted);
    for (OpOperand *use : uses)
      use->set(final);
    return success();
  }

  /// A sum that is still due can as well be done later: when the one reader adds
  /// up parts, the sums of several values become one. A gradient is whole before
  /// the optimizer reads it, and what a search decided stands. Over microbatches far addends are
  /// summed up each where it is made.
  void letStayPartial(Operation *op, OpResult result, const Placement &computed,
                      Placement &wanted) {
    if (computed.dims != wanted.dims || computed.partial.empty() ||
        !readerAddsUp(op, result, computed.partial.front().kind))
      return;
    Operation *reader = *result.user_begin();
    bool settled = reader->hasAttr(kOperandsAttr), apart = far.contains(reader);
    for (const PartialAxis &entry : computed.partial)
      if (!llvm::is_contained(wanted.partial, entry) && !(settled && isSearched(entry.axis)) &&
          !(apart && mesh.getValue().isTemporal(entry.axis)))
        wanted.partial.push_back(entry);
    wanted = canonicalize(mesh.getValue(), std::move(wanted));
  }

  bool isSearched(AxisId axis) {
    auto searched = function->getAttrOfType<ArrayAttr>(kSearchedAttr);
    return searched && llvm::any_of(searched.getAsRange<StringAttr>(), [&](StringAttr name) {
             return name.getValue() == mesh.getValue().axes[axis].name;
           });
  }

  /// Operands as settled, and still partial on axes that the search did not look at,
  /// where the op can add up parts.
  SmallVector<Placement, 2> settledOperands(const AssignmentQuery &query, ArrayAttr fixed) {
    SmallVector<Placement, 2> operands;
    for (Attribute entry : fixed)
      operands.push_back(cast<PlacementAttr>(entry).getValue());
    for (auto [id, axis] : llvm::enumerate(mesh.getValue().axes)) {
      if (isSearched(id))
        continue;
      SmallVector<Placement, 2> partial = operands;
      for (auto [operand, found] : llvm::zip_equal(partial, query.operands))
        for (const PartialAxis &entry : found.partial)
          if (entry.axis == int(id) && !llvm::is_contained(operand.usedAxes(), entry.axis)) {
            operand.partial.push_back(entry);
            operand = canonicalize(mesh.getValue(), std::move(operand));
          }
      if (shardingFromOperands(mesh.getValue(), *query.rule, query.partialRules, partial))
        operands = std::move(partial);
    }
    return operands;
  }

  static bool readerAddsUp(Operation *op, OpResult result, ReduceKind kind) {
    if (!result.hasOneUse())
      return false;
    OpOperand &use = *result.use_begin();
    Operation *user = use.getOwner();
    if (user->hasTrait<OpTrait::IsTerminator>() || roleOf(user) != roleOf(op))
      return false;
    return llvm::any_of(partialRulesOf(user, kind), [&](const PartialRule &rule) {
      return llvm::is_contained(rule, use.getOperandNumber());
    });
  }

  /// The first half of a reshard that happens in every microbatch.
  Value reducedEachMicrobatch(OpBuilder &builder, Operation *op, OpResult result,
                              const Placement &wanted) {
    auto part = op->getAttrOfType<StringAttr>(kStepPartAttr);
    op->removeAttr(kStepPartAttr);
    Placement each = wanted;
    for (const PartialAxis &entry : placementOf(result).partial)
      if (mesh.getValue().isTemporal(entry.axis) &&
          !llvm::is_contained(wanted.usedAxes(), entry.axis))
        each.partial.push_back(entry);
    if (!part || each == wanted || each == placementOf(result))
      return result;
    Value value = resharded(builder, op->getLoc(), result, each);
    value.getDefiningOp()->setAttr(kStepPartAttr, part);
    return value;
  }

  void placeResults(Operation *terminator) {
    OpBuilder builder(terminator);
    for (auto [index, operand] : llvm::enumerate(terminator->getOpOperands())) {
      auto declared = function.getResultAttrOfType<PlacementAttr>(index, kPlacementAttr);
      Placement wanted =
          declared ? declared.getValue()
                   : gatheredOverTime(mesh.getValue(), reduced(placementOf(operand.get())));
      // Of a name that a person knows: a return has none.
      Location loc =
          NameLoc::get(builder.getStringAttr(returnedName(function, index)), terminator->getLoc());
      operand.set(resharded(builder, loc, operand.get(), wanted));
    }
  }

  /// A reshard of a reshard that nothing else reads is one reshard: so an
  /// all_reduce before a slice is seen as a whole, and becomes a reduce_scatter.
  void mergeChains() {
    for (auto reshard :
         llvm::make_early_inc_range(function.getBody().front().getOps<ReshardOp>())) {
      while (auto inner = reshard.getInput().getDefiningOp<ReshardOp>()) {
        if (!inner->hasOneUse() || inner->hasAttr(kStepPartAttr) || reshard->hasAttr(kStepPartAttr))
          break;
        reshard.getInputMutable().assign(inner.getInput());
        inner.erase();
      }
      if (reshard.getInput().getType() == reshard.getResult().getType()) {
        reshard.getResult().replaceAllUsesWith(reshard.getInput());
        reshard.erase();
      }
    }
  }

  /// What was made anew elsewhere may be left without users.
  void eraseDead() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  func::FuncOp function;
  MeshAttr mesh;
  ReshardSearch &search;
  DenseMap<std::pair<Value, Type>, Value> reshards;
  AlikeOps<Assignment> assignments;
  DenseSet<Operation *> far; // sums of far addends
};

struct InsertReshards : impl::DistInsertReshardsBase<InsertReshards> {
  using DistInsertReshardsBase::DistInsertReshardsBase;

  void runOnOperation() override {
    MeshAttr mesh = requireMesh(getOperation());
    if (!mesh)
      return signalPassFailure();
    FailureOr<CostModel> costs = costModelOf(getOperation(), mesh.getValue());
    if (failed(costs))
      return signalPassFailure();
    ReshardSearch search(std::move(*costs));
    getOperation()->removeAttr(kBatchAxesAttr);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() &&
          failed(Resharder(function, mesh, search,
                           part ? DenseSet<Operation *>() : sumsOfFarAddends(function))
                     .run()))
        signalPassFailure();
  }
};

} // namespace
} // namespace weft::dist
