// Finds the best schedule that fits by compiling with one after the other: an estimate of memory
// would not be exact.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ChooseSchedule.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/ScheduleAttrs.h"
#include "passes/dist/stages/ScheduleRating.h"
#include "passes/dist/stages/StageSchedule.h"

#include <algorithm>
#include <limits>
#include <tuple>

using namespace mlir;
using namespace weft;

namespace {

class ScheduleChoice {
public:
  ScheduleChoice(Compilation &compilation, const CostModel &costs)
      : compilation(compilation), costs(costs), phases(compilation.options.phases) {}

  LogicalResult amongNames() {
    FailureOr<std::vector<dist::RatedSchedule>> rated =
        dist::rateSchedules(compilation.getModule(), costs, phases.stages, phases.stageCosts);
    if (failed(rated))
      return failure();
    tryOneByOne(*rated);
    return settle();
  }

  /// What is kept can only be estimated before a program is compiled, so a schedule that needs too
  /// much is followed by one that keeps less: as much as the last two say that it takes. What has a
  /// name may keep less than all that was found.
  LogicalResult bySearch() {
    constexpr int kTrials = 5;
    constexpr double kLeastShare = 0.05;
    double most = std::numeric_limits<double>::infinity(), lastKept = 0;
    int64_t lastBytes = 0;
    for (int trial = 0; trial < kTrials && most > 0; ++trial) {
      FailureOr<std::vector<dist::RatedSchedule>> rated = dist::searchSchedule(
          compilation.getModule(), costs, phases.stages, phases.stageCosts, most);
      if (failed(rated))
        return failure();
      if (rated->empty() || !rated->front().isFound)
        break;
      const dist::RatedSchedule &found = rated->front();
      if (failed(tryOut(found.name, pipeline::writeSchedule(found.schedule))) || fits())
        break;
      double share = trial == 0 || lastKept <= found.kept
                         ? 1
                         : double(lastBytes - bytes) / (lastKept - found.kept);
      most = found.kept -
             double(bytes - compilation.options.memoryLimit) / std::clamp(share, kLeastShare, 1.0);
      lastKept = found.kept;
      lastBytes = bytes;
    }
    if (!isBroken && (chosen.empty() || !fits()) && failed(amongLeast()))
      return failure();
    compilation.getModule()->setAttr(dist::kScheduleSearchedAttr,
                                     UnitAttr::get(compilation.getModule()->getContext()));
    return settle();
  }

private:
  /// Those with names, what keeps least first.
  LogicalResult amongLeast() {
    FailureOr<std::vector<dist::RatedSchedule>> rated =
        dist::rateSchedules(compilation.getModule(), costs, phases.stages, phases.stageCosts);
    if (failed(rated))
      return failure();
    llvm::sort(*rated, [](const auto &a, const auto &b) {
      return std::tie(a.kept, a.name) < std::tie(b.kept, b.name);
    });
    tryOneByOne(*rated);
    return success();
  }

  void tryOneByOne(ArrayRef<dist::RatedSchedule> candidates) {
    for (const dist::RatedSchedule &candidate : candidates)
      if (failed(tryOut(candidate.name, candidate.name)) || fits())
        break;
  }

  LogicalResult tryOut(StringRef name, const std::string &text) {
    FailureOr<int64_t> measured =
        compilation.measureMemory([&](CompileOptions &trial) { trial.phases.schedule = text; });
    if (failed(measured)) {
      isBroken = true;
      return failure();
    }
    bytes = *measured;
    if (compilation.onScheduleTrial)
      compilation.onScheduleTrial(name, bytes);
    if (bytes < least) {
      least = bytes;
      chosen = text;
    }
    return success();
  }

  bool fits() const { return bytes <= compilation.options.memoryLimit; }

  /// The one that was tried last if it fits, else the one that needs least.
  LogicalResult settle() {
    if (!isBroken && !chosen.empty())
      phases.schedule = chosen;
    return failure(isBroken);
  }

  Compilation &compilation;
  const CostModel &costs;
  PhaseOptions &phases;
  int64_t bytes = 0, least = std::numeric_limits<int64_t>::max();
  std::string chosen;
  bool isBroken = false;
};

} // namespace

LogicalResult weft::chooseSchedule(Compilation &compilation) {
  dist::ScheduleRequest request = dist::requestOf(compilation.options.phases.schedule);
  bool searches = request == dist::ScheduleRequest::Search;
  if (!searches && request != dist::ScheduleRequest::Best)
    return success();
  dist::MeshAttr mesh = dist::getMesh(compilation.getModule());
  std::optional<AxisId> axis = mesh ? mesh.getValue().stageAxis() : std::nullopt;
  if (!axis || mesh.getValue().size(*axis) == 1)
    return success();
  FailureOr<CostModel> costs = costModelOf(compilation.getModule(), mesh.getValue());
  if (failed(costs))
    return failure();
  ScheduleChoice choice(compilation, *costs);
  return searches ? choice.bySearch() : choice.amongNames();
}
