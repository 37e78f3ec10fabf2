// Reads an instance of the contest as a stream of JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Instance.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <unordered_map>

using namespace weft;
using namespace weft::iopddl;
using nlohmann::json;
using runtime::Status;

namespace {

using Rows = std::vector<std::vector<int64_t>>;

/// Lists of numbers, each of which is kept once.
class TablePool {
public:
  int32_t intern(std::vector<int64_t> values) {
    uint64_t hash = values.size();
    for (int64_t value : values)
      hash = (hash ^ uint64_t(value)) * 0x9e3779b97f4a7c15ull, hash ^= hash >> 31;
    auto range = byHash.equal_range(hash);
    for (auto at = range.first; at != range.second; ++at)
      if (tables[at->second] == values)
        return at->second;
    tables.push_back(std::move(values));
    byHash.emplace(hash, int32_t(tables.size()) - 1);
    return int32_t(tables.size()) - 1;
  }
  Rows tables;

private:
  std::unordered_multimap<uint64_t, int32_t> byHash;
};

/// Takes what the parser finds. Only lists of lists of numbers matter, and one number.
class Handler final : public nlohmann::json_sax<json> {
public:
  Rows intervals, costs, usages, ends;
  TablePool pool;
  std::vector<int32_t> tableOf;
  std::optional<int64_t> limit;
  bool hasProblem = false;
  std::string wrong;

  bool null() override { return other("null"); }
  bool boolean(bool) override { return other("true or false"); }
  bool string(string_t &) override { return other("a text"); }
  bool binary(binary_t &) override { return other("binary data"); }
  bool number_float(number_float_t, const string_t &text) override { return other(text); }
  bool number_unsigned(number_unsigned_t value) override {
    return value > uint64_t(INT64_MAX) ? other(std::to_string(value))
                                       : number_integer(number_integer_t(value));
  }
  bool number_integer(number_integer_t value) override {
    step();
    if (path == "/problem/usage_limit" && depth == 0) {
      limit = value;
      return value >= 0 || fail("is negative: " + std::to_string(value));
    }
    if (!isKnown())
      return true;
    if (depth != 2)
      return fail("is a number, and " + wanted() + " is expected");
    if (value < 0)
      return fail("is negative: " + std::to_string(value));
    row.push_back(value);
    return true;
  }
  bool start_object(size_t) override {
    step();
    if (isKnown())
      return fail("is an object, and " + wanted() + " is expected");
    if (depth)
      ++skipped;
    keys.push_back(path.size());
    hasProblem |= path == "/problem";
    return true;
  }
  bool key(string_t &name) override {
    if (!skipped) {
      path.resize(keys.back());
      path += "/" + name;
    }
    return true;
  }
  bool end_object() override {
    path.resize(keys.back());
    keys.pop_back();
    if (skipped)
      --skipped;
    return true;
  }
  bool start_array(size_t) override {
    step();
    if (isKnown() && (depth > 1 || path == "/problem/usage_limit"))
      return fail("is a list, and " + wanted() + " is expected");
    if (skipped)
      return ++skipped;
    if (depth++ < 2)
      index[depth - 1] = -1;
    row.clear();
    return true;
  }
  bool end_array() override {
    if (skipped)
      return skipped--;
    if (depth == 2)
      takeRow();
    --depth;
    return true;
  }
  bool parse_error(size_t, const std::string &, const nlohmann::detail::exception &error) override {
    wrong = error.what();
    // The parser's own number of the error, which says nothing to a reader.
    if (size_t at = wrong.find("] "); wrong.front() == '[' && at != std::string::npos)
      wrong.erase(0, at + 2);
    return false;
  }

private:
  bool isKnown() const {
    return !skipped &&
           (listOf() || path == "/problem/edges/costs" || path == "/problem/usage_limit");
  }
  const Rows *listOf() const { return const_cast<Handler *>(this)->listOf(); }
  Rows *listOf() {
    if (path == "/problem/nodes/intervals")
      return &intervals;
    if (path == "/problem/nodes/costs")
      return &costs;
    if (path == "/problem/nodes/usages")
      return &usages;
    return path == "/problem/edges/nodes" ? &ends : nullptr;
  }
  std::string wanted() const {
    if (path == "/problem/usage_limit" || depth == 2)
      return "a whole number";
    return depth == 1 ? "a list of numbers" : "a list of lists of numbers";
  }
  /// Another element of the list that is open.
  void step() {
    if (!skipped && depth > 0 && depth <= 2)
      ++index[depth - 1];
  }
  void takeRow() {
    if (path == "/problem/edges/costs") {
      for (int64_t &cost : row)
        if (cost >= kContestInfinity)
          cost = solver::kForbidden;
      tableOf.push_back(pool.intern(row));
    } else if (Rows *list = listOf()) {
      list->push_back(row);
    }
  }
  bool other(const std::string &what) {
    step();
    return !isKnown() || fail("is " + what + ", and " + wanted() + " is expected");
  }
  bool fail(const std::string &what) {
    wrong = path.substr(1);
    for (int32_t level = 0; level < std::min(depth, 2); ++level)
      wrong += "[" + std::to_string(index[level]) + "]";
    wrong += " " + what;
    return false;
  }

