// Chooses the dim over which state is split further.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Sharding/StatePlacement.h"

#include "weft/Sharding/Collective.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace weft {

int64_t localElements(const Mesh &mesh, const Placement &placement) {
  int64_t count = 1;
  for (int64_t size : localShape(mesh, placement))
    count *= size;
  return count;
}

Placement splitFurther(const Mesh &mesh, const Placement &used, ArrayRef<AxisId> axes) {
  AxisList taken = used.usedAxes(), fresh;
  for (AxisId axis : axes)
    if (!llvm::is_contained(taken, axis) && mesh.size(axis) > 1)
      fresh.push_back(axis);
  Placement best = used;
  if (fresh.empty())
    return best;
  int64_t least = -1;
  for (auto [d, dim] : llvm::enumerate(used.dims))
    for (size_t p = 0; p < dim.size(); ++p) {
      Placement candidate = used;
      PlacedFactor &part = candidate.dims[d][p];
      llvm::append_range(part.axes, fresh);
      if (part.size < mesh.groupSize(part.axes))
        continue;
      candidate = canonicalize(mesh, std::move(candidate));
      // Neighbours may have merged so that the axes are no longer minor-most.
      int cut = findFactor(candidate.dims[d], fresh);
      if (cut < 0 || withoutAxes(mesh, candidate.dims[d], cut, fresh.size()) != dim)
        continue;
      int64_t elements = localElements(mesh, candidate);
      if (least >= 0 && elements >= least)
        continue;
      least = elements;
      best = std::move(candidate);
    }
  return best;
}

} // namespace weft
