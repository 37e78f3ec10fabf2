// Splitting dimensions over factors, and the judge of an op's consistency.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Sharding/Projection.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace weft {

OpSharding OpSharding::replicated(const FactorRule &rule) {
  OpSharding sharding;
  for (const Factor &factor : rule.factors)
    sharding.factors.push_back({PlacedFactor{factor.size, {}}});
  return sharding;
}

bool splitDim(const Mesh &mesh, ArrayRef<PlacedFactor> dim, ArrayRef<int64_t> factorSizes,
              SmallVectorImpl<DimPlacement> &out) {
  out.clear();
  // What is left of the part in hand; parts are consumed from the major end.
  size_t next = 0;
  PlacedFactor rest{1, {}};
  for (int64_t factorSize : factorSizes) {
    SmallVector<PlacedFactor, 2> parts;
    int64_t need = factorSize;
    while (need != 1) {
      if (rest.size == 1 && rest.axes.empty()) {
        if (next == dim.size())
          return false;
        rest = dim[next++];
        continue;
      }
      if (need == 0 || rest.size == 0) {
        // Nothing to hold: only an unsharded dimension can be empty.
        if (need != rest.size || !rest.axes.empty())
          return false;
        parts.push_back(rest);
        rest = PlacedFactor{1, {}};
        break;
      }
      if (need % rest.size == 0) {
        need /= rest.size;
        parts.push_back(rest);
        rest = PlacedFactor{1, {}};
        continue;
      }
      if (rest.size % need != 0)
        return false;
      // The factor takes the major `need` rows of the part. Each axis must
      // either split those rows evenly or, once they are used up, the rest.
      PlacedFactor major{need, {}}, minor{rest.size / need, {}};
      int64_t rows = need;
      for (AxisId axis : rest.axes) {
        if (rows == 1 || !minor.axes.empty()) {
          minor.axes.push_back(axis);
        } else if (rows % mesh.size(axis) == 0) {
          rows /= mesh.size(axis);
          major.axes.push_back(axis);
        } else {
          return false;
        }
      }
      parts.push_back(major);
      rest = minor;
      need = 1;
    }
    out.push_back(canonicalize(mesh, parts));
  }
  // Leftovers are legal only if they hold no choice: parts of size 1.
  if (rest.size != 1 || !rest.axes.empty())
    return false;
  for (; next < dim.size(); ++next)
    if (dim[next].size != 1 || !dim[next].axes.empty())
      return false;
  return true;
}

DimPlacement joinDim(const Mesh &mesh, const DimFactors &dim, ArrayRef<DimPlacement> factors) {
  SmallVector<PlacedFactor, 4> parts;
  for (int f : dim)
    llvm::append_range(parts, factors[f]);
  return canonicalize(mesh, parts);
}

Placement joinTensor(const Mesh &mesh, const TensorFactors &tensor,
                     ArrayRef<DimPlacement> factors) {
  Placement placement;
  for (const DimFactors &dim : tensor)
    placement.dims.push_back(joinDim(mesh, dim, factors));
  return placement;
}

static bool fail(std::string *why, const Twine &text) {
  if (why)
    *why = text.str();
  return false;
}

static std::string axisName(const Mesh &mesh, AxisId axis) {
  return "axis \"" + mesh.axes[axis].name + "\"";
}

static std::string dimText(const Mesh &mesh, ArrayRef<PlacedFactor> dim) {
  std::string text;
  raw_string_ostream os(text);
  printDim(mesh, dim, os);
  return text;
}

