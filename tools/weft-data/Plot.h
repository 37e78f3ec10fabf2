// Loss curves of training logs as a picture.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_DATA_PLOT_H
#define WEFT_TOOLS_WEFT_DATA_PLOT_H

#include "weft/runtime/Status.h"

#include <string>
#include <vector>

namespace weft::data {

struct PlotOptions {
  std::vector<std::string> logs; // files of weft-run --log
  std::string output, key = "loss";
  /// Steps over which the thick curve averages; 0: a fiftieth of all.
  long smooth = 0;
};

/// Writes an SVG with one curve a log, as logged and smoothed, and evaluations
/// (eval_KEY) as points.
runtime::Status plot(const PlotOptions &options);

} // namespace weft::data

#endif // WEFT_TOOLS_WEFT_DATA_PLOT_H
