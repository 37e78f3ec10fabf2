// Branch and bound over the starts of actions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AllStarts.h"

#include <algorithm>

using namespace weft::pipeline;

AllStarts::AllStarts(const Costs &costs, const std::vector<int32_t> &place, size_t numRanks,
                     int32_t microbatches, Objective objective)
    : microbatches(microbatches), isOfSpan(objective == Objective::Span) {
  size_t slots = place.size() * size_t(microbatches);
  forwardEnd.resize(slots);
  backwardEnd.resize(slots);
  missing = 3 * int32_t(slots);
  for (size_t rank = 0; rank < numRanks; ++rank)
    ranks.push_back({costs.roomOf(rank), 0});
  double afterForward = 0;
  double afterBackward = costs.chunks[0].weight;
  for (size_t c = 0; c < place.size(); ++c) {
    Chunk chunk(costs, place, c);
    chunk.canBeBoth = !costs.limit.empty() && chunk.changes[unsigned(Kind::Backward)] > 0;
    afterBackward += chunk.times[unsigned(Kind::Backward)];
    chunk.tails[unsigned(Kind::Backward)] = chunk.tails[unsigned(Kind::Both)] = afterBackward;
    chunk.tails[unsigned(Kind::Weight)] = chunk.times[unsigned(Kind::Weight)];
    afterBackward += chunk.transfer;
    ranks[size_t(place[c])].left += microbatches * costs.chunks[c].work();
    chunks.push_back(chunk);
  }
  afterForward = chunks.back().tails[unsigned(Kind::Backward)];
  for (size_t c = place.size(); c-- > 0;) {
    afterForward += chunks[c].transfer + chunks[c].times[unsigned(Kind::Forward)];
    chunks[c].tails[unsigned(Kind::Forward)] = afterForward;
  }
}

bool AllStarts::run(double below, int64_t most, Schedule &schedule) {
  cut = below;
  startsLeft = most;
  visit();
  if (best.empty())
    return false;
  schedule.microbatches = microbatches;
  schedule.place.clear();
  for (const Chunk &chunk : chunks)
    schedule.place.push_back(chunk.rank);
  schedule.ranks.assign(ranks.size(), {});
  for (const Action &action : best)
    schedule.ranks[size_t(chunks[size_t(action.chunk)].rank)].push_back(action);
  return true;
}

bool AllStarts::canEndBelow() const {
  for (const Rank &rank : ranks) {
    // What is left starts no earlier than what was started last.
    double end = rank.left > 0 ? std::max(rank.free, latest) + rank.left : rank.free;
    double time = !isOfSpan ? end : rank.hasBegun ? end - rank.first : rank.left;
    if (time >= cut * (1 - 1e-12))
      return false;
  }
  return true;
}

void AllStarts::visit() {
  if (startsLeft == 0 || !canEndBelow())
    return;
  --startsLeft;
  if (missing == 0) {
    best = order;
    cut = 0;
    for (const Rank &rank : ranks)
      cut = std::max(cut, rank.free - (isOfSpan ? rank.first : 0));
    return;
  }
  for (int32_t c = 0; c < int32_t(chunks.size()); ++c) {
    const Chunk &chunk = chunks[size_t(c)];
    bool isLast = size_t(c) + 1 == chunks.size();
    if (chunk.backwards < chunk.forwards &&
        (isLast || chunk.backwards < chunks[size_t(c) + 1].backwards)) {
      start(Kind::Backward, c);
      if (chunk.canBeBoth && chunk.weights == chunk.backwards)
        start(Kind::Both, c);
    }
    if (chunk.forwards < microbatches &&
        (c == 0 || chunk.forwards < chunks[size_t(c) - 1].forwards))
      start(Kind::Forward, c);
    if (chunk.weights < chunk.backwards)
      start(Kind::Weight, c);
  }
}

double AllStarts::arrivalOf(Kind kind, int32_t c) const {
  const Chunk &chunk = chunks[size_t(c)];
  if (kind == Kind::Forward)
    return c ? forwardEnd[slotOf(c - 1, chunk.forwards)] + chunks[size_t(c) - 1].transfer : 0;
  if (kind == Kind::Weight || size_t(c) + 1 == chunks.size())
    return 0; // of the same chunk, so the rank is free no earlier
  return backwardEnd[slotOf(c + 1, chunk.backwards)] + chunk.transfer;
}

void AllStarts::start(Kind kind, int32_t c) {
  Chunk &chunk = chunks[size_t(c)];
  Rank &rank = ranks[size_t(chunk.rank)];
  double begin = std::max(rank.free, arrivalOf(kind, c));
  double held = rank.held + chunk.changes[unsigned(kind)];
  if (begin < latest || held > rank.room ||
      (!isOfSpan && begin + chunk.tails[unsigned(kind)] >= cut * (1 - 1e-12)))
    return;
  const Chunk oldChunk = chunk;
  const Rank oldRank = rank;
  double oldLatest = latest, end = begin + chunk.times[unsigned(kind)];
  if (!rank.hasBegun)
    rank.first = begin;
  rank.hasBegun = true;
  rank.free = end;
  rank.held = held;
  rank.left -= chunk.times[unsigned(kind)];
  latest = begin;
  bool isBackward = kind == Kind::Backward || kind == Kind::Both;
  int32_t parts = kind == Kind::Both ? 2 : 1;
  missing -= parts;
  int32_t microbatch = kind == Kind::Forward  ? chunk.forwards++
                       : kind == Kind::Weight ? chunk.weights++
                                              : chunk.backwards++;
  if (kind == Kind::Both)
    ++chunk.weights;
  if (kind == Kind::Forward)
    forwardEnd[slotOf(c, microbatch)] = end;
  else if (isBackward)
    backwardEnd[slotOf(c, microbatch)] = end;
  order.push_back({kind, c, microbatch});
  visit();
  order.pop_back();
  missing += parts;
  latest = oldLatest;
  chunk = oldChunk;
  rank = oldRank;
}
