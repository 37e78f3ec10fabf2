// Builds a model and reports what was written.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Command.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace weft::builders {

Expected<Outcome> runBuild(StringRef spec, const BuildOptions &options) {
  Expected<WriteSummary> summary = build(spec, options);
  if (!summary)
    return summary.takeError();
  Outcome outcome;
  raw_string_ostream(outcome.summary)
      << options.output << ": " << summary->nodes << " nodes, " << summary->parameters
      << " parameters (" << format("%.1f", double(summary->weightBytes) / 1e6) << " MB "
      << (!options.withWeights ? "declared, not written"
          : summary->external  ? "in " + options.output + ".data"
                               : "in the file")
      << ")";
  if (!summary->unused.empty())
    outcome.notes.push_back("the model does not use " + std::to_string(summary->unused.size()) +
                            " tensors of the checkpoint: " + join(summary->unused, ", "));
  return outcome;
}

} // namespace weft::builders
