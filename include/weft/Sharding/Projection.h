// From placements of tensors to the split of an op's factors, and back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SHARDING_PROJECTION_H
#define WEFT_SHARDING_PROJECTION_H

#include "weft/Sharding/Placement.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace weft {

/// One consistent way to run an op on a mesh: how each factor of its rule is
/// split, written like a dimension, and on which axes its operands arrive partial.
///
/// Worked example: `C[m,n] = sum_k A[m,k] B[k,n]` with k split on "tp" reads A
/// as `[m, k{"tp"}]`, B as `[k{"tp"}, n]` and makes C `[m, n], partial =
/// sum["tp"]`: Megatron's row-parallel layer.
struct OpSharding {
  llvm::SmallVector<DimPlacement, 8> factors;
  struct PartialOperands {
    PartialAxis axis;
    PartialRule operands;
    bool operator==(const PartialOperands &other) const {
      return axis == other.axis && operands == other.operands;
    }
  };
  llvm::SmallVector<PartialOperands, 1> partial;

  /// Every factor whole, no operand partial.
  static OpSharding replicated(const FactorRule &rule);
  bool operator==(const OpSharding &other) const {
    return factors == other.factors && partial == other.partial;
  }
};

/// Splits a dimension over its factors (major to minor). Fails if a shard's
/// border lies within a factor that it would have to respect: `6{"tp"}` of a
/// dimension (4)(3) with two devices does split to (4{"tp"})(3), but of (3)(4)
/// does not, because a device would hold one and a half of the 3.
bool splitDim(const Mesh &mesh, llvm::ArrayRef<PlacedFactor> dim,
              llvm::ArrayRef<int64_t> factorSizes, llvm::SmallVectorImpl<DimPlacement> &out);

/// The dimension with these factors, in canonical form.
DimPlacement joinDim(const Mesh &mesh, const DimFactors &dim, llvm::ArrayRef<DimPlacement> factors);

/// The placement of a tensor with these factors under the op's sharding, without
/// partial axes and without the contents of padding.
Placement joinTensor(const Mesh &mesh, const TensorFactors &tensor,
                     llvm::ArrayRef<DimPlacement> factors);

/// Splits every dim of a tensor: `out` gets an entry for each factor that the
/// tensor has, the others stay untouched. `why` names the dim that fails.
bool splitTensor(const Mesh &mesh, const FactorRule &rule, const TensorFactors &tensor,
                 const Placement &placement, llvm::MutableArrayRef<std::optional<DimPlacement>> out,
                 std::string *why);

/// Answers ShardableOpInterface::getPartialRules.
using PartialRulesFn = llvm::function_ref<llvm::SmallVector<PartialRule>(ReduceKind)>;

/// At which phase the question is asked. In `sharded`, index tensors hold global
/// positions and padding is no concern; in `local` both are explicit.
enum class CheckLevel { Sharded, Local };

/// The placements of all operands and results under `sharding`, which must be
/// legal (isLegal). At Local, operands get the padding state and the local
/// indices that the op needs.
struct OpPlacements {
  llvm::SmallVector<Placement, 4> operands, results;
};
OpPlacements placementsOf(const Mesh &mesh, const FactorRule &rule, const OpSharding &sharding,
                          CheckLevel level);

/// True if pieces computed under `sharding` make up the global results: no
/// whole factor is split, no axis splits two factors or splits one and is
/// partial, split parallel factors are in every result, reductions agree in
/// kind, and partial operands follow one of the op's partial rules.
bool isLegal(const Mesh &mesh, const FactorRule &rule, PartialRulesFn partialRules,
             const OpSharding &sharding, std::string *why = nullptr);

/// The one judge of consistency, used by propagation, partitioning and the
/// verifier: true if an op with this rule, applied to pieces placed as
/// `operands`, computes pieces placed as `results`. Sound: every accepted
/// combination computes the global op. On failure `why` names operand or result,
/// dim and axis. On success `sharding`, if given, is the op's sharding.
bool checkOp(const Mesh &mesh, const FactorRule &rule, PartialRulesFn partialRules,
             llvm::ArrayRef<Placement> operands, llvm::ArrayRef<Placement> results,
             CheckLevel level, std::string *why = nullptr, OpSharding *sharding = nullptr);

/// As checkOp with the operands alone: the sharding they imply.
std::optional<OpSharding> shardingFromOperands(const Mesh &mesh, const FactorRule &rule,
                                               PartialRulesFn partialRules,
                                               llvm::ArrayRef<Placement> operands,
                                               std::string *why = nullptr);

/// Points of the iteration space that one device computes.
double localPoints(const Mesh &mesh, const FactorRule &rule, const OpSharding &sharding);

} // namespace weft

#endif // WEFT_SHARDING_PROJECTION_H
