// Generators of the schedules that have names.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Pipeline/Generate.h"

#include <algorithm>
#include <charconv>
#include <deque>

using namespace weft::pipeline;

namespace {

/// Writes one rank's list: each action with the next microbatch of its kind and chunk. May count
/// further than the schedule goes: what it has not is left out.
class Writer {
public:
  Writer(Schedule &schedule, int32_t rank) : Writer(schedule, rank, schedule.microbatches) {}
  Writer(Schedule &schedule, int32_t rank, int32_t counted)
      : actions(schedule.ranks[size_t(rank)]), written(schedule.microbatches), counted(counted) {}

  /// Each returns whether there was one left.
  bool forward(int32_t chunk) { return take(Kind::Forward, chunk) >= 0; }
  /// B, whose W comes when it is asked for; the oldest first.
  bool backward(int32_t chunk) {
    int32_t microbatch = take(Kind::Backward, chunk);
    if (microbatch >= 0 && microbatch < written)
      pending.push_back({Kind::Weight, chunk, microbatch});
    return microbatch >= 0;
  }
  bool both(int32_t chunk) { return take(Kind::Both, chunk) >= 0; }
  bool weight() { return weightAt(pending.begin()); }
  /// W of this chunk, if one is due.
  bool weight(int32_t chunk) {
    return weightAt(std::find_if(pending.begin(), pending.end(),
                                 [&](const Action &w) { return w.chunk == chunk; }));
  }
  size_t numPending() const { return pending.size(); }
  int32_t forwardsLeft(int32_t chunk) { return counted - countsOf(chunk).forwards; }

  /// Does `body`, which asks for each kind of action of a chunk at most once, so many times. Once
  /// that writes nothing it never will again, and what is only counted is counted at once.
  template <typename Body> void repeat(int32_t times, Body body) {
    for (int32_t left = times - 1; left >= 0; --left) {
      std::vector<Counts> before = counts;
      size_t actionsBefore = actions.size();
      body();
      if (actions.size() != actionsBefore || before.size() != counts.size())
        continue;
      for (size_t i = 0; i < counts.size(); ++i)
        for (int32_t Counts::*kind : {&Counts::forwards, &Counts::backwards})
          if (counts[i].*kind != before[i].*kind)
            counts[i].*kind += std::min(left, counted - counts[i].*kind);
      return;
    }
  }

private:
  /// Of one of the few chunks of the rank.
  struct Counts {
    int32_t chunk, forwards, backwards;
  };

  Counts &countsOf(int32_t chunk) {
    for (Counts &one : counts)
      if (one.chunk == chunk)
        return one;
    counts.push_back({chunk, 0, 0});
    return counts.back();
  }

  int32_t take(Kind kind, int32_t chunk) {
    Counts &own = countsOf(chunk);
    int32_t &next = kind == Kind::Forward ? own.forwards : own.backwards;
    if (next == counted)
      return -1;
    write({kind, chunk, next});
    return next++;
  }

  void write(const Action &action) {
    if (action.microbatch < written)
      actions.push_back(action);
  }

  bool weightAt(std::deque<Action>::iterator due) {
    if (due == pending.end())
      return false;
    write(*due);
    pending.erase(due);
    return true;
  }

