// What would help, where something fits and where nothing does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Choosing/Advice.h"

#include "weft/Explain/Document.h"

#include "gtest/gtest.h"

#include <map>

using namespace weft;
using namespace weft::choosing;
using planner::Role;

namespace {

constexpr int64_t kStateBytes = 1000;

/// A model that is nothing but state, which the axis of weights divides.
class StateAlone : public planner::Models {
public:
  const planner::ModelAccount *of(const planner::Group &group, int64_t samples) override {
    planner::ModelAccount &model = known[group.tensor];
    cost::Work work;
    work.bytesRead = work.bytesWritten = samples;
    model.behind.forward = model.behind.backward = model.behind.update = {cost::Item::of(work)};
    model.behind.stateBytes[0] = kStateBytes / group.tensor;
    return &model;
  }

private:
  std::map<int64_t, planner::ModelAccount> known;
};

class Advice : public testing::Test {
protected:
  Advice() {
    problem.cluster.device.memoryBandwidth = 1e12;
    for (ComputeRate &rate : problem.cluster.device.rates)
      rate.flops = rate.vectorFlops = 1e12;
    problem.cluster.levels = {{"near", 0, 1e11, 1, 1e-6, 0}};
    problem.options.deviceBytes = choice.deviceBytes = 3 * kStateBytes / 5;
  }

  std::vector<std::string> changes() {
    relax(problem, choice);
    std::vector<std::string> all;
    for (const Relaxation &relaxation : choice.relaxations)
      all.push_back(relaxation.change);
    return all;
  }

  StateAlone models;
  Problem problem{{}, {}, models, {}};
  Choice choice;
};

TEST_F(Advice, IsForAsFewMoreDevicesAsHelp) {
  problem.space.batch = 4;
  choice.search = planner::search(problem.space, problem.cluster, problem.models, problem.options);
  EXPECT_TRUE(choice.search.best.empty());
  ASSERT_TRUE(choice.search.smallest);
  // Fewer samples have the same state.
  std::string larger = "devices of " + explain::sizeText(double(choice.search.smallest->bytes()));
  EXPECT_EQ(changes(), (std::vector<std::string>{"2 devices", larger}));
}

TEST_F(Advice, IsAgainstOneLimitAtATime) {
  problem.space.devices = problem.space.batch = 2;
  problem.space.allowedSizes[size_t(Role::Tensor)] = {1};
  problem.space.allowedZero = {0};
  problem.space.allowedRecompute = {Recompute::None};
  EXPECT_EQ(changes(), (std::vector<std::string>{"to allow tensor parallelism (tp)",
                                                 "to allow splitting state (ZeRO)"}));
}

TEST_F(Advice, SaysWhichLinksDevicesWaitFor) {
  choice.compared.prediction.picoseconds = 100;
  choice.compared.prediction.causes.exposed = {10, 30};
  choice.evaluation.account.axes = {{"dp", 2}, {"tp", 2}};
  advise(problem, choice);
  ASSERT_EQ(choice.advice.size(), 1u);
  EXPECT_EQ(choice.advice[0], "30 % of the time devices wait for what goes over tp: faster links, "
                              "or a larger batch, would help");
}

} // namespace
