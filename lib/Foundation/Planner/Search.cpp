// Branch and bound over groups of layouts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Planner/Search.h"

#include "Bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

using namespace weft;
using namespace weft::planner;

static auto keyOf(const Group &group) {
  return std::make_tuple(group.tensor, group.sequenceParallel, group.recompute);
}

bool Group::operator<(const Group &other) const { return keyOf(*this) < keyOf(other); }

Models::~Models() = default;

Group planner::groupOf(const Layout &layout) {
  return {layout.size(Role::Tensor), layout.sequenceParallel, layout.recompute};
}

std::string planner::textOf(const Group &group) {
  std::string text = group.tensor > 1 ? "tp=" + std::to_string(group.tensor) : "one device";
  if (group.sequenceParallel)
    text += ", sequence parallel";
  if (group.recompute != Recompute::None)
    text += std::string(", recompute ") + nameOf(group.recompute);
  return text;
}

unsigned planner::kindOf(const Layout &layout) {
  return unsigned(layout.size(Role::Stages) > 1) | unsigned(layout.size(Role::Data) > 1) << 1 |
         unsigned(layout.size(Role::Tensor) > 1) << 2 | unsigned(layout.zero == 3) << 3;
}

namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

class Simulations {
public:
  Simulations(const Space &space, const Cluster &cluster, const Options &options, Bounds &bounds)
      : space(space), cluster(cluster), options(options), bounds(bounds) {}

  /// Nothing if there is no such program, or if its account cannot be simulated.
  std::optional<Candidate> run(const Layout &layout, const ModelAccount &model,
                               Unpriced &unpriced) const {
    std::string unfit; // the schedule, for these stages and microbatches
    Assembly assembly = bounds.assemblyOf(model);
    std::optional<cost::StepAccount> account = assemble(model, layout, assembly, unfit);
    if (!account)
      return std::nullopt;
    std::string error;
    std::optional<cost::Prediction> prediction = cost::simulateStep(*account, cluster, {}, error);
    if (!prediction) {
      unpriced.try_emplace(error, layout);
      return std::nullopt;
    }
    return Candidate{layout, std::move(*prediction), bounds.countsOf(model, layout)};
  }

  int64_t samplesOf(const Layout &layout) const {
    return space.batch / layout.size(Role::Data) / layout.microbatches;
  }

  /// As far as is known.
  int64_t needOf(const Layout &layout, int64_t bytes) const {
    return int64_t(std::ceil(double(bytes) * options.memoryScales.of(layout)));
  }
  bool fits(const Layout &layout, int64_t bytes) const {
    return needOf(layout, bytes) <= options.deviceBytes;
  }

private:
  const Space &space;
  const Cluster &cluster;
  const Options &options;
  Bounds &bounds;
};

class SearchRun {
public:
  SearchRun(const Space &space, const Cluster &cluster, Models &models, const Options &options)
      : models(models), options(options), bounds(cluster, options),
        simulations(space, cluster, options, bounds) {
    for (const Layout &layout : space.layouts()) {
      ++result.layouts;
      groups[groupOf(layout)].push_back(layout);
    }
    result.allGroups = int64_t(groups.size());
  }

  Result run() {
    while (!groups.empty() && result.isComplete) {
      auto next = nextGroup();
      if (next == groups.end())
        break;
      ++result.groups;
      explore(next->first, next->second);
      known.insert(next->first);
      groups.erase(next);
    }
    if (result.best.empty())
      findSmallest();
    for (const auto &[kind, candidate] : kinds)
      result.kinds.push_back(candidate);
    std::sort(result.kinds.begin(), result.kinds.end(),
              [&](const Candidate &a, const Candidate &b) { return isBetter(a, b); });
    return std::move(result);
  }

private:
  /// What is to be least; a bound of it if `prediction` is none.
  int64_t measureOf(const Candidate &candidate) const {
    return options.objective == Objective::Time ? candidate.prediction.picoseconds
                                                : candidate.bytes();
  }
  int64_t boundOf(const Layout &layout, const Known &from) {
    return options.objective == Objective::Time ? bounds.time(layout, from)
                                                : bounds.bytes(layout, from);
  }

