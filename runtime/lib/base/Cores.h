// Which cores a rank may use when several share a machine.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_BASE_CORES_H
#define WEFT_RUNTIME_LIB_BASE_CORES_H

#include <cstdint>
#include <vector>

namespace weft::runtime {

/// What one rank's process knows about its machine, to be told to all others.
struct CoreReport {
  static constexpr unsigned kWords = 64; // 4096 cores
  uint64_t host;                         // a hash of the machine's name
  uint64_t mask[kWords];                 // the cores that the process may use
};

/// Of the calling thread: the launcher's and the system's limits are in it.
CoreReport reportCores();

/// One rank's part of its machine. A launcher may have given every process
/// cores of its own, or all of them the same: ranks with the same cores cut
/// them into runs of equal length.
struct CoreShare {
  int64_t localRanks = 1; // ranks on this machine
  int64_t sharers = 1;    // of these, ranks that may use some of the same cores
  unsigned cores = 1;     // that the process may use
  /// What is left for each sharer, at least one.
  unsigned each() const { return unsigned(cores > sharers ? cores / sharers : 1); }
  /// The rank's own run; empty where no rank has cores to itself: it has all
  /// of its process, or there are more ranks than cores, or masks overlap.
  std::vector<int> own;
};
CoreShare shareCores(const std::vector<CoreReport> &reports, int64_t rank);

/// Keeps the calling thread on these cores; none: wherever it may be now. Best
/// effort: that it is not kept costs time and nothing else.
void keepOn(const std::vector<int> &cores);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_BASE_CORES_H