bool splitTensor(const Mesh &mesh, const FactorRule &rule, const TensorFactors &tensor,
                 const Placement &placement, MutableArrayRef<std::optional<DimPlacement>> out,
                 std::string *why) {
  if (tensor.size() != placement.dims.size())
    return fail(why, "placement has " + Twine(placement.dims.size()) + " dims, the op's rule " +
                         Twine(tensor.size()));
  for (auto [index, factors] : llvm::enumerate(tensor)) {
    SmallVector<int64_t, 4> sizes;
    for (int f : factors)
      sizes.push_back(rule.factors[f].size);
    SmallVector<DimPlacement, 4> split;
    if (!splitDim(mesh, placement.dims[index], sizes, split)) {
      std::string text;
      raw_string_ostream os(text);
      llvm::interleave(sizes, os, " x ");
      return fail(why, "dim " + Twine(index) + " placed as " +
                           dimText(mesh, placement.dims[index]) +
                           " does not split over its factors " + (text.empty() ? "1" : text));
    }
    for (auto [f, sharding] : llvm::zip_equal(factors, split))
      out[f] = sharding;
  }
  return true;
}

static AxisList axesOf(ArrayRef<PlacedFactor> parts) {
  AxisList axes;
  for (const PlacedFactor &part : parts)
    llvm::append_range(axes, part.axes);
  return axes;
}

/// The kind in which an op's results are partial, if they are.
static std::optional<ReduceKind> resultKind(const FactorRule &rule, const OpSharding &sharding) {
  if (!sharding.partial.empty())
    return sharding.partial.front().axis.kind;
  for (auto [factor, parts] : llvm::zip_equal(rule.factors, sharding.factors))
    if (factor.kind == Factor::Kind::Reduction && !axesOf(parts).empty())
      return factor.reduction;
  return std::nullopt;
}

bool isLegal(const Mesh &mesh, const FactorRule &rule, PartialRulesFn partialRules,
             const OpSharding &sharding, std::string *why) {
  SmallVector<bool> used(mesh.axes.size(), false);
  std::optional<ReduceKind> kind = resultKind(rule, sharding);
  for (auto [f, factor, parts] : llvm::enumerate(rule.factors, sharding.factors)) {
    AxisList axes = axesOf(parts);
    if (axes.empty())
      continue;
    std::string first = axisName(mesh, axes.front());
    if (factor.kind == Factor::Kind::Whole)
      return fail(why, first + " splits a factor of size " + Twine(factor.size) +
                           " that the op needs whole");
    for (AxisId axis : axes) {
      if (used[axis])
        return fail(why, axisName(mesh, axis) + " splits two factors of the op");
      used[axis] = true;
    }
    if (factor.kind == Factor::Kind::Reduction) {
      if (factor.reduction != *kind)
        return fail(why, first + " splits a reduction of kind " +
                             stringifyReduceKind(factor.reduction) +
                             " while the results are partial by " + stringifyReduceKind(*kind));
      if (llvm::any_of(rule.results, [&, f = static_cast<int>(f)](const TensorFactors &tensor) {
            return FactorRule::contains(tensor, f);
          }))
        return fail(why, first + " splits a reduced factor that stands in a result");
    } else if (!llvm::all_of(rule.results,
                             [&, f = static_cast<int>(f)](const TensorFactors &tensor) {
                               return FactorRule::contains(tensor, f);
                             })) {
      return fail(why, first + " splits a factor that is missing in a result");
    }
  }
  for (const OpSharding::PartialOperands &entry : sharding.partial) {
    std::string name = axisName(mesh, entry.axis.axis);
    if (used[entry.axis.axis])
      return fail(why, name + " is partial in an operand and splits a factor");
    used[entry.axis.axis] = true;
    if (entry.axis.kind != *kind)
      return fail(why, name + " is partial by " + stringifyReduceKind(entry.axis.kind) +
                           " while others are by " + stringifyReduceKind(*kind));
    SmallVector<PartialRule> rules = partialRules(entry.axis.kind);
    bool allowed = llvm::any_of(rules, [&](PartialRule allowed) {
      llvm::sort(allowed);
      return allowed == entry.operands;
    });
    if (allowed)
      continue;
    std::string text;
    raw_string_ostream os(text);
    llvm::interleaveComma(entry.operands, os);
    return fail(why, "the op does not commute with " + stringifyReduceKind(entry.axis.kind) +
                         " of operand " + text + ", partial on " + name);
  }
  return true;
}

