// Compares what processes were started with.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "job/Agreement.h"

#include "weft/runtime/CheckpointFile.h"

#include <algorithm>
#include <sstream>

using namespace weft::runtime;

namespace {

/// What processes tell each other first. The texts follow only if they differ:
/// then everybody knows how long each is.
struct Summary {
  uint64_t hash, length;
};

/// More than any command line is long.
constexpr uint64_t kMostLength = 8 << 20;

std::map<std::string, std::string> parse(const std::string &lines) {
  std::map<std::string, std::string> values;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) {
    size_t tab = std::min(line.find('\t'), line.size());
    values[line.substr(0, tab)] = tab < line.size() ? line.substr(tab + 1) : std::string();
  }
  return values;
}

std::string valueIn(const std::map<std::string, std::string> &values, const std::string &name) {
  auto found = values.find(name);
  if (found == values.end())
    return "no " + name;
  return found->second.empty() ? name : name + " " + found->second;
}

/// Of a long value, what lies around its first byte that `other` does not have.
std::string excerpt(const std::string &value, const std::string &other) {
  constexpr size_t kMost = 240, kBefore = 80;
  if (value.size() <= kMost)
    return value;
  size_t same = 0;
  while (same < value.size() && same < other.size() && value[same] == other[same])
    ++same;
  size_t begin = same < kBefore ? 0 : same - kBefore;
  return (begin ? "..." : "") + value.substr(begin, kMost) +
         (begin + kMost < value.size() ? "..." : "");
}

} // namespace

std::string weft::runtime::differenceOf(const std::string &first, const std::string &other,
                                        int64_t otherRank) {
  std::map<std::string, std::string> mine = parse(first), its = parse(other);
  std::map<std::string, std::string> all = mine;
  all.insert(its.begin(), its.end());
  for (const auto &[name, value] : all) {
    std::string here = valueIn(mine, name), there = valueIn(its, name);
    if (here != there)
      return "rank " + std::to_string(otherRank) + " has " + excerpt(there, here) +
             ", rank 0 has " + excerpt(here, there);
  }
  return "";
}

Status weft::runtime::agreeOn(weft_session &session, const std::string &lines) {
  if (!session.processGroup)
    return {};
  const CommBackend &comm = session.shared.comm;
  Summary mine{hashBytes(lines.data(), lines.size()), lines.size()};
  std::vector<Summary> summaries(size_t(comm.vtable->num_processes(comm.backend)), mine);
  std::vector<weft_block> received;
  for (Summary &summary : summaries)
    received.push_back({&summary, sizeof summary});
  WEFT_TRY(exchangeOnce(session, {&mine, sizeof mine}, received));
  auto differs = [&](const Summary &other) {
    return other.hash != summaries[0].hash || other.length != summaries[0].length;
  };
  if (std::none_of(summaries.begin(), summaries.end(), differs))
    return {};
  std::vector<std::string> texts;
  for (size_t rank = 0; rank < summaries.size(); ++rank) {
    if (summaries[rank].length > kMostLength)
      return {StatusCode::Usage,
              "the options of rank " + std::to_string(rank) + " are too long to be compared"};
    texts.emplace_back(size_t(summaries[rank].length), '\0');
  }
  for (size_t rank = 0; rank < texts.size(); ++rank)
    received[rank] = {texts[rank].data(), texts[rank].size()};
  WEFT_TRY(exchangeOnce(session, {lines.data(), lines.size()}, received));
  for (size_t rank = 1; rank < texts.size(); ++rank) {
    if (!differs(summaries[rank]))
      continue;
    std::string text = differenceOf(texts[0], texts[rank], int64_t(rank));
    if (text.empty())
      text = "rank " + std::to_string(rank) + " has other options than rank 0";
    return {StatusCode::Usage, text + "; start all ranks with one program and the same options"};
  }
  return {};
}
