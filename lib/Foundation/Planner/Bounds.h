// Bounds of what a layout takes and holds, from an account that may be another group's.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_PLANNER_BOUNDS_H
#define WEFT_LIB_FOUNDATION_PLANNER_BOUNDS_H

#include "weft/Planner/Search.h"

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
  Bounds(const Cluster &cluster, const Options &options) : cluster(cluster), options(options) {}

  /// Picoseconds.
  int64_t time(const Layout &layout, const Known &known);
  int64_t bytes(const Layout &layout, const Known &known);
  /// The weights of what is before and behind the blocks.
  Assembly assemblyOf(const ModelAccount &model);

private:
  /// Picoseconds of a part of a stage.
  struct Times {
    int64_t forward = 0, backward = 0, weight = 0; // of one microbatch
    int64_t gathers = 0;                           // of one microbatch (ZeRO-3)
    int64_t update = 0;                            // its kernels
  };
  /// Kernels of one microbatch, and what goes over the axis of weights.
  struct Pass {
    int64_t work = 0, stream = 0; // the latter: that is no product
    std::map<std::pair<runtime::CollectiveKind, int64_t>, int64_t> sent;
  };
  struct Passes {
    Pass forward, backward, weight;
  };
  struct Priced {
    Passes before, block, behind;
  };
  const Priced &pricedOf(const ModelAccount &model);
  Pass priceOf(const std::vector<cost::Item> &items);
  static int64_t stateBytes(const Layout &layout,
                            const std::array<int64_t, cost::kStateClassCount> &whole);
  /// The most microbatches that the first of several stages has begun and not come back to.
  int64_t underWay(const Layout &layout);
  int64_t timeOf(const Pass &pass, const Layout &layout, const Known &known);
  int64_t timeOf(Role axis, runtime::CollectiveKind kind, int64_t bytes, const Layout &layout);
  int64_t timeOf(const Messages &messages, const Layout &layout);
  /// For a layout of the group that the account is of.
  Times timesOf(const Share &share, const Passes &passes, const Layout &layout, const Known &known);
  int64_t timeOfOwn(const Priced &all, const Layout &layout, const Known &known);
  int64_t timeOfOther(const Priced &all, const Layout &layout, const Known &known);
  int64_t updateTime(const Share &share, const Layout &layout);

  const Cluster &cluster;
  const Options &options;
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
  std::map<std::tuple<std::string, int64_t, int64_t>, int64_t> microbatchesUnderWay;
  /// By the devices that share an update.
  std::map<std::pair<const Share *, int64_t>, int64_t> updates;
};

} // namespace weft::planner

#endif // WEFT_LIB_FOUNDATION_PLANNER_BOUNDS_H
