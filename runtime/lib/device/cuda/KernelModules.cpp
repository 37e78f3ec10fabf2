// Loads kernels into a GPU, from code for its chip or from what its driver assembles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/KernelModules.h"

#include <limits>

using namespace weft::runtime;
using namespace weft::runtime::cuda;

KernelModules::~KernelModules() {
  for (const auto &entry : slots)
    if (entry.second.module)
      (void)driver.unloadModule(entry.second.module);
}

Status KernelModules::explain(const weft_device_image &image, const Status &refused) const {
  char name[128] = "a GPU without a name";
  int major = 0, minor = 0;
  (void)driver.deviceName(name, sizeof name, gpu);
  (void)driver.deviceAttribute(&major, ComputeCapabilityMajor, gpu);
  (void)driver.deviceAttribute(&minor, ComputeCapabilityMinor, gpu);
  std::string own = "sm_" + std::to_string(10 * major + minor);
  return Status::user("the program's kernels are for " + std::string(image.chip) + ", and '" +
                      name + "' is " + own + "; compile the model with --target cuda:" + own +
                      " or an older chip's (" + refused.text() + ")");
}

Status KernelModules::load(const weft_device_image &image, const char *name, Slot &slot) {
  Result result = NoBinaryForGpu;
  std::string refused;
  if (image.binary)
    result = driver.loadModule(&slot.module, image.binary);
  // A driver may not read what a newer assembler made either, and say something else of it.
  if (image.text && result != Success && result != OutOfMemory && !Driver::isFault(result)) {
    if (image.binary)
      refused = "; before that, " + driver.check(result, "loading its binary").text();
    result = driver.loadModule(&slot.module, image.text);
  }
  Status loaded = driver.check(result, "loading a kernel");
  if (!loaded.ok()) {
    slot.module = nullptr;
    return result == NoBinaryForGpu ? explain(image, loaded)
                                    : Status(loaded.code(), loaded.text() + refused);
  }
  slot.kernel.threads = image.threads;
  slot.kernel.alignment = image.alignment;
  slot.kernel.takesTable = image.table != 0;
  return driver.check(driver.getFunction(&slot.kernel.function, slot.module, name),
                      "finding a kernel");
}

Status KernelModules::emulate(const Launch &launch, uint32_t pointers, Slot &slot) {
  if (!driver.emulates())
    return Status::user("the program's kernels are for processors, not for GPUs; compile the "
                        "model with --target cuda, or unset WEFT_DEVICE");
  const weft_kernel_entry &entry = *kernels[launch.kernel];
  int64_t blocks = (launch.extent + launch.grain - 1) / launch.grain;
  if (blocks > std::numeric_limits<int>::max())
    return Status::user("a launch of " + std::to_string(blocks) +
                        " blocks is more than a GPU takes");
  HostImage &image = emulated.emplace_back();
  image.function = entry.function;
  image.name = entry.name;
  image.extent = launch.extent;
  image.grain = launch.grain;
  image.blocks = slot.kernel.blocks = unsigned(blocks);
  image.pointers = pointers;
  image.scalars = launch.scalars.count;
  WEFT_CUDA_TRY(driver, loadModule(&slot.module, &image), "loading a kernel");
  return driver.check(driver.getFunction(&slot.kernel.function, slot.module, image.name),
                      "finding a kernel");
}

Status KernelModules::find(const Launch &launch, uint32_t pointers, LoadedKernel &kernel) {
  const weft_kernel_entry &entry = *kernels[launch.kernel];
  auto [found, isNew] = slots.try_emplace({launch.kernel, launch.extent, launch.grain});
  Slot &slot = found->second;
  if (isNew) {
    Status status =
        entry.image ? load(*entry.image, entry.name, slot) : emulate(launch, pointers, slot);
    if (status.ok() && entry.image && launch.extent > std::numeric_limits<int>::max())
      status = Status::user("a launch of " + std::to_string(launch.extent) +
                            " blocks is more than a GPU takes");
    if (status.ok() && entry.image)
      slot.kernel.blocks = unsigned(launch.extent);
    if (!status.ok()) {
      if (slot.module)
        (void)driver.unloadModule(slot.module);
      slots.erase(found);
      return status.prefix("kernel '" + std::string(entry.name) + "'");
    }
  }
  kernel = slot.kernel;
  return {};
}
