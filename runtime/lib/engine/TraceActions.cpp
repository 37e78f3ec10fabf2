// Finds actions among traced commands, and simulates them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/TraceActions.h"

#include "program/Action.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>
#include <tuple>

using namespace weft::runtime;

std::vector<ActionSlice>
weft::runtime::actionSlices(const ProgramView &p, const std::vector<IssuedCommands> &issued,
                            int64_t rank, const std::vector<TraceInterval> &trace, double offset) {
  std::vector<ActionSlice> slices;
  std::vector<uint32_t> runs(issued.size());
  const TraceInterval *last = nullptr;
  bool goesOn = false; // the last command was of the last slice
  for (const TraceInterval &interval : trace) {
    if (last && (last->program != interval.program || last->command >= interval.command)) {
      ++runs[last->program];
      goesOn = false;
    }
    last = &interval;
    Issued command = issued[interval.program][interval.command];
    std::string_view action = command.action(p);
    // What waits, or updates a state whose gradient is there, is of no action and parts none.
    if (action.empty())
      continue;
    if (goesOn && action == slices.back().action) {
      slices.back().end = interval.end + offset;
      continue;
    }
    goesOn = true;
    slices.push_back({rank, interval.program, runs[interval.program], std::string(action),
                      interval.begin + offset, interval.end + offset});
  }
  return slices;
}

std::string weft::runtime::textOf(const std::vector<ActionSlice> &slices) {
  std::string text;
  for (const ActionSlice &slice : slices) {
    char numbers[128];
    std::snprintf(numbers, sizeof numbers, "%lld %u %u %.9f %.9f ",
                  static_cast<long long>(slice.rank), slice.program, slice.run, slice.begin,
                  slice.end);
    text += numbers + slice.action + "\n";
  }
  return text;
}

void weft::runtime::readSlices(const std::string &text, std::vector<ActionSlice> &slices) {
  std::istringstream lines(text);
  ActionSlice slice{};
  while (lines >> slice.rank >> slice.program >> slice.run >> slice.begin >> slice.end >>
         slice.action)
    slices.push_back(slice);
}

namespace {

using Key = std::tuple<char, uint32_t, uint32_t>; // kind, chunk, microbatch

/// Seconds of a kind and chunk, in the mean over microbatches and ranks.
std::map<std::pair<char, uint32_t>, double> meanSeconds(uint32_t program,
                                                        const std::vector<ActionSlice> &slices) {
  std::map<std::pair<char, uint32_t>, std::map<std::tuple<int64_t, uint32_t, uint32_t>, double>>
      sums; // by rank, run and microbatch
  for (const ActionSlice &slice : slices) {
    Action action;
    if (slice.program == program && parse(slice.action, action))
      sums[{action.kind, action.chunk}][{slice.rank, slice.run, action.microbatch}] +=
          slice.end - slice.begin;
  }
  std::map<std::pair<char, uint32_t>, double> means;
  for (const auto &[key, all] : sums) {
    for (const auto &[one, seconds] : all)
      means[key] += seconds;
    means[key] /= double(all.size());
  }
  return means;
}

/// Runs the lists of all stages.
class Simulation {
public:
  Simulation(std::vector<std::vector<Action>> stages,
             std::map<std::pair<char, uint32_t>, double> seconds)
      : stages(std::move(stages)), seconds(std::move(seconds)) {
    for (const std::vector<Action> &list : this->stages)
      for (const Action &action : list)
        all.push_back(keyOf(action));
    std::sort(all.begin(), all.end());
  }

  /// Calls visit(stage, action, begin, end) until nothing can go on.
  template <typename Visit> void run(Visit visit) {
    std::vector<size_t> next(stages.size());
    std::vector<double> free(stages.size());
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t s = 0; s < stages.size(); ++s)
        for (double begin; next[s] < stages[s].size() && isReady(stages[s][next[s]], begin);) {
          const Action &action = stages[s][next[s]++];
          begin = std::max(begin, free[s]);
          free[s] = ends[keyOf(action)] = begin + seconds[{action.kind, action.chunk}];
          visit(s, action, begin, free[s]);
          moved = true;
        }
    }
  }

private:
  static Key keyOf(const Action &action) { return {action.kind, action.chunk, action.microbatch}; }

  bool isReady(const Action &action, double &begin) const {
    begin = 0;
    auto awaits = [&](char kind, uint32_t chunk) {
      Key key{kind, chunk, action.microbatch};
      if (!std::binary_search(all.begin(), all.end(), key))
        return true;
      auto found = ends.find(key);
      begin = std::max(begin, found == ends.end() ? 0 : found->second);
      return found != ends.end();
    };
    if (action.isForward())
      return action.chunk == 0 || awaits('F', action.chunk - 1);
    return !action.givesGradient() ||
           (awaits('B', action.chunk + 1) && awaits('D', action.chunk + 1));
  }

  std::vector<std::vector<Action>> stages;
  std::map<std::pair<char, uint32_t>, double> seconds;
  std::vector<Key> all;
  std::map<Key, double> ends;
};

} // namespace

std::vector<ActionSlice> weft::runtime::predictedSlices(const ProgramView &p,
                                                        const std::vector<ActionSlice> &slices) {
  std::map<uint32_t, std::map<uint32_t, double>> starts; // of the runs of each program
  for (const ActionSlice &slice : slices) {
    double &start = starts[slice.program].try_emplace(slice.run, slice.begin).first->second;
    start = std::min(start, slice.begin);
  }
  std::vector<ActionSlice> result;
  for (const auto &[index, runs] : starts) {
    std::vector<std::vector<Action>> stages;
    for (const Body &body : p.Bodies().slice(p.Programs()[index].bodies))
      stages.push_back(actionsOf(p, body));
    std::vector<ActionSlice> one;
    Simulation(std::move(stages), meanSeconds(index, slices))
        .run([&, program = index](size_t stage, const Action &action, double begin, double end) {
          one.push_back(
              {int64_t(stage), program, 0,
               action.kind + std::to_string(action.chunk) + "." + std::to_string(action.microbatch),
               begin, end});
        });
    for (auto [run, start] : runs)
      for (const ActionSlice &slice : one)
        result.push_back(
            {slice.rank, slice.program, run, slice.action, start + slice.begin, start + slice.end});
  }
  return result;
}
