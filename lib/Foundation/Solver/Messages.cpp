// Messages along edges.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Dual.h"

#include <algorithm>
#include <cmath>

using namespace weft::solver;

Messages::Messages(const Core &core) : core(core), mirror(core.variables.size()) {
  size_t end = 0;
  std::vector<std::vector<std::pair<int32_t, int32_t>>> places(core.variables.size());
  for (size_t index = 0; index < core.variables.size(); ++index) {
    const CoreVariable &self = core.variables[index];
    starts.push_back(end);
    end += self.links.size() * self.size();
    for (size_t link = 0; link < self.links.size(); ++link)
      places[self.links[link].other].push_back({int32_t(index), int32_t(link)});
  }
  values.assign(end, 0);
  for (size_t index = 0; index < places.size(); ++index)
    for (const Link &link : core.variables[index].links) {
      // `places` is sorted by the other variable, because it was filled so.
      auto at = std::lower_bound(places[index].begin(), places[index].end(),
                                 std::pair<int32_t, int32_t>(link.other, -1));
      mirror[index].push_back(at->second);
    }
}

void Messages::gather(int32_t variable, const Prices &prices, std::vector<double> &sum) const {
  const CoreVariable &self = core.variables[variable];
  sum = self.cost;
  for (int32_t strategy = 0; strategy < self.size(); ++strategy)
    sum[strategy] += prices[variable][strategy];
  for (size_t link = 0; link < self.links.size(); ++link) {
    const double *message = from(variable, link);
    for (int32_t strategy = 0; strategy < self.size(); ++strategy)
      sum[strategy] += message[strategy];
  }
}

void Messages::send(int32_t variable, bool forward) {
  const CoreVariable &self = core.variables[variable];
  size_t ahead = 0;
  for (const Link &link : self.links)
    ahead += (link.other > variable) == forward;
  double share = ahead ? 1 / double(std::max(ahead, self.links.size() - ahead)) : 0;
  // What the variable keeps counts here, what it hands on when it arrives.
  double least = *std::min_element(gathered.begin(), gathered.end());
  double most = *std::max_element(gathered.begin(), gathered.end());
  reached += least * (1 - share * double(ahead));
  sizes += std::abs(least) + std::abs(most);
  handed.resize(self.size());
  for (size_t index = 0; index < self.links.size(); ++index) {
    const Link &link = self.links[index];
    if ((link.other > variable) != forward)
      continue;
    const double *got = from(variable, index);
    for (int32_t strategy = 0; strategy < self.size(); ++strategy)
      handed[strategy] = share * gathered[strategy] - got[strategy];
    double *message = from(link.other, mirror[variable][index]);
    int32_t columns = core.variables[link.other].size();
    std::fill(message, message + columns, kInfinity);
    for (int32_t strategy = 0; strategy < self.size(); ++strategy) {
      const double *costs = link.row(core.tables, strategy, columns);
      double mine = handed[strategy];
      for (int32_t other = 0; other < columns; ++other)
        message[other] = std::min(message[other], mine + costs[other]);
    }
    double lowest = *std::min_element(message, message + columns);
    for (int32_t other = 0; other < columns; ++other)
      message[other] -= lowest;
    reached += lowest;
    sizes += std::abs(lowest) + *std::max_element(message, message + columns);
  }
}

double Messages::pass(const Prices &prices, std::vector<std::vector<double>> *excess) {
  int32_t count = int32_t(core.variables.size());
  for (int32_t index = 0; index < count; ++index) {
    gather(index, prices, gathered);
    send(index, true);
  }
  reached = sizes = 0;
  for (int32_t index = count; index-- > 0;) {
    gather(index, prices, gathered);
    if (excess) {
      double least = *std::min_element(gathered.begin(), gathered.end());
      (*excess)[index] = gathered;
      for (double &cost : (*excess)[index])
        cost -= least;
    }
    send(index, false);
  }
  // Each sum is off by at most its terms' sizes times 2^-52 and their number.
  return reached - sizes * 0x1p-44;
}

void Messages::decode(const Prices &prices, std::vector<int32_t> &plan) const {
  std::vector<double> all;
  for (size_t index = 0; index < core.variables.size(); ++index) {
    const CoreVariable &self = core.variables[index];
    all = self.cost;
    for (int32_t strategy = 0; strategy < self.size(); ++strategy)
      all[strategy] += prices[index][strategy];
    for (size_t link = 0; link < self.links.size(); ++link) {
      const Link &to = self.links[link];
      Link back{int32_t(index), to.table, !to.flipped};
      const double *added = to.other < int32_t(index)
                                ? back.row(core.tables, plan[to.other], self.size())
                                : from(int32_t(index), link);
      for (int32_t strategy = 0; strategy < self.size(); ++strategy)
        all[strategy] += added[strategy];
    }
    plan[index] = int32_t(std::min_element(all.begin(), all.end()) - all.begin());
  }
}
