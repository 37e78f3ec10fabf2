// Powers of matrices by repeated squaring, and the way back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Solver/Repeat.h"

#include "weft/Solver/Problem.h"

using namespace weft::solver;

MinPlusPower::MinPlusPower(const std::vector<int64_t> &block, int32_t states, int64_t count)
    : states(states) {
  squares.push_back({block, {}});
  for (size_t power = 0; count >> power; ++power) {
    if (power)
      squares.push_back(product(squares.back(), squares.back()));
    if (!((count >> power) & 1))
      continue;
    whole.push_back(whole.empty() ? squares[power] : product(whole.back(), squares[power]));
    powers.push_back(power);
  }
}

MinPlusPower::Matrix MinPlusPower::product(const Matrix &left, const Matrix &right) const {
  Matrix result;
  result.cost.assign(size_t(states) * states, kForbidden);
  result.middle.assign(size_t(states) * states, -1);
  for (int32_t from = 0; from < states; ++from)
    for (int32_t middle = 0; middle < states; ++middle) {
      int64_t first = left.cost[from * states + middle];
      if (first == kForbidden)
        continue;
      for (int32_t to = 0; to < states; ++to) {
        int64_t second = right.cost[middle * states + to];
        int64_t &least = result.cost[from * states + to];
        if (second == kForbidden || first + second >= least)
          continue;
        least = first + second;
        result.middle[from * states + to] = middle;
      }
    }
  return result;
}

void MinPlusPower::walk(size_t power, int32_t from, int32_t to, std::vector<int32_t> &path) const {
  if (power == 0) {
    path.push_back(to);
    return;
  }
  int32_t middle = squares[power].middle[from * states + to];
  walk(power - 1, from, middle, path);
  walk(power - 1, middle, to, path);
}

std::vector<int32_t> MinPlusPower::path(int32_t from, int32_t to) const {
  if (cost(from, to) == kForbidden)
    return {};
  // The states between the squares, from the last one back.
  std::vector<int32_t> ends(powers.size());
  for (size_t part = powers.size(); part-- > 0;) {
    ends[part] = to;
    to = part ? whole[part].middle[from * states + to] : from;
  }
  std::vector<int32_t> result{from};
  for (size_t part = 0; part < powers.size(); ++part)
    walk(powers[part], result.back(), ends[part], result);
  return result;
}
