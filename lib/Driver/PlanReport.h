// The answer of weft-plan, for people and as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DRIVER_PLANREPORT_H
#define WEFT_LIB_DRIVER_PLANREPORT_H

#include "weft/Choosing/Evaluation.h"

#include "llvm/Support/raw_ostream.h"

namespace weft::driver {

void printText(const choosing::Evaluation &evaluation, llvm::raw_ostream &out);
/// Of that only whether it fits, time, memory and what is sent.
void printCosts(const choosing::Evaluation &evaluation, llvm::raw_ostream &out);
/// docs/plan.md describes the fields.
void printJson(const choosing::Evaluation &evaluation, llvm::raw_ostream &out);
/// For a page: what the step is, without other layouts.
explain::Forecast forecastOf(const choosing::Evaluation &evaluation);

} // namespace weft::driver

#endif // WEFT_LIB_DRIVER_PLANREPORT_H
