// What weft-schedule prints of a schedule.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_SCHEDULE_REPORT_H
#define WEFT_TOOLS_WEFT_SCHEDULE_REPORT_H

#include "Request.h"

namespace weft::schedule {

/// How far the objective is above its bound, as a share of the bound.
double gapOf(const Request &request, const Result &result);

/// For people.
std::string summary(const Request &request, const Result &result);
/// The title of a picture.
std::string titleOf(const Result &result);
/// For programs: one document.
std::string json(const Request &request, const Result &result);

} // namespace weft::schedule

#endif // WEFT_TOOLS_WEFT_SCHEDULE_REPORT_H
