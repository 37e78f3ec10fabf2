// A collective of the rank's provider as a step of a stream.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/CollectiveProvider.h"
#include "device/host/Step.h"

using namespace weft::runtime;

namespace {

class CollectiveStep : public Step {
public:
  CollectiveStep(const HostContext &context, const Command &command, Status &status)
      : collective(context.collectives.prepare(context, command, status)) {}

  bool communicates() const override { return true; }
  uint64_t scratchBytes() const override { return collective->scratchBytes(); }
  Status run(HostStream &stream) override { return collective->run(stream, stream.scratch); }

private:
  std::unique_ptr<PreparedCollective> collective;
};

} // namespace

StepPtr weft::runtime::makeCollective(const HostContext &context, const Command &command,
                                      Status &status) {
  StepPtr step = std::make_unique<CollectiveStep>(context, command, status);
  return status.ok() ? std::move(step) : nullptr;
}
