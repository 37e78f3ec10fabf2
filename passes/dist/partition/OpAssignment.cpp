// Candidates for an op's split, and their cost.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/partition/OpAssignment.h"

#include "weft/Cost/Penalties.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace llvm;

namespace weft::dist {

Placement reduced(Placement placement) {
  placement.partial.clear();
  return placement;
}

namespace {

class Chooser {
public:
  Chooser(ReshardSearch &search, const AssignmentQuery &query)
      : search(search), mesh(search.mesh()), query(query), rule(*query.rule) {}

  /// Takes the splits of one tensor into `sharding`, as far as they are legal
  /// beside what it has.
  void adopt(OpSharding &sharding, const TensorFactors &tensor, const Placement &placement) {
    SmallVector<std::optional<DimPlacement>, 8> mine(rule.factors.size());
    splitWhatSplits(tensor, placement, mine);
    for (auto [f, parts] : llvm::enumerate(mine)) {
      if (!parts || !isWhole(sharding.factors[f]))
        continue;
      DimPlacement previous = sharding.factors[f];
      sharding.factors[f] = *parts;
      if (!isLegal(mesh, rule, query.partialRules, sharding))
        sharding.factors[f] = previous;
    }
  }

  /// Lets partial operands through where the op commutes with the reduction.
  /// Others may join them, made partial for this.
  void adoptPartial(OpSharding &sharding, bool join) {
    for (auto [index, placement] : llvm::enumerate(query.operands))
      for (const PartialAxis &axis : placement.partial) {
        OpSharding::PartialOperands entry{axis, {}};
        for (auto [other, found] : llvm::enumerate(query.operands))
          if (llvm::is_contained(found.partial, axis))
            entry.operands.push_back(other);
        // Each axis once, when its first operand is met.
        if (entry.operands.front() != index)
          continue;
        if (join)
          entry.operands = withJoining(entry);
        sharding.partial.push_back(entry);
        if (!isLegal(mesh, rule, query.partialRules, sharding))
          sharding.partial.pop_back();
      }
  }

  /// The operands of `entry` and those that the op wants partial beside them, as
  /// far as the axis does not split them.
  PartialRule withJoining(const OpSharding::PartialOperands &entry) {
    for (PartialRule allowed : query.partialRules(entry.axis.kind)) {
      llvm::sort(allowed);
      if (llvm::all_of(entry.operands,
                       [&](unsigned o) { return llvm::is_contained(allowed, o); }) &&
          llvm::all_of(allowed, [&](unsigned o) {
            return llvm::is_contained(entry.operands, o) ||
                   !llvm::is_contained(query.operands[o].usedAxes(), entry.axis.axis);
          }))
        return allowed;
    }
    return entry.operands;
  }

  void consider(const OpSharding &sharding) {
    if (llvm::is_contained(seen, sharding))
      return;
    seen.push_back(sharding);
    Assignment candidate = evaluate(sharding);
    if (!best || candidate.cost < best->cost)
      best = std::move(candidate);
  }

  Assignment evaluate(const OpSharding &sharding) {
    Assignment result{sharding, placementsOf(mesh, rule, sharding, CheckLevel::Sharded), 0};
    for (auto [from, to, bytes] :
         llvm::zip_equal(query.operands, result.placements.operands, query.operandBytes))
      result.cost += search.cost(from, to, bytes);
    for (auto [from, request, bytes] :
         llvm::zip_equal(result.placements.results, query.requests, query.resultBytes))
      if (!query.mayStayPartial || (request && request->dims != from.dims))
        result.cost += search.cost(from, request ? *request : reduced(from), bytes);
    // What it reads and writes is fused away or counted with what made it.
    double flops = localPoints(mesh, rule, sharding) * query.flopsPerPoint;
    result.cost += search.costModel().seconds(flops, /*bytes=*/0, query.arithmetic);
    return result;
  }

