// The kernels of a program on one GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_KERNELMODULES_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_KERNELMODULES_H

#include "device/cuda/Driver.h"

#include "weft/runtime/HostImage.h"
#include "weft/runtime/Program.h"

#include <deque>
#include <map>
#include <tuple>

namespace weft::runtime::cuda {

/// How a kernel is launched.
struct LoadedKernel {
  Function function = nullptr;
  unsigned blocks = 0, threads = 1;
  unsigned alignment = 1;  // of all addresses, bytes
  bool takesTable = false; // of all addresses, as its one parameter for these
};

/// Loads each kernel once, when a command first asks for it. A kernel that is a function of this
/// process alone is one for a driver that emulates a GPU.
class KernelModules {
public:
  KernelModules(const Driver &driver, int gpu, const weft_kernel_entry *const *kernels)
      : driver(driver), gpu(gpu), kernels(kernels) {}
  ~KernelModules();
  KernelModules(const KernelModules &) = delete;

  /// `pointers`: the launch's views. The device's context is the thread's.
  Status find(const Launch &launch, uint32_t pointers, LoadedKernel &kernel);

private:
  struct Slot {
    Module module = nullptr;
    LoadedKernel kernel;
  };
  Status load(const weft_device_image &image, const char *name, Slot &slot);
  Status emulate(const Launch &launch, uint32_t pointers, Slot &slot);
  /// That the GPU runs none of the kernel's codes.
  Status explain(const weft_device_image &image, const Status &refused) const;

  const Driver &driver;
  const int gpu;
  const weft_kernel_entry *const *kernels;                // by kernel id
  std::map<std::tuple<Id, int64_t, int64_t>, Slot> slots; // by kernel, extent and grain
  std::deque<HostImage> emulated;                         // which keep their places
};

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_KERNELMODULES_H
