// Sets the module's mesh.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"
#include "passes/dist/RequireMesh.h"

#include "dialects/dist/IR/Dist.h"
#include "weft/Cost/CostModel.h"

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTATTACHMESH
#include "passes/dist/Passes.h.inc"

namespace {

struct AttachMesh : impl::DistAttachMeshBase<AttachMesh> {
  using DistAttachMeshBase::DistAttachMeshBase;
  void runOnOperation() override {
    std::optional<Mesh> parsed = parseMesh(getOperation(), mesh);
    if (!parsed)
      return signalPassFailure();
    if (microbatches < 1 || microbatches > (1 << 20)) {
      getOperation().emitError() << "the number of microbatches must be in [1, 2^20], found "
                                 << microbatches.getValue();
      return signalPassFailure();
    }
    if (microbatches > 1 && !parsed->resolve("mb").empty()) {
      getOperation().emitError() << "mesh '" << mesh
                                 << "' names an axis 'mb', which is the axis of microbatches";
      return signalPassFailure();
    }
    if (microbatches > 1)
      parsed->axes.push_back({"mb", microbatches, AxisKind::Temporal});
    if (!stages.empty()) {
      AxisList found = parsed->resolve(stages);
      if (found.size() != 1) {
        getOperation().emitError() << "stages are counted by one axis of the mesh; '" << stages
                                   << "' names " << found.size() << " of '" << mesh << "'";
        return signalPassFailure();
      }
      parsed->axes[found.front()].kind = AxisKind::Stages;
    }
    if (failed(costModelOf(getOperation(), *parsed)))
      return signalPassFailure();
    getOperation()->setAttr(kMeshAttr, MeshAttr::get(&getContext(), *parsed));
  }
};

} // namespace
} // namespace weft::dist
