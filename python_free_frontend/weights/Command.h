// The part of weft-translate's command line that replaces weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_WEIGHTS_COMMAND_H
#define WEFT_WEIGHTS_COMMAND_H

#include "python_free_frontend/weights/TensorStore.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>

namespace weft::weights {

/// Opens `path` as a checkpoint, that of `step` unless it is negative; null if
/// it is none.
using OpenCheckpoint = llvm::function_ref<llvm::Expected<std::unique_ptr<TensorStore>>(
    const std::string &path, int64_t step)>;

/// Runs `--export-onnx MODEL --weights CHECKPOINT` and
/// `--import-weights FILE MODEL`; nothing if neither is asked for, else the
/// exit code.
std::optional<int> runWeightsCommand(int argc, const char *const *argv,
                                     OpenCheckpoint openCheckpoint);

} // namespace weft::weights

#endif // WEFT_WEIGHTS_COMMAND_H
