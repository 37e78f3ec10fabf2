// Collectives between GPUs by NCCL, on the streams of a CUDA device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_NCCL_NCCLCOLLECTIVES_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_NCCL_NCCLCOLLECTIVES_H

#include "comm/collectives/TransportCollectives.h"
#include "device/cuda/nccl/NcclGroups.h"
#include "device/cuda/nccl/ReduceKernels.h"

namespace weft::runtime::cuda {

/// What NCCL has not (NcclPlan.h) goes over the transport, which `remark` tells.
class NcclCollectives : public CollectiveProvider {
public:
  NcclCollectives(const Driver &driver, NcclGroups &nccl, ReduceKernels &kernels,
                  GroupTable &groups, Device &device)
      : driver(driver), nccl(nccl), kernels(kernels), groups(groups), transport(groups, device) {}

  Status connect() override { return nccl.connect(groups); }
  Status disconnect() override { return nccl.disconnect(); }
  std::unique_ptr<PreparedCollective> prepare(const PrepareContext &context, const Command &command,
                                              Status &status) override;
  Status allocate() override { return transport.allocate(); }
  std::string remark() const override;
  Traffic trafficOver(Id communicator) const override;

private:
  const Driver &driver;
  NcclGroups &nccl;
  ReduceKernels &kernels;
  GroupTable &groups;
  TransportCollectives transport;
  std::map<Id, Traffic> traffic; // of what NCCL does, by communicator
  size_t numPrepared = 0, numOverTransport = 0;
  std::string firstReason;
};

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_NCCL_NCCLCOLLECTIVES_H
