// Search for schedules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Pipeline/Search.h"

#include "AllStarts.h"
#include "ListSchedule.h"
#include "Words.h"

#include "weft/Pipeline/Check.h"
#include "weft/Pipeline/Generate.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <memory>

using namespace weft::pipeline;

namespace {

/// So many changes are tried at once, whatever the number of threads, so that the result is the
/// same for any.
constexpr size_t kRound = 16;
/// Where there are at most so many orders, of a rank and of all, all are tried.
constexpr double kFewMixes = 100000, kFewOrders = 2000000;
/// Microbatches of more have too many mixes: without D they are the three-dimensional Catalan
/// numbers (https://oeis.org/A005789), 87,516 of 6 and 1,385,670 of 7.
constexpr int32_t kFewMixed = 6;
/// Where a pipeline has at most so many microbatches, summed over its chunks, so many starts are
/// tried after all else: a tenth of a second.
constexpr size_t kFewSlots = 16;
constexpr int64_t kStarts = 500000;

/// Numbers that follow from a seed, the same on every machine (splitmix64).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  size_t below(size_t count) { return size_t(next() % count); }

private:
  uint64_t state;
};

/// How good a schedule is: the objective first, then the other time.
struct Score {
  double first = INFINITY, second = INFINITY;

  bool operator<(const Score &other) const {
    double tolerance = 1e-12 * std::abs(other.first);
    if (std::abs(first - other.first) > tolerance)
      return first < other.first;
    return second < other.second * (1 - 1e-12);
  }
};

/// A schedule that was tried, and where it came from.
struct Tried {
  Schedule schedule;
  Rule rule; // empty if no rule made it
  Score score;
};

/// The search on one placement.
class PlacedSearch {
public:
  PlacedSearch(const SearchRequest &request, const Costs &costs, std::vector<int32_t> place,
               int64_t evaluations)
      : request(request), costs(costs), place(std::move(place)),
        bounds(lowerBounds(costs, this->place, request.microbatches)), left(evaluations),
        flights(measureFlights()) {
    for (size_t i = 0; i < std::clamp<size_t>(request.threads, 1, kRound); ++i)
      workers.push_back(std::make_unique<Worker>(*this));
  }

  Tried run() {
    tryGenerators();
    if (!tryAllOrders()) {
      tryGrid(left / 2);
      changeRules(left / 2);
      changeOrder(left);
      tryAllStarts();
    }
    return std::move(best);
  }

  /// Of the evaluations that it may make.
  int64_t unused() const { return left; }

private:
  struct Worker {
    explicit Worker(const PlacedSearch &search)
        : simulator(search.costs, search.place, search.request.microbatches),
          scheduler(search.costs, search.place, size_t(search.request.ranks),
                    search.request.microbatches) {}
    Simulator simulator;
    ListScheduler scheduler;
    Timing timing;
  };

  bool isDone() const {
    double bound = request.objective == Objective::Span ? bounds.span : bounds.wall;
    return best.score.first <= bound * (1 + 1e-9);
  }

  /// Simulates a right schedule; too much memory scores as worst.
  Score judge(Worker &worker, const Schedule &schedule) const {
    Timing &timing = worker.timing;
    if (!worker.simulator.run(schedule, timing))
      return {};
    for (size_t rank = 0; rank < timing.peak.size(); ++rank)
      if (timing.peak[rank] > costs.roomOf(rank))
        return {};
    return request.objective == Objective::Span ? Score{timing.span, timing.wall}
                                                : Score{timing.wall, timing.span};
  }

  void judgeRule(Worker &worker, Tried &tried) const {
    tried.score =
        worker.scheduler.run(tried.rule, tried.schedule) ? judge(worker, tried.schedule) : Score();
  }

  /// Runs `work(worker, i)` for i below `count` on all threads.
  template <typename Work> void forEach(size_t count, Work &&work) {
    size_t threads = std::min(workers.size(), count);
    if (threads <= 1) {
      for (size_t i = 0; i < count; ++i)
        work(*workers[0], i);
      return;
    }
    std::atomic<size_t> next{0};
    // Futures, which carry what a thread throws to the caller, and join where they end.
    std::vector<std::future<void>> running;
    for (size_t t = 0; t < threads; ++t)
      running.push_back(std::async(std::launch::async, [&, t] {
        for (size_t i = next++; i < count; i = next++)
          work(*workers[t], i);
      }));
    for (std::future<void> &thread : running)
      thread.get();
  }

