// weft-plan as a function.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DRIVER_PLAN_H
#define WEFT_DRIVER_PLAN_H

#include "weft/Cost/Profile.h"
#include "weft/Driver/Options.h"

#include "llvm/Support/Error.h"

namespace weft::driver {

/// One run of weft-plan.
struct PlanOptions {
  /// What is compiled, and how: the flags that weft-compile has, too.
  Options program;
  std::string layout;     // of --evaluate; "": one is to be chosen
  QuestionFlags question; // then
  std::string output;     // where the plan that is chosen goes, or ""
  std::string from, to;   // plans to compare (--diff)
  /// Of a profile, and of a trace that the prediction is joined with; or "".
  std::string profileFile, traceFile;
  /// What they hold.
  std::optional<cost::Profile> profile;
  std::string trace;
  bool isJson = false;
  /// Instead of all that, where the figures of this machine go, and over what ranks communicate.
  std::string calibrate, comm = "inproc";
  std::string answer; // to --help or --version; then nothing else counts
};

/// An error says what is wrong and what to write instead.
llvm::Expected<PlanOptions> parsePlanOptions(const std::vector<std::string> &arguments);

/// Runs the whole command line; returns the exit code. `program` is argv[0].
int planMain(const std::vector<std::string> &arguments, const std::string &program);

} // namespace weft::driver

#endif // WEFT_DRIVER_PLAN_H