  std::vector<Action> &actions;
  int32_t written, counted;
  std::vector<Counts> counts;
  std::deque<Action> pending; // W that are due
};

Schedule empty(int32_t ranks, int32_t microbatches, std::vector<int32_t> place) {
  Schedule schedule;
  schedule.microbatches = microbatches;
  schedule.place = std::move(place);
  schedule.ranks.resize(size_t(ranks));
  return schedule;
}

Schedule makeGpipe(int32_t ranks, int32_t, int32_t microbatches) {
  Schedule schedule = empty(ranks, microbatches, loopPlace(ranks, 1));
  for (int32_t rank = 0; rank < ranks; ++rank) {
    Writer writer(schedule, rank);
    while (writer.forward(rank)) {
    }
    while (writer.both(rank)) {
    }
  }
  return schedule;
}

Schedule makeOneForwardOneBackward(int32_t ranks, int32_t, int32_t microbatches) {
  Schedule schedule = empty(ranks, microbatches, loopPlace(ranks, 1));
  for (int32_t rank = 0; rank < ranks; ++rank) {
    Writer writer(schedule, rank);
    for (int32_t i = 0; i < std::min(microbatches, ranks - 1 - rank); ++i)
      writer.forward(rank);
    do {
      writer.forward(rank);
    } while (writer.both(rank));
  }
  return schedule;
}

/// Groups of microbatches go through all chunks one after the other. Even groups of at least as
/// many microbatches as ranks, so that a rank never waits for its own group to come round.
Schedule makeInterleaved(int32_t ranks, int32_t chunksPerRank, int32_t microbatches) {
  Schedule schedule = empty(ranks, microbatches, loopPlace(ranks, chunksPerRank));
  int32_t groups = std::max(1, microbatches / ranks);
  std::vector<std::pair<int32_t, int32_t>> table; // step of the chunk, microbatch
  int32_t first = 0, begin = 0;
  for (int32_t group = 0; group < groups; ++group) {
    int32_t size = microbatches / groups + (group < microbatches % groups);
    first = group == 0 ? size : first;
    for (int32_t step = 0; step < chunksPerRank; ++step)
      for (int32_t i = 0; i < size; ++i)
        table.emplace_back(step, begin + i);
    begin += size;
  }
  for (int32_t rank = 0; rank < ranks; ++rank) {
    std::vector<Action> &actions = schedule.ranks[size_t(rank)];
    size_t warmUp = size_t((ranks - rank - 1) * 2) + size_t(chunksPerRank - 1) * size_t(first);
    warmUp = std::min(warmUp, table.size());
    for (size_t i = 0; i < table.size() + warmUp; ++i) {
      if (i < table.size())
        actions.push_back({Kind::Forward, table[i].first * ranks + rank, table[i].second});
      if (i >= warmUp) {
        auto [step, microbatch] = table[i - warmUp];
        actions.push_back({Kind::Both, (chunksPerRank - 1 - step) * ranks + rank, microbatch});
      }
    }
  }
  return schedule;
}

/// Zero-bubble schedules with one chunk a rank: so many F first; W waits until so many are due.
Schedule makeHandmade(int32_t ranks, int32_t microbatches, int32_t factor, int32_t fewer) {
  Schedule schedule = empty(ranks, microbatches, loopPlace(ranks, 1));
  for (int32_t rank = 0; rank < ranks; ++rank) {
    Writer writer(schedule, rank);
    for (int32_t i = 0; i < std::min(microbatches, factor * (ranks - rank) - fewer); ++i)
      writer.forward(rank);
    while (writer.backward(rank)) {
      if (writer.numPending() > size_t(factor * rank))
        writer.weight();
      writer.forward(rank);
    }
    while (writer.weight()) {
    }
  }
  return schedule;
}

Schedule makeZeroBubble1(int32_t ranks, int32_t, int32_t microbatches) {
  return makeHandmade(ranks, microbatches, 1, 0);
}

Schedule makeZeroBubble2(int32_t ranks, int32_t, int32_t microbatches) {
  return makeHandmade(ranks, microbatches, 2, 1);
}

/// With few microbatches it is the beginning of the one with enough.
Schedule makeZeroBubbleV(int32_t ranks, int32_t, int32_t microbatches) {
  Schedule schedule = empty(ranks, microbatches, foldedPlace(ranks, 2));
  for (int32_t rank = 0; rank < ranks; ++rank) {
    Writer writer(schedule, rank, std::max(microbatches, 2 * ranks - 1));
    int32_t down = rank, up = 2 * ranks - 1 - rank;
    auto backwardAndWeight = [&](int32_t chunk) {
      writer.backward(chunk);
      writer.weight(chunk);
    };
    writer.repeat(2 * (ranks - rank) - 1, [&] { writer.forward(down); });
    writer.repeat(rank, [&] {
      writer.forward(up);
      writer.forward(down);
    });
    writer.repeat(ranks - rank, [&] {
      writer.forward(up);
      backwardAndWeight(up);
    });
    writer.repeat(std::max(writer.forwardsLeft(down), writer.forwardsLeft(up)), [&] {
      writer.forward(down);
      backwardAndWeight(down);
      writer.forward(up);
      backwardAndWeight(up);
    });
    writer.repeat(rank, [&] {
      writer.backward(down);
      writer.backward(up);
    });
    writer.repeat(ranks - rank, [&] { backwardAndWeight(down); });
    while (writer.weight(up)) {
    }
    while (writer.weight(down)) {
    }
  }
  return schedule;
}

void writeDualPipeRank(Writer &writer, int32_t ranks, int32_t rank, int32_t microbatches) {
  int32_t down = rank, up = 2 * ranks - 1 - rank, before = ranks - 1 - rank;
  for (int32_t i = 0; i < 2 * before; ++i)
    writer.forward(down);
  for (int32_t i = 0; i <= rank; ++i) {
    writer.forward(down);
    writer.forward(up);
  }
  for (int32_t i = 0; i < before; ++i) {
    writer.backward(up);
    writer.weight();
    writer.forward(up);
  }
  for (int32_t i = 0; i < microbatches - 2 * ranks + rank + 1; ++i) {
    writer.forward(down);
    writer.both(up);
    writer.forward(up);
    writer.both(down);
  }
  for (int32_t i = 0; i < before; ++i) {
    writer.both(up);
    writer.forward(up);
    writer.both(down);
  }
  // The second half of these queue their W, so that each rank has `rank + 1` for the end.
  for (int32_t i = 0; i < 2 * (rank + 1); ++i) {
    int32_t chunk = i % 2 ? down : up;
    i < rank + 1 ? writer.both(chunk) : writer.backward(chunk);
  }
  for (int32_t i = 0; i < before; ++i) {
    writer.weight();
    writer.backward(down);
  }
  while (writer.weight()) {
  }
}

Schedule makeDualPipeV(int32_t ranks, int32_t, int32_t microbatches) {
  Schedule schedule = empty(ranks, microbatches, foldedPlace(ranks, 2));
  for (int32_t rank = 0; rank < ranks; ++rank) {
    Writer writer(schedule, rank);
    writeDualPipeRank(writer, ranks, rank, microbatches);
  }
  return schedule;
}

std::string plural(int64_t count, const std::string &word, const char *ending = "s") {
  return std::to_string(count) + " " + word + (count == 1 ? "" : ending);
}

} // namespace

