// Sets the module's mesh.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"

#include "dialects/dist/IR/Dist.h"

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTATTACHMESH
#include "passes/dist/Passes.h.inc"

namespace {

struct AttachMesh : impl::DistAttachMeshBase<AttachMesh> {
  using DistAttachMeshBase::DistAttachMeshBase;
  void runOnOperation() override {
    std::string why;
    std::optional<Mesh> parsed = Mesh::parse(mesh, &why);
    if (!parsed) {
      getOperation().emitError() << "cannot read mesh '" << mesh << "': " << why;
      return signalPassFailure();
    }
    getOperation()->setAttr(kMeshAttr, MeshAttr::get(&getContext(), *parsed));
  }
};

} // namespace
} // namespace weft::dist
