// Counts of messages and bytes, times what each takes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/CostModel.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace weft {

/// The nearest level whose ranks 0..devices-1, devices..2*devices-1, ... each hold whole groups of
/// an axis. Groups begin at multiples of `reach` and are within so many consecutive ranks.
static unsigned nearestLevel(const Cluster &cluster, int64_t reach, int64_t processes) {
  for (auto [number, level] : llvm::enumerate(cluster.levels))
    if (level.devices == 0 || level.devices >= processes || level.devices % reach == 0)
      return number;
  return cluster.levels.size() - 1;
}

CostModel::CostModel(Mesh mesh, Cluster cluster)
    : grid(std::move(mesh)), machines(std::move(cluster)) {
  assert(!machines.levels.empty() && "a cluster has links");
  levelOfAxis.assign(grid.axes.size(), 0);
  int64_t reach = 1;
  for (AxisId axis = grid.axes.size() - 1; axis >= 0; --axis) {
    if (grid.isTemporal(axis))
      continue;
    reach *= grid.size(axis);
    levelOfAxis[axis] = nearestLevel(machines, reach, grid.processCount());
  }
  for (const auto &[axisName, levelName] : machines.axisLevels)
    for (AxisId axis : grid.resolve(axisName))
      for (auto [number, level] : llvm::enumerate(machines.levels))
        if (level.name == levelName)
          levelOfAxis[axis] = number;
}

const LinkLevel &CostModel::linksOf(ArrayRef<AxisId> axes) const {
  unsigned farthest = 0;
  for (AxisId axis : axes)
    if (grid.size(axis) > 1)
      farthest = std::max(farthest, levelOfAxis[axis]);
  return machines.levels[farthest];
}

std::vector<std::string> CostModel::unknownAxes() const {
  std::vector<std::string> names;
  for (const auto &[axisName, levelName] : machines.axisLevels)
    if (grid.resolve(axisName).empty())
      names.push_back(axisName);
  return names;
}

double CostModel::seconds(TransitionKind kind, ArrayRef<AxisId> axes, double operandBytes,
                          double resultBytes) const {
  bool communicates = kind != TransitionKind::Slice && kind != TransitionKind::Mask &&
                      kind != TransitionKind::Partialize;
  if (!communicates || grid.groupSize(axes) <= 1)
    return 0;
  return machines.collectiveOverhead + secondsOfMessages(kind, axes, operandBytes, resultBytes);
}

double CostModel::secondsOfMessages(TransitionKind kind, ArrayRef<AxisId> axes, double operandBytes,
                                    double resultBytes) const {
  int64_t members = grid.groupSize(axes);
  double sent = bytesSent(kind, members, operandBytes, resultBytes);
  if (sent == 0)
    return 0;
  const LinkLevel &links = linksOf(axes);
  double logarithm = Log2_64_Ceil(members);
  double rounds =
      isPowerOf2_64(members) && kind != TransitionKind::AllToAll ? logarithm : members - 1;
  double time = rounds * links.latency + links.secondsOf(sent);
  if (kind == TransitionKind::AllReduce) {
    time += rounds * links.latency;
    double tree = 2 * logarithm * (links.latency + links.secondsOf(operandBytes));
    time = std::min(time, tree);
  }
  // It can be done as an all_reduce of which each member keeps its part.
  if (kind == TransitionKind::ReduceScatter)
    time = std::min(time, 2 * logarithm * (links.latency + links.secondsOf(operandBytes)));
  return time;
}

double CostModel::seconds(TransitionKind kind, ArrayRef<AxisId> axes, const Placement &from,
                          const Placement &to, double elementBytes) const {
  if (grid.anyTemporal(axes))
    return 0;
  auto bytesOf = [&](const Placement &placement) {
    double bytes = elementBytes;
    for (int64_t size : localShape(grid, placement))
      bytes *= size;
    return bytes;
  };
  return seconds(kind, axes, bytesOf(from), bytesOf(to));
}

double CostModel::seconds(double flops, double bytes, Arithmetic arithmetic) const {
  const Device &device = machines.device;
  return std::max(flops / (device.flopsPerSecond[size_t(arithmetic)] * device.computeEfficiency),
                  bytes / (device.memoryBandwidth * device.memoryEfficiency));
}

FailureOr<CostModel> costModelOf(mlir::Operation *op, Mesh mesh) {
  while (op->getParentOp())
    op = op->getParentOp();
  mlir::Attribute attribute = op->getAttr(kClusterAttr);
  if (!attribute)
    return CostModel(std::move(mesh));
  auto text = dyn_cast<mlir::StringAttr>(attribute);
  if (!text)
    return op->emitError() << "'" << kClusterAttr << "' must be a string of JSON";
  Expected<Cluster> cluster = Cluster::parse(text.getValue());
  if (!cluster)
    return op->emitError() << "'" << kClusterAttr << "': " << toString(cluster.takeError());
  return CostModel(std::move(mesh), std::move(*cluster));
}

} // namespace weft
