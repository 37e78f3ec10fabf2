// Accounts of a model for planners, from programs with a few of its blocks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLANNING_SAMPLER_H
#define WEFT_PLANNING_SAMPLER_H

#include "weft/Compiler/Compilation.h"
#include "weft/Planner/Search.h"
#include "weft/Search/AxisSearch.h"

#include "llvm/ADT/StringMap.h"

#include <map>
#include <memory>
#include <set>
#include <tuple>

namespace weft {

/// Compiles a few blocks of a model as it will be compiled as a whole, up to where kernels are
/// formed, once for each group of layouts that is asked for, and reads the account off. Where no
/// blocks repeat it takes the model as it is. Two programs are compiled at a time if there are
/// cores.
class Sampler : public planner::Models {
public:
  /// Of a program at `graph`, and what it was at `import`, with the options that all layouts have
  /// in common. Blocks are not looked for in a model with a training step of its own.
  Sampler(const Compilation &program, Compilation imported);
  ~Sampler() override;

  /// Samples of the whole batch: the extent of the dimension that is split over the batch's axes.
  int64_t batch() const { return wholeBatch; }
  /// Blocks that stages can be made of; 0 if none repeat.
  int64_t blocks() const { return blockCount; }
  /// Whether rows of the batch are read together, as batch normalization does. What a device has of
  /// a batch is then accounted as a batch of its own, without the sums over devices, and only the
  /// number of microbatches that the program was made for is possible.
  bool hasBatchStatistics() const { return hasStatistics; }
  /// Programs compiled so far.
  int64_t compiled() const { return programs; }

  const planner::ModelAccount *of(const planner::Group &group, int64_t samples) override;
  /// What has no programs, the group and the number of samples, and the first error of each one's
  /// compilation.
  const std::map<std::pair<planner::Group, int64_t>, std::string> &failures() const {
    return errors;
  }

private:
  using Parts = int64_t; ///< microbatches whose statistics are apart; 1 if there are none
  using Size = int64_t;  ///< blocks that are kept
  /// Of the two programs that tell of a mode; one where no blocks repeat.
  std::vector<Size> sizes(Recompute recompute) const;
  /// Of the smaller one of two programs.
  Size fewerBlocks(Recompute recompute) const;
  void keepBlocksOf(Compilation &program, Size size) const;
  const Compilation *graph(Parts parts, Size size);
  /// A program, or why there is none.
  struct Made {
    std::optional<Compilation> program;
    std::string error;
  };
  const Made &stepped(Parts parts, Size size);
  /// Programs that differ in their blocks alone, and what the search for placements met in them.
  struct Sharded {
    std::map<Size, Made> programs;
    std::unique_ptr<AxisSearchMemory> memory;
  };
  /// With fewer and with more blocks; without blocks the same program twice.
  using Pair = std::pair<planner::Sample, planner::Sample>;
  struct Work;
  void shard(Work &work) const;
  Made shard(const Work &work, Size size, AxisSearchMemory &memory) const;
  void compile(Work &work) const;
  std::optional<planner::Sample> sample(Work &work, Size size) const;
  void make(const planner::Group &group, llvm::ArrayRef<int64_t> numbersOfSamples);
  void forgetSearches(const planner::Group &but);
  const Pair *exact(const planner::Group &group, int64_t samples);
  planner::ModelAccount modelOf(const Pair &pair) const;
  std::optional<planner::ModelAccount> find(const planner::Group &group, int64_t samples);
  llvm::Expected<planner::Sample> read(mlir::ModuleOp module, const planner::Group &group,
                                       int64_t microbatches, Size size) const;

  Compilation imported;
  Precision precision;
  bool hasStatistics = false;
  int64_t wholeBatch = 1, blockCount = 0, programs = 0, borderElements = 0;
  llvm::StringMap<unsigned> partsOf;
  std::map<std::pair<Parts, Size>, std::optional<Compilation>> graphs;
  std::map<std::pair<Parts, Size>, Made> steps;
  /// By all of a group but what it recomputes, which placements do not depend on.
  std::map<std::tuple<int64_t, bool, int64_t>, Sharded> shardeds;
  std::map<std::pair<planner::Group, int64_t>, std::optional<Pair>> exacts;
  std::map<std::pair<planner::Group, int64_t>, std::unique_ptr<planner::ModelAccount>> accounts;
  std::map<std::pair<planner::Group, int64_t>, std::string> errors;
  std::set<planner::Group> hopeless; // no number of samples compiles
};

} // namespace weft

#endif // WEFT_PLANNING_SAMPLER_H
