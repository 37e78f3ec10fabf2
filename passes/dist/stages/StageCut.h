// Where a line of ops is cut into the chunks of a pipeline.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_STAGES_STAGECUT_H
#define WEFT_PASSES_DIST_STAGES_STAGECUT_H

#include "passes/dist/stages/OpCosts.h"

#include "mlir/IR/Operation.h"

#include <vector>

namespace weft::dist {

/// So much longer than the shortest possible the longest chunk may take, if that saves time between
/// stages: among nearly equal cuts the one with the least to send is taken.
inline constexpr double kStageSlack = 1.05;

/// The chunk of each op of `line`, which is in program order: ascending from 0 to the size of
/// `place` less 1, each with at least one op. A chunk takes the seconds of its ops and those to
/// receive what it reads of the chunks before it; a value that is read several chunks later crosses
/// each border between. Nothing crosses between neighbours that `place` puts on one stage. The
/// longest takes at most kStageSlack times the least possible; under this, the seconds of all
/// borders are the least. `line` has at least as many ops as there are chunks. Where `asked` is not
/// empty an op whose number in it is not negative is of a chunk on that stage; the result is empty
/// if there is no such cut.
std::vector<int64_t> cutLine(llvm::ArrayRef<mlir::Operation *> line, const OpCosts &costs,
                             llvm::ArrayRef<int32_t> place, llvm::ArrayRef<int64_t> asked = {});

/// Of the whole value.
double globalBytes(mlir::Value value);

/// Whether an op's time is that of a gradient of weights (W), of those that are gradients.
bool isWeightGradient(mlir::Operation *op);

/// By position on `line`, and its end: seconds to send what is alive in front of the op there from
/// one stage to the next, in `parts` equal parts, for one of them.
std::vector<double> crossingSeconds(llvm::ArrayRef<mlir::Operation *> line, const OpCosts &costs,
                                    double parts = 1);

/// Seconds of the ops of each stage, whose chunks are `chunkOf` as cutLine has them.
std::vector<double> stageSeconds(llvm::ArrayRef<mlir::Operation *> line, const OpCosts &costs,
                                 llvm::ArrayRef<int32_t> place, llvm::ArrayRef<int64_t> chunkOf);

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_STAGES_STAGECUT_H
