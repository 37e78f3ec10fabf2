// What a step took beside what was predicted, cause by cause.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DRIVER_TRACEREPORT_H
#define WEFT_LIB_DRIVER_TRACEREPORT_H

#include "weft/Cost/StepAccount.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"

#include <string>
#include <utility>
#include <vector>

namespace weft::driver {

/// Seconds of one cause, in one run of a rank.
struct Share {
  std::string cause;
  bool isKernels = false; // else waiting for others
  double predicted = 0;
  /// Of the mean rank: that passed, and of the processor.
  double elapsed = 0, processor = 0;
};

struct TraceReport {
  int64_t ranks = 0, runs = 0;
  std::vector<Share> shares;
  std::string flags; // with which its program was compiled, one space between two
};

/// Joins a trace of weft-run with the prediction. What a rank does on its first stream, and the
/// time from command to command, is of the command's cause: kernels by kind, those of `optimizer`
/// (names of nodes) apart; a collective, or waiting for one, exposed over its first axis; what
/// crosses `stageAxis` the bubble. An error says why the text is no such trace, or that its program
/// is of another name than `program`, or of other axes.
llvm::Expected<TraceReport> joinTrace(llvm::StringRef json, llvm::StringRef program,
                                      const cost::StepAccount &account,
                                      const cost::Prediction &prediction,
                                      const llvm::StringSet<> &optimizer);

/// A table.
void printReport(const TraceReport &report, llvm::raw_ostream &out);

} // namespace weft::driver

#endif // WEFT_LIB_DRIVER_TRACEREPORT_H
