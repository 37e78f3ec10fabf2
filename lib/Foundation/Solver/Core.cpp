// Tables that are shared, and what a plan of a core costs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Core.h"

#include <cstring>

using namespace weft::solver;

int32_t TableSet::intern(int32_t rows, int32_t columns, std::vector<double> values) {
  uint64_t hash = uint64_t(rows) * 0x9e3779b97f4a7c15ull + uint64_t(columns);
  for (double value : values) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    hash = (hash ^ bits) * 0x100000001b3ull;
    hash ^= hash >> 29;
  }
  auto range = byHash.equal_range(hash);
  for (auto at = range.first; at != range.second; ++at) {
    const Table &table = tables[at->second];
    if (table.rows == rows && table.columns == columns && table.byRow == values)
      return at->second;
  }
  Table table{rows, columns, std::move(values), {}};
  table.byColumn.resize(table.byRow.size());
  for (int32_t row = 0; row < rows; ++row)
    for (int32_t column = 0; column < columns; ++column)
      table.byColumn[size_t(column) * rows + row] = table.byRow[size_t(row) * columns + column];
  tables.push_back(std::move(table));
  byHash.emplace(hash, int32_t(tables.size()) - 1);
  return int32_t(tables.size()) - 1;
}

double Core::costOf(const std::vector<int32_t> &plan) const {
  double sum = offset;
  for (size_t index = 0; index < variables.size(); ++index) {
    sum += variables[index].cost[plan[index]];
    for (const Link &link : variables[index].links)
      if (size_t(link.other) > index)
        sum += link.row(tables, plan[index], variables[link.other].size())[plan[link.other]];
  }
  return sum;
}

bool Core::fits(const std::vector<int32_t> &plan) const {
  std::vector<int64_t> change(room.size() + 1);
  for (size_t index = 0; index < variables.size(); ++index)
    for (const CoreUse &use : variables[index].uses) {
      change[use.first] += use.amount[plan[index]];
      change[use.last + 1] -= use.amount[plan[index]];
    }
  int64_t now = 0;
  for (size_t slot = 0; slot < room.size(); ++slot)
    if ((now += change[slot]) > room[slot])
      return false;
  return true;
}
