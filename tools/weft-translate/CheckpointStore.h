// Checkpoints of the runtime as a source of weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_TRANSLATE_CHECKPOINTSTORE_H
#define WEFT_TOOLS_WEFT_TRANSLATE_CHECKPOINTSTORE_H

#include "python_free_frontend/weights/TensorStore.h"

namespace weft {

/// Opens the newest sound checkpoint of `path`, or that of `step` if it is not
/// negative; null if `path` holds no checkpoint at all.
llvm::Expected<std::unique_ptr<weights::TensorStore>> openCheckpointStore(const std::string &path,
                                                                          int64_t step);

} // namespace weft

#endif // WEFT_TOOLS_WEFT_TRANSLATE_CHECKPOINTSTORE_H
