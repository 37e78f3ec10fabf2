// The mesh that most passes on placements need.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_REQUIREMESH_H
#define WEFT_PASSES_DIST_REQUIREMESH_H

#include "dialects/dist/IR/Dist.h"

#include "mlir/IR/BuiltinOps.h"

namespace weft::dist {

/// The mesh of the module; null, and an error at the module, if it has none.
inline MeshAttr requireMesh(mlir::ModuleOp module) {
  MeshAttr mesh = getMesh(module);
  if (!mesh)
    module.emitError() << "has no mesh: attach one with --dist-attach-mesh";
  return mesh;
}

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_REQUIREMESH_H
