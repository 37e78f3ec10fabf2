// What one layout of a program costs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DRIVER_EVALUATE_H
#define WEFT_LIB_DRIVER_EVALUATE_H

#include "PlanReport.h"
#include "weft/Driver/Options.h"

namespace weft::driver {

/// Takes the program on to `staged`, as its options say, and finds out what that costs; of the
/// command line it reads what the program is called. With the text of a profile
/// (weft/Cost/Profile.h) costs are those of other software. Returns an exit code, whose reason has
/// been told if it is not that of success; fails, with a diagnostic, if the program does not
/// compile so. `deservesTime`: whether to take seconds for exact memory, asked of what is known
/// without it; null: always.
mlir::FailureOr<int> evaluate(Compilation &compilation, const Options &options,
                              const std::string &profile, Evaluation &evaluation,
                              llvm::function_ref<bool(const Evaluation &)> deservesTime = nullptr);

} // namespace weft::driver

#endif // WEFT_LIB_DRIVER_EVALUATE_H
