// From a question to its answer: the search, its finalists, and what else is worth knowing.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Choosing/Choose.h"

#include "Advice.h"
#include "ApplyLayout.h"
#include "Comparisons.h"
#include "Finalists.h"
#include "NeededAxes.h"
#include "passes/dist/devices/DeviceSpecs.h"
#include "weft/Choosing/Failure.h"
#include "weft/Cost/CostModel.h"
#include "weft/Planning/Sampler.h"

using namespace mlir;
using namespace weft;
using namespace weft::choosing;

namespace {

/// A search in which no finalist fits is repeated with their memory as measured, so often; in
/// the first ones that is held to say nothing of others.
constexpr int kRounds = 5, kRoundsOfOne = 3;

class Chooser {
public:
  Chooser(Compilation &program, const Question &question) : program(program), question(question) {}

  llvm::Expected<Choice> run() {
    if (llvm::Error wrong = begin())
      return wrong;
    if (llvm::Error wrong = settlePlaces())
      return wrong;
    if (llvm::Error wrong = find())
      return wrong;
    choice.compiledPrograms = sampler->compiled();
    // Where nothing was accounted, it may be the model that does not compile, whatever the layout.
    if (choice.search.simulated == 0 && !sampler->failures().empty())
      if (failed(program.clone().runTo(Phase::Step)))
        return doesNotCompile();
    for (const auto &failure : sampler->failures()) {
      if (llvm::any_of(choice.failures,
                       [&](const auto &told) { return told.second == failure.second; }))
        continue;
      auto [group, samples] = failure.first;
      std::string what = planner::textOf(group);
      if (samples < choice.batch)
        what += ", " + std::to_string(samples) + " of " + std::to_string(choice.batch) +
                " samples at once";
      choice.failures.push_back({what, failure.second});
    }
    if (!choice.isFound()) {
      relax(*problem, choice);
      return std::move(choice);
    }
    compareWithFolklore(*problem, choice);
    compareWithOneDevice(*problem, choice);
    advise(*problem, choice);
    return std::move(choice);
  }

private:
  llvm::Error begin() {
    program.options.phases.mesh = {};
    Compilation imported = program.clone();
    if (dist::hasDeviceConfigurations(imported.getModule()))
      configured.emplace(imported.clone());
    if (failed(program.runTo(Phase::Graph)))
      return doesNotCompile();
    sampler.emplace(program, std::move(imported));
    FailureOr<CostModel> costs = costModelOf(program.getModule(), Mesh());
    if (failed(costs))
      return doesNotCompile();
    describe(costs->cluster());
    setProblem(costs->cluster());
    return llvm::Error::success();
  }

  /// What was asked of what.
  void describe(const Cluster &cluster) {
    const PhaseOptions &phases = program.options.phases;
    choice.model = question.model;
    choice.objective = question.objective;
    choice.clusterName = cluster.name;
    choice.uncertainty = cluster.uncertainty;
    choice.deviceBytes = program.options.memoryLimit > 0 ? program.options.memoryLimit
                                                         : cluster.device.usableBytes();
    choice.trains = phases.train;
    choice.stages = phases.stages;
    choice.devices = question.devices;
    choice.batch = sampler->batch();
    choice.blocks = sampler->blocks();
  }

  void setProblem(const Cluster &cluster) {
    problem.emplace(Problem{question.limits, cluster, *sampler, searchOptions()});
    problem->keepsMicrobatches = sampler->hasBatchStatistics();
    planner::Space &space = problem->space;
    space.batch = choice.batch;
    space.trains = choice.trains;
    space.blocks = choice.blocks;
    if (problem->keepsMicrobatches && space.allowedMicrobatches.empty())
      space.allowedMicrobatches = {program.options.phases.microbatches};
  }

  planner::Options searchOptions() const {
    planner::Options search;
    search.objective = question.objective;
    search.deviceBytes = choice.deviceBytes;
    search.wanted = std::max<size_t>(4, size_t(question.top) + 1);
    search.budget = question.budget;
    search.isExhaustive = question.isExhaustive;
    search.bucketBytes = program.options.phases.bucketBytes;
    return search;
  }

