// Builds a model and reports what was written.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Command.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace weft::builders {

int runBuild(StringRef spec, const BuildOptions &options) {
  Expected<WriteSummary> summary = build(spec, options);
  if (!summary) {
    errs() << "error: " << toString(summary.takeError()) << "\n";
    return 1;
  }
  errs() << options.output << ": " << summary->nodes << " nodes, " << summary->parameters
         << " parameters (" << format("%.1f", double(summary->weightBytes) / 1e6) << " MB "
         << (!options.withWeights ? "declared, not written"
             : summary->external  ? "in " + options.output + ".data"
                                  : "in the file")
         << ")\n";
  if (!summary->unused.empty()) {
    errs() << "note: the model does not use " << summary->unused.size()
           << " tensors of the checkpoint: ";
    interleaveComma(summary->unused, errs());
    errs() << "\n";
  }
  return 0;
}

} // namespace weft::builders
