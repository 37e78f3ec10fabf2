// Plans as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Planner/Plan.h"

#include "plan.pb.h"
#include "weft/Cost/TextFields.h"

#include <cstdio>
#include <map>

using namespace weft;
using namespace weft::planner;

namespace {

constexpr int64_t kMostCount = int64_t(1) << 40;
constexpr double kMostSeconds = 1e12;

/// Shortest digits that are read back as the same number.
std::string textOf(double number) {
  char text[40];
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, number);
    if (std::strtod(text, nullptr) == number)
      break;
  }
  return text;
}

std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  return result + "\"";
}

/// Fields with their values as they are written, in their order.
std::vector<std::pair<std::string, std::string>> fieldsOf(const Plan &plan) {
  std::vector<std::pair<std::string, std::string>> fields;
  auto text = [&](const char *name, const std::optional<std::string> &value) {
    if (value)
      fields.push_back({name, quoted(*value)});
  };
  if (!plan.model.empty())
    text("model", plan.model);
  if (!plan.cluster.empty())
    text("cluster", plan.cluster);
  if (plan.devices > 0)
    fields.push_back({"devices", std::to_string(plan.devices)});
  text("mesh", plan.mesh);
  text("batch_axes", plan.batchAxes);
  if (plan.microbatches)
    fields.push_back({"microbatches", std::to_string(*plan.microbatches)});
  text("schedule", plan.schedule);
  text("stages", plan.stages);
  text("zero", plan.zero);
  text("recompute", plan.recompute);
  if (plan.sequenceParallel)
    fields.push_back({"sequence_parallel", *plan.sequenceParallel ? "true" : "false"});
  for (const std::string &rule : plan.place)
    text("place", rule);
  return fields;
}

} // namespace

std::vector<std::pair<std::string, std::string>> Plan::flags(const std::string &oneDevice) const {
  std::vector<std::pair<std::string, std::string>> flags;
  auto add = [&](const char *flag, const std::optional<std::string> &value) {
    if (value)
      flags.push_back({flag, *value});
  };
  if (const std::string said = mesh && mesh->empty() ? oneDevice : mesh.value_or(""); !said.empty())
    flags.push_back({"--mesh", said});
  add("--batch-axes", batchAxes);
  if (microbatches)
    flags.push_back({"--microbatches", std::to_string(*microbatches)});
  add("--schedule", schedule);
  add("--stages", stages);
  add("--zero", zero);
  add("--recompute", recompute);
  if (sequenceParallel)
    flags.push_back({"--sequence-parallel", *sequenceParallel ? "on" : "off"});
  for (const std::string &rule : place)
    add("--place", rule);
  return flags;
}

Plan planner::planOf(const Layout &layout, bool trains) {
  Plan plan;
  plan.devices = layout.devices();
  plan.mesh = layout.mesh();
  plan.microbatches = layout.microbatches;
  if (layout.size(Role::Stages) > 1)
    plan.schedule = layout.schedule;
  if (trains) {
    plan.zero = std::to_string(layout.zero);
    plan.recompute = nameOf(layout.recompute);
  }
  plan.sequenceParallel = layout.sequenceParallel;
  return plan;
}

std::string planner::writePlan(const Plan &plan) {
  std::string text = "# A plan for weft-compile --plan; docs/plan.md says what each field is.\n";
  for (const auto &[name, value] : fieldsOf(plan))
    text += name + ": " + value + "\n";
  if (!plan.stepSeconds && !plan.memoryBytes)
    return text;
  text += "predicted {\n";
  if (plan.stepSeconds)
    text += "  step_seconds: " + textOf(*plan.stepSeconds) + "\n";
  if (plan.memoryBytes)
    text += "  memory_bytes: " + std::to_string(*plan.memoryBytes) + "\n";
  return text + "}\n";
}

std::optional<Plan> planner::readPlan(const std::string &text, std::string &error) {
  schema::Plan message;
  cost::Fields::Tree tree;
  if (!cost::parseText(text, message, tree, error))
    return std::nullopt;
  cost::Fields root(message, &tree, "", 1, error);
  Plan plan;
  bool isRight = root.string("model", plan.model, false) &&
                 root.string("cluster", plan.cluster, false) &&
                 root.integer("devices", 1, kMostCount, plan.devices, false);
  auto take = [&](const char *field, std::optional<std::string> &value) {
    if (root.has(field))
      isRight = isRight && root.string(field, value.emplace(), false);
  };
  take("mesh", plan.mesh);
  take("batch_axes", plan.batchAxes);
  take("schedule", plan.schedule);
  take("stages", plan.stages);
  take("zero", plan.zero);
  take("recompute", plan.recompute);
  if (root.has("microbatches"))
    isRight = isRight && root.integer("microbatches", 1, kMostCount, plan.microbatches.emplace());
  if (root.has("sequence_parallel"))
    isRight = isRight && root.flag("sequence_parallel", plan.sequenceParallel.emplace());
  plan.place.assign(message.place().begin(), message.place().end());
  if (isRight && root.has("predicted")) {
    cost::Fields predicted = root.child("predicted");
    if (predicted.has("step_seconds"))
      isRight = predicted.number("step_seconds", 0, kMostSeconds, plan.stepSeconds.emplace());
    if (predicted.has("memory_bytes"))
      isRight = isRight &&
                predicted.integer("memory_bytes", 0, int64_t(1) << 60, plan.memoryBytes.emplace());
  }
  if (!isRight)
    return std::nullopt;
  return plan;
}

std::vector<std::string> planner::differences(const Plan &from, const Plan &to) {
  // Of a field that is there several times, one value behind the other.
  auto mapOf = [](const Plan &plan) {
    std::map<std::string, std::string> values;
    for (const auto &[name, value] : fieldsOf(plan))
      values[name] += (values.count(name) && !values[name].empty() ? " " : "") + value;
    return values;
  };
  std::map<std::string, std::string> before = mapOf(from), after = mapOf(to);
  std::vector<std::string> lines;
  for (const char *name :
       {"model", "cluster", "devices", "mesh", "batch_axes", "microbatches", "schedule", "stages",
        "zero", "recompute", "sequence_parallel", "place"}) {
    auto valueIn = [&](const std::map<std::string, std::string> &values) {
      auto found = values.find(name);
      return found == values.end() ? std::string("not said") : found->second;
    };
    if (valueIn(before) != valueIn(after))
      lines.push_back(std::string(name) + ": " + valueIn(before) + " -> " + valueIn(after));
  }
  auto number = [&](const char *name, const auto &a, const auto &b, auto toText) {
    if (a && b && *a != *b)
      lines.push_back(std::string(name) + ": " + toText(*a) + " -> " + toText(*b));
  };
  number("predicted step_seconds", from.stepSeconds, to.stepSeconds,
         [](double seconds) { return textOf(seconds); });
  number("predicted memory_bytes", from.memoryBytes, to.memoryBytes,
         [](int64_t bytes) { return std::to_string(bytes); });
  return lines;
}