OpPlacements placementsOf(const Mesh &mesh, const FactorRule &rule, const OpSharding &sharding,
                          CheckLevel level) {
  OpPlacements result;
  // Where padding is combined as a neutral element, its index is of no matter.
  SmallVector<bool> isIndex(rule.operands.size(), false);
  for (const Factor &factor : rule.factors)
    if (factor.indexOperand >= 0)
      isIndex[factor.indexOperand] = true;
  for (const TensorFactors &tensor : rule.operands)
    result.operands.push_back(joinTensor(mesh, tensor, sharding.factors));
  for (const TensorFactors &tensor : rule.results)
    result.results.push_back(joinTensor(mesh, tensor, sharding.factors));
  for (const OpSharding::PartialOperands &entry : sharding.partial) {
    for (unsigned operand : entry.operands)
      result.operands[operand].partial.push_back(entry.axis);
    for (Placement &placement : result.results)
      placement.partial.push_back(entry.axis);
  }
  for (auto [f, factor, parts] : llvm::enumerate(rule.factors, sharding.factors)) {
    AxisList axes = axesOf(parts);
    if (axes.empty())
      continue;
    if (factor.kind == Factor::Kind::Reduction)
      for (Placement &placement : result.results)
        for (AxisId axis : axes)
          placement.partial.push_back({axis, factor.reduction});
    if (level == CheckLevel::Sharded)
      continue;
    if (factor.indexOperand >= 0)
      result.operands[factor.indexOperand].localIndices.push_back({factor.indexComponent, parts});
    // A position that an index selects is never padding.
    if (factor.kind == Factor::Kind::Reduction && factor.indexOperand < 0 &&
        hasPadding(mesh, parts))
      for (auto [tensor, placement, index] :
           llvm::zip_equal(rule.operands, result.operands, isIndex))
        if (!index && FactorRule::contains(tensor, f))
          placement.padding = factor.reduction;
  }
  for (Placement &placement : result.operands)
    placement = canonicalize(mesh, std::move(placement));
  for (Placement &placement : result.results)
    placement = canonicalize(mesh, std::move(placement));
  return result;
}

/// Collects the factors' shardings from all tensors and checks that they agree.
static bool collectFactors(const Mesh &mesh, const FactorRule &rule,
                           ArrayRef<TensorFactors> tensors, ArrayRef<Placement> placements,
                           StringRef what, MutableArrayRef<std::optional<DimPlacement>> agreed,
                           std::string *why) {
  for (auto [index, tensor, placement] : llvm::enumerate(tensors, placements)) {
    SmallVector<std::optional<DimPlacement>, 8> mine(rule.factors.size());
    std::string text;
    if (!splitTensor(mesh, rule, tensor, placement, mine, &text))
      return fail(why, what + " " + Twine(index) + ": " + text);
    for (auto [f, sharding] : llvm::enumerate(mine)) {
      if (!sharding)
        continue;
      if (!agreed[f]) {
        agreed[f] = std::move(sharding);
        continue;
      }
      if (*agreed[f] != *sharding)
        return fail(why, what + " " + Twine(index) + " holds a factor of size " +
                             Twine(rule.factors[f].size) + " as " + dimText(mesh, *sharding) +
                             ", another operand or result as " + dimText(mesh, *agreed[f]));
    }
  }
  return true;
}

/// The axes on which operands are partial, with the operands that are.
static bool collectPartial(const Mesh &mesh, ArrayRef<Placement> operands, OpSharding &sharding,
                           std::string *why) {
  for (auto [index, placement] : llvm::enumerate(operands))
    for (const PartialAxis &axis : placement.partial) {
      auto *found = llvm::find_if(sharding.partial, [&](const OpSharding::PartialOperands &e) {
        return e.axis.axis == axis.axis;
      });
      if (found == sharding.partial.end()) {
        sharding.partial.push_back({axis, {static_cast<unsigned>(index)}});
        continue;
      }
      if (found->axis.kind != axis.kind)
        return fail(why,
                    "operands are partial on " + axisName(mesh, axis.axis) + " by different kinds");
      found->operands.push_back(index);
    }
  return true;
}

