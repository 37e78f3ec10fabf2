// The judge of sharded and local programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"
#include "passes/dist/RequireMesh.h"

#include "passes/dist/OpQueries.h"
#include "passes/dist/placement/AlikeOps.h"
#include "weft/Interfaces/OpInterfaces.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTVERIFYSPMD
#include "passes/dist/Passes.h.inc"

namespace {

/// Checks one module. Types carry everything: each op is judged by itself, one for all alike.
class SpmdVerifier {
public:
  explicit SpmdVerifier(ModuleOp module) : module(module), mesh(requireMesh(module)) {}

  LogicalResult run() {
    if (!mesh)
      return failure();
    for (auto function : module.getOps<func::FuncOp>())
      verifyFunction(function);
    if (!failed)
      verifyStates();
    return failure(failed);
  }

private:
  InFlightDiagnostic error(Operation *op) {
    failed = true;
    return op->emitError();
  }

  /// The phase of the program: that of its first placed type. All others must
  /// agree.
  void verifyFunction(func::FuncOp function) {
    if (function.isExternal()) {
      error(function) << "has no body, so what its devices compute is unknown";
      return;
    }
    if (!function.getBody().hasOneBlock()) {
      error(function) << "branches, which a program of one device must not";
      return;
    }
    level = CheckLevel::Sharded;
    right = {};
    function.walk([&](Operation *op) {
      if (llvm::any_of(op->getResultTypes(), [](Type type) { return bool(getLocal(type)); }))
        level = CheckLevel::Local;
    });
    if (llvm::any_of(function.getArgumentTypes(), [](Type type) { return bool(getLocal(type)); }))
      level = CheckLevel::Local;
    for (BlockArgument argument : function.getArguments())
      verifyPort(function, "argument", argument.getArgNumber(), argument.getType());
    Operation *terminator = function.getBody().front().getTerminator();
    for (auto [index, type] : llvm::enumerate(terminator->getOperandTypes())) {
      verifyPort(function, "result", index, type, terminator->getOperand(index));
      auto declared = function.getResultAttrOfType<PlacementAttr>(index, kPlacementAttr);
      if (declared && placementsOfTypes(type).front().dims != declared.getValue().dims)
        error(function) << "result " << index << " is placed as "
                        << toString(mesh.getValue(), placementsOfTypes(type).front())
                        << ", declared as " << toString(mesh.getValue(), declared.getValue());
    }
    for (Operation &op : function.getBody().front().without_terminator())
      verifyOp(&op);
  }

  /// A state has one type in all programs, and an update has it too.
  void verifyStates() {
    llvm::StringMap<BlockArgument> states;
    for (auto function : module.getOps<func::FuncOp>())
      for (unsigned i = 0; i < function.getNumArguments(); ++i) {
        StringRef name = nn::argumentName(function, i);
        if (!nn::isState(function, i) || name.empty())
          continue;
        BlockArgument argument = function.getArgument(i),
                      first = states.try_emplace(name, argument).first->second;
        if (argument.getType() == first.getType())
          continue;
        InFlightDiagnostic diagnostic = error(function);
        diagnostic << "state '" << name << "' is stored as " << argument.getType()
                   << ", in another program as " << first.getType();
        diagnostic.attachNote(first.getLoc()) << "this is the other program's";
      }
    for (auto function : module.getOps<func::FuncOp>())
      for (unsigned i = 0; i < function.getNumResults(); ++i) {
        StringAttr state = nn::updatedState(function, i);
        if (!state)
          continue;
        StringRef name = state.getValue();
        auto found = states.find(name);
        if (found == states.end())
          error(function) << "result " << i << " updates '" << name << "', which is no state";
        else if (found->second.getType() != function.getResultTypes()[i]) {
          InFlightDiagnostic diagnostic = error(function);
          diagnostic << "result " << i << " updates state '" << name << "', stored as "
                     << found->second.getType() << ", by " << function.getResultTypes()[i];
          diagnostic.attachNote(function.getBody().front().getTerminator()->getOperand(i).getLoc())
              << "the new value is made here";
        }
      }
  }

  /// What enters or leaves a program is whole numbers: not awaiting a sum, and
  /// with no claim on padding, which callers do not keep.
  void verifyPort(func::FuncOp function, StringRef what, unsigned index, Type type,
                  Value value = {}) {
    if (!verifyType(function, what, index, type))
      return;
    Placement placement = placementsOfTypes(type).front();
    if (!placement.partial.empty()) {
      InFlightDiagnostic diagnostic = error(function);
      diagnostic << what << " " << index << " is partial: " << toString(mesh.getValue(), placement);
      if (Operation *producer = firstPartial(value))
        diagnostic.attachNote(producer->getLoc()) << "this op leaves the sum to its consumers";
    }
    if (!placement.localIndices.empty())
      error(function) << what << " " << index << " holds local indices";
    if (what == "result" && gatheredOverTime(mesh.getValue(), placement) != placement)
      error(function) << what << " " << index
                      << " is that of one microbatch: " << toString(mesh.getValue(), placement);
    if (placement.padding && what == "argument")
      error(function) << what << " " << index << " claims to know its padding";
  }

