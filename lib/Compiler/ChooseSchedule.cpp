// Finds the best schedule that fits by compiling with one after the other: an estimate of memory
// would not be exact.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ChooseSchedule.h"

#include "dialects/dist/IR/Dist.h"
#include "passes/dist/ScheduleRating.h"

#include <limits>

using namespace mlir;
using namespace weft;

LogicalResult weft::chooseSchedule(Compilation &compilation) {
  dist::MeshAttr mesh = dist::getMesh(compilation.getModule());
  std::optional<AxisId> axis = mesh ? mesh.getValue().stageAxis() : std::nullopt;
  if (!axis || mesh.getValue().size(*axis) == 1)
    return success();
  FailureOr<CostModel> costs = costModelOf(compilation.getModule(), mesh.getValue());
  if (failed(costs))
    return failure();
  PhaseOptions &phases = compilation.options.phases;
  FailureOr<std::vector<dist::RatedSchedule>> rated =
      dist::rateSchedules(compilation.getModule(), *costs, phases.stages, phases.stageCosts);
  if (failed(rated))
    return failure();
  int64_t least = std::numeric_limits<int64_t>::max();
  std::string chosen;
  for (const dist::RatedSchedule &candidate : *rated) {
    FailureOr<int64_t> bytes = compilation.measureMemory(
        [&](CompileOptions &trial) { trial.phases.schedule = candidate.name; });
    if (failed(bytes))
      return failure();
    if (compilation.onScheduleTrial)
      compilation.onScheduleTrial(candidate.name, *bytes);
    if (*bytes < least) {
      least = *bytes;
      chosen = candidate.name;
    }
    if (*bytes <= compilation.options.memoryLimit)
      break;
  }
  phases.schedule = chosen;
  return success();
}
