// Bounds of what a layout takes and holds, from an account that may be another group's.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_PLANNER_BOUNDS_H
#define WEFT_LIB_FOUNDATION_PLANNER_BOUNDS_H

#include "weft/Planner/Search.h"

#include <limits>
#include <memory>
#include <string>
#include <tuple>

namespace weft::planner {

/// An account, and what it says of a group: all of it, or a bound.
struct Known {
  const ModelAccount *model = nullptr;
  /// Devices that share what one does in the account.
  int64_t times = 1;
  /// The same of kernels that only read and write memory.
  int64_t streamTimes = 1;
  /// The group recomputes, or splits norms, and the account does not.
  bool isOther = false;
};

class Bounds {
public:
  Bounds(const Cluster &cluster, const Options &options)
      : cluster(cluster), options(options), fastest(cost::fastestOf(cluster.device)) {}

  /// Picoseconds.
  int64_t time(const Layout &layout, const Known &known);
  int64_t bytes(const Layout &layout, const Known &known);
  /// The weights of what is before and behind the blocks.
  Assembly assemblyOf(const ModelAccount &model);
  /// The blocks of each chunk.
  const std::vector<int64_t> &countsOf(const ModelAccount &model, const Layout &layout);

private:
  /// Picoseconds of a part of a stage.
  struct Times {
    int64_t forward = 0, backward = 0, weight = 0; // of one microbatch
    /// What replicas exchange in one microbatch (ZeRO-2 and 3), but for sums that share messages
    /// with those of the next share.
    int64_t exchanges = 0;
    int64_t update = 0; // its kernels
  };
  /// Kernels of one microbatch, and what goes over the axis of weights.
  struct Pass {
    int64_t work = 0, stream = 0; // the latter: that is no product
    int64_t accumulation = 0;     // of gradients, on one device
    int64_t partAccumulation = 0; // at least that of one who has a part of each, times the parts
    std::map<std::pair<runtime::CollectiveKind, int64_t>, int64_t> sent;
  };
  struct Passes {
    Pass forward, backward, weight;
  };
  struct Parts {
    Passes before, block, behind;
  };
  struct Priced {
    Parts whole;
    /// On a device on which no part of a kernel takes less than its part of the time.
    Parts divisible;
    Share shared; // sharedOf
  };
  const Priced &pricedOf(const ModelAccount &model);
  /// Of what is for gradients of weights, or of all else.
  Pass priceOf(const std::vector<cost::Item> &items, bool isOfWeights, const Device &device);
  static int64_t stateBytes(const Layout &layout,
                            const std::array<int64_t, cost::kStateClassCount> &whole);
  /// What a stage does in a step.
  struct StageTimes {
    /// Before its first chunk has its first microbatch, and behind that chunk's last one.
    int64_t filled = 0, emptied = 0;
    int64_t each = 0, weight = 0, exchanges = 0; // of one microbatch
    int64_t leastBack = std::numeric_limits<int64_t>::max();
    int64_t update = 0;
    int64_t gradients = 0, parameters = 0; // bytes
    bool isUsed = false;

    void addState(const Share &share, int64_t count) {
      gradients += count * share.stateBytes[size_t(cost::StateClass::Gradient)];
      parameters += count * share.stateBytes[size_t(cost::StateClass::Parameter)];
    }
  };
  struct Order {
    /// The stage of each chunk; empty: there is no such schedule.
    std::vector<int32_t> place;
    /// The most passes over chunks that the first stage has begun and not come back to.
    int64_t underWay = 0;
  };
  const Order &orderOf(const Layout &layout);
  int64_t timeOf(const Pass &pass, const Layout &layout, const Known &known);
  int64_t timeOf(Role axis, runtime::CollectiveKind kind, int64_t bytes, const Layout &layout);
  int64_t timeOf(const Messages &messages, const Layout &layout);
  /// For a layout of the group that the account is of.
  Times timesOf(const Share &share, const Passes &passes, const Layout &layout, const Known &known);
  int64_t timeOfOwn(const Priced &priced, const Layout &layout, const Known &known);
  int64_t timeOfOther(const Priced &priced, const Layout &layout, const Known &known);
  int64_t updateTime(const Share &share, const Layout &layout);
  int64_t exchangeTime(const Share &share, const Layout &layout);
  /// Of sums that so many shares together have messages for.
  int64_t bundleTime(const Share &share, int64_t count, const Layout &layout);
  const EachSum &sumsIn(const Share &share);

  const Cluster &cluster;
  const Options &options;
  const Device fastest;
  std::map<const ModelAccount *, Priced> priced;
  using Grid = std::pair<std::array<int64_t, kRoleCount>, std::array<Role, kRoleCount>>;
  /// Of the groups over one axis of a grid.
  struct Links {
    std::unique_ptr<std::vector<cost::Axis>> mesh;
    std::unique_ptr<cost::Groups> groups;
    std::map<std::pair<runtime::CollectiveKind, int64_t>, int64_t> times;
  };
  std::map<std::pair<Grid, Role>, Links> links;
  /// By schedule, stages and microbatches.
  std::map<std::tuple<std::string, int64_t, int64_t>, Order> orders;
  std::map<std::pair<const ModelAccount *, int64_t>, std::vector<int64_t>> counts; // by chunks
  std::map<const Share *, EachSum> eachSums;
  /// By the devices that share an update.
  std::map<std::pair<const Share *, int64_t>, int64_t> updates;
};

} // namespace weft::planner

#endif // WEFT_LIB_FOUNDATION_PLANNER_BOUNDS_H
