// Texts of placements and reasons, for both phases that have them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_EXPLAIN_REASON_H
#define WEFT_LIB_EXPLAIN_REASON_H

#include "weft/Explain/Document.h"

#include "dialects/dist/IR/Dist.h"

namespace weft::explain {

/// `[8{dp}, 16], partial = sum[tp]`, or `whole`.
std::string placementText(const Mesh &mesh, const Placement &placement);
/// That of which a local tensor is a shard.
std::string placementText(mlir::Type type);

/// `8x16xf32`, of the global tensor that `type` stands for.
std::string typeText(mlir::Type type);

/// Fills in who makes and who needs what moves over `axes`, in a routine's call with its `label`.
void describeReason(const Mesh &mesh, llvm::ArrayRef<AxisId> axes, dist::ReasonAttr reason,
                    std::optional<llvm::StringRef> label, Collective &collective);

/// Of each axis.
std::vector<int64_t> sizesOf(const Mesh &mesh, llvm::ArrayRef<AxisId> axes);

} // namespace weft::explain

#endif // WEFT_LIB_EXPLAIN_REASON_H
