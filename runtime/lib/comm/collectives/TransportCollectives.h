// Collectives over any transport, reduced here.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_COMM_COLLECTIVES_TRANSPORTCOLLECTIVES_H
#define WEFT_RUNTIME_LIB_COMM_COLLECTIVES_TRANSPORTCOLLECTIVES_H

#include "comm/collectives/TransportCollective.h"

#include <map>

namespace weft::runtime {

/// Operands are read and written where they lie if the device's memory is the
/// host's; else they are downloaded to and uploaded from memory of the host, of which each
/// stream has as much as its largest collective needs.
class TransportCollectives : public CollectiveProvider {
public:
  TransportCollectives(GroupTable &groups, Device &device) : groups(groups), device(device) {}

  std::unique_ptr<PreparedCollective> prepare(const PrepareContext &context, const Command &command,
                                              Status &status) override;
  Status allocate() override;
  Traffic trafficOver(Id communicator) const override { return groups.trafficOver(communicator); }

private:
  GroupTable &groups;
  Device &device;
  std::map<unsigned, HostRoom> rooms; // by stream
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_COMM_COLLECTIVES_TRANSPORTCOLLECTIVES_H
