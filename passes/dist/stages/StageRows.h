// What each chunk of a pipeline is, takes and holds, to be told.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_STAGES_STAGEROWS_H
#define WEFT_PASSES_DIST_STAGES_STAGEROWS_H

#include "dialects/dist/IR/ChunkRows.h"
#include "passes/dist/stages/StageAssignment.h"
#include "weft/Pipeline/Costs.h"

namespace weft::dist {

/// The rows of a program that is assigned, whose types do not say yet who holds what: `costs` are
/// those of its chunks, as chunkCosts has them.
std::vector<ChunkRow> chunkRows(mlir::func::FuncOp program, StageAssignment &chunks,
                                const Mesh &mesh, const pipeline::Schedule &schedule,
                                const pipeline::Costs &costs);

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_STAGES_STAGEROWS_H
