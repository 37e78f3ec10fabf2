// The stages of a pipeline that a model's device configuration asks for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_STAGES_STAGEHINTS_H
#define WEFT_PASSES_DIST_STAGES_STAGEHINTS_H

#include "dialects/dist/IR/NodeStages.h"

#include "mlir/IR/Operation.h"

#include <optional>
#include <vector>

namespace weft::dist {

/// By op of `line` the stage that `dist.node_stages` of their module gives its node, or -1; empty
/// if there is no such attribute.
std::vector<int64_t> stagesAsked(llvm::ArrayRef<mlir::Operation *> line);

/// How many chunks of a line such a list needs at least.
int64_t chunksAsked(llvm::ArrayRef<int64_t> asked);

/// The first op whose stage is not the one that is asked for.
std::optional<size_t> firstNotAsAsked(llvm::ArrayRef<int64_t> asked,
                                      llvm::ArrayRef<int64_t> stages);

/// Warns if there is such an op, and says why: `said` cuts otherwise (cutAsSaid), or, where it is
/// empty, no cut into chunks on the stages `place` is as asked.
void tellNotAsAsked(llvm::ArrayRef<mlir::Operation *> line, llvm::ArrayRef<int64_t> asked,
                    llvm::ArrayRef<int64_t> stages, llvm::ArrayRef<int32_t> place,
                    llvm::StringRef said);

/// Notes by name, for `dist-write-devices`, the stage of each node: of those whose ops on `line`
/// are all on one.
void recordStages(llvm::ArrayRef<mlir::Operation *> line, llvm::ArrayRef<int64_t> stages);

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_STAGES_STAGEHINTS_H
