// Counts of messages and bytes, times what each takes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/CostModel.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace weft {

Arithmetic arithmeticOf(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  if (!isa<mlir::FloatType>(element))
    return Arithmetic::Integer;
  if (element.isBF16())
    return Arithmetic::BF16;
  switch (element.getIntOrFloatBitWidth()) {
  case 64:
    return Arithmetic::F64;
  case 16:
    return Arithmetic::F16;
  case 32:
    return Arithmetic::F32;
  default:
    return element.getIntOrFloatBitWidth() < 16 ? Arithmetic::F8 : Arithmetic::F64;
  }
}

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

std::optional<runtime::CollectiveKind> collectiveOf(TransitionKind kind) {
  switch (kind) {
  case TransitionKind::AllGather:
    return runtime::CollectiveKind::AllGather;
  case TransitionKind::AllReduce:
    return runtime::CollectiveKind::AllReduce;
  case TransitionKind::ReduceScatter:
    return runtime::CollectiveKind::ReduceScatter;
  case TransitionKind::AllToAll:
    return runtime::CollectiveKind::AllToAll;
  case TransitionKind::Slice:
  case TransitionKind::Mask:
  case TransitionKind::Partialize:
  case TransitionKind::Move: // between two members
    return std::nullopt;
  }
  llvm_unreachable("unknown transition kind");
}

/// On a device.
static double bytesOf(const Mesh &mesh, const Placement &placement, double elementBytes) {
  double bytes = elementBytes;
  for (int64_t size : localShape(mesh, placement))
    bytes *= size;
  return bytes;
}

double CostModel::ringBytes(TransitionKind kind, ArrayRef<AxisId> axes, double operandBytes,
                            double resultBytes) const {
  if (kind == TransitionKind::Move)
    return operandBytes;
  std::optional<runtime::CollectiveKind> collective = collectiveOf(kind);
  return collective
             ? runtime::ringBytes(*collective, grid.groupSize(axes), operandBytes, resultBytes)
             : 0;
}

double CostModel::ringBytes(TransitionKind kind, ArrayRef<AxisId> axes, const Placement &from,
                            const Placement &to, double elementBytes) const {
  if (grid.anyTemporal(axes) || (kind == TransitionKind::Move && isHeldWithin(to, from)))
    return 0;
  return ringBytes(kind, axes, bytesOf(grid, from, elementBytes), bytesOf(grid, to, elementBytes));
}

double CostModel::seconds(TransitionKind kind, ArrayRef<AxisId> axes, double operandBytes,
                          double resultBytes) const {
  if (kind == TransitionKind::Move && operandBytes > 0)
    return machines.collectiveOverhead + linksOf(axes).latency +
           linksOf(axes).secondsOf(operandBytes);
  if (!collectiveOf(kind) || grid.groupSize(axes) <= 1)
    return 0;
  return machines.collectiveOverhead + secondsOfMessages(kind, axes, operandBytes, resultBytes);
}

double CostModel::secondsOfMessages(TransitionKind kind, ArrayRef<AxisId> axes, double operandBytes,
                                    double resultBytes) const {
  int64_t members = grid.groupSize(axes);
  double sent = ringBytes(kind, axes, operandBytes, resultBytes);
  if (sent == 0)
    return 0;
  const LinkLevel &links = linksOf(axes);
  double logarithm = Log2_64_Ceil(members);
  double steps = runtime::ringSteps(*collectiveOf(kind), members);
  if (isPowerOf2_64(members) && kind != TransitionKind::AllToAll)
    steps = steps / (members - 1) * logarithm;
  double time = steps * links.latency + links.secondsOf(sent);
  if (kind == TransitionKind::AllReduce) {
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
  if (grid.anyTemporal(axes) || (kind == TransitionKind::Move && isHeldWithin(to, from)))
    return 0;
  return seconds(kind, axes, bytesOf(grid, from, elementBytes), bytesOf(grid, to, elementBytes));
}

double CostModel::seconds(double flops, double bytes, Arithmetic arithmetic) const {
  const Device &device = machines.device;
  const ComputeRate &rate = device.rates[size_t(arithmetic)];
  return std::max(flops / (rate.flops * rate.sustained),
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
    return op->emitError() << "'" << kClusterAttr << "' must be a string of text protobuf";
  std::string error;
  std::optional<Cluster> cluster = readCluster(text.str(), error);
  if (!cluster)
    return op->emitError() << "'" << kClusterAttr << "': " << error;
  return CostModel(std::move(mesh), std::move(*cluster));
}

} // namespace weft
