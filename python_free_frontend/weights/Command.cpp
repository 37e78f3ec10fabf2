// Replaces the weights of a model file and reports how.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/weights/Command.h"

#include "python_free_frontend/weights/ModelFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace weft::weights {
namespace {

Expected<std::unique_ptr<TensorStore>> openStore(const WeightFiles &files,
                                                 OpenCheckpoint openCheckpoint) {
  if (files.paths.size() == 1) {
    auto store = openCheckpoint(files.paths[0], files.step);
    if (!store || *store)
      return store;
  }
  if (files.step >= 0)
    return createStringError(inconvertibleErrorCode(),
                             "--step is for checkpoints, which '%s' is not",
                             files.paths[0].c_str());
  return openSafetensors(files.paths);
}

} // namespace

Expected<Outcome> runReplace(const WeightFiles &files, const ReplaceOptions &options,
                             OpenCheckpoint openCheckpoint) {
  for (const std::string &path : files.paths)
    for (const std::string &output : {options.output, dataFileOf(options.output)})
      if (sys::fs::equivalent(output, path))
        return createStringError("'" + output +
                                 "' is what the weights are read from; name another file");
  auto store = openStore(files, openCheckpoint);
  Expected<ReplaceSummary> summary =
      store ? replaceWeights(**store, options) : Expected<ReplaceSummary>(store.takeError());
  if (!summary)
    return summary.takeError();
  Outcome outcome;
  if (summary->unknownFields)
    outcome.warnings.push_back("left out " + std::to_string(summary->unknownFields) +
                               " fields of the model that the standard does not know");
  auto list = [&](const char *what, const std::vector<std::string> &names) {
    if (!names.empty())
      outcome.notes.push_back(std::to_string(names.size()) + what + ": " + join(names, ", "));
  };
  append_range(outcome.notes, summary->idleRules);
  list(" initializers keep the model's values", summary->kept);
  list(" tensors are left out", summary->unused);
  raw_string_ostream(outcome.summary)
      << options.output << ": " << summary->replaced << " initializers replaced ("
      << format("%.1f", double(summary->bytes) / 1e6) << " MB "
      << (summary->external ? "in " + options.output + ".data" : std::string("in the file")) << ")";
  return outcome;
}

} // namespace weft::weights
