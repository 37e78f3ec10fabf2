// Simulation of schedules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Pipeline/Simulate.h"

#include <algorithm>

using namespace weft::pipeline;

Simulator::Simulator(const Costs &costs, const std::vector<int32_t> &place, int32_t microbatches)
    : walk(place, microbatches), microbatches(size_t(microbatches)) {
  size_t chunks = place.size();
  for (unsigned kind = 0; kind < kNumKinds; ++kind)
    for (const ChunkCosts &chunk : costs.chunks) {
      times[kind].push_back(chunk.time(Kind(kind)));
      changes[kind].push_back(chunk.memoryChange(Kind(kind)));
    }
  for (size_t c = 0; c < chunks; ++c)
    transfers.push_back(c + 1 < chunks && place[c] != place[c + 1] ? costs.chunks[c].transfer : 0);
  forwardEnd.resize(chunks * this->microbatches);
  backwardEnd.resize(chunks * this->microbatches);
}

bool Simulator::run(const Schedule &schedule, Timing &timing) {
  size_t ranks = schedule.ranks.size();
  timing.start.resize(ranks);
  timing.end.resize(ranks);
  for (size_t rank = 0; rank < ranks; ++rank) {
    timing.start[rank].resize(schedule.ranks[rank].size());
    timing.end[rank].resize(schedule.ranks[rank].size());
  }
  timing.peak.assign(ranks, 0);
  free.assign(ranks, 0);
  held.assign(ranks, 0);
  size_t last = transfers.size() - 1;
  bool over = walk.run(schedule, [&](size_t rank, size_t position, const Action &action) {
    size_t chunk = size_t(action.chunk), slot = chunk * microbatches + size_t(action.microbatch);
    unsigned kind = unsigned(action.kind);
    double start = free[rank];
    if (action.kind == Kind::Forward) {
      if (chunk > 0)
        start = std::max(start, forwardEnd[slot - microbatches] + transfers[chunk - 1]);
    } else if (action.kind != Kind::Weight && chunk < last) {
      start = std::max(start, backwardEnd[slot + microbatches] + transfers[chunk]);
    }
    double end = start + times[kind][chunk];
    if (action.kind == Kind::Forward)
      forwardEnd[slot] = end;
    else if (action.kind != Kind::Weight)
      backwardEnd[slot] = end;
    timing.start[rank][position] = start;
    timing.end[rank][position] = free[rank] = end;
    held[rank] += changes[kind][chunk];
    timing.peak[rank] = std::max(timing.peak[rank], held[rank]);
  });
  timing.span = timing.wall = 0;
  double first = free.empty() ? 0 : *std::max_element(free.begin(), free.end());
  for (size_t rank = 0; rank < ranks; ++rank)
    if (!timing.start[rank].empty()) {
      timing.span = std::max(timing.span, free[rank] - timing.start[rank][0]);
      first = std::min(first, timing.start[rank][0]);
      timing.wall = std::max(timing.wall, free[rank]);
    }
  timing.wall -= first;
  return over;
}

std::optional<Timing> weft::pipeline::simulate(const Schedule &schedule, const Costs &costs) {
  Timing timing;
  if (!Simulator(costs, schedule.place, schedule.microbatches).run(schedule, timing))
    return std::nullopt;
  return timing;
}

std::vector<ChunkPeak> weft::pipeline::chunkPeaks(const Schedule &schedule, const Costs &costs) {
  std::vector<ChunkPeak> peaks(schedule.place.size()), now(schedule.place.size());
  for (const std::vector<Action> &actions : schedule.ranks)
    for (const Action &action : actions) {
      ChunkPeak &held = now[size_t(action.chunk)], &most = peaks[size_t(action.chunk)];
      if (action.kind == Kind::Forward)
        ++held.inFlight;
      held.kept += costs.chunks[size_t(action.chunk)].memoryChange(action.kind);
      most.inFlight = std::max(most.inFlight, held.inFlight);
      most.kept = std::max(most.kept, held.kept);
      if (action.kind == Kind::Backward || action.kind == Kind::Both)
        --held.inFlight;
    }
  return peaks;
}

double weft::pipeline::bubbleOf(const Costs &costs, const Schedule &schedule, double time) {
  double work = 0;
  for (const ChunkCosts &chunk : costs.chunks)
    work += chunk.work() * schedule.microbatches;
  return time > 0 ? 1 - work / (time * double(schedule.ranks.size())) : 0;
}
