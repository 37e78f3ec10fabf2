// Kernels that make one element of several members', in their order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NCCL adds in the type that it moves and in an order of its own, and its maximum loses a NaN.
// Where that is not what a collective says, NCCL only moves, and these reduce as comm/Reduce.h
// does. The driver assembles them from PTX.
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_NCCL_REDUCEKERNELS_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_NCCL_REDUCEKERNELS_H

#include "device/cuda/Driver.h"

#include "weft/runtime/HostImage.h"

#include <map>
#include <string>

namespace weft::runtime::cuda {

/// Whether there is one: f32, bf16 and f16, in f32, and f64.
bool hasReduceKernel(DType type, DType accumulator, Reduction reduction);

/// Its name, and PTX for sm_80 and later. Parameters: members' elements, the result, then how many
/// elements, bytes from member to member, how many members.
std::string reduceKernelName(DType type, Reduction reduction);
std::string reduceKernelText(DType type, Reduction reduction);

/// Those of one GPU.
class ReduceKernels {
public:
  explicit ReduceKernels(const Driver &driver) : driver(driver) {}
  ~ReduceKernels();
  ReduceKernels(const ReduceKernels &) = delete;

  /// Loads it at the first call. The device's context is the thread's.
  Status find(DType type, Reduction reduction, Function &kernel);

  /// result[i] = members[0][i] op members[1][i] ... for `count` elements; `stride` bytes lie
  /// between what two members gave.
  Status launch(Function kernel, Stream stream, DevicePointer members, DevicePointer result,
                int64_t count, int64_t bytes, int64_t stride, int64_t number) const;

private:
  struct Slot {
    Module module = nullptr;
    Function function = nullptr;
    HostImage emulated;
    std::string name;
  };
  Status load(DType type, Reduction reduction, Slot &slot) const;

  const Driver &driver;
  std::map<std::pair<DType, Reduction>, Slot> slots;
};

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_NCCL_REDUCEKERNELS_H
