// Starts the processes of a job.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_RUN_START_H
#define WEFT_TOOLS_WEFT_RUN_START_H

#include "Supervisor.h"

namespace weft::runtime {

/// `command`, which runs one rank, for each rank; they meet over TCP, know a
/// secret that this draws, and find a port open that nobody else can take.
Status startTcp(const std::vector<std::string> &command, int64_t ranks, const Signals &signals,
                Job &job);

/// mpirun, which starts `command` for each rank.
Status startMpi(const std::vector<std::string> &command, int64_t ranks, const Signals &signals,
                Job &job);

/// `command` in one process, which is run from `executable`, a descriptor.
Status startHere(const std::vector<std::string> &command, int executable, const Signals &signals,
                 Job &job);

} // namespace weft::runtime

#endif // WEFT_TOOLS_WEFT_RUN_START_H
