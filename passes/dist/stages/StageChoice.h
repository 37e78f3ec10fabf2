// Where a person says that the chunks of a pipeline begin.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_STAGES_STAGECHOICE_H
#define WEFT_PASSES_DIST_STAGES_STAGECHOICE_H

#include "passes/dist/stages/OpCosts.h"

#include "mlir/IR/Operation.h"
#include "llvm/Support/Error.h"

#include <vector>

namespace weft::dist {

/// An error if `text` is neither `REGEX;REGEX...` nor `blocks:N,N...` with positive numbers.
llvm::Error checkStages(llvm::StringRef text);

/// How many chunks such a text tells of.
int64_t chunksSaid(llvm::StringRef text);

/// The chunk of each op of `line`, as cutLine has it for `place`, but where `text` says.
/// `REGEX;REGEX`: each but the first chunk begins with the first node behind the last one's
/// beginning whose name matches. `blocks:5,7`: so many of the equal blocks that the line repeats
/// are in each; what is before the blocks is of the first chunk, what is behind of the last. Of the
/// places that part equal blocks those are taken where the least crosses.
llvm::Expected<std::vector<int64_t>> cutAsSaid(llvm::ArrayRef<mlir::Operation *> line,
                                               const OpCosts &costs, llvm::ArrayRef<int32_t> place,
                                               llvm::StringRef text);

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_STAGES_STAGECHOICE_H
