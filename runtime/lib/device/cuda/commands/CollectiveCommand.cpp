// A collective of the rank's provider as a command of a stream.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/collectives/CollectiveProvider.h"
#include "device/cuda/commands/CudaCommand.h"

using namespace weft::runtime;
using namespace weft::runtime::cuda;

namespace {

/// Put on the stream, or done by the host, which moves operands through its memory.
class CollectiveCommand : public CudaCommand {
public:
  CollectiveCommand(const CudaContext &context, const Command &command, Status &status)
      : collective(context.collectives.prepare(context, command, status)) {}

  bool communicates() const override { return true; }
  Volume sent() const override { return collective->sent(); }
  uint64_t scratchBytes() const override { return collective->scratchBytes(); }
  bool isOfHost() const override { return !collective->isQueued(); }
  Status issue(CudaStream &stream) override { return collective->run(stream, stream.scratch); }
  void countTraffic() override { collective->countTraffic(); }
  Status runOnHost(const CudaStream &stream) override {
    return collective->run(stream, stream.scratch);
  }

private:
  std::unique_ptr<PreparedCollective> collective;
};

} // namespace

CudaCommandPtr cuda::makeCudaCommand(const CudaContext &context, const Command &command,
                                     const Collective &, Status &status) {
  auto made = std::make_unique<CollectiveCommand>(context, command, status);
  return status.ok() ? std::move(made) : nullptr;
}
