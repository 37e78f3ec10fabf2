// Puts plans of NCCL's calls on streams.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/nccl/NcclCollectives.h"

#include "device/cuda/commands/CudaCommand.h"
#include "device/cuda/commands/Rows.h"
#include "device/cuda/nccl/NcclPlan.h"

#include <cmath>

using namespace weft::runtime;
using namespace weft::runtime::cuda;

namespace {

/// How much a rank sends and receives is NCCL's to choose; what a ring of the members does, counts.
Traffic ringTraffic(const std::vector<NcclTensor> &tensors, int64_t members) {
  const Collective &params = tensors[0].params;
  double operands = 0, results = 0;
  for (const NcclTensor &t : tensors) {
    double bytes = double(dtypeBytes(t.params.dtype));
    double outer = bytes * double(t.params.outer * t.params.inner * t.params.middle);
    double whole = outer * double(t.params.extent), part = outer * double(t.shards[0].extent);
    bool isGathered = params.kind == CollectiveKind::AllGather;
    bool isScattered = params.kind == CollectiveKind::ReduceScatter;
    bool isTurned = params.kind == CollectiveKind::AllToAll;
    operands += isGathered ? part : whole * (isTurned ? double(t.others[0].extent) : 1);
    results += isScattered ? part : isTurned ? part * double(t.params.otherExtent) : whole;
  }
  auto volume = [&](CollectiveKind kind) {
    double bytes = std::ceil(ringBytes(kind, members, operands, results));
    return Volume{bytes == 0 ? 0 : uint64_t(ringSteps(kind, members)), uint64_t(bytes)};
  };
  if (params.kind == CollectiveKind::Send)
    return {volume(params.kind), {}};
  if (params.kind == CollectiveKind::Recv)
    return {{}, volume(CollectiveKind::Send)};
  return {volume(params.kind), volume(params.kind)};
}

class NcclCollective : public PreparedCollective {
public:
  NcclCollective(const Driver &driver, const NcclGroups &groups, NcclComm comm,
                 const ReduceKernels &kernels, const std::vector<NcclTensor> &tensors,
                 int64_t members, int64_t me, Traffic &traffic)
      : driver(driver), nccl(groups.nccl), groups(groups), comm(comm), kernels(kernels),
        members(members), plan(planNccl(tensors, members, me)), each(ringTraffic(tensors, members)),
        traffic(traffic) {}

  Status load(ReduceKernels &all) {
    return plan.reduce ? all.find(plan.reduce->type, plan.reduce->reduction, kernel) : Status();
  }

  uint64_t scratchBytes() const override { return uint64_t(plan.scratchBytes); }
  bool isQueued() const override { return true; }
  Volume sent() const override { return each.sent; }

  Status run(const CommandFrame &frame, char *scratch) override {
    at = {static_cast<const CudaStream &>(frame).handle, frame.arena, scratch};
    WEFT_TRY(copy(plan.packs));
    WEFT_TRY(call(plan.calls));
    if (const auto &reduce = plan.reduce)
      WEFT_TRY(kernels.launch(kernel, at.stream, address(reduce->members), address(reduce->result),
                              reduce->count, reduce->bytes, reduce->stride, members));
    WEFT_TRY(call(plan.callsAfter));
    for (const NcclPlan::Fill &fill : plan.fills)
      WEFT_TRY(fillRows(driver, at.stream, {address(fill.to), fill.pitch}, fill.count, fill.height,
                        fill.bytes, fill.bits));
    return copy(plan.unpacks);
  }
  void countTraffic() override {
    traffic.sent += each.sent;
    traffic.received += each.received;
  }

private:
  char *place(Spot spot) const { return (spot.isScratch ? at.scratch : at.arena) + spot.offset; }
  DevicePointer address(Spot spot) const { return DevicePointer(uintptr_t(place(spot))); }

  Status copy(const std::vector<NcclPlan::Copy> &copies) const {
    for (const NcclPlan::Copy &each : copies)
      WEFT_TRY(copyRows(driver, at.stream, {address(each.from), each.fromPitch},
                        {address(each.to), each.toPitch}, each.width, each.height));
    return {};
  }

