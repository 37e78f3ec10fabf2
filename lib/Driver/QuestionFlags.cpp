// Flags of what the planner is asked, and plans as flags.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TextFile.h"
#include "weft/Driver/Options.h"
#include "weft/Planner/Plan.h"
#include "weft/Sharding/Mesh.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace weft;
using namespace weft::driver;
using runtime::FlagTable;

namespace {

const std::vector<std::string> kAxes{"dp", "tp", "pp"};
const std::vector<std::string> kObjectives{"step", "latency", "throughput", "devices", "memory"};
const std::vector<std::string> kMeans{"dp", "tp", "pp", "zero", "recompute", "sp", "microbatches"};

std::string takeFixed(const std::string &text, std::map<std::string, int64_t> &fixed) {
  for (llvm::StringRef part : llvm::split(text, ',')) {
    auto [axis, size] = part.split('=');
    int64_t count = 0;
    if (!llvm::is_contained(kAxes, axis.str()))
      return "AXIS " + FlagTable::notAmong(axis.str(), kAxes);
    if (size.getAsInteger(10, count) || count < 1)
      return "wants AXIS=N,..., such as tp=4, not '" + text + "'";
    if (auto [before, isNew] = fixed.try_emplace(axis.str(), count);
        !isNew && before->second != count)
      return "fixes " + axis.str() + " at " + std::to_string(before->second) + " and at " +
             std::to_string(count) + "; leave one of them out";
  }
  return "";
}

std::string takeForbidden(const std::string &text, std::set<std::string> &forbidden) {
  for (llvm::StringRef part : llvm::split(text, ',')) {
    if (!llvm::is_contained(kMeans, part.str()))
      return FlagTable::notAmong(part.str(), kMeans);
    forbidden.insert(part.str());
  }
  return "";
}

} // namespace

void weft::driver::addQuestionFlags(FlagTable &flags, ActsTable &acts, QuestionFlags &question) {
  acts.ofTheRun(flags.count("--devices", "N", "plan for so many of the cluster's devices",
                            question.devices, 1, int64_t(1) << 20));
  acts.ofTheRun(flags.value(
      "--fix", "AXIS=N,...",
      "the sizes of these axes of dp, tp, pp; others are chosen. Flags such "
      "as --zero that are given are obeyed, too",
      [&question](const std::string &text) { return takeFixed(text, question.fixed); }));
  acts.ofTheRun(flags.value(
      "--forbid", "WHAT,...",
      "do without: dp, tp, pp, zero, recompute, sp (sequence parallelism), "
      "microbatches",
      [&question](const std::string &text) { return takeForbidden(text, question.forbidden); },
      kMeans));
  acts.ofTheRun(flags.value(
      "--objective", "step|latency|throughput|devices|memory",
      "what to make least: the time of a step (default; the batch is given, so latency and "
      "throughput are other names for it); devices, of those numbers that divide --devices; or "
      "memory",
      [&question](const std::string &text) -> std::string {
        question.objective =
            text == "memory" ? planner::Objective::Memory : planner::Objective::Time;
        question.wantsFewestDevices = text == "devices";
        return llvm::is_contained(kObjectives, text) ? "" : FlagTable::notAmong(text, kObjectives);
      },
      kObjectives));
  acts.ofTheRun(flags.count("--budget", "N",
                            "simulate at most so many layouts (default 200000); if that ends the "
                            "search, the answer says so",
                            question.budget, 1));
}

bool weft::driver::isOfQuestion(llvm::StringRef flag) {
  for (const char *known : {"--devices", "--fix", "--forbid", "--objective", "--budget"})
    if (flag == known)
      return true;
  return false;
}

llvm::Expected<std::vector<std::string>>
weft::driver::withPlan(const std::vector<std::string> &arguments, const std::string &file,
                       const std::vector<FlagTable::Given> &given, const std::string &meshFlag,
                       const std::string &oneDevice,
                       llvm::function_ref<std::string(const std::string &flag)> wrongIn) {
  for (const FlagTable::Given &other : given)
    if (other.name == "--auto")
      return llvm::createStringError("--auto chooses what --plan '" + file +
                                     "' says; leave one of them out");
  std::vector<std::string> merged;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--plan")
      ++i;
    else if (!llvm::StringRef(arguments[i]).starts_with("--plan="))
      merged.push_back(arguments[i]);
  }
  llvm::Expected<std::string> text = readText("--plan", file);
  if (!text)
    return text.takeError();
  std::string wrong;
  std::optional<planner::Plan> plan = planner::readPlan(*text, wrong);
  if (!plan)
    return fileError("--plan", file, wrong);
  if (plan->devices > 0 && plan->mesh)
    if (auto mesh = Mesh::parse(*plan->mesh); mesh && mesh->deviceCount() != plan->devices)
      return fileError("--plan", file,
                       "devices is " + std::to_string(plan->devices) + ", and mesh '" +
                           *plan->mesh + "' has " + std::to_string(mesh->deviceCount()) +
                           "; change one of them");
  std::vector<std::string> added;
  for (auto [flag, value] : plan->flags(oneDevice)) {
    if (flag == "--mesh")
      flag = meshFlag;
    if (std::string wrong = wrongIn(flag + "=" + value); !wrong.empty())
      return fileError("--plan", file, wrong);
    bool isSaid = false;
    for (const FlagTable::Given &other : given) {
      if (other.name != flag || (flag == "--place" && other.value != value))
        continue;
      if (other.value != value)
        return llvm::createStringError("--plan '" + file + "' says " + flag + " " + value +
                                       ", and " + flag + " " + other.value +
                                       " is given; leave one of them out");
      isSaid = true;
    }
    if (!isSaid)
      added.push_back(flag + "=" + value);
  }
  merged.insert(merged.end(), added.begin(), added.end());
  return merged;
}
