// Plans as data: text that people read, edit and compare.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLANNER_PLAN_H
#define WEFT_PLANNER_PLAN_H

#include "weft/Planner/Layout.h"

#include <optional>
#include <utility>

namespace weft::planner {

/// A mesh of one device, for which a model is not asked for its own.
constexpr const char *kOneDevice = "dp=1";

/// How a program is split. What is not there a plan does not say.
struct Plan {
  /// What it was made for; "" and 0 if it does not say.
  std::string model, cluster;
  int64_t devices = 0;
  /// As the flags of weft-compile have them.
  std::optional<std::string> mesh, batchAxes, schedule, stages, zero, recompute;
  std::optional<int64_t> microbatches;
  std::optional<bool> sequenceParallel;
  std::vector<std::string> place;
  std::optional<double> stepSeconds;
  std::optional<int64_t> memoryBytes;

  /// What it says as flags of weft-compile with their values, in the order of the fields; of one
  /// device `oneDevice` is the mesh.
  std::vector<std::pair<std::string, std::string>>
  flags(const std::string &oneDevice = kOneDevice) const;
};

/// All of a layout; what does not matter, as a schedule without stages, is not said.
Plan planOf(const Layout &layout, bool trains);

/// Text protobuf (lib/Foundation/Planner/schema/plan.proto); the same plan has the same text.
std::string writePlan(const Plan &plan);
/// On failure says in `error` which line is wrong and what belongs there.
std::optional<Plan> readPlan(const std::string &text, std::string &error);

/// `microbatches: 2 -> 4`, one line for each field that two plans have otherwise.
std::vector<std::string> differences(const Plan &from, const Plan &to);

} // namespace weft::planner

#endif // WEFT_PLANNER_PLAN_H
