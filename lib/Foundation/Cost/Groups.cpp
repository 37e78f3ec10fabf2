// Collectives over levels of links.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/Rates.h"

#include <algorithm>
#include <limits>
#include <utility>

using namespace weft;
using namespace weft::cost;
using runtime::CollectiveKind;

static int64_t log2Ceil(int64_t value) {
  int64_t result = 0;
  while ((int64_t(1) << result) < value)
    ++result;
  return result;
}

static int64_t ranksOf(const std::vector<Axis> &mesh) {
  int64_t ranks = 1;
  for (const Axis &axis : mesh)
    ranks *= axis.size;
  return ranks;
}

Groups::Level Groups::levelOf(const LinkLevel &links, int64_t part) {
  Level level;
  level.links = &links;
  level.own = links.bandwidth * links.efficiency;
  level.shared = links.sharedBandwidth > 0 ? links.sharedBandwidth * links.efficiency
                                           : level.own * double(part);
  return level;
}

/// The level over which the cluster says that an axis communicates, or null. `dp` names the parts
/// that it was cut into, too: `dp.0`.
static const LinkLevel *linksNamedFor(const Axis &axis, const Cluster &cluster) {
  for (const auto &[name, link] : cluster.axisLevels)
    if (axis.name == name || axis.name.compare(0, name.size() + 1, name + ".") == 0)
      for (const LinkLevel &links : cluster.levels)
        if (links.name == link)
          return &links;
  return nullptr;
}

Groups::Groups(const std::vector<Axis> &mesh, const std::vector<int32_t> &axes,
               const Cluster &cluster)
    : cluster(cluster) {
  int64_t ranks = ranksOf(mesh);
  std::vector<int32_t> groupOf(size_t(ranks), 0);
  int64_t stride = 1, groups = 1;
  for (size_t axis = mesh.size(); axis-- > 0; stride *= mesh[axis].size) {
    int64_t size = mesh[axis].size;
    if (std::find(axes.begin(), axes.end(), int32_t(axis)) != axes.end()) {
      groupSize *= size;
      continue;
    }
    for (int64_t rank = 0; rank < ranks; ++rank)
      groupOf[size_t(rank)] += int32_t(rank / stride % size * groups);
    groups *= size;
  }
  count(groupOf, cluster);
  // Where the cluster says over which links an axis communicates, all groups are flat on them.
  size_t named = 0, farthest = 0;
  bool isNamed = false;
  for (size_t i = 0; i < levels.size(); ++i)
    if (levels[i].hops > 0)
      farthest = i;
  for (int32_t axis : axes) {
    const Axis &of = mesh[size_t(axis)];
    if (of.size == 1)
      continue;
    const LinkLevel *links = linksNamedFor(of, cluster);
    isNamed |= links != nullptr;
    named = std::max(named, links ? size_t(links - cluster.levels.data()) : farthest);
  }
  if (!isNamed)
    return;
  Level flat = levelOf(cluster.levels[named], 1);
  flat.fan = groupSize;
  flat.hops = groupSize - 1;
  flat.crossing = 1;
  flat.pairs = double(groupSize - 1) / double(groupSize);
  levels = {flat};
}

void Groups::count(const std::vector<int32_t> &groupOf, const Cluster &cluster) {
  size_t groups = groupOf.size() / size_t(groupSize);
  // Of each group, the parts of the level before and of this one that it has members in.
  std::vector<int64_t> before(groups, groupSize), now(groups), last(groups), inside(groups);
  int64_t part = 1;
  for (const LinkLevel &links : cluster.levels) {
    Level level = levelOf(links, part);
    // Members that one part has of each group.
    std::vector<int32_t> met;
    int64_t ranks = int64_t(groupOf.size()), most = std::numeric_limits<int64_t>::max();
    for (int64_t first = 0; first < ranks; first += part) {
      met.clear();
      for (int64_t rank = first; rank < std::min(first + part, ranks); ++rank)
        if (inside[size_t(groupOf[size_t(rank)])]++ == 0)
          met.push_back(groupOf[size_t(rank)]);
      int64_t crossing = 0;
      double pairs = 0;
      for (int32_t group : met) {
        int64_t members = inside[size_t(group)];
        crossing += members < groupSize;
        pairs += double(members) * double(groupSize - members) / double(groupSize);
        if (members < groupSize)
          most = std::min(most, members);
        inside[size_t(group)] = 0;
      }
      level.crossing = std::max(level.crossing, crossing);
      level.pairs = std::max(level.pairs, pairs);
    }
    level.inside = level.crossing > 0 ? most : 1;
    int64_t unit = links.devices > 0 ? std::min(links.devices, ranks) : ranks;
    std::fill(now.begin(), now.end(), 0);
    std::fill(last.begin(), last.end(), -1);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      size_t group = size_t(groupOf[size_t(rank)]);
      if (last[group] != rank / unit) {
        last[group] = rank / unit;
        ++now[group];
      }
    }
    for (size_t group = 0; group < groups; ++group) {
      level.hops = std::max(level.hops, before[group] - now[group]);
      level.fan = std::max(level.fan, (before[group] + now[group] - 1) / now[group]);
    }
    before = now;
    part = unit;
    levels.push_back(level);
  }
}

/// The longest of all levels, if so many bytes leave every part that has members of a group.
double Groups::transport(double ofGroup) const {
  double longest = 0;
  for (const Level &level : levels)
    // What leaves a machine does not take the nearest links.
    if (level.hops > 0 || (level.crossing > 0 && &level != &levels.front()))
      longest = std::max({longest, ofGroup / (double(level.inside) * level.own),
                          double(level.crossing) * ofGroup / level.shared});
  return longest;
}

