// List scheduling in simulated time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ListSchedule.h"

#include <algorithm>
#include <limits>

using namespace weft::pipeline;

namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();
} // namespace

ListScheduler::ListScheduler(const Costs &costs, const std::vector<int32_t> &place, size_t numRanks,
                             int32_t microbatches)
    : microbatches(microbatches) {
  double longest = 0;
  ranks.resize(numRanks);
  for (size_t c = 0; c < place.size(); ++c) {
    Chunk chunk(costs, place, c);
    longest = std::max(longest, costs.chunks[c].work() + chunk.transfer);
    for (int32_t before : ranks[size_t(place[c])].chunks) {
      chunks[size_t(before)].reserve += chunk.changes[unsigned(Kind::Forward)];
      ++chunks[size_t(before)].reserveCount;
    }
    ranks[size_t(place[c])].chunks.push_back(int32_t(c));
    chunks.push_back(chunk);
  }
  for (size_t rank = 0; rank < numRanks; ++rank)
    ranks[rank].room = costs.roomOf(rank);
  tolerance = longest * 1e-9;
}

void ListScheduler::push(double time, int32_t rank) {
  events.push_back({time, rank});
  std::push_heap(events.begin(), events.end(), [](const Event &a, const Event &b) {
    return a.time != b.time ? a.time > b.time : a.rank > b.rank;
  });
}

bool ListScheduler::run(const Rule &wanted, Schedule &schedule) {
  rule = &wanted;
  size_t slots = chunks.size() * size_t(microbatches);
  forwardArrival.assign(slots, kNever);
  backwardArrival.assign(slots, kNever);
  std::fill_n(forwardArrival.begin(), microbatches, 0.0);
  schedule.microbatches = microbatches;
  schedule.place.clear();
  for (Chunk &chunk : chunks) {
    chunk.forwards = chunk.backwards = chunk.weights = 0;
    schedule.place.push_back(chunk.rank);
  }
  schedule.ranks.resize(ranks.size());
  events.clear();
  for (size_t r = 0; r < ranks.size(); ++r) {
    ranks[r].held = ranks[r].free = 0;
    ranks[r].inFlight = ranks[r].pending = 0;
    ranks[r].hadBackward = ranks[r].lastWasBackward = false;
    schedule.ranks[r].clear();
    push(0, int32_t(r));
  }
  while (!events.empty()) {
    std::pop_heap(events.begin(), events.end(), [](const Event &a, const Event &b) {
      return a.time != b.time ? a.time > b.time : a.rank > b.rank;
    });
    Event event = events.back();
    events.pop_back();
    if (ranks[size_t(event.rank)].free <= event.time + tolerance)
      decide(event.rank, event.time, schedule);
  }
  for (const Chunk &chunk : chunks)
    if (chunk.weights < microbatches)
      return false;
  return true;
}

ListScheduler::Choice ListScheduler::choicesOf(const Rank &rank, const RankRule &own,
                                               double now) const {
  Choice choice;
  choice.nextForward = choice.nextBackward = kNever;
  for (int32_t c : rank.chunks) {
    const Chunk &chunk = chunks[size_t(c)];
    if (chunk.backwards < microbatches) {
      double arrival = backwardArrival[slotOf(c, chunk.backwards)];
      if (arrival <= now + tolerance)
        choice.backward = c;
      else
        choice.nextBackward = std::min(choice.nextBackward, arrival);
    }
    if (chunk.forwards < microbatches) {
      double arrival = forwardArrival[slotOf(c, chunk.forwards)];
      double needs = chunk.changes[unsigned(Kind::Forward)] + chunk.reserve;
      if (rank.held + needs > rank.room)
        choice.isFull |= arrival <= now + tolerance;
      else if (rank.inFlight + chunk.reserveCount < own.cap) {
        if (arrival > now + tolerance)
          choice.nextForward = std::min(choice.nextForward, arrival);
        else if (choice.forward < 0 || rule->prefersLate)
          choice.forward = c;
      }
    }
    if (chunk.weights < chunk.backwards && choice.weight < 0)
      choice.weight = c;
  }
  return choice;
}

void ListScheduler::decide(int32_t r, double now, Schedule &schedule) {
  Rank &rank = ranks[size_t(r)];
  const RankRule &own = rule->ranks[size_t(r)];
  Choice choice = choicesOf(rank, own, now);
  bool isForwardsTurn = rule->alternates && rank.lastWasBackward && choice.forward >= 0;
  if (choice.backward >= 0 && !isForwardsTurn) {
    const Chunk &chunk = chunks[size_t(choice.backward)];
    bool fits = rank.held + chunk.changes[unsigned(Kind::Backward)] <= rank.room;
    // D makes nothing that stays.
    return begin(fits ? Kind::Backward : Kind::Both, choice.backward, now, schedule);
  }
  if (choice.forward >= 0) {
    double wait = rank.hadBackward ? own.waitForward : rule->firstWait;
    double time = chunks[size_t(choice.forward)].times[unsigned(Kind::Forward)];
    bool isAwaited = wait > 0 && choice.nextBackward < now + wait * time - tolerance;
    if (choice.backward >= 0 || !isAwaited)
      return begin(Kind::Forward, choice.forward, now, schedule);
  }
  if (choice.weight < 0)
    return;
  double time = chunks[size_t(choice.weight)].times[unsigned(Kind::Weight)];
  double next = std::min(choice.nextForward, choice.nextBackward);
  if (choice.isFull || rank.pending > own.hold || own.waitWeight == 0 ||
      next >= now + own.waitWeight * time - tolerance)
    begin(Kind::Weight, choice.weight, now, schedule);
}

void ListScheduler::begin(Kind kind, int32_t c, double now, Schedule &schedule) {
  Chunk &chunk = chunks[size_t(c)];
  Rank &rank = ranks[size_t(chunk.rank)];
  int32_t microbatch = kind == Kind::Forward  ? chunk.forwards
                       : kind == Kind::Weight ? chunk.weights
                                              : chunk.backwards;
  // W that are due come before D, so that sums stay in order.
  if (kind == Kind::Both && chunk.weights < chunk.backwards)
    return begin(Kind::Weight, c, now, schedule);
  double end = rank.free = now + chunk.times[unsigned(kind)];
  rank.held += chunk.changes[unsigned(kind)];
  schedule.ranks[size_t(chunk.rank)].push_back({kind, c, microbatch});
  push(end, chunk.rank);
  bool isBackward = kind == Kind::Backward || kind == Kind::Both;
  if (kind == Kind::Forward) {
    ++chunk.forwards;
    ++rank.inFlight;
    rank.lastWasBackward = false;
    bool isLast = size_t(c) + 1 == chunks.size();
    std::vector<double> &arrivals = isLast ? backwardArrival : forwardArrival;
    int32_t to = isLast ? c : c + 1;
    arrivals[slotOf(to, microbatch)] = end + chunk.transfer;
    push(end + chunk.transfer, chunks[size_t(to)].rank);
  } else if (isBackward) {
    ++chunk.backwards;
    --rank.inFlight;
    ++rank.pending;
    rank.hadBackward = rank.lastWasBackward = true;
    if (c > 0) {
      const Chunk &before = chunks[size_t(c) - 1];
      backwardArrival[slotOf(c - 1, microbatch)] = end + before.transfer;
      push(end + before.transfer, before.rank);
    }
  }
  if (kind == Kind::Weight || kind == Kind::Both) {
    ++chunk.weights;
    --rank.pending;
  }
}