  /// Takes the best of what was tried, the first of equals. `orEqual`: also one just as good.
  bool take(std::vector<Tried> &tried, bool orEqual = false) {
    Tried *found = nullptr;
    for (Tried &one : tried)
      if (std::isfinite(one.score.first) && (!found || one.score < found->score))
        found = &one;
    if (!found || !(orEqual ? !(best.score < found->score) : found->score < best.score))
      return false;
    best = std::move(*found);
    return true;
  }

  /// One microbatch after the other needs the least memory.
  Schedule serial() const {
    Schedule schedule;
    schedule.microbatches = request.microbatches;
    schedule.place = place;
    schedule.ranks.resize(size_t(request.ranks));
    for (int32_t m = 0; m < request.microbatches; ++m) {
      for (size_t c = 0; c < place.size(); ++c)
        schedule.ranks[size_t(place[c])].push_back({Kind::Forward, int32_t(c), m});
      for (size_t c = place.size(); c-- > 0;)
        schedule.ranks[size_t(place[c])].push_back({Kind::Both, int32_t(c), m});
    }
    return schedule;
  }

  void tryGenerators() {
    std::vector<Tried> tried(1);
    tried[0].schedule = serial();
    std::string ignored;
    for (const Generator &generator : generators())
      if (fits(generator, request.ranks, request.chunksPerRank, request.microbatches, ignored)) {
        Tried one;
        one.schedule = generator.make(request.ranks, request.chunksPerRank, request.microbatches);
        if (one.schedule.place == place)
          tried.push_back(std::move(one));
      }
    forEach(tried.size(),
            [&](Worker &worker, size_t i) { tried[i].score = judge(worker, tried[i].schedule); });
    take(tried);
  }

  /// With one chunk a rank and equal microbatches, each rank may go through them in order: what is
  /// left to choose is how F, B and W mix. (m = 3: 42 ways.) For if a schedule does not, let its
  /// k-th F, B and W on each rank be of microbatch k. What the k-th F of a rank reads has come when
  /// k of the ones it reads have, which is not later than in the old order; so no start is later.
  /// Memory depends on the kinds alone.
  bool tryAllOrders() {
    if (request.chunksPerRank != 1 || size_t(request.ranks) != place.size() ||
        request.microbatches > kFewMixed)
      return false;
    std::vector<std::vector<Kind>> mixes;
    std::vector<Kind> mix;
    if (!addMixes(mix, {0, 0, 0}, mixes) ||
        std::pow(double(mixes.size()), request.ranks) > kFewOrders)
      return false;
    Schedule schedule = serial();
    std::vector<size_t> index(size_t(request.ranks), 0);
    for (size_t rank = 0; rank < index.size(); ++rank)
      setMix(schedule, rank, mixes[0]);
    while (true) {
      Score score = judge(*workers[0], schedule);
      if (score < best.score)
        best = {schedule, {}, score};
      size_t rank = 0;
      for (; rank < index.size() && ++index[rank] == mixes.size(); ++rank)
        setMix(schedule, rank, mixes[index[rank] = 0]);
      if (rank == index.size())
        return true;
      setMix(schedule, rank, mixes[index[rank]]);
    }
  }

  /// What small changes miss: orders of several chunks a rank that only many changes at once reach.
  void tryAllStarts() {
    if (place.size() * size_t(request.microbatches) > kFewSlots || isDone() ||
        !std::isfinite(best.score.first))
      return;
    AllStarts all(costs, place, size_t(request.ranks), request.microbatches, request.objective);
    std::vector<Tried> tried(1);
    if (!all.run(best.score.first, kStarts, tried[0].schedule))
      return;
    tried[0].score = judge(*workers[0], tried[0].schedule);
    take(tried);
  }

