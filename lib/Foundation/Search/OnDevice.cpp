// How much of a value and of an op one device has before the searched axis splits it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OnDevice.h"

#include "weft/Cost/Penalties.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Sharding/Projection.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace weft {

static std::optional<Placement> placementOf(const AxisSearchOptions &options, Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return std::nullopt;
  return options.placed ? options.placed(value) : Placement::replicated(type.getShape());
}

ValueOnDevice onDevice(const AxisSearchOptions &options, Value value) {
  std::optional<Placement> placement = placementOf(options, value);
  if (!placement)
    return {};
  const Mesh &mesh = options.costs.mesh();
  ValueOnDevice result;
  result.bytes = elementBytes(value.getType());
  for (const DimPlacement &dim : placement->dims) {
    result.bytes *= localSize(mesh, dim);
    for (const PlacedFactor &part : dim)
      for (AxisId axis : part.axes)
        if (mesh.isTemporal(axis))
          result.times *= mesh.size(axis);
  }
  return result;
}

/// Takes over how one tensor splits factors that no tensor before it did, each axis once.
static void adopt(const Mesh &mesh, const FactorRule &rule, const TensorFactors &tensor,
                  const Placement &placement, MutableArrayRef<DimPlacement> factors,
                  AxisList &taken) {
  for (auto [dimFactors, dim] : llvm::zip_equal(tensor, placement.dims)) {
    SmallVector<int64_t, 4> sizes;
    for (int f : dimFactors)
      sizes.push_back(rule.factors[f].size);
    SmallVector<DimPlacement, 4> split;
    if (!splitDim(mesh, dim, sizes, split))
      continue;
    for (auto [f, parts] : llvm::zip_equal(dimFactors, split)) {
      AxisList axes;
      for (const PlacedFactor &part : parts)
        llvm::append_range(axes, part.axes);
      if (axes.empty() ||
          llvm::any_of(axes, [&](AxisId axis) { return llvm::is_contained(taken, axis); }))
        continue;
      factors[f] = parts;
      llvm::append_range(taken, axes);
    }
  }
}

double pointsOnDevice(const AxisSearchOptions &options, Operation *op, const FactorRule &rule) {
  const Mesh &mesh = options.costs.mesh();
  OpSharding sharding = OpSharding::replicated(rule);
  AxisList taken;
  auto visit = [&](ArrayRef<TensorFactors> tensors, auto values) {
    for (auto [tensor, value] : llvm::zip(tensors, values))
      if (std::optional<Placement> placement = placementOf(options, value))
        adopt(mesh, rule, tensor, gatheredOverTime(mesh, std::move(*placement)), sharding.factors,
              taken);
  };
  visit(rule.results, op->getResults());
  visit(rule.operands, op->getOperands());
  return localPoints(mesh, rule, sharding);
}

CollectivePrice priceOf(const AxisSearchOptions &options, TransitionKind kind,
                        const ValueOnDevice &value, double operandPart, double resultPart) {
  double operand = value.bytes * operandPart, result = value.bytes * resultPart;
  const CostModel &costs = options.costs;
  double seconds = costs.secondsOfMessages(kind, options.axis, operand, result) +
                   costs.secondsOfPenalty(options.axis, penalty::kSearchedCollective);
  return {value.times * seconds, value.times * costs.ringBytes(kind, options.axis, operand, result),
          unsigned(value.times)};
}

} // namespace weft
