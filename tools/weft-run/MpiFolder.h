// A folder for what MPI shares by files, which goes with the job.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_RUN_MPIFOLDER_H
#define WEFT_TOOLS_WEFT_RUN_MPIFOLDER_H

#include "weft/runtime/Status.h"

#include <string>

namespace weft::runtime {

/// Open MPI's ranks share memory by files that they and mpirun remove; killed, they leave them
/// behind. Here they are in a folder of the job's own, in memory where there is /dev/shm, else in
/// TMPDIR.
class MpiFolder {
public:
  MpiFolder() = default;
  ~MpiFolder() { remove(); }
  MpiFolder(const MpiFolder &) = delete;
  MpiFolder &operator=(const MpiFolder &) = delete;

  /// The name has this process's number in it.
  Status make();
  /// Tells the calling process, and those that it starts, of the folder; where a user has named
  /// another one, that holds.
  void setVariables() const;
  /// With all that is in it. Once it is gone, no process that was forgotten makes anything there.
  void remove();

private:
  std::string path;
};

} // namespace weft::runtime

#endif // WEFT_TOOLS_WEFT_RUN_MPIFOLDER_H