std::vector<int32_t> weft::pipeline::loopPlace(int32_t ranks, int32_t chunksPerRank) {
  std::vector<int32_t> place;
  for (int32_t chunk = 0; chunk < ranks * chunksPerRank; ++chunk)
    place.push_back(chunk % ranks);
  return place;
}

std::vector<int32_t> weft::pipeline::foldedPlace(int32_t ranks, int32_t chunksPerRank) {
  std::vector<int32_t> place;
  for (int32_t chunk = 0; chunk < ranks * chunksPerRank; ++chunk)
    place.push_back(chunk / ranks % 2 ? ranks - 1 - chunk % ranks : chunk % ranks);
  return place;
}

const std::vector<Generator> &weft::pipeline::generators() {
  static const std::vector<Generator> all = {
      {"gpipe", "all forward, then all backward; keeps every microbatch", 1, 1, 0, loopPlace,
       makeGpipe},
      {"1f1b", "one forward, one backward: the bubble of gpipe, memory for few microbatches", 1, 1,
       0, loopPlace, makeOneForwardOneBackward},
      {"interleaved", "1f1b with several chunks a rank: a smaller bubble, more transfers", 1,
       1 << 10, 0, loopPlace, makeInterleaved},
      {"zb-h1", "weight gradients fill the bubble, within the memory of 1f1b", 1, 1, 0, loopPlace,
       makeZeroBubble1, /*splitsWeights=*/true},
      {"zb-h2", "no bubble between steps that do not meet, with twice the memory", 1, 1, 0,
       loopPlace, makeZeroBubble2, /*splitsWeights=*/true},
      {"zb-v", "two chunks a rank, there and back: as zb-h2, within the memory of 1f1b", 2, 2, 0,
       foldedPlace, makeZeroBubbleV, /*splitsWeights=*/true},
      {"dualpipev", "two chunks a rank, forward beside backward, so that transfers can hide", 2, 2,
       2, foldedPlace, makeDualPipeV, /*splitsWeights=*/true}};
  return all;
}

const Generator *weft::pipeline::findGenerator(const std::string &name) {
  for (const Generator &generator : generators())
    if (name == generator.name)
      return &generator;
  return nullptr;
}

static std::string knownNames() {
  std::string names;
  for (const Generator &known : generators()) {
    names += (names.empty() ? " " : ", ") + std::string(known.name);
    if (known.leastChunksPerRank != known.mostChunksPerRank)
      names += ":V";
  }
  return names;
}