static bool collectSharding(const Mesh &mesh, const FactorRule &rule, PartialRulesFn partialRules,
                            ArrayRef<Placement> operands, ArrayRef<Placement> results,
                            OpSharding &sharding, std::string *why) {
  SmallVector<std::optional<DimPlacement>, 8> agreed(rule.factors.size());
  if (!collectFactors(mesh, rule, rule.operands, operands, "operand", agreed, why) ||
      (!results.empty() &&
       !collectFactors(mesh, rule, rule.results, results, "result", agreed, why)))
    return false;
  sharding = OpSharding::replicated(rule);
  for (auto [f, parts] : llvm::enumerate(agreed))
    if (parts)
      sharding.factors[f] = std::move(*parts);
  return collectPartial(mesh, operands, sharding, why) &&
         isLegal(mesh, rule, partialRules, sharding, why);
}

std::optional<OpSharding> shardingFromOperands(const Mesh &mesh, const FactorRule &rule,
                                               PartialRulesFn partialRules,
                                               ArrayRef<Placement> operands, std::string *why) {
  OpSharding sharding;
  if (!collectSharding(mesh, rule, partialRules, operands, {}, sharding, why))
    return std::nullopt;
  return sharding;
}

/// An op runs on the stages that hold its results, and all of these hold its operands.
static bool checkStages(const Mesh &mesh, ArrayRef<Placement> operands, ArrayRef<Placement> results,
                        std::string *why) {
  if (results.empty())
    return true;
  for (auto [index, result] : llvm::enumerate(results))
    if (result.held != results.front().held)
      return fail(why, "result " + Twine(index) + " is on other stages than result 0: " +
                           toString(mesh, result) + ", " + toString(mesh, results.front()));
  for (auto [index, operand] : llvm::enumerate(operands))
    if (!isHeldWithin(results.front(), operand))
      return fail(why, "operand " + Twine(index) + " is not on every stage of the result: " +
                           toString(mesh, operand) + ", " + toString(mesh, results.front()));
  return true;
}

bool checkOp(const Mesh &mesh, const FactorRule &rule, PartialRulesFn partialRules,
             ArrayRef<Placement> operands, ArrayRef<Placement> results, CheckLevel level,
             std::string *why, OpSharding *sharding) {
  if (operands.size() != rule.operands.size() || results.size() != rule.results.size())
    return fail(why, "the op's rule does not have as many operands and results as the op");
  OpSharding implied;
  if (!collectSharding(mesh, rule, partialRules, operands, results, implied, why))
    return false;
  OpPlacements expected = placementsOf(mesh, rule, implied, level);
  auto compare = [&](StringRef what, size_t index, const Placement &found, Placement wanted,
                     bool paddingMatters) {
    // Known padding may always be forgotten, never invented.
    if (!paddingMatters || !wanted.padding)
      wanted.padding = found.padding;
    wanted.held = found.held; // judged by checkStages
    if (found == wanted)
      return true;
    return fail(why, what + " " + Twine(index) + " is placed as " + toString(mesh, found) +
                         ", expected " + toString(mesh, wanted));
  };
  bool local = level == CheckLevel::Local;
  for (auto [index, found, wanted] : llvm::enumerate(operands, expected.operands))
    if (!compare("operand", index, found, wanted, local))
      return false;
  for (auto [index, found, wanted] : llvm::enumerate(results, expected.results)) {
    if (!compare("result", index, found, wanted, false))
      return false;
    if (found.padding)
      return fail(why, "result " + Twine(index) +
                           " claims to know its padding, which no op but dist.mask and the "
                           "collectives establish");
  }
  if (!checkStages(mesh, operands, results, why))
    return false;
  if (sharding)
    *sharding = std::move(implied);
  return true;
}

double localPoints(const Mesh &mesh, const FactorRule &rule, const OpSharding &sharding) {
  double points = 1;
  for (const DimPlacement &factor : sharding.factors)
    points *= localSize(mesh, factor);
  return points;
}

} // namespace weft
