// A schedule as a picture.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PIPELINE_PLOT_H
#define WEFT_PIPELINE_PLOT_H

#include "weft/Pipeline/Simulate.h"

namespace weft::pipeline {

/// A Gantt chart as SVG: a row for each rank with its actions, beneath it what the rank holds.
std::string plotSchedule(const Schedule &schedule, const Timing &timing, const Costs &costs,
                         const std::string &title);

/// A picture has every action, and viewers take only so many: what is wrong, or nothing.
std::string checkPicture(const Schedule &schedule);
std::string checkPicture(size_t actions, int64_t microbatches);

/// A Gantt chart in characters, of at most `width` columns; nothing if that is too narrow.
std::string drawSchedule(const Schedule &schedule, const Timing &timing, size_t width);

} // namespace weft::pipeline

#endif // WEFT_PIPELINE_PLOT_H
