// Launches of generated kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/KernelModules.h"
#include "device/cuda/commands/CudaCommand.h"

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
      accesses.push_back(accessTo(views.back(), views.size() > launch.reads));
    }
    for (const ScalarValue &value : p.ScalarValues().slice(launch.scalars))
      scalars.push_back(valueOf(context, value));
    pointers.resize(views.size());
  }

  Status load(KernelModules &modules, const Launch &launch) {
    WEFT_TRY(modules.find(launch, uint32_t(views.size()), kernel));
    if (kernel.takesTable)
      parameters.push_back(pointers.data());
    else
      for (DevicePointer &pointer : pointers)
        parameters.push_back(&pointer);
    for (int64_t &scalar : scalars)
      parameters.push_back(&scalar);
    for (size_t i = 0; i < views.size(); ++i)
      if (accesses[i].bytes > 0 && views[i].offset % kernel.alignment != 0)
        return Status::internal("view " + std::to_string(i) + " of a launch begins at byte " +
                                std::to_string(views[i].offset) + ", which is no multiple of the " +
                                std::to_string(kernel.alignment) + " that its kernel was made for");
    return {};
  }

  Status issue(CudaStream &stream) override {
    for (size_t i = 0; i < views.size(); ++i)
      accesses[i].begin = pointers[i] = stream.address(views[i]);
    if (kernel.blocks == 0)
      return {};
    driver.touches(accesses);
    return driver.check(driver.launch(kernel.function, kernel.blocks, 1, 1, kernel.threads, 1, 1, 0,
                                      stream.handle, parameters.data(), nullptr),
                        "launching a kernel");
  }

private:
  const Driver &driver;
  LoadedKernel kernel;
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
  status = made->load(context.kernels, record);
  return status.ok() ? std::move(made) : nullptr;
}