  std::string path;          // of keys: "/problem/nodes/costs"
  std::vector<size_t> keys;  // the length of the path at each open object
  int32_t depth = 0;         // open lists below it
  int64_t index[2] = {0, 0}; // in each
  int32_t skipped = 0;       // open objects and lists below a list that means nothing to us
  std::vector<int64_t> row;
};

std::string at(const char *list, size_t index) {
  return std::string("problem/") + list + "[" + std::to_string(index) + "]";
}

std::string sizes(const char *left, size_t leftSize, const char *right, size_t rightSize) {
  return std::string("problem/") + left + " has " + std::to_string(leftSize) +
         " lists, and problem/" + right + " has " + std::to_string(rightSize);
}

/// What is wrong with the lists beside each other; nothing else needs a place in the file.
std::string checkShapes(const Handler &read) {
  if (!read.hasProblem)
    return "there is no object \"problem\" in it";
  size_t nodes = read.costs.size();
  if (read.intervals.size() != nodes)
    return sizes("nodes/intervals", read.intervals.size(), "nodes/costs", nodes);
  if (read.usages.size() != nodes)
    return sizes("nodes/usages", read.usages.size(), "nodes/costs", nodes);
  if (read.ends.size() != read.tableOf.size())
    return sizes("edges/nodes", read.ends.size(), "edges/costs", read.tableOf.size());
  for (size_t node = 0; node < nodes; ++node) {
    if (read.intervals[node].size() != 2)
      return at("nodes/intervals", node) + " has " + std::to_string(read.intervals[node].size()) +
             " numbers, and a begin and an end are expected";
    if (read.costs[node].empty())
      return at("nodes/costs", node) + " is empty: a node needs a strategy";
    if (read.usages[node].size() != read.costs[node].size())
      return at("nodes/usages", node) + " has " + std::to_string(read.usages[node].size()) +
             " numbers, and the node has " + std::to_string(read.costs[node].size()) +
             " strategies";
  }
  for (size_t edge = 0; edge < read.ends.size(); ++edge) {
    const std::vector<int64_t> &ends = read.ends[edge];
    if (ends.size() != 2)
      return at("edges/nodes", edge) + " has " + std::to_string(ends.size()) +
             " numbers, and two nodes are expected";
    for (int64_t node : ends)
      if (node < 0 || size_t(node) >= nodes)
        return at("edges/nodes", edge) + " names node " + std::to_string(node) + " of " +
               std::to_string(nodes);
    size_t rows = read.costs[ends[0]].size(), columns = read.costs[ends[1]].size();
    size_t given = read.pool.tables[read.tableOf[edge]].size();
    if (given != rows * columns)
      return at("edges/costs", edge) + " has " + std::to_string(given) + " numbers, and " +
             std::to_string(rows) + " x " + std::to_string(columns) + " are expected";
  }
  return {};
}

/// Above all that a problem may sum up to.
constexpr int64_t kAbove = solver::kMostSum + 1;

/// Costs of an edge from a node to itself are those of its strategies.
void addToNode(solver::Variable &variable, const std::vector<int64_t> &table) {
  size_t count = variable.cost.size();
  for (size_t strategy = 0; strategy < count; ++strategy) {
    int64_t cost = table[strategy * count + strategy], &sum = variable.cost[strategy];
    if (sum == solver::kForbidden || cost == solver::kForbidden)
      sum = solver::kForbidden;
    else // what is above the most is refused later, whatever it is
      sum = std::min(sum + std::min(cost, kAbove), kAbove);
  }
}

void makeProblem(Handler &read, solver::Problem &problem) {
  problem.limit = read.limit;
  for (size_t node = 0; node < read.costs.size(); ++node) {
    solver::Variable variable;
    variable.cost = std::move(read.costs[node]);
    for (int64_t &cost : variable.cost)
      if (cost >= kContestInfinity)
        cost = solver::kForbidden;
    if (read.intervals[node][0] < read.intervals[node][1])
      variable.uses.push_back(
          {read.intervals[node][0], read.intervals[node][1], std::move(read.usages[node])});
    problem.variables.push_back(std::move(variable));
  }
  problem.tables = std::move(read.pool.tables);
  for (size_t edge = 0; edge < read.ends.size(); ++edge) {
    int32_t first = int32_t(read.ends[edge][0]), second = int32_t(read.ends[edge][1]);
    if (first == second)
      addToNode(problem.variables[first], problem.tables[read.tableOf[edge]]);
    else
      problem.edges.push_back({first, second, read.tableOf[edge]});
  }
}

} // namespace

Status weft::iopddl::readInstance(const std::string &path, solver::Problem &problem) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file || file.peek() == std::ifstream::traits_type::eof())
    return Status::user("'" + path +
                        "' cannot be read: " + (errno ? std::strerror(errno) : "it is empty"));
  Handler read;
  bool parsed = json::sax_parse(file, &read);
  if (file.bad())
    return Status::user("'" + path + "' cannot be read to its end");
  std::string wrong = parsed ? checkShapes(read) : read.wrong;
  if (wrong.empty()) {
    makeProblem(read, problem);
    wrong = solver::check(problem);
  }
  if (!wrong.empty())
    return Status::user("'" + path + "' is no instance: " + wrong);
  return {};
}
