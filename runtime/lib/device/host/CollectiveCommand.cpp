// A collective of the rank's provider as a command of a stream.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/collectives/CollectiveProvider.h"
#include "device/host/HostCommand.h"

using namespace weft::runtime;

namespace {

class CollectiveCommand : public HostCommand {
public:
  CollectiveCommand(const HostContext &context, const Command &command, Status &status)
      : collective(context.collectives.prepare(context, command, status)) {}

  bool communicates() const override { return true; }
  Volume sent() const override { return collective->sent(); }
  uint64_t scratchBytes() const override { return collective->scratchBytes(); }
  Status run(HostStream &stream) override { return collective->run(stream, stream.scratch); }

private:
  std::unique_ptr<PreparedCollective> collective;
};

} // namespace

HostCommandPtr weft::runtime::makeHostCommand(const HostContext &context, const Command &command,
                                              const Collective &, Status &status) {
  auto made = std::make_unique<CollectiveCommand>(context, command, status);
  return status.ok() ? std::move(made) : nullptr;
}
