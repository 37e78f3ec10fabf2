// The answer of weft-plan to what to choose, for people and as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DRIVER_CHOICEREPORT_H
#define WEFT_LIB_DRIVER_CHOICEREPORT_H

#include "weft/Choosing/Choose.h"

#include "llvm/Support/raw_ostream.h"

namespace weft::driver {

/// One screen; `top`: so many of the best beside the choice.
void printText(const choosing::Choice &choice, int64_t top, llvm::raw_ostream &out);
/// docs/plan.md describes the fields.
void printJson(const choosing::Choice &choice, llvm::raw_ostream &out);
/// For a page: the step of the choice, and all layouts that are known, each with what it is.
explain::Forecast forecastOf(const choosing::Choice &choice);

} // namespace weft::driver

#endif // WEFT_LIB_DRIVER_CHOICEREPORT_H
