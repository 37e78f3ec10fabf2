// In which order each stage runs the sections of a loop over microbatches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/StageSteps.h"

#include "weft/Pipeline/Check.h"
#include "weft/Pipeline/Generate.h"
#include "weft/Pipeline/Simulate.h"

#include <tuple>

using namespace weft;
using namespace weft::dist;

static llvm::Expected<pipeline::Schedule> generate(const std::string &name, int64_t stages,
                                                   int64_t microbatches) {
  const pipeline::Generator *generator = pipeline::findGenerator(name);
  if (!generator) {
    std::string names;
    for (const pipeline::Generator &known : pipeline::generators())
      names += (names.empty() ? " " : ", ") + std::string(known.name);
    return llvm::createStringError("'" + name + "' is no schedule; known are" + names);
  }
  if (generator->leastChunksPerRank > 1)
    return llvm::createStringError(
        "schedule '" + name + "' wants " + std::to_string(generator->leastChunksPerRank) +
        " chunks of the model on each stage, but each stage is one; use 1f1b or zb-h1");
  std::string why;
  if (!pipeline::fits(*generator, stages, 1, microbatches, why))
    return llvm::createStringError(why);
  return generator->make(int32_t(stages), 1, int32_t(microbatches));
}

llvm::Expected<pipeline::Schedule> dist::scheduleOf(llvm::StringRef text, int64_t stages,
                                                    int64_t microbatches) {
  if (!text.starts_with("weft"))
    return generate(text.str(), stages, microbatches);
  std::string why;
  std::optional<pipeline::Schedule> schedule = pipeline::readSchedule(text.str(), why);
  if (!schedule)
    return llvm::createStringError(why);
  if (why = pipeline::check(*schedule); !why.empty())
    return llvm::createStringError(why);
  auto counts = [](int64_t ranks, int64_t chunks, int64_t microbatches) {
    return std::to_string(ranks) + " ranks, " + std::to_string(chunks) + " chunks and " +
           std::to_string(microbatches) + " microbatches";
  };
  bool isOneEach = true;
  for (auto [chunk, rank] : llvm::enumerate(schedule->place))
    isOneEach &= rank == int32_t(chunk);
  if (int64_t(schedule->ranks.size()) == stages && int64_t(schedule->place.size()) == stages &&
      schedule->microbatches == microbatches && isOneEach)
    return std::move(*schedule);
  return llvm::createStringError(
      "the schedule is of " +
      counts(schedule->ranks.size(), schedule->place.size(), schedule->microbatches) +
      "; the program wants " + counts(stages, stages, microbatches) + ", chunk i on rank i");
}

namespace {

/// Puts the steps of all stages into their order.
class Listing {
public:
  Listing(const LoopSections &loop, const pipeline::Schedule &schedule)
      : loop(loop), schedule(schedule), timed(schedule.ranks.size()) {}

  std::vector<std::vector<Step>> run() {
    addActions();
    std::vector<std::vector<Step>> lists(timed.size());
    for (auto [stage, steps] : llvm::enumerate(timed)) {
      llvm::sort(steps);
      for (auto [end, turn, number, step] : steps)
        lists[stage].push_back(step);
    }
    addLate(lists);
    return lists;
  }

private:
  /// When it ends, its turn among actions that end together, and its number within: -1 is the
  /// action, others are crossings.
  using Timed = std::tuple<double, size_t, int64_t, Step>;

  void addActions() {
    std::optional<pipeline::Timing> timing = pipeline::simulate(
        schedule, pipeline::evenCosts(int64_t(schedule.ranks.size()), 1, pipeline::ChunkCosts()));
    pipeline::Walk walk(schedule.place, schedule.microbatches);
    size_t turn = 0;
    walk.run(schedule, [&](size_t stage, size_t position, const pipeline::Action &action) {
      addAction(int64_t(stage), action, timing->end[stage][position], turn++);
    });
  }

  void addAction(int64_t stage, const pipeline::Action &action, double end, size_t turn) {
    using pipeline::Kind;
    bool isForward = action.kind == Kind::Forward;
    if (!isForward && !loop.hasBackward)
      return;
    auto add = [&](int64_t section) {
      timed[size_t(stage)].push_back({end, turn, -1, {section, action.microbatch}});
    };
    if (isForward)
      add(loop.forward);
    if (action.kind == Kind::Backward || action.kind == Kind::Both)
      add(loop.backward);
    if (action.kind == Kind::Weight || action.kind == Kind::Both)
      add(loop.weight);
    if (action.kind == Kind::Weight)
      return;
    for (auto [number, crossing] : llvm::enumerate(loop.crossings))
      if (crossing.from == stage && crossing.after == (isForward ? loop.forward : loop.backward))
        for (int64_t side : {crossing.from, crossing.to})
          timed[size_t(side)].push_back(
              {end, turn, int64_t(number), {crossing.section, action.microbatch}});
  }

  void addLate(std::vector<std::vector<Step>> &lists) {
    for (int64_t microbatch = 0; microbatch < schedule.microbatches; ++microbatch)
      for (int64_t section = loop.late; section < loop.end; ++section)
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
  std::vector<std::vector<Timed>> timed;
};

} // namespace

std::vector<std::vector<Step>> dist::stepsOf(const LoopSections &loop,
                                             const pipeline::Schedule &schedule) {
  return Listing(loop, schedule).run();
}
