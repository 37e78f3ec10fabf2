// Reads the command line of --build and reports what was written.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Command.h"

#include "python_free_frontend/builders/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace weft::builders {

std::optional<int> runBuildCommand(int argc, const char *const *argv) {
  bool asked = false;
  std::string spec, stray;
  BuildOptions options;
  for (int i = 1; i < argc; ++i) {
    StringRef arg = argv[i];
    std::string *target = nullptr;
    if (arg == "--build-help") {
      outs() << describeKinds();
      return 0;
    }
    if (arg == "--no-weights") {
      options.withWeights = false;
      continue;
    }
    auto [flag, value] = arg.split('=');
    if (flag == "--build") {
      asked = true;
      target = &spec;
    } else if (flag == "-o") {
      target = &options.output;
    }
    if (!target)
      stray = stray.empty() ? arg.str() : stray;
    else if (arg.contains('='))
      *target = value.str();
    else if (i + 1 < argc)
      *target = argv[++i];
  }
  if (!asked)
    return std::nullopt;
  if (!stray.empty() || spec.empty() || options.output.empty()) {
    errs() << "error: "
           << (!stray.empty() ? "--build does not take '" + stray + "'"
                              : "--build needs a specification and -o")
           << "\nusage: weft-translate --build KIND:key=value,... "
              "[--no-weights] -o FILE.onnx (--build-help lists the keys)\n";
    return 2;
  }
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
