// Builds ONNX models of any size without an exporter.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_BUILDERS_BUILDERS_H
#define WEFT_PYTHON_FREE_FRONTEND_BUILDERS_BUILDERS_H

#include "python_free_frontend/builders/ModelWriter.h"

namespace weft::builders {

struct BuildOptions {
  std::string output;      // a file name, or "-"
  bool withWeights = true; // false: declared as external data, not written
  Written written = {};    // told as weights are written, the last time with all
};

/// Builds the model that `spec` ("KIND:key=value,...") asks for and writes it.
llvm::Expected<WriteSummary> build(llvm::StringRef spec, const BuildOptions &options);

/// The graph alone: nodes and declared parameters, nothing on disk.
void buildGraph(GraphBuilder &g);

} // namespace weft::builders

#endif // WEFT_PYTHON_FREE_FRONTEND_BUILDERS_BUILDERS_H
