// Errors of passes as lines of weft-compile, and remarks for those who ask for them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Messages.h"

#include "Report.h"
#include "weft/Support/InputError.h"
#include "weft/runtime/Terminal.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace weft;
using namespace weft::driver;

Messages::Messages(MLIRContext &context, const Options &options)
    : options(options), diagnostics(&context) {
  // A message names the node; the whole program behind it would hide it.
  context.printOpOnDiagnostic(options.verbose);
  context.getDiagEngine().registerHandler(
      [this](Diagnostic &diagnostic) { return success(hears(diagnostic)); });
  if (!options.verbose)
    return;
  const std::string every = ".*";
  // Without a streamer remarks become diagnostics; that cannot fail.
  (void)remark::enableOptimizationRemarks(
      context, nullptr, std::make_unique<remark::RemarkEmittingPolicyAll>(),
      remark::RemarkCategories{every, every, every, every, every}, /*printAsEmitRemarks=*/true);
}

bool Messages::hears(Diagnostic &diagnostic) {
  errors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
  inputErrors += isInputError(diagnostic);
  if (isRepeated(diagnostic))
    return true;
  runtime::Progress::hide();
  // Remarks are what passes decided; --explain tells it in order.
  if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
    return !options.verbose;
  bool isOurs = diagnostic.getSeverity() == DiagnosticSeverity::Error &&
                isa<UnknownLoc>(diagnostic.getLocation()) && diagnostic.getNotes().empty();
  if (isOurs)
    tell(diagnostic.str(), UserError);
  return isOurs;
}

bool Messages::isRepeated(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
    return false;
  std::string text;
  llvm::raw_string_ostream(text) << diagnostic.getLocation() << ": " << diagnostic.str();
  return std::exchange(last, text) == text;
}

int Messages::failed(bool compilerIsToBlame) const {
  if (errors > 0)
    return compilerIsToBlame && inputErrors == 0 ? OurBug : UserError;
  return tell("internal error: compilation failed without a message; please report it with the "
              "command line and the model",
              OurBug);
}
