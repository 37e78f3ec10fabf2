// Writes a built model to disk, its weights streamed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_BUILDERS_MODELWRITER_H
#define WEFT_PYTHON_FREE_FRONTEND_BUILDERS_MODELWRITER_H

#include "python_free_frontend/builders/GraphBuilder.h"

#include <functional>

namespace weft::builders {

/// Takes how many bytes of weights are written, first 0, and of how many.
using Written = std::function<void(int64_t done, int64_t total)>;

/// What was written, for the tool's last line.
struct WriteSummary {
  int64_t nodes = 0, parameters = 0, weightBytes = 0;
  bool external = false;
  /// Tensors of the checkpoint that the model does not use.
  std::vector<std::string> unused;
};

/// Writes the model of `g` to `path`. Weights go into the file, or beside it
/// into `path`.data when they are large or spec().external asks for it. With a
/// null `source` they are declared as external data and not written.
///
/// The file is laid out as protobuf would lay it out, but written piece by
/// piece: no more than one chunk of one weight is in memory at a time.
llvm::Expected<WriteSummary> writeModel(GraphBuilder &g, WeightSource *source, llvm::StringRef path,
                                        const Written &written = {});

} // namespace weft::builders

#endif // WEFT_PYTHON_FREE_FRONTEND_BUILDERS_MODELWRITER_H
