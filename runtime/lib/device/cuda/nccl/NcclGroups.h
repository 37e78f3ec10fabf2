// A rank's NCCL communicators, one for each of its groups.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// They do not block: a call that has not done all of its work is asked after, with the patience of
// the world, so that a rank that does not come, or is lost, ends the others. All calls are made by
// the rank's thread, with the device's context.
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_NCCL_NCCLGROUPS_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_NCCL_NCCLGROUPS_H

#include "comm/Groups.h"
#include "device/cuda/libraries/Nccl.h"

namespace weft::runtime::cuda {

class NcclGroups {
public:
  NcclGroups(const Nccl &nccl, World &world) : nccl(nccl), world(world) {}
  /// Aborts what was not left.
  ~NcclGroups() { abort(); }
  NcclGroups(const NcclGroups &) = delete;

  /// Makes the communicators of all groups in the table. All ranks call it with the same groups;
  /// what NCCL needs to meet goes over the groups' transport.
  Status connect(const GroupTable &groups);
  NcclComm find(Id communicator, unsigned stream) const { return comms.at({communicator, stream}); }

  /// Until the communicator has done what `result` says that it was asked for.
  Status settle(NcclComm comm, NcclResult result, const char *what) const;
  /// The error of a communicator whose work has failed since; `stream` is the one that it works on.
  Status check(unsigned &stream) const;

  /// Leaves all groups, when nothing is under way. All ranks call it at the same time.
  Status disconnect();
  /// Ends all that is under way and will not end by itself.
  void abort();

  const Nccl &nccl;

private:
  Status connect(const Group &group, NcclComm &comm) const;
  Status exchangeId(const Group &group, NcclUniqueId &id) const;

  World &world;
  std::map<std::pair<Id, unsigned>, NcclComm> comms; // as in GroupTable
};

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_NCCL_NCCLGROUPS_H