  /// Axes over which something is to be split get several devices. Names and sizes are those of the
  /// program, whatever axes will have.
  llvm::Error settlePlaces() {
    const std::vector<dist::PlacementRule> &rules = program.options.phases.place;
    if (rules.empty())
      return llvm::Error::success();
    for (const dist::PlacementRule &rule : rules)
      choice.place.push_back(rule.text);
    if (llvm::Error wrong = needAxes(rules, numbersOfDevices(), problem->space))
      return wrong;
    Compilation copy = program.clone();
    copy.options.phases.mesh = *Mesh::parse("dp=1,tp=1");
    return succeeded(copy.checkPlaces()) ? llvm::Error::success() : doesNotCompile();
  }

  /// The numbers that are looked at, one after the other.
  std::vector<int64_t> numbersOfDevices() const {
    std::vector<int64_t> numbers;
    int64_t most = question.devices;
    for (int64_t devices = question.wantsFewestDevices ? 1 : most; devices <= most; ++devices)
      if (most % devices == 0)
        numbers.push_back(devices);
    return numbers;
  }

  void use(int64_t devices) {
    const Cluster &cluster = problem->cluster;
    choice.devices = problem->space.devices = devices;
    problem->space.ordersMatter =
        cluster.levels.size() > 1 && cluster.levels.front().devices < devices;
    problem->options.memoryScales = {};
  }

  llvm::Error find() {
    Finalists finalists(program, configured ? &*configured : nullptr, question, choice);
    for (int64_t devices : numbersOfDevices()) {
      // What fewer devices are too small for is not of this answer.
      choice.finalists.clear();
      choice.refused.clear();
      use(devices);
      if (llvm::Error wrong = findOnDevices(finalists))
        return wrong;
      if (choice.isFound())
        break;
    }
    return llvm::Error::success();
  }

  /// Searches until a finalist fits as it is compiled, or nothing does.
  llvm::Error findOnDevices(Finalists &finalists) {
    planner::MemoryScales &scales = problem->options.memoryScales;
    choice.space = problem->space;
    for (int round = 0; round < kRounds && !choice.isFound(); ++round) {
      scales.isSpread = round >= kRoundsOfOne;
      choice.search =
          planner::search(problem->space, problem->cluster, problem->models, problem->options);
      // That nothing fits is sure of what was compiled.
      bool isDoubted = choice.search.best.empty() && !scales.isEmpty();
      if (isDoubted && choice.search.smallest)
        choice.search.best.push_back(*choice.search.smallest);
      if (choice.search.best.empty())
        break;
      llvm::Expected<bool> learned = finalists.judge(scales);
      if (isDoubted && !choice.isFound())
        choice.search.best.clear();
      if (!learned)
        return learned.takeError();
      if (!*learned)
        break;
    }
    return llvm::Error::success();
  }

  Compilation &program;
  const Question &question;
  Choice choice;
  /// A model whose file says where its parts are: how much of that is obeyed depends on the mesh.
  std::optional<Compilation> configured;
  std::optional<Sampler> sampler;
  std::optional<Problem> problem;
};

} // namespace

llvm::Expected<Choice> choosing::choose(Compilation &program, const Question &question) {
  return Chooser(program, question).run();
}

std::vector<Finalist> Choice::tooLarge() const {
  std::vector<Finalist> found;
  llvm::copy_if(finalists, std::back_inserter(found),
                [](const Finalist &finalist) { return !finalist.fits; });
  return found;
}

planner::Plan choosing::planOf(const Choice &choice) {
  planner::Plan plan = planner::planOf(*choice.layout, choice.trains);
  plan.model = choice.model;
  plan.cluster = choice.clusterName;
  plan.place = choice.place;
  // Where a mesh must be said, lest the model file be asked for its own.
  if (choice.evaluation.layout == planner::kOneDevice)
    plan.mesh = choice.evaluation.layout;
  std::string stages = choice.stages.empty() ? stagesOf(choice.compared) : choice.stages;
  if (plan.schedule && !stages.empty())
    plan.stages = stages;
  plan.stepSeconds = choice.evaluation.prediction.seconds();
  plan.memoryBytes = choice.evaluation.memoryBytes();
  return plan;
}
