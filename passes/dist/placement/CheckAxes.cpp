// Rejects meshes of which an axis splits no computation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"
#include "passes/dist/RequireMesh.h"

#include "passes/dist/OpQueries.h"
#include "weft/Interfaces/OpInterfaces.h"

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTCHECKAXES
#include "passes/dist/Passes.h.inc"

namespace {

/// What is known of an axis after all ops were looked at.
struct AxisUse {
  bool splitsWork = false;
  int64_t widest = 0; ///< elements of the largest part that placements split over it
};

class AxisChecker {
public:
  AxisChecker(ModuleOp module, const Mesh &mesh)
      : module(module), mesh(mesh), uses(mesh.axes.size()) {}

  LogicalResult run() {
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      for (Type type : function.getArgumentTypes())
        visit(type, /*isWork=*/false);
      for (Operation &op : function.getBody().front().without_terminator())
        visitOp(op);
    }
    bool failedAny = false;
    for (auto [id, axis] : llvm::enumerate(mesh.axes))
      if (anyWork && axis.size > 1 && axis.kind == AxisKind::Space && !uses[id].splitsWork)
        failedAny |= failed(reject(id));
    return failure(failedAny);
  }

private:
  /// The optimizer follows its states: it is split even where all processes compute the
  /// same gradients.
  void visitOp(Operation &op) {
    bool isWork = isa<ShardableOpInterface>(op) && op.getNumOperands() > 0 &&
                  roleOf(&op) != OpRole::Optimizer;
    anyWork |= isWork;
    for (Type type : op.getOperandTypes())
      visit(type, isWork);
    for (Type type : op.getResultTypes())
      visit(type, isWork);
  }

  void visit(Type type, bool isWork) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      for (int64_t size : tensor.getShape())
        largestDim = std::max(largestDim, size);
    PlacementAttr placement = getPlacement(type);
    if (!placement)
      return;
    for (const DimPlacement &dim : placement.getValue().dims)
      for (const PlacedFactor &part : dim) {
        // With more shards than elements some processes hold nothing of it.
        bool isEnough = part.size >= mesh.groupSize(part.axes);
        for (AxisId axis : part.axes) {
          uses[axis].splitsWork |= isWork && isEnough;
          uses[axis].widest = std::max(uses[axis].widest, part.size);
        }
      }
  }

  LogicalResult reject(AxisId id) {
    const Mesh::Axis &axis = mesh.axes[id];
    InFlightDiagnostic error = module.emitError()
                               << "axis " << axis.name << "=" << axis.size << " splits nothing: ";
    int64_t most = uses[id].widest > 0 ? uses[id].widest : largestDim;
    if (axis.size > most)
      error << "there are at most " << most << " parts to share among its " << axis.size
            << " processes";
    else if (uses[id].widest > 0)
      error << "what is placed over it has " << most << " parts, but every op reads it whole";
    else
      error << "neither the batch nor a weight can be cut over it (small weights become "
               "constants without --keep-weights)";
    error << "; make it smaller or leave it out, or let its processes repeat the work of others "
             "with --allow-idle-axes";
    return error;
  }

  ModuleOp module;
  const Mesh &mesh;
  SmallVector<AxisUse> uses;
  int64_t largestDim = 0;
  bool anyWork = false;
};

struct CheckAxes : impl::DistCheckAxesBase<CheckAxes> {
  void runOnOperation() override {
    MeshAttr mesh = requireMesh(getOperation());
    if (!mesh)
      return signalPassFailure();
    if (failed(AxisChecker(getOperation(), mesh.getValue()).run()))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace weft::dist
