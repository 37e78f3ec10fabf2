// Where state is stored so that no two devices hold the same elements: the rule behind ZeRO.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SHARDING_STATEPLACEMENT_H
#define WEFT_SHARDING_STATEPLACEMENT_H

#include "weft/Sharding/Placement.h"

namespace weft {

/// `used`, split further over those of `axes` on which it is replicated.
/// One factor of one dim gets these axes, as its minor-most: so one all_gather undoes it.
/// It is the factor with the least padding; of several the most major, because its shards are the
/// longest runs in memory. A factor with fewer elements than devices is not split, since some
/// devices would hold nothing; if none can be split, `used` is returned. Example, over "dp"=4:
/// `[10, 24]` -> `[10, 24{"dp"}]`, `[12, 24{"tp"}]` -> `[12{"dp"}, 24{"tp"}]`.
Placement splitFurther(const Mesh &mesh, const Placement &used, llvm::ArrayRef<AxisId> axes);

/// Elements that one device holds, padding included.
int64_t localElements(const Mesh &mesh, const Placement &placement);

} // namespace weft

#endif // WEFT_SHARDING_STATEPLACEMENT_H
