// Where state is stored so that no two devices keep the same of it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SHARDING_STATEPLACEMENT_H
#define WEFT_SHARDING_STATEPLACEMENT_H

#include "weft/Sharding/Placement.h"

namespace weft {

/// `used` split further over those of `axes` on which it is replicated: a part
/// of one dim gets them as its minor-most axes. Of all parts the one with the
/// least padding, and of those the most major, whose shards are the longest runs
/// in memory; and always so that one all_gather undoes it. A part with fewer elements than devices
/// is not cut, because some would hold nothing; `used` itself comes back if none can be. Example,
/// over "dp"=4: `[10, 24]` -> `[10, 24{"dp"}]`, `[12, 24{"tp"}]` -> `[12{"dp"}, 24{"tp"}]`.
Placement splitFurther(const Mesh &mesh, const Placement &used, llvm::ArrayRef<AxisId> axes);

/// Elements that one device holds, padding included.
int64_t localElements(const Mesh &mesh, const Placement &placement);

} // namespace weft

#endif // WEFT_SHARDING_STATEPLACEMENT_H
