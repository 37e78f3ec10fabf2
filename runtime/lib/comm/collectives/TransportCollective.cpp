// Operands, scratch and exchanges of collectives over a transport.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/collectives/TransportCollective.h"

#include <algorithm>
#include <cstring>

using namespace weft::runtime;

TransportCollective::TransportCollective(const TransportContext &context)
    : params(context.prepare.program.record<Collective>(context.command)), group(context.group),
      members(context.group.members()), bytes(dtypeBytes(params.dtype)), device(context.device),
      room(context.room) {
  const ProgramView &p = context.prepare.program;
  Table<View> views = p.Views().slice(context.command.views);
  parts.resize(std::max<size_t>(1, views.size() / 2));
  for (size_t i = 0; i < parts.size(); ++i) {
    Part &part = parts[i];
    part.params = p.records<Collective>()[context.command.params + i];
    cut(p, part);
    // Send and Recv have one view.
    part.source = ResolvedView(context.prepare, views[2 * i]);
    part.destination = ResolvedView(context.prepare, views[std::min(2 * i + 1, views.size() - 1)]);
    total += part.whole;
  }
  sends.reserve(size_t(members), parts.size());
  rooms.reserve(size_t(members), parts.size());
  received.resize(size_t(members) * parts.size());
}

void TransportCollective::plan() {
  for (Part &part : parts) {
    auto [source, destination] = viewElements(part);
    part.sourceBytes = source * bytes;
    part.destinationBytes = destination * bytes;
  }
  planScratch();
  room.bytes = std::max(room.bytes, hostBytes());
}

/// Finds every member's shards.
void TransportCollective::cut(const ProgramView &p, Part &part) const {
  part.shards = memberShards(p, params.communicator, part.params.extent);
  part.others = memberShards(p, params.communicator, part.params.otherExtent);
  part.whole = part.params.outer * part.params.extent * part.params.inner;
  part.part = part.params.outer * part.shards[0].extent * part.params.inner;
  part.row = part.params.inner * bytes;
}

uint64_t TransportCollective::hostBytes() const {
  if (device.isHostMemory())
    return 0;
  uint64_t size = ownBytes();
  for (const Part &part : parts)
    size += alignUp(uint64_t(part.sourceBytes)) + alignUp(uint64_t(part.destinationBytes));
  return size;
}

Status TransportCollective::run(const CommandFrame &frame, char *scratch) {
  // Nobody else uses the group meanwhile: it is of this stream.
  Volume before = group.traffic().sent;
  Status status = runOnHost(frame, scratch);
  lastSent = group.traffic().sent - before;
  return status;
}

Status TransportCollective::runOnHost(const CommandFrame &frame, char *scratch) {
  if (device.isHostMemory()) {
    findOperands(frame);
    return move(scratch, scratch + packBytes);
  }
  char *own = room.memory.get();
  placeOperands(own + ownBytes());
  WEFT_TRY(downloadSources());
  WEFT_TRY(move(own, own + packBytes));
  return uploadResults();
}

void TransportCollective::findOperands(const CommandFrame &frame) {
  for (Part &part : parts) {
    part.from = part.source.address(frame);
    part.to = part.destination.address(frame);
  }
}

void TransportCollective::placeOperands(char *at) {
  for (Part &part : parts) {
    part.from = at;
    at += alignUp(uint64_t(part.sourceBytes));
    part.to = at;
    at += alignUp(uint64_t(part.destinationBytes));
  }
}

Status TransportCollective::downloadSources() {
  if (!readsSource())
    return {};
  for (const Part &part : parts)
    WEFT_TRY(device.download(part.from, uint64_t(part.source.offset), uint64_t(part.sourceBytes)));
  return {};
}

Status TransportCollective::uploadResults() {
  if (!writesResult())
    return {};
  for (const Part &part : parts)
    WEFT_TRY(
        device.upload(uint64_t(part.destination.offset), part.to, uint64_t(part.destinationBytes)));
  return {};
}

Status TransportCollective::exchange(bool begin) {
  return commCall([&](weft_status *status) {
    return begin ? group.vtable->exchange_begin(group.handle, sends.data(), rooms.data(),
                                                received.data(), status)
                 : group.vtable->exchange_end(group.handle, status);
  });
}

void TransportCollective::clearMessages() {
  sends.clear();
  rooms.clear();
}

void TransportCollective::copyRows(const Part &part, const char *from, int64_t fromExtent,
                                   int64_t fromStart, char *to, int64_t toExtent, int64_t toStart,
                                   int64_t count) {
  if (count == 0 || part.row == 0)
    return;
  for (int64_t o = 0; o < part.params.outer; ++o)
    std::memcpy(to + (o * toExtent + toStart) * part.row,
                from + (o * fromExtent + fromStart) * part.row, size_t(count * part.row));
}