  struct Counts {
    int32_t forwards, backwards, weights;
  };
  /// All ways to go on with `mix`; false if they are too many.
  bool addMixes(std::vector<Kind> &mix, Counts done, std::vector<std::vector<Kind>> &mixes) const {
    if (double(mixes.size()) > kFewMixes)
      return false;
    if (done.weights == request.microbatches) {
      mixes.push_back(mix);
      return true;
    }
    auto with = [&](Kind kind, Counts next) {
      mix.push_back(kind);
      bool few = addMixes(mix, next, mixes);
      mix.pop_back();
      return few;
    };
    auto [f, b, w] = done;
    // D is B and W one after the other, but for memory that B would make for W.
    bool canBeBoth = isBothUseful() && b < f && w == b;
    return (f == request.microbatches || with(Kind::Forward, {f + 1, b, w})) &&
           (b == f || with(Kind::Backward, {f, b + 1, w})) &&
           (w == b || with(Kind::Weight, {f, b, w + 1})) &&
           (!canBeBoth || with(Kind::Both, {f, b + 1, w + 1}));
  }

  bool isBothUseful() const {
    return !costs.limit.empty() &&
           std::any_of(costs.chunks.begin(), costs.chunks.end(), [](const ChunkCosts &chunk) {
             return chunk.memoryChange(Kind::Backward) > 0;
           });
  }

  void setMix(Schedule &schedule, size_t rank, const std::vector<Kind> &mix) const {
    auto chunk = int32_t(std::find(place.begin(), place.end(), int32_t(rank)) - place.begin());
    int32_t next[kNumKinds] = {};
    schedule.ranks[rank].clear();
    for (Kind kind : mix) {
      if (kind == Kind::Both) {
        schedule.ranks[rank].push_back({kind, chunk, next[unsigned(Kind::Backward)]++});
        ++next[unsigned(Kind::Weight)];
      } else {
        schedule.ranks[rank].push_back({kind, chunk, next[unsigned(kind)]++});
      }
    }
  }

  /// How many F a rank may have in flight, in chunks.
  struct Flight {
    int32_t chunks = 0; // of the rank
    double fill = 0;    // fill the time until the first gradient can be there
    double most = 0;    // are there, and fit into memory
  };

  std::vector<Flight> measureFlights() const {
    // From the start of F of a chunk to the end of the model, and from there to a chunk's B.
    std::vector<double> forward(place.size() + 1), backward(place.size() + 1);
    for (size_t c = place.size(); c-- > 0;) {
      const ChunkCosts &chunk = costs.chunks[c];
      bool moves = c + 1 < place.size() && place[c] != place[c + 1];
      double transfer = moves ? chunk.transfer : 0;
      forward[c] = forward[c + 1] + chunk.forward + transfer;
      backward[c] = backward[c + 1] + transfer;
      if (c + 1 < place.size())
        backward[c] += costs.chunks[c + 1].backward;
    }
    struct Sums {
      double forward = 0, kept = 0;
      size_t first = 0, last = 0;
    };
    std::vector<Flight> result(size_t(request.ranks));
    std::vector<Sums> sums(result.size());
    for (size_t c = 0; c < place.size(); ++c) {
      auto rank = size_t(place[c]);
      sums[rank].first = result[rank].chunks++ ? sums[rank].first : c;
      sums[rank].last = c;
      sums[rank].forward += costs.chunks[c].forward;
      sums[rank].kept += costs.chunks[c].memoryChange(Kind::Forward);
    }
    for (size_t rank = 0; rank < result.size(); ++rank) {
      Flight &flight = result[rank];
      double trip = forward[sums[rank].first] + backward[sums[rank].last];
      flight.most = double(request.microbatches) * flight.chunks;
      flight.fill = sums[rank].forward > 0
                        ? std::ceil(trip * flight.chunks / sums[rank].forward - 1e-9)
                        : flight.most;
      if (sums[rank].kept > 0)
        flight.most = std::min(flight.most, std::floor(costs.roomOf(rank) * flight.chunks /
                                                       sums[rank].kept * (1 + 1e-12)));
    }
    return result;
  }

  int32_t capOf(int32_t rank, int32_t more) const {
    const Flight &flight = flights[size_t(rank)];
    double cap = std::min(flight.fill + double(more) * flight.chunks, flight.most);
    return std::max({1, flight.chunks, int32_t(cap)});
  }

