// Makes collectives over a transport, and the memory that they share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All transports run these same algorithms, so their results agree bit for bit
// (Reduce.h). A command may carry many tensors, a bucket: they travel in the
// same exchanges, each from and to its own place, and no element's sum depends
// on what else is in the bucket.
#include "comm/collectives/TransportCollectives.h"

#include <new>

using namespace weft::runtime;

static TransportCollectivePtr make(const TransportContext &context) {
  switch (context.prepare.program.record<Collective>(context.command).kind) {
  case CollectiveKind::AllGather:
    return makeAllGather(context);
  case CollectiveKind::AllReduce:
    return makeAllReduce(context);
  case CollectiveKind::ReduceScatter:
    return makeReduceScatter(context);
  case CollectiveKind::AllToAll:
    return makeAllToAll(context);
  case CollectiveKind::Send:
  case CollectiveKind::Recv:
    return makeSendOrRecv(context);
  }
  return nullptr;
}

std::unique_ptr<PreparedCollective> TransportCollectives::prepare(const PrepareContext &context,
                                                                  const Command &command,
                                                                  Status &status) {
  const Group *group = nullptr;
  const Collective &params = context.program.record<Collective>(command);
  status =
      groups.get(context.program, params.communicator, context.stream, context.coordinates, group);
  if (!status.ok())
    return nullptr;
  TransportCollectivePtr collective =
      make({context, *group, device, rooms[context.stream], command});
  collective->plan();
  return collective;
}

Status TransportCollectives::allocate() {
  for (auto &[stream, room] : rooms) {
    if (room.bytes == 0)
      continue;
    room.memory.reset(new (std::nothrow) char[room.bytes]);
    if (!room.memory)
      return {StatusCode::DoesNotFit, "the collectives of stream " + std::to_string(stream) +
                                          " need " + std::to_string(room.bytes) +
                                          " bytes of the host's memory, which it does not have; "
                                          "use more machines or smaller buckets"};
  }
  return {};
}