  /// All orders in which the tensors may take precedence: results or operands
  /// first, each operand first among operands; with and without partial operands.
  Assignment choose() {
    SmallVector<SmallVector<std::pair<const TensorFactors *, const Placement *>>> orders;
    SmallVector<std::pair<const TensorFactors *, const Placement *>> operands, requested;
    for (auto [tensor, placement] : llvm::zip_equal(rule.operands, query.operands))
      operands.push_back({&tensor, &placement});
    for (auto [tensor, request] : llvm::zip_equal(rule.results, query.requests))
      if (request)
        requested.push_back({&tensor, &*request});
    for (size_t first = 0; first < std::max<size_t>(operands.size(), 1); ++first) {
      auto rotated = operands;
      if (!operands.empty())
        std::rotate(rotated.begin(), rotated.begin() + first, rotated.end());
      auto order = rotated;
      llvm::append_range(order, requested);
      orders.push_back(order);
      order = requested;
      llvm::append_range(order, rotated);
      orders.push_back(order);
    }
    orders.push_back(requested);
    for (const auto &order : orders) {
      OpSharding sharding = OpSharding::replicated(rule);
      OpSharding through = sharding;
      adoptPartial(through, /*join=*/false);
      OpSharding joined = sharding;
      adoptPartial(joined, /*join=*/isSmall());
      for (auto [tensor, placement] : order) {
        adopt(sharding, *tensor, *placement);
        adopt(through, *tensor, *placement);
        adopt(joined, *tensor, *placement);
        // A prefix of the order is a candidate too: the others then follow.
        consider(through);
        consider(joined);
        consider(sharding);
      }
    }
    consider(OpSharding::replicated(rule));
    return *best;
  }

private:
  /// True if a reduction of the results costs its latency rather than its bytes,
  /// so that one less is worth a pass over a value that could do without.
  bool isSmall() const {
    return llvm::all_of(llvm::zip_equal(rule.results, query.resultBytes), [&](auto entry) {
      double bytes = std::get<1>(entry);
      for (const DimFactors &dim : std::get<0>(entry))
        for (int f : dim)
          bytes *= rule.factors[f].size;
      return bytes <= penalty::kSmallReduction;
    });
  }

  static bool isWhole(const DimPlacement &parts) {
    return llvm::all_of(parts, [](const PlacedFactor &part) { return part.axes.empty(); });
  }

  /// Dim by dim, so that one that does not split leaves the others.
  void splitWhatSplits(const TensorFactors &tensor, const Placement &placement,
                       MutableArrayRef<std::optional<DimPlacement>> out) {
    for (auto [factors, dim] : llvm::zip_equal(tensor, placement.dims)) {
      SmallVector<int64_t, 4> sizes;
      for (int f : factors)
        sizes.push_back(rule.factors[f].size);
      SmallVector<DimPlacement, 4> split;
      if (!splitDim(mesh, dim, sizes, split))
        continue;
      for (auto [f, parts] : llvm::zip_equal(factors, split))
        if (!isWhole(parts))
          out[f] = parts;
    }
  }

  ReshardSearch &search;
  const Mesh &mesh;
  const AssignmentQuery &query;
  const FactorRule &rule;
  std::vector<OpSharding> seen;
  std::optional<Assignment> best;
};

} // namespace

Assignment chooseAssignment(ReshardSearch &search, const AssignmentQuery &query) {
  return Chooser(search, query).choose();
}

llvm::Expected<Assignment> assignmentFromOperands(ReshardSearch &search,
                                                  const AssignmentQuery &query) {
  std::string why;
  std::optional<OpSharding> sharding =
      shardingFromOperands(search.mesh(), *query.rule, query.partialRules, query.operands, &why);
  if (!sharding)
    return llvm::createStringError(why);
  Chooser chooser(search, query);
  // Operands settle the factors that they have, whole ones included.
  for (auto [tensor, request] : llvm::zip_equal(query.rule->results, query.requests)) {
    if (!request)
      continue;
    OpSharding extended = *sharding;
    chooser.adopt(extended, tensor, *request);
    for (auto [f, parts] : llvm::enumerate(extended.factors))
      if (llvm::any_of(query.rule->operands, [&, f = static_cast<int>(f)](const TensorFactors &t) {
            return FactorRule::contains(t, f);
          }))
        parts = sharding->factors[f];
    *sharding = extended;
  }
  return chooser.evaluate(*sharding);
}

} // namespace weft::dist