  bool isBetter(const Candidate &a, const Candidate &b) const {
    return std::make_tuple(measureOf(a), a.prediction.picoseconds) <
               std::make_tuple(measureOf(b), b.prediction.picoseconds) ||
           (measureOf(a) == measureOf(b) && a.prediction.picoseconds == b.prediction.picoseconds &&
            a.layout < b.layout);
  }

  /// What nothing that is still wanted exceeds.
  int64_t threshold() const {
    if (options.isExhaustive || result.best.size() < options.wanted)
      return kNever;
    return measureOf(result.best.back());
  }

  /// What says most of a group: the group with the most devices of those that it may be derived
  /// from.
  std::optional<std::pair<Group, Known>> nearest(const Group &group) const {
    std::optional<std::pair<Group, Known>> best;
    for (const Group &from : known) {
      bool derives = group.tensor % from.tensor == 0 &&
                     (from.sequenceParallel == group.sequenceParallel || !from.sequenceParallel) &&
                     from.recompute <= group.recompute;
      if (!derives)
        continue;
      Known bound;
      bound.times = group.tensor / from.tensor;
      // What is no product may be a norm, which all devices of the group share then.
      bool sharesNorms = group.sequenceParallel && !from.sequenceParallel;
      bound.streamTimes = sharesNorms ? group.tensor : bound.times;
      bound.isOther = from.recompute != group.recompute || sharesNorms;
      if (!best ||
          std::make_tuple(-bound.times, !bound.isOther, from.recompute) >
              std::make_tuple(-best->second.times, !best->second.isOther, best->first.recompute))
        best = {from, bound};
    }
    return best;
  }

  /// Of the groups whose bounds are not above the threshold, one that divides what is known by the
  /// fewest devices, and of these the one with the least bound. Its own account says more of those
  /// with more devices, about what they send above all, so that many of them need none. Without a
  /// threshold the least bound leads to one soonest.
  std::map<Group, std::vector<Layout>>::iterator nextGroup() {
    auto best = groups.end();
    std::pair<int64_t, int64_t> least;
    for (auto it = groups.begin(); it != groups.end(); ++it) {
      auto from = nearest(it->first);
      int64_t bound = boundOfGroup(it->first, it->second);
      bool isNearFirst = from && threshold() != kNever;
      std::pair<int64_t, int64_t> rank = {isNearFirst ? from->second.times : 0, bound};
      if (bound > threshold() || (best != groups.end() && rank >= least))
        continue;
      least = rank;
      best = it;
    }
    return best;
  }

  int64_t boundOfGroup(const Group &group, const std::vector<Layout> &layouts) {
    auto from = nearest(group);
    if (!from || options.isExhaustive)
      return 0;
    auto [cached, isNew] = groupBounds.try_emplace({group, from->first}, kNever);
    if (!isNew)
      return cached->second;
    int64_t least = kNever;
    const Layout *last = nullptr;
    for (const Layout &layout : layouts) {
      // Layouts that differ in ZeRO alone have one bound of time.
      if (last && options.objective == Objective::Time && last->sizes == layout.sizes &&
          last->order == layout.order && last->microbatches == layout.microbatches &&
          last->schedule == layout.schedule && last->zero < layout.zero)
        continue;
      last = &layout;
      Known bound = from->second;
      bound.model = models.of(from->first, simulations.samplesOf(layout));
      if (bound.model && mayFit(layout, bound))
        least = std::min(least, boundOf(layout, bound));
      else if (!bound.model)
        least = 0;
      else
        last = nullptr;
    }
    return cached->second = least;
  }

  bool mayFit(const Layout &layout, const Known &from) {
    return simulations.fits(layout, bounds.bytes(layout, from));
  }

  struct Open {
    int64_t bound;
    const Layout *layout;
    const ModelAccount *model;
  };

  void explore(const Group &group, const std::vector<Layout> &layouts) {
    std::vector<Open> open;
    for (const Layout &layout : layouts) {
      Known from;
      from.model = models.of(group, simulations.samplesOf(layout));
      if (!from.model)
        continue;
      if (options.isExhaustive || mayFit(layout, from))
        open.push_back({boundOf(layout, from), &layout, from.model});
      else if (result.best.empty())
        tooLarge.push_back(
            {simulations.needOf(layout, bounds.bytes(layout, from)), layout, from.model});
    }
    auto byBound = [](const Open &a, const Open &b) {
      return std::make_tuple(a.bound, std::cref(*a.layout)) <
             std::make_tuple(b.bound, std::cref(*b.layout));
    };
    std::sort(open.begin(), open.end(), byBound);
    for (const Open &next : open) {
      if (next.bound > threshold() && !isWantedOfKind(next))
        continue;
      if (result.simulated >= options.mostSimulated()) {
        result.isComplete = false;
        return;
      }
      take(next);
    }
  }

