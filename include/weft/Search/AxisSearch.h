// Finds, for one mesh axis, the split of every value whose communication takes the least time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SEARCH_AXISSEARCH_H
#define WEFT_SEARCH_AXISSEARCH_H

#include "weft/Cost/CostModel.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <memory>
#include <optional>

namespace weft {

/// How one value lies on the searched axis. A split cuts the part `size` of the
/// dim `outer x size x rest` (row-major): `outer = 3` on GPT-2's fused QKV is a
/// split over heads.
struct AxisSplit {
  enum class Kind : uint8_t { Replicated, Partial, Sharded };
  Kind kind = Kind::Replicated;
  unsigned dim = 0;
  int64_t outer = 1;
  int64_t size = 1;

  bool operator==(const AxisSplit &other) const {
    return kind == other.kind && (kind != Kind::Sharded ||
                                  (dim == other.dim && outer == other.outer && size == other.size));
  }
};

/// What searches have found, for those that meet the same again: of programs with more of the same
/// blocks, or of another axis. They find the same with it and without. For one search at a time.
class AxisSearchMemory {
public:
  AxisSearchMemory();
  ~AxisSearchMemory();
  struct Met;
  const std::unique_ptr<Met> met;
};

struct AxisSearchOptions {
  AxisSearchOptions(CostModel costs, AxisId axis) : costs(std::move(costs)), axis(axis) {}

  /// Devices along the axis.
  int64_t axisSize() const { return costs.mesh().size(axis); }

  /// What collectives over the mesh's axes take.
  CostModel costs;
  /// The searched one.
  AxisId axis;
  /// Split the norms and residuals between tensor-parallel regions along the
  /// sequence too: partial sums may be reduce_scattered, and the elements that
  /// cheap ops compute on every device count. Moves no more bytes (all_reduce =
  /// reduce_scatter + all_gather) in more collectives (Korthikanti et al., 2022).
  bool sequenceParallel = false;
  /// How the other axes place a value, by which it is smaller on a device and another one in each
  /// microbatch. Absent: whole on every device, once.
  std::function<Placement(mlir::Value)> placed;
  /// Whether a value may be split so, given how other axes split it already.
  /// Absent: always.
  std::function<bool(mlir::Value, const AxisSplit &)> allowed;
  /// Whether an op can run with its operands split so, given how the other axes split what it
  /// reads. Absent: always.
  std::function<bool(mlir::Operation *, const FactorRule &, llvm::ArrayRef<AxisSplit>)> possible;
  /// The split that a person gave a value. Absent, or nothing: free.
  std::function<std::optional<AxisSplit>(mlir::Value)> fixed;
  /// Whether a program argument is state (weights), which the axis is there to
  /// split. Absent: none is.
  std::function<bool(mlir::Value)> isState;
  /// Whether a value leaves the program as the new value of state that rests as it is made: in this
  /// program nobody gathers it. Absent: none does.
  std::function<bool(mlir::Value)> isUpdate;
  /// State whose split is given has it from another program's search, so that to bring it elsewhere
  /// costs what it costs where no split is given: as much as to keep it whole. What a person asked
  /// for may be no good for the axis, and is priced as any value.
  bool isStatePlacedForAxis = false;
  /// The ops to split; values cross their border as they are found there.
  /// Absent: all. A training step is searched in two parts, forward and then
  /// gradients, because all activations are alive in between and their splits
  /// would multiply.
  std::function<bool(mlir::Operation *)> include;
  /// In which splits a value from outside of `include` exists already, such as an
  /// activation that gradients read. Absent, or none: free to choose.
  std::function<llvm::SmallVector<AxisSplit, 2>(mlir::Value)> existing;
  /// The split that the readers outside of `include` want of a value, as the
  /// optimizer wants gradients split like the parameter; getting there is priced.
  /// Absent, or nothing: any.
  std::function<std::optional<AxisSplit>(mlir::Value)> wanted;
  /// Frontier states kept after each op: the cheapest, with what it takes to combine the sums that
  /// are due. The search is exact as long as fewer are alive, which holds for chains of blocks.
  /// Beyond them some are kept of each way in which the arguments that are still to be read are
  /// split, which may pay only at the end of the program.
  unsigned beam = 1024;
  /// Whether what one op led to is taken over where the same op meets the same frontiers again, as
  /// in a repeated block. Finds the same; without it only to be compared with.
  bool replay = true;
  /// So much memory is used for frontiers that were met, and what one op adds. When they take more,
  /// the search forgets all but those it has reached: a program that does not repeat meets none
  /// again.
  size_t rememberedBytes = 256 << 20;
  /// Of searches before. Absent: none.
  AxisSearchMemory *memory = nullptr;
};

struct AxisSearchResult {
  /// Where each value rests: as produced, or, if it is produced as a partial
  /// sum, as it is first consumed.
  llvm::DenseMap<mlir::Value, AxisSplit> splits;
  /// How each op wants its operands, in operand order.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<AxisSplit, 2>> uses;
  double bytesMoved = 0; // per device, by the collectives of one run
  unsigned numCollectives = 0;
  unsigned numStatesPruned = 0; // 0: the result is optimal for the cost model
  unsigned numOpsSearched = 0;  // the others were met before
  size_t rememberedBytes = 0;   // for frontiers, at most at a time
};

/// Costs are the seconds of collectives (CostModel), of what the other axes leave of a tensor on a
/// device and in all microbatches, and the penalties of weft/Cost/Penalties.h for two things that
/// are dearer than any collective: a contraction or attention that every device repeats, and a
/// weight that every device keeps whole; tables that are looked up count less, and vectors are too
/// small to matter. So weights are split whenever they can be, and among the splits communication
/// decides. A split result of the program is priced as if its reader gathered it, unless it is the
/// new value of state (isUpdate), and left split. State is not gathered: that would be FSDP, work
/// of another axis. A whole value may join a sum that is still due.
///
/// The search walks the ops once, in order, and keeps for each assignment of
/// the values still alive the cheapest way to get there. What an op leads to depends on these, on
/// what they cost beyond the first, and on the op; where all are as once before, so is the
/// outcome, and from the third or so of equal blocks on nothing is searched.
AxisSearchResult searchAxis(mlir::Block &program, const AxisSearchOptions &options);

} // namespace weft

#endif // WEFT_SEARCH_AXISSEARCH_H
