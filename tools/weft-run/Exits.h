// In which order processes end that are not our children.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_RUN_EXITS_H
#define WEFT_TOOLS_WEFT_RUN_EXITS_H

#include <cstdint>
#include <sys/types.h>
#include <vector>

namespace weft::runtime {

/// When one of mpirun's ranks is killed, mpirun kills the others within
/// milliseconds: who looks at all of them now and then finds several dead and
/// cannot say which came first. The system can: descriptors of processes
/// (pidfd_open, Linux 5.3) become readable when these end, and epoll lists what
/// became readable in that order. The order is best effort: a process that ended
/// before it was watched is not listed, and where the system has no such
/// descriptors none is.
class Exits {
public:
  Exits();
  ~Exits();
  Exits(const Exits &) = delete;

  /// From now on `next` tells when process `pid` has ended. Does nothing where
  /// the system has no such descriptors, or if it has ended already.
  void watch(pid_t pid, int64_t rank);
  /// The ranks that ended since the last call, the first one first.
  std::vector<int64_t> next();

private:
  int queue = -1;
  std::vector<int> processes; // their descriptors
};

} // namespace weft::runtime

#endif // WEFT_TOOLS_WEFT_RUN_EXITS_H
