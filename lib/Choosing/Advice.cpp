// More microbatches, other links; other numbers of samples and devices, less that is forbidden.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Advice.h"

#include "weft/Explain/Document.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace weft;
using namespace weft::choosing;
using planner::Candidate;
using planner::Layout;
using planner::Role;
using planner::Space;

namespace {

double bubbleOf(const Candidate &candidate) {
  return double(candidate.prediction.causes.bubble) / double(candidate.prediction.picoseconds);
}

class Relaxing {
public:
  Relaxing(const Problem &problem, Choice &choice) : problem(problem), choice(choice) {}

  void run() {
    constexpr int kDoublings = 10;
    Space smaller = problem.space, wider = problem.space;
    while (smaller.batch > 1 && smaller.batch % 2 == 0) {
      smaller.batch /= 2;
      if (attempt(smaller, choice.deviceBytes, "a batch of " + std::to_string(smaller.batch)))
        break;
    }
    for (int i = 0; i < kDoublings; ++i) {
      wider.devices *= 2;
      if (attempt(wider, choice.deviceBytes, std::to_string(wider.devices) + " devices"))
        break;
    }
    if (choice.search.smallest)
      attempt(problem.space, choice.search.smallestBytes,
              "devices of " + explain::sizeText(double(choice.search.smallestBytes)));
    liftLimits();
  }

private:
  bool attempt(const Space &wider, int64_t deviceBytes, const std::string &change) {
    planner::Options options = problem.options;
    options.wanted = 1;
    options.deviceBytes = deviceBytes;
    Space possible = wider;
    if (problem.keepsMicrobatches)
      possible.allowedMicrobatches = problem.space.allowedMicrobatches;
    planner::Result found = problem.search(possible, options, choice.search.unpriced);
    if (found.best.empty())
      return false;
    choice.relaxations.push_back({change, found.best.front()});
    return true;
  }

  /// Whether an axis must have processes, and how many, rather than none.
  bool isGiven(std::optional<Role> role) const {
    return role && llvm::any_of(problem.space.allowedSizes[size_t(*role)],
                                [](int64_t size) { return size > 1; });
  }

  void liftLimits() {
    struct Lift {
      const char *what;
      void (*lift)(Space &);
      std::optional<Role> role = {}; // of an axis, whose size may be given
    };
    for (const Lift &lift : std::initializer_list<Lift>{
             {"tensor parallelism (tp)",
              [](Space &to) { to.allowedSizes[size_t(Role::Tensor)].clear(); }, Role::Tensor},
             {"stages (pp)", [](Space &to) { to.allowedSizes[size_t(Role::Stages)].clear(); },
              Role::Stages},
             {"splitting the batch (dp)",
              [](Space &to) { to.allowedSizes[size_t(Role::Data)].clear(); }, Role::Data},
             {"splitting state (ZeRO)", [](Space &to) { to.allowedZero.clear(); }},
             {"recomputation", [](Space &to) { to.allowedRecompute.clear(); }},
             {"other numbers of microbatches", [](Space &to) { to.allowedMicrobatches.clear(); }},
             {"sequence parallelism", [](Space &to) { to.allowedSequenceParallel.clear(); }}}) {
      Space lifted = problem.space;
      lift.lift(lifted);
      if (lifted.layouts().size() != problem.space.layouts().size())
        attempt(lifted, choice.deviceBytes,
                isGiven(lift.role) ? std::string("another size of ") + lift.what
                                   : std::string("to allow ") + lift.what);
    }
  }

  const Problem &problem;
  Choice &choice;
};

} // namespace

void choosing::advise(const Problem &problem, Choice &choice) {
  auto percent = [](double share) { return std::to_string(int(std::lround(100 * share))); };
  constexpr double kMuch = 0.1;
  if (double bubble = bubbleOf(choice.compared); bubble > kMuch) {
    // A larger batch in microbatches of the same size.
    Space larger = problem.space;
    Layout layout = *choice.layout;
    larger.batch *= 2;
    layout.microbatches *= 2;
    std::optional<Candidate> with = problem.simulate(larger, layout, choice.search.unpriced);
    if (with && bubbleOf(*with) < bubble)
      choice.advice.push_back("the bubble is " + percent(bubble) +
                              " %: " + std::to_string(layout.microbatches) +
                              " microbatches, of a batch of " + std::to_string(larger.batch) +
                              ", would give " + percent(bubbleOf(*with)) + " %");
  }
  const cost::Causes &causes = choice.compared.prediction.causes;
  for (auto [axis, time] : llvm::zip(choice.evaluation.account.axes, causes.exposed))
    if (double share = double(time) / double(choice.compared.prediction.picoseconds);
        share > 2 * kMuch)
      choice.advice.push_back(percent(share) + " % of the time devices wait for what goes over " +
                              axis.name + ": faster links, or a larger batch, would help");
}

void choosing::relax(const Problem &problem, Choice &choice) { Relaxing(problem, choice).run(); }