  /// What needs least, as nothing fits.
  void findSmallest() {
    std::sort(tooLarge.begin(), tooLarge.end(), [](const Misfit &a, const Misfit &b) {
      return std::tie(a.bytes, a.layout) < std::tie(b.bytes, b.layout);
    });
    for (const Misfit &next : tooLarge) {
      if (result.smallest && next.bytes >= needOf(*result.smallest))
        return;
      if (result.simulated++ >= options.mostSimulated()) {
        result.isComplete = false;
        return;
      }
      if (auto candidate = simulations.run(next.layout, *next.model, result.unpriced))
        noteSmall(*candidate);
    }
  }

  bool isWantedOfKind(const Open &open) const {
    auto found = kinds.find(kindOf(*open.layout));
    return found == kinds.end() || open.bound < measureOf(found->second);
  }

  void noteSmall(const Candidate &candidate) {
    if (!result.smallest || needOf(candidate) < needOf(*result.smallest))
      result.smallest = candidate;
    result.smallestBytes = needOf(*result.smallest);
  }

  int64_t needOf(const Candidate &candidate) const {
    return simulations.needOf(candidate.layout, candidate.bytes());
  }

  std::optional<Candidate> simulate(const Open &open) {
    return simulations.run(*open.layout, *open.model, result.unpriced);
  }

  void take(const Open &open) {
    std::optional<Candidate> candidate = simulate(open);
    if (!candidate)
      return;
    ++result.simulated;
    if (!simulations.fits(candidate->layout, candidate->bytes()))
      return noteSmall(*candidate);
    auto [kind, isNew] = kinds.try_emplace(kindOf(*open.layout), *candidate);
    if (!isNew && isBetter(*candidate, kind->second))
      kind->second = *candidate;
    auto place =
        std::upper_bound(result.best.begin(), result.best.end(), *candidate,
                         [&](const Candidate &a, const Candidate &b) { return isBetter(a, b); });
    result.best.insert(place, std::move(*candidate));
    if (result.best.size() > options.wanted)
      result.best.pop_back();
  }

  Models &models;
  const Options &options;
  Bounds bounds;
  Simulations simulations;
  std::map<Group, std::vector<Layout>> groups; // not looked at
  std::set<Group> known;
  std::map<std::pair<Group, Group>, int64_t> groupBounds;
  std::map<unsigned, Candidate> kinds;
  /// What need not be simulated to know that it does not fit, while nothing does.
  struct Misfit {
    int64_t bytes; // at least
    Layout layout;
    const ModelAccount *model;
  };
  std::vector<Misfit> tooLarge;
  Result result;
};

} // namespace

void MemoryScales::note(const Layout &layout, double scale) {
  for (double *known : {&scales.try_emplace({layout.sizes, layout.microbatches}, 1).first->second,
                        &ofKinds.try_emplace(kindOf(layout), 1).first->second})
    *known = std::max(*known, scale);
}

double MemoryScales::of(const Layout &layout) const {
  if (auto found = scales.find({layout.sizes, layout.microbatches}); found != scales.end())
    return found->second;
  auto found = ofKinds.find(kindOf(layout));
  return isSpread && found != ofKinds.end() ? found->second : 1;
}

Result planner::search(const Space &space, const Cluster &cluster, Models &models,
                       const Options &options) {
  return SearchRun(space, cluster, models, options).run();
}

std::optional<Candidate> planner::simulate(const Space &space, const Layout &layout,
                                           const Cluster &cluster, Models &models,
                                           const Options &options, Unpriced &unpriced) {
  Bounds bounds(cluster, options);
  Simulations simulations(space, cluster, options, bounds);
  const ModelAccount *model = models.of(groupOf(layout), simulations.samplesOf(layout));
  return model ? simulations.run(layout, *model, unpriced) : std::nullopt;
}
