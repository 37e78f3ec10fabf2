// The actions of a pipeline in a trace: as they ran, and as the schedule has them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_ENGINE_TRACEACTIONS_H
#define WEFT_RUNTIME_LIB_ENGINE_TRACEACTIONS_H

#include "device/Timeline.h"
#include "program/commands/Issued.h"

#include <string>
#include <vector>

namespace weft::runtime {

/// A stretch of a rank's stream 0 in which no other action is under way.
struct ActionSlice {
  int64_t rank;
  uint32_t program, run; // the number of the program's run in the trace
  std::string action;
  double begin, end; // seconds
};

/// Those of a rank. `issued`: what each program issues; `offset` is added to times.
std::vector<ActionSlice> actionSlices(const ProgramView &program,
                                      const std::vector<IssuedCommands> &issued, int64_t rank,
                                      const std::vector<TraceInterval> &trace, double offset);

/// As lines, for another process to read.
std::string textOf(const std::vector<ActionSlice> &slices);
void readSlices(const std::string &text, std::vector<ActionSlice> &slices);

/// When each action would have run if each of a kind and chunk took as long as it does in the mean
/// (`slices`: of all ranks), transfers took no time, and each stage went through its list as soon
/// as it could: each run of a program, which begins when its first action did.
///
/// As in a simulation of weft-schedule, F waits for that of the chunk before, B and D for those of
/// the chunk behind, and all for what their stage does before.
std::vector<ActionSlice> predictedSlices(const ProgramView &program,
                                         const std::vector<ActionSlice> &slices);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_ENGINE_TRACEACTIONS_H
