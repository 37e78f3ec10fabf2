// Collectives over any transport, reduced here.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_TRANSPORTCOLLECTIVES_H
#define WEFT_RUNTIME_LIB_TRANSPORTCOLLECTIVES_H

#include "comm/CollectiveProvider.h"
#include "comm/Groups.h"
#include "device/Device.h"

namespace weft::runtime {

/// Operands are read and written where they lie if the device's memory is the
/// host's; else each collective has memory of the host, allocated when it is
/// prepared, that they are downloaded to and uploaded from.
class TransportCollectives : public CollectiveProvider {
public:
  TransportCollectives(GroupTable &groups, Device &device) : groups(groups), device(device) {}

  std::unique_ptr<PreparedCollective> prepare(const PrepareContext &context, const Command &command,
                                              Status &status) override;

private:
  GroupTable &groups;
  Device &device;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_TRANSPORTCOLLECTIVES_H