  /// Rules from all over the ranges of their numbers, `budget` of them if those are fewer.
  void tryGrid(int64_t budget) {
    std::vector<Tried> all, tried;
    for (int32_t more : {0, 1, 2, 1 << 20})
      for (double waitForward : {0.0, 0.5, 1.0})
        for (double waitWeight : {0.0, 0.25, 0.5, 1.0})
          for (double firstWait : {0.0, 1.0})
            for (bool alternates : {false, true})
              for (bool prefersLate : {true, false}) {
                if (prefersLate && request.chunksPerRank == 1)
                  continue;
                Tried one;
                one.rule.firstWait = firstWait;
                one.rule.alternates = alternates;
                one.rule.prefersLate = prefersLate;
                for (int32_t rank = 0; rank < request.ranks; ++rank)
                  one.rule.ranks.push_back({capOf(rank, more), 1 << 30, waitForward, waitWeight});
                all.push_back(std::move(one));
              }
    auto count = size_t(std::min(budget, int64_t(all.size())));
    for (size_t i = 0; i < count; ++i)
      tried.push_back(std::move(all[i * all.size() / count]));
    // In parts, so that memory does not hold them all.
    for (size_t begin = 0; begin < tried.size() && !isDone(); begin += kRound) {
      std::vector<Tried> part(
          std::make_move_iterator(tried.begin() + ptrdiff_t(begin)),
          std::make_move_iterator(tried.begin() +
                                  ptrdiff_t(std::min(tried.size(), begin + kRound))));
      forEach(part.size(), [&](Worker &worker, size_t i) { judgeRule(worker, part[i]); });
      left -= int64_t(part.size());
      for (const Tried &one : part)
        if (one.score < bestRule.score)
          bestRule = one;
      take(part);
    }
  }

  /// Changes one number of one rank's rule, or of all ranks'.
  void change(Rule &rule, Random &random) const {
    size_t first = random.below(rule.ranks.size() + 1), last = first + 1;
    if (first == rule.ranks.size())
      first = 0;
    size_t what = random.below(4), step = random.below(4);
    for (size_t rank = first; rank < last && rank < rule.ranks.size(); ++rank) {
      RankRule &own = rule.ranks[rank];
      constexpr double waits[] = {0, 0.25, 0.5, 1};
      if (what == 0)
        own.cap = std::clamp(own.cap + (step % 2 ? 1 : -1) * int32_t(1 + step / 2), 1,
                             capOf(int32_t(rank), 1 << 20));
      else if (what == 1)
        own.hold = step == 3 ? 1 << 30 : int32_t(step * size_t(request.ranks) / 2);
      else if (what == 2)
        own.waitForward = waits[step];
      else
        own.waitWeight = waits[step];
    }
  }

  /// So many are tried next, and taken from `budget`.
  size_t nextRound(int64_t &budget) {
    int64_t count = std::min(int64_t(kRound), budget);
    budget -= count;
    left -= count;
    return size_t(count);
  }

  void changeRules(int64_t budget) {
    if (bestRule.rule.ranks.empty())
      return;
    Random random(1);
    while (budget > 0 && !isDone()) {
      std::vector<Tried> tried(nextRound(budget));
      for (Tried &one : tried) {
        one.rule = bestRule.rule;
        for (size_t n = 1 + random.below(3); n > 0; --n)
          change(one.rule, random);
      }
      forEach(tried.size(), [&](Worker &worker, size_t i) { judgeRule(worker, tried[i]); });
      for (const Tried &one : tried)
        if (!(bestRule.score < one.score) && std::isfinite(one.score.first))
          bestRule = one;
      take(tried);
    }
  }

  /// Moves an action of the best schedule by a few places.
  void changeOrder(int64_t budget) {
    if (!std::isfinite(best.score.first))
      return; // no order fits
    Random random(2);
    while (budget > 0 && !isDone()) {
      std::vector<Tried> tried(nextRound(budget));
      for (Tried &one : tried) {
        one.schedule = best.schedule;
        for (size_t n = 1 + random.below(2); n > 0; --n)
          move(one.schedule.ranks[random.below(one.schedule.ranks.size())], random);
      }
      forEach(tried.size(),
              [&](Worker &worker, size_t i) { tried[i].score = judge(worker, tried[i].schedule); });
      take(tried, /*orEqual=*/true);
    }
  }

