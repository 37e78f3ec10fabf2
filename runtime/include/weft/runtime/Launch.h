// How this process was started, and as which rank of what.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LAUNCH_H
#define WEFT_RUNTIME_LAUNCH_H

#include "weft/runtime/Status.h"

#include <array>
#include <cstdint>
#include <string>

namespace weft::runtime {

/// Who a process is in a job, and where its first process listens.
struct JobAddress {
  int64_t rank = 0, processes = 1;
  std::string host; // of rank 0: a name or an IPv4 address
  uint16_t port = 0;
  /// Of the job; others are turned away. A secret if the launcher gave one, else
  /// what tells the jobs of one machine apart.
  std::array<uint64_t, 2> token{};
  int listener = -1; // of rank 0: a socket that its launcher made for it
};

/// The job that the environment describes. In this order:
/// - OMPI_COMM_WORLD_SIZE, PMIX_RANK or PMI_SIZE: an MPI launcher, or srun with
///   --mpi; the rest is MPI's to know.
/// - RANK and WORLD_SIZE (torchrun, or by hand): processes that meet over TCP
/// at
///   MASTER_ADDR and MASTER_PORT. torchrun itself listens on that port, so the
///   next one is taken.
/// - SLURM_STEP_NUM_TASKS and SLURM_PROCID (srun): the same, at the first host
///   of SLURM_STEP_NODELIST and a port made from the job's number, unless
///   MASTER_ADDR and MASTER_PORT say otherwise.
/// A job of one process is none. WEFT_JOB_SECRET, 32 hexadecimal digits that all
/// processes were given, is what a process must know to be let in; weft-run draws
/// one. WEFT_JOB_LISTENER is a descriptor of weft-run's.
struct Launcher {
  enum class Kind { None, Mpi, Tcp } kind = Kind::None;
  JobAddress job; // of Tcp; of Mpi rank and number, as far as they are known
};
Status detectLauncher(Launcher &launch);
/// How processes that were started so move bytes: "mpi", "tcp", or "inproc", as there is but one.
const char *transportOf(const Launcher &launch);

/// The first host of a Slurm list such as `node[07-12,20],login1`.
std::string firstHost(const std::string &list);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LAUNCH_H
