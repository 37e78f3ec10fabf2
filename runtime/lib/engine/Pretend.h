// Commands that sleep instead of computing.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_ENGINE_PRETEND_H
#define WEFT_RUNTIME_LIB_ENGINE_PRETEND_H

#include "weft/runtime/Program.h"

#include <map>
#include <string>
#include <vector>

namespace weft::runtime {

/// How long what each program issues (IssuedCommands) sleeps, in seconds, by their numbers.
using PretendedSeconds = std::vector<std::vector<double>>;

/// Seconds of actions by chunk, from a file as weft-schedule's --costs takes it:
///
///   weft costs 1
///   all      F=0.02 B=0.03 W=0.01
///   chunk 3  F=0.05
///
/// What else such a file may say is of no concern here: transfers and memory are real.
class PretendedCosts {
public:
  /// Fails with the line that is wrong.
  static Status read(const std::string &path, PretendedCosts &costs);

  /// For the programs of one stage. An action's seconds are spread over its commands on stream
  /// 0, by the bytes that they read and write: what it gives to others early is given early, and a
  /// small copy that stands elsewhere in the list takes little. What is of no action takes no
  /// time. Fails where the file lacks a chunk, or there are no actions.
  Status spread(const ProgramView &program, unsigned stage, PretendedSeconds &seconds) const;

private:
  struct Chunk {
    std::map<char, double> seconds; // by kind: F, B, W
  };
  /// Null if the file says nothing of it.
  const double *find(char kind, uint32_t chunk) const;

  std::string path;
  Chunk all;
  std::map<uint32_t, Chunk> chunks;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_ENGINE_PRETEND_H