std::optional<NamedSchedule> weft::pipeline::findSchedule(const std::string &text,
                                                          std::string &error) {
  size_t colon = text.find(':');
  std::string name = text.substr(0, colon);
  const Generator *generator = findGenerator(name);
  if (!generator) {
    error = "'" + name + "' is no schedule; known are" + knownNames();
    return std::nullopt;
  }
  int64_t chunks = generator->leastChunksPerRank;
  bool saysChunks = colon != std::string::npos;
  if (saysChunks) {
    const char *first = text.data() + colon + 1, *last = text.data() + text.size();
    auto [end, wrong] = std::from_chars(first, last, chunks);
    saysChunks = wrong == std::errc() && end == last;
  }
  bool isFixed = generator->leastChunksPerRank == generator->mostChunksPerRank;
  if (colon != std::string::npos && !saysChunks && isFixed) {
    error = "'" + text + "': a rank has " + std::to_string(chunks) +
            (chunks == 1 ? " chunk" : " chunks") + " of the model with " + name + "; write " + name;
    return std::nullopt;
  }
  if (colon != std::string::npos ? !saysChunks : !isFixed) {
    error = "'" + text + "' does not say how many chunks of the model a rank has; write " + name +
            ":2, for one";
    return std::nullopt;
  }
  return NamedSchedule{generator, chunks};
}

std::optional<Schedule> weft::pipeline::makeSchedule(const std::string &text, int64_t ranks,
                                                     int64_t microbatches, std::string &error) {
  std::optional<NamedSchedule> named = findSchedule(text, error);
  if (!named || !fits(*named->generator, ranks, named->chunksPerRank, microbatches, error))
    return std::nullopt;
  return named->generator->make(int32_t(ranks), int32_t(named->chunksPerRank),
                                int32_t(microbatches));
}

std::string weft::pipeline::nameOf(const Schedule &schedule) {
  int64_t ranks = int64_t(schedule.ranks.size()), chunks = int64_t(schedule.place.size());
  for (const Generator &known : generators()) {
    std::string name = known.name, why;
    if (known.leastChunksPerRank != known.mostChunksPerRank)
      name += ":" + std::to_string(chunks / std::max<int64_t>(1, ranks));
    if (makeSchedule(name, ranks, schedule.microbatches, why) == schedule)
      return name;
  }
  return "";
}

std::string weft::pipeline::mostPairs(int64_t ranks, int64_t chunksPerRank) {
  int64_t chunks = ranks * chunksPerRank, microbatches = kMostPairs / chunks;
  return "chunks times microbatches are at most " + std::to_string(kMostPairs) + "; " +
         (microbatches > 0
              ? plural(chunks, "chunk") + " may have " + plural(microbatches, "microbatch", "es")
              : plural(ranks, "rank") + " may have " + plural(kMostPairs / ranks, "chunk") +
                    " each");
}

bool weft::pipeline::fits(const Generator &generator, int64_t ranks, int64_t chunksPerRank,
                          int64_t microbatches, std::string &error) {
  std::string name = generator.name;
  int64_t least = generator.leastMicrobatchesPerRank * ranks;
  if (ranks < 1 || ranks > kMostRanks)
    error = "a pipeline has from 1 to " + std::to_string(kMostRanks) + " ranks, not " +
            std::to_string(ranks);
  else if (microbatches < 1)
    error = "a pipeline has at least 1 microbatch, not " + std::to_string(microbatches);
  else if (chunksPerRank < generator.leastChunksPerRank ||
           chunksPerRank > generator.mostChunksPerRank)
    error = name + " has " +
            (generator.leastChunksPerRank == generator.mostChunksPerRank
                 ? plural(generator.leastChunksPerRank, "chunk")
                 : "from " + std::to_string(generator.leastChunksPerRank) + " to " +
                       std::to_string(generator.mostChunksPerRank) + " chunks") +
            " a rank, not " + std::to_string(chunksPerRank);
  else if (microbatches < least)
    error = name + " wants at least " + std::to_string(least) + " microbatches on " +
            plural(ranks, "rank") + ", not " + std::to_string(microbatches);
  else if (microbatches > kMostPairs / (ranks * chunksPerRank))
    error = mostPairs(ranks, chunksPerRank);
  else
    return true;
  return false;
}

Schedule weft::pipeline::withoutStages(int64_t microbatches) {
  Schedule schedule;
  schedule.microbatches = int32_t(microbatches);
  schedule.place = {0};
  schedule.ranks.resize(1);
  for (int32_t i = 0; i < schedule.microbatches; ++i) {
    schedule.ranks[0].push_back({Kind::Forward, 0, i});
    schedule.ranks[0].push_back({Kind::Both, 0, i});
  }
  return schedule;
}

double weft::pipeline::interleavedBubble(double ranks, double chunksPerRank, double microbatches,
                                         double work, double transfer) {
  double bubble =
      (ranks - 1) / chunksPerRank * work + ((2 * chunksPerRank - 1) * ranks - 2) * transfer;
  return bubble / (microbatches * work + bubble);
}
