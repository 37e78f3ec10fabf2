// Compares what processes were started with.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "job/Agreement.h"

#include "weft/runtime/CheckpointFile.h"

#include <algorithm>
#include <cstring>
#include <sstream>

using namespace weft::runtime;

namespace {

/// Of one size, as processes that disagree may not know each other's. Lines
/// that do not fit are compared all the same, by their hash.
struct Record {
  uint64_t hash;
  uint64_t length; // of the text as far as it is here
  char text[4080];
};

Record recordOf(const std::string &lines) {
  Record record{};
  record.hash = hashBytes(lines.data(), lines.size());
  record.length = std::min(lines.size(), sizeof record.text);
  std::memcpy(record.text, lines.data(), size_t(record.length));
  return record;
}

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

} // namespace

std::string weft::runtime::differenceOf(const std::string &first, const std::string &other,
                                        int64_t otherRank) {
  std::map<std::string, std::string> mine = parse(first), its = parse(other);
  std::map<std::string, std::string> all = mine;
  all.insert(its.begin(), its.end());
  for (const auto &[name, value] : all)
    if (valueIn(mine, name) != valueIn(its, name))
      return "rank " + std::to_string(otherRank) + " has " + valueIn(its, name) + ", rank 0 has " +
             valueIn(mine, name);
  return "";
}

Status weft::runtime::agreeOn(weft_session &session, const std::string &lines) {
  if (!session.processGroup)
    return {};
  const CommBackend &comm = session.shared.comm;
  Record mine = recordOf(lines);
  std::vector<Record> all(size_t(comm.vtable->num_processes(comm.backend)), mine);
  std::vector<weft_block> received;
  for (Record &record : all)
    received.push_back({&record, sizeof record});
  WEFT_TRY(exchangeOnce(session, {&mine, sizeof mine}, received));
  auto textOf = [](const Record &record) {
    return std::string(record.text, size_t(std::min<uint64_t>(record.length, sizeof record.text)));
  };
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank].hash == all[0].hash)
      continue;
    std::string text = differenceOf(textOf(all[0]), textOf(all[rank]), int64_t(rank));
    if (text.empty())
      text = "rank " + std::to_string(rank) + " has other options than rank 0, too long to show";
    return {StatusCode::Usage, text + "; start all ranks with one program and the same options"};
  }
  return {};
}
