// The fastest uniform layouts of a model on a cluster.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLANNER_SEARCH_H
#define WEFT_PLANNER_SEARCH_H

#include "weft/Cost/SimulateStep.h"
#include "weft/Planner/ModelAccount.h"

#include <limits>
#include <map>
#include <optional>
#include <tuple>

namespace weft::planner {

/// Layouts that share the account of a model: all else about them is a formula.
struct Group {
  int64_t tensor = 1;
  bool sequenceParallel = false;
  Recompute recompute = Recompute::None;

  bool operator<(const Group &other) const;
  bool operator==(const Group &other) const { return !(*this < other) && !(other < *this); }
};
Group groupOf(const Layout &layout);
/// "tp=2, sequence parallel, recompute full"; "one device".
std::string textOf(const Group &group);

/// Where accounts come from. Asking takes long, so that searches ask as little as they can.
class Models {
public:
  virtual ~Models();
  /// For microbatches of so many samples; null if there is no such program, as when weights cannot
  /// be split over so many devices. Gradients of weights are apart (cost::Chunk::weight). What is
  /// returned stays.
  virtual const ModelAccount *of(const Group &group, int64_t samples) = 0;
};

/// What is to be least.
enum class Objective { Time, Memory };

/// How many times what their account says layouts need, as far as some were compiled.
class MemoryScales {
public:
  void note(const Layout &layout, double scale);
  /// Of one on the same mesh in as many microbatches what is known; of others 1, or what is known
  /// of one of its kind where `isSpread`.
  double of(const Layout &layout) const;
  bool isEmpty() const { return scales.empty(); }

  bool isSpread = false;

private:
  struct Alike {
    std::array<int64_t, kRoleCount> sizes;
    int64_t microbatches;
    bool operator<(const Alike &other) const {
      return std::tie(sizes, microbatches) < std::tie(other.sizes, other.microbatches);
    }
  };
  std::map<Alike, double> scales;
  std::map<unsigned, double> ofKinds;
};

struct Options {
  Objective objective = Objective::Time;
  /// What a device has: a layout fits if its bytes, times its scale, are at most this.
  int64_t deviceBytes = 0;
  MemoryScales memoryScales;
  /// So many of the best are wanted.
  size_t wanted = 16;
  /// At most so many layouts are simulated; then the best so far are returned. Nothing: kBudget, or
  /// all of them if the search is exhaustive.
  std::optional<int64_t> budget;
  int64_t bucketBytes = 25 << 20;
  /// Looks at everything: to check that nothing is lost by not doing so.
  bool isExhaustive = false;

  static constexpr int64_t kBudget = 200000;
  int64_t mostSimulated() const {
    return budget.value_or(isExhaustive ? std::numeric_limits<int64_t>::max() : kBudget);
  }
};

struct Candidate {
  Layout layout;
  cost::Prediction prediction;
  /// How many blocks each chunk has.
  std::vector<int64_t> chunkBlocks;
  int64_t bytes() const { return prediction.memory[prediction.fullest].total(); }
};

/// Which axes there are, and whether ZeRO splits all: layouts of one kind are alike.
unsigned kindOf(const Layout &layout);

/// Layouts whose account cannot be simulated, the first for each reason: a fault of the account, by
/// which a better layout may be missing.
using Unpriced = std::map<std::string, Layout>;

struct Result {
  /// Those that fit, the best first; of equals the simplest.
  std::vector<Candidate> best;
  /// The best of each kind (kindOf), in the order of their times; of what was not looked at because
  /// it cannot be among the best, there may be better ones.
  std::vector<Candidate> kinds;
  /// If nothing fits: what needs least, and how much that is, as far as is known.
  std::optional<Candidate> smallest;
  int64_t smallestBytes = 0;
  Unpriced unpriced;
  /// Of all layouts of the space, those that were simulated; the rest cannot be better, or fit.
  int64_t layouts = 0, simulated = 0;
  /// Groups whose account was asked for, of all.
  int64_t groups = 0, allGroups = 0;
  /// The budget was enough: no layout of the space that fits is better than the first of `best`.
  bool isComplete = true;
};

/// Finds the best of all layouts of `space` by branch and bound. A bound of what a layout takes is
///
///   before stage s begins + microbatches * (its forward + backward) + what is left behind it
///
/// and its update, where what was sent over the axis of weights is priced as it is, and what goes
/// over the batch's keeps the links busy beside all that. Of a group whose account is not known,
/// one that is serves: work and memory divide by as many more devices at best, what is sent does
/// not shrink with more devices, and to recompute takes no less time. What no bound excludes is
/// simulated (weft/Cost/SimulateStep.h).
Result search(const Space &space, const Cluster &cluster, Models &models, const Options &options);

/// One layout, simulated; nothing where there is no such program, or `unpriced` says why.
std::optional<Candidate> simulate(const Space &space, const Layout &layout, const Cluster &cluster,
                                  Models &models, const Options &options, Unpriced &unpriced);

} // namespace weft::planner

#endif // WEFT_PLANNER_SEARCH_H
