// Draws which ranks hold which slices of a tensor, as boxes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.h"

#include "weft/runtime/Nearest.h"
#include "weft/runtime/Placement.h"

#include <algorithm>
#include <iterator>
#include <set>

using namespace weft::runtime;

namespace {

/// A drawing with more boxes a line is no drawing; ranks are listed instead.
constexpr size_t kMostColumns = 16, kMostRows = 64, kMostListed = 64;

using Ranks = std::vector<int64_t>; // ascending

/// `0-3,8`
std::string ranksText(const Ranks &ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1)
      ++last;
    text += (text.empty() ? "" : ",") + std::to_string(ranks[i]);
    if (last > i)
      text += (last > i + 1 ? "-" : ",") + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text.empty() ? "none" : text;
}

/// Indices [begin, end) of a dimension, and the ranks that hold them.
struct Interval {
  int64_t begin, end;
  Ranks holders;

  std::string text() const { return std::to_string(begin) + ":" + std::to_string(end); }
};

Ranks intersection(const Ranks &a, const Ranks &b) {
  Ranks both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

class Drawing {
public:
  /// Of a State or Port: of the ranks whose stages hold it.
  template <typename Tensor> Drawing(const ProgramView &program, const Tensor &tensor) {
    for (int64_t rank = 0; rank < program.numRanks(); ++rank) {
      std::vector<int64_t> position = coordinatesOf(program, rank);
      int64_t stage = indexAlong(program, program.axes(program.info().stageAxes), position);
      if (!program.homeOf(tensor, uint32_t(stage)))
        continue;
      ranks.push_back(rank);
      maps.emplace_back(program, tensor.placement, position);
    }
    isEverywhere = int64_t(ranks.size()) == program.numRanks();
    for (size_t dim = 0; dim < maps[0].globalShape().size(); ++dim)
      if (std::vector<Interval> cut = intervalsOf(dim); cut.size() > 1)
        split.emplace_back(dim, std::move(cut));
  }

  std::string text() const {
    if (split.empty())
      return isEverywhere        ? "every rank holds all of it\n"
             : ranks.size() == 1 ? "rank " + ranksText(ranks) + " alone holds it\n"
                                 : "ranks " + ranksText(ranks) + " hold all of it each\n";
    bool fits = split.size() <= 2 && split.back().second.size() <= kMostColumns;
    if (split.size() == 2)
      fits &= split[0].second.size() <= kMostRows;
    return fits ? boxes() : list();
  }

private:
  /// The dimension cut wherever a rank's piece begins or ends.
  std::vector<Interval> intervalsOf(size_t dim) const {
    std::set<int64_t> cuts{0, maps[0].globalShape()[dim]};
    for (const ShardMap &map : maps)
      for (const ShardMap::Run &run : map.runsOf(dim)) {
        cuts.insert(run.global);
        cuts.insert(run.global + run.count);
      }
    std::vector<Interval> intervals;
    for (auto at = cuts.begin(); std::next(at) != cuts.end(); ++at)
      intervals.push_back({*at, *std::next(at), {}});
    for (size_t i = 0; i < maps.size(); ++i)
      for (const ShardMap::Run &run : maps[i].runsOf(dim))
        for (Interval &interval : intervals)
          if (run.global <= interval.begin && interval.end <= run.global + run.count)
            interval.holders.push_back(ranks[i]);
    return intervals;
  }

  /// Rows are the first split dimension if there are two; columns the last.
  std::string boxes() const {
    const std::vector<Interval> &columns = split.back().second;
    std::vector<Interval> rows{{0, 0, ranks}};
    if (split.size() == 2)
      rows = split[0].second;
    size_t left = 0, width = 0;
    for (const Interval &row : rows)
      left = std::max(left, split.size() == 2 ? row.text().size() : 0);
    for (const Interval &column : columns) {
      width = std::max(width, column.text().size());
      for (const Interval &row : rows)
        width = std::max(width, ranksText(intersection(row.holders, column.holders)).size());
    }
    auto padded = [](std::string text, size_t size) {
      return text + std::string(size - std::min(size, text.size()), ' ');
    };
    std::string text = "dim " + std::to_string(split.back().first) + " across";
    if (split.size() == 2)
      text += ", dim " + std::to_string(split[0].first) + " down";
    text += "; in the boxes: ranks\n" + std::string(left, ' ');
    for (const Interval &column : columns)
      text += "   " + padded(column.text(), width);
    text.resize(text.find_last_not_of(' ') + 1);
    std::string line(left + 1, ' ');
    for (size_t i = 0; i < columns.size(); ++i)
      line += "+" + std::string(width + 2, '-');
    line += "+\n";
    text += "\n" + line;
    for (const Interval &row : rows) {
      text += padded(split.size() == 2 ? row.text() : "", left) + " ";
      for (const Interval &column : columns)
        text += "| " + padded(ranksText(intersection(row.holders, column.holders)), width) + " ";
      text += "|\n" + line;
    }
    return text;
  }

  /// Of what cannot be drawn: the pieces of each rank.
  std::string list() const {
    std::string text;
    for (size_t i = 0; i < std::min(maps.size(), kMostListed); ++i) {
      text += "rank " + std::to_string(ranks[i]) + ":";
      for (const auto &[dim, intervals] : split) {
        text += " dim " + std::to_string(dim);
        const char *before = " ";
        for (const ShardMap::Run &run : maps[i].runsOf(dim)) {
          text +=
              before + std::to_string(run.global) + ":" + std::to_string(run.global + run.count);
          before = ",";
        }
      }
      text += "\n";
    }
    if (maps.size() > kMostListed)
      text += "and so on, to rank " + std::to_string(ranks.back()) + "\n";
    return text;
  }

  Ranks ranks;                // that hold it
  std::vector<ShardMap> maps; // one for each of those
  bool isEverywhere = false;
  std::vector<std::pair<size_t, std::vector<Interval>>> split;
};

} // namespace

Status weft::runtime::placementText(const ProgramView &p, const std::string &name,
                                    std::string &text) {
  // Programs share most of what they take and give.
  std::set<std::string> told;
  std::set<std::string> known;
  auto add = [&](const std::string &what, const auto &tensor) {
    known.emplace(p.string(tensor.name));
    if (p.string(tensor.name) != name)
      return;
    std::string drawn = what + " '" + name + "': ";
    for (int64_t size : p.ints(tensor.shape))
      drawn += std::to_string(size) + "x";
    if (p.ints(tensor.shape).size() > 0)
      drawn.back() = ' ';
    drawn += std::string(dtypeName(tensor.dtype)) + " on";
    for (const MeshAxis &axis : p.MeshAxes())
      drawn += " " + std::string(p.string(axis.name)) + "=" + std::to_string(axis.size);
    drawn += (p.MeshAxes().size() == 0 ? " 1 rank; " : "; ") + Drawing(p, tensor).text();
    if (told.insert(drawn).second)
      text += drawn;
  };
  for (const State &state : p.States())
    add("state", state);
  for (const Program &program : p.Programs()) {
    for (const Port &port : p.Ports().slice(program.inputs))
      add("input", port);
    for (const Port &port : p.Ports().slice(program.outputs))
      add("output", port);
  }
  if (!text.empty())
    return {};
  return Status::user("there is no state, input or output '" + name +
                      "'; --info lists inputs and outputs, --dump states" +
                      didYouMean(name, {known.begin(), known.end()}));
}
