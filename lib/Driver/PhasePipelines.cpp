// The phases as pipelines of weft-opt, whose options are the flags of weft-compile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Driver/Driver.h"

#include "weft/Compiler/Phases.h"

#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace weft;

/// `train mesh=dp=2 loss="mse:y,t"` as a command line: --train --mesh=dp=2 ...
static llvm::Expected<std::vector<std::string>> argumentsOf(StringRef text) {
  std::vector<std::string> arguments;
  while (!(text = text.ltrim()).empty()) {
    size_t end = std::min(text.find_first_of("= "), text.size());
    std::string argument = "--" + text.take_front(end).str();
    text = text.drop_front(end);
    if (text.consume_front("=")) {
      StringRef value;
      if (StringRef quote = text.take_front(1); quote == "'" || quote == "\"") {
        size_t close = text.find(quote, 1);
        if (close == StringRef::npos)
          return llvm::createStringError(argument + ": the quote is not closed");
        value = text.slice(1, close);
        text = text.drop_front(close + 1);
        if (!text.empty() && !text.starts_with(" "))
          return llvm::createStringError(argument + ": a blank must follow the closing quote");
      } else {
        std::tie(value, text) = text.split(' ');
      }
      argument += "=" + value.str();
    }
    arguments.push_back(argument);
  }
  return arguments;
}

void driver::registerPipelines() {
  registerPhasePasses();
  for (Phase phase :
       {Phase::Graph, Phase::Step, Phase::Sharded, Phase::Staged, Phase::Local, Phase::Scheduled}) {
    std::string flag = ("weft-" + phaseName(phase) + "-pipeline").str();
    std::string summary = ("Lead from the phase before to '" + phaseName(phase) +
                           "'; options are flags of weft-compile without dashes: mesh=dp=2 train")
                              .str();
    auto build = [phase](OpPassManager &pm, StringRef text,
                         llvm::function_ref<LogicalResult(const Twine &)> fail) -> LogicalResult {
      auto arguments = argumentsOf(text);
      auto options = arguments ? parsePhaseOptions(*arguments) : arguments.takeError();
      if (!options)
        return fail("weft-" + phaseName(phase) +
                    "-pipeline: " + llvm::toString(options.takeError()));
      // A text may have been edited since its phase ended; which that is has to be known first.
      pm.addPass(createBeginPhase(phase, *options));
      buildBorder(pm, Phase(unsigned(phase) - 1));
      buildPhase(pm, phase, *options);
      return success();
    };
    // `--help` of weft-opt lists no options here: those of weft-compile does.
    registerPassPipeline(flag, summary, build,
                         [](llvm::function_ref<void(const mlir::detail::PassOptions &)>) {});
  }
}
