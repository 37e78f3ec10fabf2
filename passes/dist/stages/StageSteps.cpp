// In which order each stage runs the sections of a loop over microbatches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/stages/StageSteps.h"

#include "weft/Pipeline/Simulate.h"

#include <limits>
#include <map>
#include <tuple>

using namespace weft;
using namespace weft::dist;

namespace {

/// Puts the steps of all stages into their order.
class Listing {
public:
  Listing(const LoopSections &loop, const pipeline::Schedule &schedule)
      : loop(loop), schedule(schedule), timed(schedule.ranks.size()) {
    std::vector<int64_t> counts(schedule.ranks.size());
    for (int32_t rank : schedule.place)
      turnOf.push_back(counts[size_t(rank)]++);
  }

  std::vector<std::vector<Step>> run() {
    addActions();
    std::vector<std::vector<Step>> lists(timed.size());
    for (auto [stage, steps] : llvm::enumerate(timed)) {
      llvm::sort(steps);
      for (auto [end, read, turn, number, step] : steps)
        lists[stage].push_back(step);
    }
    addLate(lists);
    return lists;
  }

private:
  /// When the action ends; when what it sends is read; its turn among those that agree in both, and
  /// the number within: -1 is the action, others are crossings.
  using Timed = std::tuple<double, double, size_t, int64_t, Step>;

  void addActions() {
    pipeline::Costs costs;
    costs.chunks.resize(schedule.place.size());
    std::optional<pipeline::Timing> timing = pipeline::simulate(schedule, costs);
    for (auto [actions, starts] : llvm::zip_equal(schedule.ranks, timing->start))
      for (auto [action, start] : llvm::zip_equal(actions, starts))
        if (action.kind != pipeline::Kind::Weight)
          startOf[{action.kind == pipeline::Kind::Forward, action.chunk, action.microbatch}] =
              start;
    pipeline::Walk walk(schedule.place, schedule.microbatches);
    size_t turn = 0;
    walk.run(schedule, [&](size_t stage, size_t position, const pipeline::Action &action) {
      addAction(int64_t(stage), action, timing->end[stage][position], turn++);
    });
  }

  void addAction(int64_t stage, const pipeline::Action &action, double end, size_t turn) {
    using pipeline::Kind;
    bool isForward = action.kind == Kind::Forward;
    int64_t chunk = turnOf[size_t(action.chunk)];
    if (!isForward && !loop.hasBackward)
      return;
    double read = readingOf(action);
    auto add = [&](int64_t section) {
      timed[size_t(stage)].push_back({end, read, turn, -1, {section, action.microbatch}});
    };
    if (isForward)
      add(loop.forward(chunk));
    if (action.kind == Kind::Backward || action.kind == Kind::Both)
      add(loop.backward(chunk));
    if (action.kind == Kind::Weight || action.kind == Kind::Both)
      add(loop.weight(chunk));
    if (action.kind == Kind::Weight)
      return;
    for (auto [number, crossing] : llvm::enumerate(loop.crossings))
      if (crossing.from == stage &&
          crossing.after == (isForward ? loop.forward(chunk) : loop.backward(chunk)))
        for (int64_t side : {crossing.from, crossing.to})
          timed[size_t(side)].push_back(
              {end, read, turn, int64_t(number), {crossing.section, action.microbatch}});
  }

  /// When what an action makes for another chunk is read. What is made at the same time crosses in
  /// the order in which it is read: who reads first would wait for both.
  double readingOf(const pipeline::Action &action) const {
    bool isForward = action.kind == pipeline::Kind::Forward;
    auto reader =
        action.kind == pipeline::Kind::Weight
            ? startOf.end()
            : startOf.find({isForward, action.chunk + (isForward ? 1 : -1), action.microbatch});
    return reader == startOf.end() ? std::numeric_limits<double>::infinity() : reader->second;
  }

  void addLate(std::vector<std::vector<Step>> &lists) {
    for (int64_t microbatch = 0; microbatch < schedule.microbatches; ++microbatch)
      for (int64_t section = loop.late(); section < loop.end; ++section)
        for (auto [stage, list] : llvm::enumerate(lists)) {
          list.push_back({section, microbatch});
          for (const Crossing &crossing : loop.crossings)
            if (crossing.after == section &&
                (crossing.from < 0 || crossing.from == int64_t(stage) ||
                 crossing.to == int64_t(stage)))
              list.push_back({crossing.section, microbatch});
        }
  }

  const LoopSections &loop;
  const pipeline::Schedule &schedule;
  std::vector<int64_t> turnOf; ///< of chunks: how many of the same rank are before
  /// Of passes: forward or not, chunk, microbatch.
  std::map<std::tuple<bool, int32_t, int32_t>, double> startOf;
  std::vector<std::vector<Timed>> timed;
};

} // namespace

std::vector<std::vector<Step>> dist::stepsOf(const LoopSections &loop,
                                             const pipeline::Schedule &schedule) {
  return Listing(loop, schedule).run();
}