double Groups::ring(double bytes, int64_t times) const {
  double n = double(groupSize), latency = 0;
  for (const Level &level : levels)
    latency += double(times * level.hops) * level.links->latency;
  return latency + transport(double(times) * bytes * (n - 1) / n);
}

double Groups::tree(double bytes) const {
  double latency = 0;
  for (const Level &level : levels)
    latency += double(2 * log2Ceil(level.fan)) * level.links->latency;
  return latency + transport(2 * bytes);
}

double Groups::hierarchical(double bytes, int64_t times) const {
  double seconds = 0;
  for (const Level &level : levels) {
    if (level.fan == 1)
      continue;
    // All members of a part have an equal share of what the part exchanges, which takes the links
    // of the levels between, too, but for the nearest.
    double part = double(times) * bytes * double(level.fan - 1) / double(level.fan);
    double each = part / double(level.inside), longest = 0;
    for (const Level *over = levels.data(); over <= &level; ++over)
      if (over == &level || over != &levels.front())
        longest = std::max({longest, each / over->own,
                            double(over->crossing * over->inside) * each / over->shared});
    seconds += double(times * (level.fan - 1)) * level.links->latency + longest;
  }
  return seconds;
}

double Groups::pairwise(double bytes) const {
  double latency = 0, longest = 0;
  for (const Level &level : levels) {
    if (level.hops == 0 && (level.crossing == 0 || &level == &levels.front()))
      continue;
    latency += double(level.hops) * level.links->latency;
    double own = bytes * double(groupSize - level.inside) / double(groupSize) / level.own;
    longest = std::max({longest, own, level.pairs * bytes / level.shared});
  }
  return latency + longest;
}

double Groups::formula(CollectiveKind kind, double bytes) const {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return std::min({ring(bytes, 2), tree(bytes), hierarchical(bytes, 2)});
  case CollectiveKind::AllToAll:
    return pairwise(bytes);
  default:
    return std::min(ring(bytes, 1), hierarchical(bytes, 1));
  }
}

double Groups::seconds(CollectiveKind kind, double bytes, Remarks &remarks) const {
  if (groupSize <= 1 || bytes <= 0)
    return 0;
  double overhead = cluster.collectiveOverhead;
  const LinkLevel *farthest = levels.front().links;
  for (const Level &level : levels)
    if (level.hops > 0)
      farthest = level.links;
  const CollectivePoint *below = nullptr, *above = nullptr;
  for (const CollectivePoint &point : cluster.collectivePoints)
    if (point.kind == kind && point.members == groupSize && point.level == farthest->name) {
      if (point.bytes <= bytes && (!below || point.bytes > below->bytes))
        below = &point;
      if (point.bytes >= bytes && (!above || point.bytes < above->bytes))
        above = &point;
    }
  if (below && above) {
    double apart = above->bytes - below->bytes;
    double share = apart > 0 ? (bytes - below->bytes) / apart : 0;
    return below->seconds + share * (above->seconds - below->seconds);
  }
  // What is that small is all latency.
  constexpr double kSmall = 1024;
  if (above && above->bytes <= kSmall)
    return above->seconds;
  const CollectivePoint *end = below ? below : above;
  if (!end)
    return overhead + formula(kind, bytes);
  static constexpr const char *kNames[] = {"all_gather", "all_reduce", "reduce_scatter",
                                           "all_to_all"};
  remarks.insert(std::string(kNames[size_t(kind)]) + " of " + std::to_string(groupSize) +
                 " members over '" + farthest->name + "' was not measured with " +
                 (below ? "more" : "fewer") + " than " + std::to_string(int64_t(end->bytes)) +
                 " bytes");
  return (overhead + formula(kind, bytes)) * end->seconds / (overhead + formula(kind, end->bytes));
}

double cost::secondsOfTransfer(const std::vector<Axis> &mesh, int32_t axis, int64_t from,
                               int64_t to, double bytes, const Cluster &cluster) {
  if (const LinkLevel *links = linksNamedFor(mesh[size_t(axis)], cluster))
    return bytes > 0 ? links->latency + links->secondsOf(bytes) : 0;
  int64_t stride = 1;
  for (size_t i = mesh.size(); i-- > size_t(axis) + 1;)
    stride *= mesh[i].size;
  int64_t ranks = ranksOf(mesh), size = mesh[size_t(axis)].size;
  double longest = 0, latency = 0;
  int64_t part = 1;
  for (size_t i = 0; i < cluster.levels.size(); ++i) {
    const LinkLevel &links = cluster.levels[i];
    int64_t unit = links.devices > 0 ? std::min(links.devices, ranks) : ranks;
    int64_t most = 0, senders = 0, joined = 0, last = -1;
    for (int64_t first = from * stride; first < ranks; first += size * stride)
      for (int64_t rank = first; rank < first + stride; ++rank) {
        int64_t peer = rank + (to - from) * stride;
        if (std::exchange(last, rank / part) != rank / part)
          senders = 0;
        bool leaves = rank / part != peer / part;
        // What leaves a machine does not take the nearest links.
        if (leaves && (i > 0 || rank / unit == peer / unit))
          most = std::max(most, ++senders);
        joined += leaves && rank / unit == peer / unit;
      }
    double own = links.bandwidth * links.efficiency;
    if (most > 0) {
      double shared =
          links.sharedBandwidth > 0 ? links.sharedBandwidth * links.efficiency : own * double(part);
      longest = std::max({longest, bytes / own, double(most) * bytes / shared});
    }
    if (joined > 0)
      latency = std::max(latency, links.latency);
    part = unit;
  }
  return bytes > 0 ? latency + longest : 0;
}