  /// Not past another action of the same chunk, so that order on the rank stays right.
  static void move(std::vector<Action> &actions, Random &random) {
    if (actions.size() < 2)
      return;
    size_t at = random.below(actions.size()), steps = 1 + random.below(4);
    bool later = random.below(2);
    for (; steps > 0; --steps) {
      if (later ? at + 1 == actions.size() : at == 0)
        return;
      size_t other = later ? at + 1 : at - 1;
      const Action &a = actions[at], &b = actions[other];
      bool areSums = a.kind != Kind::Forward && b.kind != Kind::Forward &&
                     (a.kind == Kind::Both || b.kind == Kind::Both);
      if (a.chunk == b.chunk && (a.microbatch == b.microbatch || a.kind == b.kind || areSums))
        return;
      std::swap(actions[at], actions[other]);
      at = other;
    }
  }

  const SearchRequest &request;
  const Costs &costs;
  std::vector<int32_t> place;
  Bounds bounds;
  int64_t left;                // evaluations
  std::vector<Flight> flights; // by rank
  std::vector<std::unique_ptr<Worker>> workers;
  Tried best, bestRule;
};

/// Where the search puts the chunks.
std::vector<std::vector<int32_t>> placesOf(const SearchRequest &request) {
  if (!request.place.empty())
    return {request.place};
  std::vector<std::vector<int32_t>> places = {loopPlace(request.ranks, request.chunksPerRank)};
  if (request.chunksPerRank == 2)
    places.push_back(foldedPlace(request.ranks, 2));
  return places;
}

/// By how much `least` is over the limit of the rank that is over most; not positive: none is.
double excessOf(const std::vector<double> &least, const Costs &costs) {
  double most = -INFINITY;
  for (size_t rank = 0; rank < least.size(); ++rank)
    most =
        std::max(most, least[rank] <= costs.roomOf(rank) ? 0 : least[rank] - costs.limitOf(rank));
  return most;
}

} // namespace

int64_t weft::pipeline::defaultEvaluations(size_t chunks, int32_t microbatches) {
  int64_t actions = 3 * int64_t(chunks) * microbatches;
  return std::clamp<int64_t>(16000000 / actions, kRound, 30000);
}

std::string weft::pipeline::checkLimits(const SearchRequest &request, const Costs &costs) {
  std::vector<double> least;
  for (const std::vector<int32_t> &place : placesOf(request)) {
    std::vector<double> now = leastMemory(costs, place, size_t(request.ranks));
    if (least.empty() || excessOf(now, costs) < excessOf(least, costs))
      least = std::move(now);
  }
  if (excessOf(least, costs) <= 0)
    return {};
  constexpr size_t kShown = 8;
  std::string text = "no order fits: one microbatch alone needs ";
  size_t over = 0;
  for (size_t rank = 0; rank < least.size(); ++rank)
    if (least[rank] > costs.roomOf(rank) && ++over <= kShown)
      text += (over > 1 ? ", " : "") + numberText(least[rank]) + " on rank " +
              std::to_string(rank) + " of at most " + numberText(costs.limitOf(rank));
  if (over > kShown)
    text += ", and more than there is on " + std::to_string(over - kShown) + " other ranks";
  return text + "; limits of " + numberText(*std::max_element(least.begin(), least.end())) +
         " are enough";
}

std::optional<SearchResult> weft::pipeline::search(const SearchRequest &request, const Costs &costs,
                                                   std::string &error) {
  std::optional<Tried> best;
  std::vector<std::vector<int32_t>> places = placesOf(request);
  int64_t evaluations = request.evaluations >= 0
                            ? request.evaluations
                            : defaultEvaluations(costs.chunks.size(), request.microbatches);
  int64_t tries = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    // What one placement leaves over, the next ones may use.
    int64_t share = (evaluations - tries) / int64_t(places.size() - i);
    PlacedSearch placed(request, costs, places[i], share);
    Tried tried = placed.run();
    tries += share - placed.unused();
    if (std::isfinite(tried.score.first) && (!best || tried.score < best->score))
      best = std::move(tried);
  }
  if (!best) {
    error = checkLimits(request, costs);
    return std::nullopt;
  }
  std::optional<Timing> timing = simulate(best->schedule, costs);
  Bounds bounds = lowerBounds(costs, best->schedule.place, request.microbatches);
  return SearchResult{std::move(best->schedule), std::move(*timing), bounds, tries};
}
