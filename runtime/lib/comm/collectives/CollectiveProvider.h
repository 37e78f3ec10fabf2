// Whole collectives over the memory of a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transport (Communicator.h) moves bytes of the host between ranks and knows
// no reductions. A provider does a Collective command as a whole, on operands in
// the arena, as a part of a stream: what was issued on the stream before it is
// done when it begins, and what comes later sees its result. TransportCollectives.h
// is the provider that any transport gives; a library that reduces in the memory
// of devices is another one.
#ifndef WEFT_RUNTIME_LIB_COMM_COLLECTIVES_COLLECTIVEPROVIDER_H
#define WEFT_RUNTIME_LIB_COMM_COLLECTIVES_COLLECTIVEPROVIDER_H

#include "device/Resolved.h"

#include "weft/runtime/CollectiveFacts.h"

#include <memory>

namespace weft::runtime {

class PreparedCollective {
public:
  virtual ~PreparedCollective() = default;
  /// Bytes of the stream's scratch, on the device, that it uses.
  virtual uint64_t scratchBytes() const = 0;
  /// Called by the device where the stream has come to it, on all members in
  /// the same order. Allocates nothing. `scratch`: an address on the device.
  /// If it `isQueued`, it is called when the command is issued: it only puts
  /// work on the device's stream, which `frame` is then.
  virtual Status run(const CommandFrame &frame, char *scratch) = 0;
  virtual bool isQueued() const { return false; }
  /// If it `isQueued`: what `run` put on the stream is done now, and once more with each launch of
  /// a graph that it is in. Counts what that moves.
  virtual void countTraffic() {}
  /// What this rank sent in the last run.
  virtual Volume sent() const = 0;
};

class CollectiveProvider {
public:
  virtual ~CollectiveProvider() = default;
  /// Called once, before all else, by all ranks, whose groups are there. May wait for other ranks.
  virtual Status connect() { return {}; }
  /// The end of that, by all ranks at the same time, when nothing is under way.
  virtual Status disconnect() { return {}; }
  /// Null and `status` on failure. All members prepare the same collectives in
  /// the same order.
  virtual std::unique_ptr<PreparedCollective> prepare(const PrepareContext &context,
                                                      const Command &command, Status &status) = 0;
  /// Called once, when all are prepared and before one runs: what they keep beside the device's
  /// memory.
  virtual Status allocate() { return {}; }
  /// What of the prepared collectives is slower than who chose the provider may think; else empty.
  virtual std::string remark() const { return {}; }
  /// What collectives over a communicator have exchanged so far. Called between runs.
  virtual Traffic trafficOver(Id communicator) const = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_COMM_COLLECTIVES_COLLECTIVEPROVIDER_H
