// Launches of generated kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/commands/CudaCommand.h"
#include "device/cuda/commands/HostImage.h"

#include <limits>

using namespace weft::runtime;
using namespace weft::runtime::cuda;

namespace {

class LaunchCommand : public CudaCommand {
public:
  LaunchCommand(const CudaContext &context, const Command &command, const Launch &launch)
      : driver(context.driver) {
    const ProgramView &p = context.program;
    for (const View &view : p.Views().slice(command.views)) {
      views.emplace_back(context, view);
      accesses.push_back({0, bytesOf(views.back()), views.size() > launch.reads});
    }
    for (const ScalarValue &value : p.ScalarValues().slice(launch.scalars))
      scalars.push_back(valueOf(context, value));
    pointers.resize(views.size());
    for (DevicePointer &pointer : pointers)
      parameters.push_back(&pointer);
    for (int64_t &scalar : scalars)
      parameters.push_back(&scalar);
    image.function = context.kernels[launch.kernel]->function;
    image.name = context.kernels[launch.kernel]->name;
    image.extent = launch.extent;
    image.grain = launch.grain;
    image.pointers = uint32_t(pointers.size());
    image.scalars = uint32_t(scalars.size());
  }
  ~LaunchCommand() override {
    if (module)
      (void)driver.unloadModule(module);
  }

  Status load() {
    if (!driver.emulates())
      return Status::user("the program's kernels are for processors, not for GPUs; compile the "
                          "model for a GPU, or unset WEFT_DEVICE");
    if (image.blocks() > std::numeric_limits<int>::max())
      return Status::user("a launch of " + std::to_string(image.blocks()) +
                          " blocks is more than a GPU takes");
    WEFT_CUDA_TRY(driver, loadModule(&module, &image), "loading a kernel");
    return driver.check(driver.getFunction(&function, module, image.name), "finding a kernel");
  }

  Status issue(CudaStream &stream) override {
    for (size_t i = 0; i < views.size(); ++i)
      accesses[i].begin = pointers[i] = stream.address(views[i]);
    if (image.extent == 0)
      return {};
    driver.declare(accesses.data(), accesses.size());
    return driver.check(driver.launch(function, unsigned(image.blocks()), 1, 1, 1, 1, 1, 0,
                                      stream.handle, parameters.data(), nullptr),
                        "launching a kernel");
  }

private:
  /// From the view's first element to its last.
  static uint64_t bytesOf(const ResolvedView &view) {
    int64_t last = 0;
    for (unsigned d = 0; d < view.rank; ++d)
      last += (view.sizes[d] - 1) * view.strides[d];
    return view.numElements() == 0 ? 0 : uint64_t(last + 1) * dtypeBytes(view.dtype);
  }

  const Driver &driver;
  HostImage image;
  Module module = nullptr;
  Function function = nullptr;
  std::vector<ResolvedView> views;
  std::vector<Access> accesses;
  std::vector<DevicePointer> pointers;
  std::vector<int64_t> scalars;
  std::vector<void *> parameters; // where the driver reads pointers and scalars
};

} // namespace

CudaCommandPtr cuda::makeCudaCommand(const CudaContext &context, const Command &command,
                                     const Launch &record, Status &status) {
  auto made = std::make_unique<LaunchCommand>(context, command, record);
  status = made->load();
  return status.ok() ? std::move(made) : nullptr;
}