  /// The op that made `value` partial: the first of a chain of ops that only pass a partial operand
  /// on; null for an argument.
  static Operation *firstPartial(Value value) {
    Operation *producer = value ? value.getDefiningOp() : nullptr;
    while (producer) {
      auto partial = llvm::find_if(producer->getOperands(), [](Value operand) {
        auto type = dyn_cast<RankedTensorType>(operand.getType());
        return type && (getLocal(type) || getPlacement(type)) &&
               !placementsOfTypes(TypeRange(type)).front().partial.empty();
      });
      if (partial == producer->operand_end() || !(*partial).getDefiningOp())
        break;
      producer = (*partial).getDefiningOp();
    }
    return producer;
  }

  bool verifyType(Operation *op, StringRef what, unsigned index, Type type) {
    if (!isa<RankedTensorType>(type)) {
      error(op) << what << " " << index << " is no tensor: " << type;
      return false;
    }
    Attribute encoding = cast<RankedTensorType>(type).getEncoding();
    MeshAttr found;
    if (level == CheckLevel::Local) {
      if (auto local = dyn_cast_or_null<LocalAttr>(encoding))
        found = local.getMesh();
    } else if (auto placement = dyn_cast_or_null<PlacementAttr>(encoding)) {
      found = placement.getMesh();
    }
    if (found == mesh)
      return true;
    error(op) << what << " " << index << " has no "
              << (level == CheckLevel::Local ? "#dist.local" : "#dist.placement")
              << " on the module's mesh: " << type;
    return false;
  }

  /// A loop means what its body means on all microbatches at once.
  void verifyLoop(RepeatOp loop) {
    if (level != CheckLevel::Local) {
      error(loop) << "does not belong at this phase";
      return;
    }
    for (auto [index, type] : llvm::enumerate(loop.getResultTypes()))
      verifyType(loop, "result", index, type);
    if (failed || mlir::failed(mlir::verify(loop))) {
      failed = true;
      return;
    }
    for (Operation &op : loop.getBody().front().without_terminator())
      verifyOp(&op);
  }

  void verifyOp(Operation *op) {
    if (auto loop = dyn_cast<RepeatOp>(op))
      return verifyLoop(loop);
    if (op->getNumRegions() != 0 || op->getNumSuccessors() != 0) {
      error(op) << "has regions or successors, whose meaning under placements is not defined";
      return;
    }
    AlikeKey key = alikeKey(op);
    if (right.contains(key))
      return;
    bool typesHold = true;
    for (auto [index, type] : llvm::enumerate(op->getOperandTypes()))
      typesHold &= verifyType(op, "operand", index, type);
    for (auto [index, type] : llvm::enumerate(op->getResultTypes()))
      typesHold &= verifyType(op, "result", index, type);
    if (!typesHold)
      return;
    // Transitions of this phase are judged by their own verifiers, from types alone.
    bool isTransition = level == CheckLevel::Local
                            ? isa<TransitionOpInterface, DeviceBodyOpInterface>(op)
                            : isa<ReshardOp>(op);
    if (isTransition) {
      if (mlir::failed(mlir::verify(op, /*verifyRecursively=*/false)))
        failed = true;
      return;
    }
    if (op->getDialect() && op->getDialect()->getNamespace() == "dist") {
      error(op) << "does not belong at this phase";
      return;
    }
    FactorRule rule = globalRuleOf(op);
    std::string why;
    if (!rule.verify(globalTypes(op->getOperandTypes()), globalTypes(op->getResultTypes()), &why)) {
      error(op) << "its factors do not fit its global types: " << why;
      return;
    }
    if (!checkOp(
            mesh.getValue(), rule, [&](ReduceKind kind) { return partialRulesOf(op, kind); },
            placementsOfTypes(op->getOperandTypes()), placementsOfTypes(op->getResultTypes()),
            level, &why)) {
      InFlightDiagnostic diagnostic = error(op);
      diagnostic << "'" << nodeName(op) << "': " << why;
      noteOperands(diagnostic, op, mesh.getValue());
      return;
    }
    right.insert(key);
  }

  ModuleOp module;
  MeshAttr mesh;
  CheckLevel level = CheckLevel::Sharded;
  /// Keys of the function's ops by which others that are alike need not be judged.
  llvm::StringSet<> right;
  bool failed = false;
};

struct VerifySpmd : impl::DistVerifySpmdBase<VerifySpmd> {
  void runOnOperation() override {
    if (failed(SpmdVerifier(getOperation()).run()))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace weft::dist
