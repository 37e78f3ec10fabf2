// The mesh that most passes on placements need, and that some are given.
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

/// The mesh that an option of a pass on `module` says; on failure an error there.
inline std::optional<Mesh> parseMesh(mlir::ModuleOp module, llvm::StringRef text) {
  std::string why;
  std::optional<Mesh> mesh = Mesh::parse(text, &why);
  if (!mesh)
    module.emitError() << "cannot read mesh '" << text << "': " << why;
  return mesh;
}

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_REQUIREMESH_H
