// What --export-onnx and --import-weights of weft-translate do.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_WEIGHTS_COMMAND_H
#define WEFT_PYTHON_FREE_FRONTEND_WEIGHTS_COMMAND_H

#include "python_free_frontend/weights/ReplaceWeights.h"
#include "weft/Support/Outcome.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace weft::weights {

/// Opens `path` as a checkpoint, that of `step` unless it is negative; null if
/// it is none.
using OpenCheckpoint = llvm::function_ref<llvm::Expected<std::unique_ptr<TensorStore>>(
    const std::string &path, int64_t step)>;

struct WeightFiles {
  std::vector<std::string> paths; // one checkpoint, or files of safetensors
  int64_t step = -1;              // of a checkpoint; negative = the newest
};

/// Gives the model the weights of `files`; the outcome is what was replaced.
llvm::Expected<Outcome> runReplace(const WeightFiles &files, const ReplaceOptions &options,
                                   OpenCheckpoint openCheckpoint);

} // namespace weft::weights

#endif // WEFT_PYTHON_FREE_FRONTEND_WEIGHTS_COMMAND_H
