// Library commands that the CUDA device refuses by name: programs for it have none (issue 15).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/commands/CudaCommand.h"

using namespace weft::runtime;
using namespace weft::runtime::cuda;

static CudaCommandPtr refuse(const char *what, Status &status) {
  status = Status::user(std::string("the CUDA device does not do ") + what +
                        " yet; compile the model for cpu");
  return nullptr;
}

CudaCommandPtr cuda::makeCudaCommand(const CudaContext &, const Command &, const Convolution &,
                                     Status &status) {
  return refuse("convolutions", status);
}
CudaCommandPtr cuda::makeCudaCommand(const CudaContext &, const Command &, const ScatterAdd &,
                                     Status &status) {
  return refuse("scattered sums", status);
}
CudaCommandPtr cuda::makeCudaCommand(const CudaContext &, const Command &, const EventRecord &,
                                     Status &) {
  return nullptr;
}
CudaCommandPtr cuda::makeCudaCommand(const CudaContext &, const Command &, const EventWait &,
                                     Status &) {
  return nullptr;
}
CudaCommandPtr cuda::makeCudaCommand(const CudaContext &, const Command &, const Invoke &,
                                     Status &) {
  return nullptr;
}
