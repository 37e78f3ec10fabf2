// Starts a training job again when it lost a rank.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_RUN_RESTARTS_H
#define WEFT_TOOLS_WEFT_RUN_RESTARTS_H

#include "CommandLine.h"
#include "Supervisor.h"

namespace weft::runtime {

/// The command that runs a rank, or all of them in one process. `resume`: from
/// this checkpoint instead of the one that --resume says; empty = as it says.
std::vector<std::string> commandOf(const std::string &executable, const CommandLine &options,
                                   const std::string &resume);

/// Counts the attempts at a job, and says from where the next one goes on.
class Restarts {
public:
  explicit Restarts(const CommandLine &options);

  /// Whether a job that ended so is to be started again; then one line tells
  /// why, and from where.
  bool again(const Outcome &outcome);
  /// The folder from whose last checkpoint, one that this job saved, the next
  /// attempt goes on; empty = as the first one did.
  const std::string &resume() const { return folder; }
  /// Tells the failure of the last attempt; the exit code.
  int last(const Outcome &outcome) const;

private:
  const CommandLine &options;
  uint64_t newest = 0; // ordinal of what was in --save before the first attempt; 0 = nothing
  long done = 0;
  std::string folder;
};

} // namespace weft::runtime

#endif // WEFT_TOOLS_WEFT_RUN_RESTARTS_H