  NcclResult issue(const NcclPlan::Call &call) const {
    const void *from = place(call.from);
    void *to = place(call.to);
    size_t count = size_t(call.count);
    switch (call.kind) {
    case NcclPlan::Kind::AllReduce:
      return nccl.allReduce(from, to, count, call.type, call.reduction, comm, at.stream);
    case NcclPlan::Kind::Broadcast:
      return nccl.broadcast(from, to, count, call.type, call.peer, comm, at.stream);
    case NcclPlan::Kind::AllGather:
      return nccl.allGather(from, to, count, call.type, comm, at.stream);
    case NcclPlan::Kind::ReduceScatter:
      return nccl.reduceScatter(from, to, count, call.type, call.reduction, comm, at.stream);
    case NcclPlan::Kind::Send:
      return nccl.send(from, count, call.type, call.peer, comm, at.stream);
    case NcclPlan::Kind::Recv:
      return nccl.recv(to, count, call.type, call.peer, comm, at.stream);
    }
    return NcclInvalidArgument;
  }

  static const char *nameOf(NcclPlan::Kind kind) {
    constexpr const char *kNames[] = {"ncclAllReduce",     "ncclBroadcast", "ncclAllGather",
                                      "ncclReduceScatter", "ncclSend",      "ncclRecv"};
    return kNames[size_t(kind)];
  }

  /// As one group, so that none of them waits for another.
  Status call(const std::vector<NcclPlan::Call> &calls) const {
    if (calls.empty())
      return {};
    WEFT_TRY(nccl.check(nccl.groupStart(), "beginning a group of calls"));
    Status failed;
    for (const NcclPlan::Call &each : calls) {
      NcclResult result = issue(each);
      if (result != NcclInProgress && failed.ok())
        failed = nccl.check(result, nameOf(each.kind));
    }
    NcclResult ended = nccl.groupEnd();
    WEFT_TRY(failed);
    // What is put on the stream next has to come behind it.
    return groups.settle(comm, ended, nameOf(calls[0].kind));
  }

  struct {
    Stream stream;
    char *arena, *scratch;
  } at{}; // in this run
  const Driver &driver;
  const Nccl &nccl;
  const NcclGroups &groups;
  NcclComm comm;
  const ReduceKernels &kernels;
  Function kernel = nullptr;
  const int64_t members;
  const NcclPlan plan;
  const Traffic each; // of a run
  Traffic &traffic;
};

std::vector<NcclTensor> tensorsOf(const PrepareContext &context, const Command &command) {
  const ProgramView &p = context.program;
  Table<View> views = p.Views().slice(command.views);
  std::vector<NcclTensor> tensors(std::max<size_t>(1, views.size() / 2));
  for (size_t i = 0; i < tensors.size(); ++i) {
    NcclTensor &tensor = tensors[i];
    tensor.params = p.records<Collective>()[command.params + i];
    tensor.shards = memberShards(p, tensor.params.communicator, tensor.params.extent);
    tensor.others = memberShards(p, tensor.params.communicator, tensor.params.otherExtent);
    // Send and Recv have one view.
    tensor.source = {ResolvedView(context, views[2 * i]).offset, false};
    tensor.destination = {
        ResolvedView(context, views[std::min(2 * i + 1, views.size() - 1)]).offset, false};
  }
  return tensors;
}

} // namespace

std::unique_ptr<PreparedCollective>
NcclCollectives::prepare(const PrepareContext &context, const Command &command, Status &status) {
  const Collective &params = context.program.record<Collective>(command);
  std::string why = whyNotNccl(params);
  ++numPrepared;
  if (!why.empty()) {
    if (numOverTransport++ == 0)
      firstReason = why;
    return transport.prepare(context, command, status);
  }
  const Group *group = nullptr;
  status =
      groups.get(context.program, params.communicator, context.stream, context.coordinates, group);
  if (!status.ok())
    return nullptr;
  auto made = std::make_unique<NcclCollective>(
      driver, nccl, nccl.find(params.communicator, context.stream), kernels,
      tensorsOf(context, command), group->members(), group->me, traffic[params.communicator]);
  status = made->load(kernels);
  return status.ok() ? std::move(made) : nullptr;
}

std::string NcclCollectives::remark() const {
  if (numOverTransport == 0)
    return {};
  return std::to_string(numOverTransport) + " of " + std::to_string(numPrepared) +
         " collectives go through memory of the host: " + firstReason;
}

Traffic NcclCollectives::trafficOver(Id communicator) const {
  Traffic all = transport.trafficOver(communicator);
  auto found = traffic.find(communicator);
  if (found != traffic.end()) {
    all.sent += found->second.sent;
    all.received += found->second.received;
  }
  return all;
}
